//! The use of the machine by other processes. A figure that was measured meanwhile must state it.

use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::time::Duration;

/// Processor time until now, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    total: u64,
    busy: u64,
    own: u64,
}

impl Load {
    /// The load now, if the system reports it. Rivals and servers are children of this process, or their children, and
    /// do not count as others.
    pub(crate) fn now() -> Option<Self> {
        let machine = machine(&std::fs::read_to_string("/proc/stat").ok()?)?;
        let stats = std::fs::read_dir("/proc").ok()?.filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry.file_name().to_str()?.parse().ok()?;
            Some((id, std::fs::read_to_string(entry.path().join("stat")).ok()?))
        });
        Some(Load { own: of_family(std::process::id(), &stats.collect())?, ..machine })
    }

    /// As [`of_others_since`](Load::of_others_since) `then` until now, if the system reported both.
    pub(crate) fn of_others(then: Option<Self>) -> Option<f64> {
        Some(Self::now()?.of_others_since(then?))
    }

    /// The share of the machine, from 0 to 1, that others have used since then.
    fn of_others_since(self, then: Self) -> f64 {
        let total = self.total.saturating_sub(then.total);
        let others = self.busy.saturating_sub(then.busy).saturating_sub(self.own.saturating_sub(then.own));
        if total == 0 { 0.0 } else { others as f64 / total as f64 }
    }
}

/// The processor time of all threads of this process until now.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The processor time of this thread until now.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Parses the line `cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...`.
fn machine(stat: &str) -> Option<Load> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let total = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some(Load { total, busy: total - idle, own: 0 })
}

/// The parent of a process, and the time of the process and of the children that it has waited for: fields 4, and 14 to
/// 17, counted after the name.
fn process(stat: &str) -> Option<(u32, u64)> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    Some((parent, fields.skip(9).take(4).map_while(|field| field.parse::<u64>().ok()).sum()))
}

/// The time of this process and of all that descend from it.
fn of_family(head: u32, stats: &BTreeMap<u32, String>) -> Option<u64> {
    let processes: BTreeMap<u32, (u32, u64)> =
        stats.iter().filter_map(|(id, stat)| Some((*id, process(stat)?))).collect();
    let parent = |id: &u32| processes.get(id).map(|(parent, _)| *parent);
    let is_of = |id: u32| std::iter::successors(Some(id), parent).take(64).any(|id| id == head);
    processes.get(&head)?;
    Some(processes.iter().filter(|(id, _)| is_of(**id)).map(|(_, (_, time))| time).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_all_busy_time_but_this_process() {
        let stat = "cpu  10 1 5 70 10 1 1 2 0 0\ncpu0 1 1 1 1 1 1 1 1\n";
        let stats = [
            (7, "7 (a b) c) R 1 2 3 4 5 6 7 8 9 10 4 1 1 1 20"),
            (8, "8 (child) R 7 2 3 4 5 6 7 8 9 10 2 0 0 0 20"),
            (9, "9 (grandchild) R 8 2 3 4 5 6 7 8 9 10 3 0 0 0 20"),
            (10, "10 (another) R 1 2 3 4 5 6 7 8 9 10 50 0 0 0 20"),
        ];
        let stats = stats.map(|(id, stat)| (id, stat.to_owned())).into();
        let now = Load { own: of_family(7, &stats).unwrap(), ..machine(stat).unwrap() };
        assert_eq!((now.total, now.busy, now.own), (100, 20, 12));
        let then = Load { total: 0, busy: 0, own: 0 };
        assert_eq!(now.of_others_since(then), 0.08);
    }
}
