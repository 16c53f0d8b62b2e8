//! The limits of control groups: every group from this process's own up to the visible root limits it.
//!
//! Version 2 has one hierarchy; version 1 has one for each controller or for a few together; both can exist at once.
//! `/proc/self/mountinfo` says which hierarchy is mounted where, and with which group as its root. In a container that
//! root is often not the root of the machine.

use std::fs::read_to_string;
use std::path::{Component, Path, PathBuf};

/// The number of cores whose time the process may use, by the tightest quota.
pub(super) fn quota(root: &Path) -> Option<f64> {
    least(root, "cpu", |group, version| match version {
        Version::Two => {
            let text = read_to_string(group.join("cpu.max")).ok()?;
            let (quota, period) = text.trim().split_once(' ')?;
            share(quota, period)
        }
        Version::One => {
            let file = |name| read_to_string(group.join(name)).ok();
            share(file("cpu.cfs_quota_us")?.trim(), file("cpu.cfs_period_us")?.trim())
        }
    })
}

/// The number of bytes the process may use, by the tightest limit.
pub(super) fn memory(root: &Path) -> Option<u64> {
    least(root, "memory", |group, version| {
        let name = match version {
            Version::Two => "memory.max",
            Version::One => "memory.limit_in_bytes",
        };
        let limit = read_to_string(group.join(name)).ok()?.trim().parse().ok()?;
        // Version 1 has no value for "no limit": it writes the greatest number of whole pages.
        (limit < u64::MAX >> 2).then_some(limit)
    })
}

/// Quota microseconds a period; `max` and -1 are no quota.
fn share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The least limit of this controller's groups, over all hierarchies.
fn least<N: PartialOrd>(root: &Path, controller: &str, read: impl Fn(&Path, Version) -> Option<N>) -> Option<N> {
    let memberships = read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let groups = memberships.lines().filter_map(|line| membership(line, controller)).flat_map(|(version, group)| {
        let mount = mounts.lines().find_map(|line| mount(line, version, controller));
        mount.map_or_else(Vec::new, |mount| {
            let all = ancestry(&root.join(mount.point.trim_start_matches('/')), mount.root, group);
            all.into_iter().map(|group| (version, group)).collect()
        })
    });
    let limits = groups.filter_map(|(version, group)| read(&group, version));
    limits.reduce(|least, other| if other < least { other } else { least })
}

/// The process's group in a hierarchy that can have this controller, from a line of `/proc/self/cgroup`.
fn membership<'a>(line: &'a str, controller: &str) -> Option<(Version, &'a str)> {
    let mut parts = line.splitn(3, ':');
    let (id, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
    match controllers {
        "" if id == "0" => Some((Version::Two, group)),
        _ => controllers.split(',').any(|one| one == controller).then_some((Version::One, group)),
    }
}

/// A mounted hierarchy: its mount point, and the group at its top.
struct Mount<'a> {
    point: &'a str,
    root: &'a str,
}

/// The mount in a line of `/proc/self/mountinfo`, if its hierarchy has this version and controller.
fn mount<'a>(line: &'a str, version: Version, controller: &str) -> Option<Mount<'a>> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (filesystem, options) = (kind.next()?, kind.next_back()?);
    let fits = match version {
        Version::Two => filesystem == "cgroup2",
        Version::One => filesystem == "cgroup" && options.split(',').any(|option| option == controller),
    };
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    fits.then_some(Mount { point, root })
}

/// The directories of a group and of its ancestors, up to the mount point. A group that is not visible here, such as
/// that of another namespace, counts as the mounted one.
fn ancestry(mounted: &Path, mounted_group: &str, group: &str) -> Vec<PathBuf> {
    let below = Path::new(group).strip_prefix(mounted_group).ok();
    let below = below.filter(|below| below.components().all(|part| matches!(part, Component::Normal(_))));
    let own = below.map_or_else(|| mounted.to_owned(), |below| mounted.join(below));
    own.ancestors().take_while(|path| path.starts_with(mounted)).map(Path::to_owned).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A tree of these files.
    pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    const TWO: &str = "30 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    #[track_caller]
    fn check(files: &[(&str, &str)], cores: Option<f64>, bytes: Option<u64>) {
        let root = tree(files);
        assert_eq!((quota(root.path()), memory(root.path())), (cores, bytes));
    }

    #[test]
    fn without_groups_nothing_is_limited() {
        check(&[], None, None);
        check(&[("proc/self/cgroup", "0::/"), ("proc/self/mountinfo", TWO)], None, None);
        check(&[("proc/self/cgroup", "rubbish"), ("proc/self/mountinfo", "more - of it")], None, None);
    }

    #[test]
    fn the_tightest_of_nested_groups_counts() {
        let here = [("proc/self/cgroup", "0::/pods/one/main"), ("proc/self/mountinfo", TWO)];
        let at = |top: [&'static str; 2], middle: [&'static str; 2], own: [&'static str; 2]| {
            let paths = ["sys/fs/cgroup/pods", "sys/fs/cgroup/pods/one", "sys/fs/cgroup/pods/one/main"];
            let mut files: Vec<(String, String)> = Vec::new();
            for (path, [cpu, memory]) in paths.iter().zip([top, middle, own]) {
                files.push((format!("{path}/cpu.max"), cpu.to_owned()));
                files.push((format!("{path}/memory.max"), memory.to_owned()));
            }
            files
        };
        let check_at = |files: Vec<(String, String)>, cores, bytes| {
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
            check(&[&here[..], &files].concat(), cores, bytes);
        };
        let none = ["max 100000", "max"];
        check_at(at(none, none, none), None, None);
        check_at(at(none, none, ["150000 100000", "1048576"]), Some(1.5), Some(1_048_576));
        check_at(at(["50000 100000", "5000"], none, ["400000 100000", "9000"]), Some(0.5), Some(5000));
        check_at(at(["800000 100000", "5000"], ["250000 50000", "max"], none), Some(5.0), Some(5000));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller() {
        let files = [
            ("proc/self/cgroup", "5:memory:/a/b\n4:cpu,cpuacct:/a\n1:name=systemd:/x"),
            (
                "proc/self/mountinfo",
                "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 34 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000"),
            ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "700"),
            ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "900"),
        ];
        check(&files, Some(2.5), Some(700));
    }

    #[test]
    fn both_versions_can_limit() {
        let files = [
            ("proc/self/cgroup", "4:cpu:/a\n0::/b"),
            ("proc/self/mountinfo", &format!("33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n{TWO}")),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/b/cpu.max", "200000 100000"),
            ("sys/fs/cgroup/b/memory.max", "4096"),
        ];
        check(&files, Some(2.0), Some(4096));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        let mount = "40 30 0:28 /docker/c0ffee /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        let limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000");
        check(
            &[("proc/self/cgroup", "5:memory:/docker/c0ffee"), ("proc/self/mountinfo", mount), limit],
            None,
            Some(1000),
        );
        let inner = ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "10");
        let inside = ("proc/self/cgroup", "5:memory:/docker/c0ffee/inner");
        check(&[inside, ("proc/self/mountinfo", mount), limit, inner], None, Some(10));
        // Another namespace's group, which cannot be seen from here.
        let outside = ("proc/self/cgroup", "0::/../other");
        check(&[outside, ("proc/self/mountinfo", TWO), ("sys/fs/cgroup/memory.max", "77")], None, Some(77));
    }
}
