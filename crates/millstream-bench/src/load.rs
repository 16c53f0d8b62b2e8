//! The use of the machine by other processes. A figure that was measured meanwhile must state it.

use rustix::time::{ClockId, clock_gettime};
use serde::{Serialize, Serializer};
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

    /// The use of the machine by others from `then` until now, if the system reported both.
    pub(crate) fn of_others(then: Option<Self>) -> Option<Use> {
        Some(Self::now()?.of_others_since(then?))
    }

    fn of_others_since(self, then: Self) -> Use {
        let since = |now: u64, then: u64| now.saturating_sub(then).cast_signed();
        let others = since(self.busy, then.busy) - since(self.own, then.own);
        Use { others, total: self.total.saturating_sub(then.total) }
    }
}

/// The use of the machine by others over some time, in ticks of all cores. As JSON it is [`share`](Use::share).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// Ticks are counted when they end, so in a short time this can be a tick or two below what it was, and below 0.
    others: i64,
    total: u64,
}

/// The fewest ticks that a share is made of: a second of two cores. Of fewer, a single tick would be too large a part.
const ENOUGH: u64 = 200;

impl Use {
    /// The use over both times.
    pub(crate) fn and(self, more: Self) -> Self {
        Use { others: self.others + more.others, total: self.total + more.total }
    }

    /// The share of the machine, from 0 to 1, that others used; `None` if the time was too short to tell.
    pub(crate) fn share(self) -> Option<f64> {
        (self.total >= ENOUGH).then(|| self.others.max(0) as f64 / self.total as f64)
    }
}

impl Serialize for Use {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.share().serialize(serializer)
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
        assert_eq!(now.of_others_since(NEVER), Use { others: 8, total: 100 });
    }

    const NEVER: Load = Load { total: 0, busy: 0, own: 0 };

    /// The use of a case by others, which begins with these ticks of all time, of busy time and of this process.
    fn of_case([total, busy, own]: [u64; 3]) -> Use {
        Load { total, busy, own }.of_others_since(NEVER)
    }

    #[test]
    fn a_few_ticks_are_no_share_of_the_machine() {
        assert_eq!(of_case([1, 1, 0]).share(), None);
        assert_eq!(of_case([400, 200, 100]).share(), Some(0.25));
        assert_eq!(serde_json::to_string(&[of_case([1, 1, 0]), of_case([400, 100, 0])]).unwrap(), "[null,0.25]");
    }

    #[test]
    fn a_tick_of_a_short_case_counts_as_one_of_all() {
        let all = of_case([1, 1, 0]).and(of_case([999, 999, 999]));
        assert_eq!(all.share(), Some(0.001));
        // The clock of this process was ahead of that of the machine in one case, and behind it in the other.
        assert_eq!(of_case([200, 99, 100]).and(of_case([200, 101, 100])).share(), Some(0.0));
    }
}
