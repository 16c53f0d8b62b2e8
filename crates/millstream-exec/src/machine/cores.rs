//! The number of cores that a run may use.

use super::{cgroup, cpus};
use std::fs::read_to_string;
use std::path::Path;

/// The cores that a run may use, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Cores {
    /// The number of cores: at least 1.
    pub usable: usize,
    /// The affinity mask and the control groups' quota, in words. The tighter of them applies.
    pub why: String,
}

impl Cores {
    /// The one core of the calling thread.
    pub(crate) fn of_caller() -> Self {
        Cores { usable: 1, why: "everything on the calling thread".to_owned() }
    }
}

/// From the affinity mask of the calling thread, which its threads inherit, and from the quota. A quota of one and a
/// half cores counts as one core: two workers would be throttled in turns.
pub(super) fn usable(root: &Path) -> Cores {
    let (allowed, mask) = match allowed(root) {
        Some((cores, list)) => (cores, format!("affinity mask {list}")),
        None => match std::thread::available_parallelism() {
            Ok(cores) => (cores.get(), "as the system reports".to_owned()),
            Err(error) => (1, format!("the system does not report the cores: {error}")),
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
    fn fractions_of_cores_are_dropped_but_one_core_remains() {
        check("0-7", "250000 100000", 2, "affinity mask 0-7; the control groups' quota is 2.50 cores");
        check("0-7", "20000 100000", 1, "affinity mask 0-7; the control groups' quota is 0.20 cores");
    }

    #[test]
    fn without_files_the_system_is_asked() {
        let root = tree(&[]);
        assert!(usable(root.path()).usable >= 1);
    }

    /// The standard library's answer for this machine, which follows the same rules.
    #[test]
    fn this_machine_is_as_the_standard_library_says() {
        let expected = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(usable(Path::new("/")).usable, expected);
    }
}
