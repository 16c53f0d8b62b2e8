//! The memory that a run's rings may take.

use super::cgroup;
use std::fmt;
use std::fs::read_to_string;
use std::path::Path;

/// The most memory that the rings of a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryLimit {
    /// In bytes.
    pub bytes: u64,
    /// The source of the limit.
    pub by: LimitedBy,
}

/// The source of a run's memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum LimitedBy {
    /// [`Rings::memory_limit`](crate::Rings::memory_limit).
    Options,
    /// A control group of this process.
    ControlGroup,
    /// The machine's own memory.
    Machine,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes;
        match self.by {
            LimitedBy::Options => write!(f, "the options allow {bytes} bytes"),
            LimitedBy::ControlGroup => write!(f, "the control group allows {bytes} bytes"),
            LimitedBy::Machine => write!(f, "the machine has {bytes} bytes"),
        }
    }
}

/// The tighter of the control groups' limit and the machine's memory, as far as they are known.
pub(super) fn limit(root: &Path) -> Option<MemoryLimit> {
    let group = cgroup::memory(root).map(|bytes| MemoryLimit { bytes, by: LimitedBy::ControlGroup });
    let machine = machine(root).map(|bytes| MemoryLimit { bytes, by: LimitedBy::Machine });
    group.into_iter().chain(machine).min_by_key(|limit| limit.bytes)
}

fn machine(root: &Path) -> Option<u64> {
    let text = read_to_string(root.join("proc/meminfo")).ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::tests::tree;
    use super::*;

    #[test]
    fn the_tighter_of_group_and_machine_counts() {
        let meminfo = ("proc/meminfo", "MemTotal:           4000 kB\nMemFree:  100 kB");
        let mount = ("proc/self/mountinfo", "30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        let group = ("proc/self/cgroup", "0::/a");
        let limit_of = |files: &[(&str, &str)]| limit(tree(files).path()).map(|limit| (limit.bytes, limit.by));
        assert_eq!(limit_of(&[]), None);
        assert_eq!(limit_of(&[meminfo]), Some((4_096_000, LimitedBy::Machine)));
        let allowed = |bytes| [meminfo, mount, group, ("sys/fs/cgroup/a/memory.max", bytes)];
        assert_eq!(limit_of(&allowed("max")), Some((4_096_000, LimitedBy::Machine)));
        assert_eq!(limit_of(&allowed("1000")), Some((1000, LimitedBy::ControlGroup)));
        assert_eq!(limit_of(&allowed("5000000")), Some((4_096_000, LimitedBy::Machine)));
    }
}
