//! The use of the machine by other processes. A figure that was measured meanwhile must state it.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Processor time until now, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    total: u64,
    busy: u64,
    own: u64,
}

impl Load {
    /// The load now, if the system reports it. The processes of these ids do not count as others.
    pub(crate) fn now(rivals: &[u32]) -> Option<Self> {
        let machine = machine(&std::fs::read_to_string("/proc/stat").ok()?)?;
        let own = |process: &str| own(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?);
        let of_rivals: u64 = rivals.iter().filter_map(|id| own(&id.to_string())).sum();
        Some(Load { own: own("self")? + of_rivals, ..machine })
    }

    /// As [`of_others_since`](Load::of_others_since) `then` until now, if the system reported both.
    pub(crate) fn of_others(then: Option<Self>, rivals: &[u32]) -> Option<f64> {
        Some(Self::now(rivals)?.of_others_since(then?))
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

/// The time of this process and of the children that it has waited for: fields 14 to 17, counted after the name.
fn own(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    let fields = after.split_whitespace().skip(11).take(4);
    Some(fields.map_while(|field| field.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_all_busy_time_but_this_process() {
        let stat = "cpu  10 1 5 70 10 1 1 2 0 0\ncpu0 1 1 1 1 1 1 1 1\n";
        let mine = "7 (a b) c) R 1 2 3 4 5 6 7 8 9 10 8 2 1 1 20";
        let now = Load { own: own(mine).unwrap(), ..machine(stat).unwrap() };
        assert_eq!((now.total, now.busy, now.own), (100, 20, 12));
        let then = Load { total: 0, busy: 0, own: 0 };
        assert_eq!(now.of_others_since(then), 0.08);
    }
}
