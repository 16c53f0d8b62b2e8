//! What is allocated, and what stays resident.

use crate::failure::Failure;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

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

fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_is_counted_and_resident() {
        let work = || Ok(vec![1_u8; 64 << 20]);
        let (data, taken) = taken(work).unwrap();
        assert!(taken.allocated >= data.len() as u64);
        assert!(taken.peak.is_none_or(|peak| peak >= data.len() as u64));
    }
}
