//! Cores by number: lists of them in the kernel's format, and the cores that share a physical core.

use std::path::Path;

/// The numbers of a list such as `0-3,8`; none if the text is no such list.
pub(crate) fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        numbers.extend(first.parse().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(numbers)
}

/// The cores that share a physical core with this one, itself included, according to the tree at `root`. A core unknown
/// to the tree has no siblings.
pub(crate) fn siblings(root: &Path, core: usize) -> Vec<usize> {
    let file = root.join(format!("sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"));
    let list = std::fs::read_to_string(file).ok().and_then(|text| parse_list(&text));
    list.filter(|list| list.contains(&core)).unwrap_or_else(|| vec![core])
}

/// The allowed cores, ordered so that the first hyperthreads of all physical cores come first, then the second ones,
/// and so on.
pub(crate) fn physical_first(mut allowed: Vec<usize>, siblings: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    let taken = allowed.clone();
    let before = |core: usize| siblings(core).iter().filter(|other| **other < core && taken.contains(other)).count();
    allowed.sort_by_cached_key(|core| (before(*core), *core));
    allowed
}

/// The first allowed hyperthread of each physical core.
pub(crate) fn one_of_each(mut allowed: Vec<usize>, siblings: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    let taken = allowed.clone();
    allowed.retain(|core| !siblings(*core).iter().any(|other| other < core && taken.contains(other)));
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0\n"), Some(vec![0]));
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list("\n"), Some(vec![]));
        for wrong in ["a", "1-", "1-b", "-1"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
    }

    /// A tree in which these cores share physical cores.
    fn tree(groups: &[&[usize]]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for group in groups {
            let list = group.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            for core in *group {
                let topology = root.path().join(format!("sys/devices/system/cpu/cpu{core}/topology"));
                std::fs::create_dir_all(&topology).unwrap();
                std::fs::write(topology.join("thread_siblings_list"), format!("{list}\n")).unwrap();
            }
        }
        root
    }

    #[track_caller]
    fn check(groups: &[&[usize]], allowed: &[usize], expected: &[usize]) {
        let root = tree(groups);
        assert_eq!(physical_first(allowed.to_vec(), |core| siblings(root.path(), core)), expected);
    }

    #[test]
    fn hyperthread_siblings_come_last() {
        let near: &[&[usize]] = &[&[0, 1], &[2, 3], &[4, 5]];
        check(near, &[0, 1, 2, 3, 4, 5], &[0, 2, 4, 1, 3, 5]);
        let far: &[&[usize]] = &[&[0, 3], &[1, 4], &[2, 5]];
        check(far, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3, 4, 5]);
        let four: &[&[usize]] = &[&[0, 1, 2, 3], &[4, 5, 6, 7]];
        check(four, &[0, 1, 2, 3, 4, 5, 6, 7], &[0, 4, 1, 5, 2, 6, 3, 7]);
    }

    #[test]
    fn one_core_of_each_physical_one() {
        let check = |groups: &[&[usize]], allowed: &[usize], expected: &[usize]| {
            let root = tree(groups);
            assert_eq!(one_of_each(allowed.to_vec(), |core| siblings(root.path(), core)), expected);
        };
        check(&[&[0, 1], &[2, 3], &[4, 5]], &[0, 1, 2, 3, 4, 5], &[0, 2, 4]);
        check(&[&[0, 4], &[1, 5], &[2, 6], &[3, 7]], &[1, 4, 5, 6], &[1, 4, 6]);
        check(&[], &[0, 1], &[0, 1]);
    }

    #[test]
    fn only_allowed_cores_count_as_siblings() {
        let groups: &[&[usize]] = &[&[0, 4], &[1, 5], &[2, 6], &[3, 7]];
        // 4 and 6 are the first of their physical cores; 5 comes after 1.
        check(groups, &[1, 4, 5, 6], &[1, 4, 6, 5]);
        check(groups, &[7], &[7]);
    }

    #[test]
    fn cores_unknown_to_the_tree_have_no_siblings() {
        check(&[], &[0, 1, 2], &[0, 1, 2]);
        check(&[&[0, 1]], &[0, 1, 2], &[0, 2, 1]);
    }
}
