//! What is allocated, and what stays resident.

use crate::failure::Failure;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::HashMap;

/// The system's allocator, counting.
pub(crate) type Counting = StatsAlloc<System>;

pub(crate) const COUNTING: &Counting = &INSTRUMENTED_SYSTEM;

/// What some work took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Bytes allocated, all of them, freed ones too.
    pub(crate) allocated: u64,
    /// The most that the process had in memory while it worked, its code and stacks among it; where the system tells.
    pub(crate) peak: Option<u64>,
}

/// Does the work, and looks what it takes.
pub(crate) fn taken<R>(work: impl FnOnce() -> Result<R, Failure>) -> Result<(R, Taken), Failure> {
    // Linux forgets the peak on this word, or keeps it where that is not allowed: then it is too high, never too low.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let region = Region::new(COUNTING);
    let result = work()?;
    let allocated = region.change().bytes_allocated as u64;
    Ok((result, Taken { allocated, peak: peak() }))
}

/// The most that this process, or one that came of it and still runs, had in memory so far; where the system tells.
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
        // A process that ends meanwhile can leave its number to another: no chain is longer than there are processes.
        let mut ancestors = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied()).take(parents.len() + 1);
        ancestors.any(|pid| pid == root)
    };
    parents.keys().filter(|pid| comes_of_root(pid)).filter_map(|pid| peak_of(&pid.to_string())).max()
}

/// The process that started this one.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and can hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn peak() -> Option<u64> {
    peak_of("self")
}

/// The same of one process.
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
    fn what_is_allocated_is_counted_and_resident() {
        let work = || Ok(vec![1_u8; 64 << 20]);
        let (data, taken) = taken(work).unwrap();
        assert!(taken.allocated >= data.len() as u64);
        assert!(taken.peak.is_none_or(|peak| peak >= data.len() as u64));
    }
}
