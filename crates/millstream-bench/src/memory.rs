//! Allocated bytes, and resident memory.

use crate::failure::Failure;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::HashMap;

/// The system's allocator, with counters.
pub(crate) type Counting = StatsAlloc<System>;

pub(crate) const COUNTING: &Counting = &INSTRUMENTED_SYSTEM;

/// The memory cost of some work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// All bytes that were allocated, freed ones included.
    pub(crate) allocated: u64,
    /// The peak resident memory of the process during the work, with its code and stacks, if the system reports it.
    pub(crate) peak: Option<u64>,
}

/// Does the work, and measures its memory.
pub(crate) fn taken<R>(work: impl FnOnce() -> Result<R, Failure>) -> Result<(R, Taken), Failure> {
    // Resets the peak, on Linux. If that is not allowed, the peak may be too high, but never too low.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let region = Region::new(COUNTING);
    let result = work()?;
    let allocated = region.change().bytes_allocated as u64;
    Ok((result, Taken { allocated, peak: peak() }))
}

/// The peak memory of this process and its descendants that still run, as the maximum over them, if the system reports
/// it.
pub(crate) fn peak_of_tree(root: u32) -> Option<u64> {
    let parents: HashMap<u32, u32> = std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, parent_of(pid)?))
        })
        .collect();
    let comes_of_root = |pid: &u32| {
        // An ended process may leave its id to another one, so the chain could have a cycle: its length is limited.
        let mut ancestors = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied()).take(parents.len() + 1);
        ancestors.any(|pid| pid == root)
    };
    parents.keys().filter(|pid| comes_of_root(pid)).filter_map(|pid| peak_of(&pid.to_string())).max()
}

/// The process that started this one.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in parentheses, and may contain anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn peak() -> Option<u64> {
    peak_of("self")
}

/// The peak memory of one process.
pub(crate) fn peak_of(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_its_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_tree = peak_of_tree(std::process::id());
        assert_eq!(parent_of(child.id()), Some(std::process::id()));
        let of_child = peak_of_tree(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(of_child.is_some() && of_tree > of_child);
    }

    #[test]
    fn allocated_memory_is_counted_and_resident() {
        let work = || Ok(vec![1_u8; 64 << 20]);
        let (data, taken) = taken(work).unwrap();
        assert!(taken.allocated >= data.len() as u64);
        assert!(taken.peak.is_none_or(|peak| peak >= data.len() as u64));
    }
}
