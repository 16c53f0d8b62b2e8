//! How many cores a run may use.

use super::{cgroup, cpus};
use std::fs::read_to_string;
use std::path::Path;

/// The cores that a run may use, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Cores {
    /// How many: at least 1.
    pub usable: usize,
    /// By the affinity mask and the control groups' quota, of which the tighter counts.
    pub why: String,
}

impl Cores {
    /// The one that the calling thread runs on.
    pub(crate) fn of_caller() -> Self {
        Cores { usable: 1, why: "everything on the calling thread".to_owned() }
    }
}

/// The affinity mask of the calling thread, which the threads that it starts inherit, and the quota: of one and a half
/// cores' time one core is used, since two workers would be stopped in turns.
pub(super) fn usable(root: &Path) -> Cores {
    let (allowed, mask) = match allowed(root) {
        Some((cores, list)) => (cores, format!("affinity mask {list}")),
        None => match std::thread::available_parallelism() {
            Ok(cores) => (cores.get(), "as the system says".to_owned()),
            Err(error) => (1, format!("the system does not tell: {error}")),
        },
    };
    match cgroup::quota(root) {
        None => Cores { usable: allowed, why: format!("{mask}; no control group sets a quota") },
        Some(quota) => {
            // Saturates, and a quota below one core still lets one thread run.
            let usable = allowed.min(quota as usize).max(1);
            Cores { usable, why: format!("{mask}; the control groups' quota is {quota:.2} cores") }
        }
    }
}

fn allowed(root: &Path) -> Option<(usize, String)> {
    let status = read_to_string(root.join("proc/thread-self/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    let cores = cpus::parse_list(list)?.len();
    (cores > 0).then(|| (cores, list.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::tests::tree;
    use super::*;

    const MOUNT: (&str, &str) = ("proc/self/mountinfo", "30 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    const GROUP: (&str, &str) = ("proc/self/cgroup", "0::/a");

    #[track_caller]
    fn check(mask: &str, cpu_max: &str, usable_cores: usize, why: &str) {
        let status = format!("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{mask}");
        let root = tree(&[("proc/thread-self/status", &status), MOUNT, GROUP, ("sys/fs/cgroup/a/cpu.max", cpu_max)]);
        assert_eq!(usable(root.path()), Cores { usable: usable_cores, why: why.to_owned() });
    }

    #[test]
    fn the_tighter_of_mask_and_quota_counts() {
        check("0-7", "max 100000", 8, "affinity mask 0-7; no control group sets a quota");
        check("0-7", "300000 100000", 3, "affinity mask 0-7; the control groups' quota is 3.00 cores");
        check("2,5", "300000 100000", 2, "affinity mask 2,5; the control groups' quota is 3.00 cores");
    }

    #[test]
    fn a_part_of_a_core_is_none_but_there_is_always_one() {
        check("0-7", "250000 100000", 2, "affinity mask 0-7; the control groups' quota is 2.50 cores");
        check("0-7", "20000 100000", 1, "affinity mask 0-7; the control groups' quota is 0.20 cores");
    }

    #[test]
    fn without_files_the_system_is_asked() {
        let root = tree(&[]);
        assert!(usable(root.path()).usable >= 1);
    }

    /// What the standard library says of this machine, by the same rules.
    #[test]
    fn this_machine_is_as_the_standard_library_says() {
        let expected = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(usable(Path::new("/")).usable, expected);
    }
}
