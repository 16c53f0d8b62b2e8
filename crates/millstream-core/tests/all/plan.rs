//! Plans: names, rings and warnings.

use millstream_core::plan::Warning;
use millstream_core::{Arrow, Bound, FeedbackExt, KeysExt, PartsExt, Retry, TryMapExt, pipeline};

fn names(p: &impl Arrow) -> Vec<String> {
    p.plan().stages.into_iter().map(|stage| stage.name).collect()
}

#[test]
fn names_are_the_users_or_the_path() {
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .named("parse")
        .map(|x| x + 1)
        .fanout(|p| p.map(|x| *x).scan(0, |s, x| *s + x), |p| p.map(|x| *x))
        .named("stats")
        .map(|(x, _)| *x)
        .shard(2, |p| p.map(|x| *x));
    let expected = ["parse", "map-2", "stats.first.map-1", "stats.first.scan-1", "stats.second.map-1", "map-3"];
    assert_eq!(names(&p)[..6], expected);
    assert_eq!(names(&p)[6], "shard-1.map-1");
    let stages = p.plan().stages;
    let paths: Vec<_> = stages.iter().map(|stage| (&*stage.path, stage.named_by_user)).collect();
    assert_eq!(paths[..2], [("map-1", true), ("map-2", false)]);
    assert_eq!(paths[3], ("fanout-1.first.scan-1", false));
}

#[test]
fn naming_a_stage_changes_no_other_name() {
    let step = || pipeline::<u64>().map(|x| x + 1);
    let unnamed = names(&step().then(step()).then(step()));
    let named = names(&step().then(step().named("second")).then(step()));
    assert_eq!((unnamed[0].clone(), "second", unnamed[2].clone()), (named[0].clone(), &*named[1], named[2].clone()));
}

/// A name for a `shard_by` or a `feedback` is one for the stage that it adds itself, and not for those of its body.
#[test]
fn a_part_of_a_combinator_is_named_with_it() {
    let p = pipeline::<u64>().shard_by(|x| *x, 2, |p| p.scan(0, |n, x| *n + x)).named("accounts");
    let p = p.feedback(0, |p| p.map(|(x, s)| x + s).fork());
    let stages = p.plan().stages;
    let named: Vec<_> = stages.iter().map(|stage| (&*stage.name, stage.named_by_user)).collect();
    let expected = [
        ("accounts.key-1", true),
        ("accounts.scan-1", false),
        ("feedback-1.map-1", false),
        ("feedback-1.state-1", false),
    ];
    assert_eq!(named, expected);
}

#[test]
fn a_stage_in_nested_shards_has_the_product_of_tasklets() {
    let p = pipeline::<u64>().shard(2, |p| p.shard(3, |p| p.map(|x| *x))).map(|x| *x);
    let tasklets: Vec<_> = p.plan().stages.iter().map(|stage| stage.tasklets).collect();
    assert_eq!(tasklets, [6, 1]);
}

/// The table marks a stage that may wait, and its columns are as wide as their contents.
#[test]
fn stages_that_may_wait_are_marked() {
    let p = pipeline::<u64>().map(|x| *x).shard(2, |p| p.map_blocking(|x| *x).named("slow"));
    let p = p.try_map_retry(Retry::times(3), |x| Ok::<_, String>(*x));
    let blocking: Vec<_> = p.plan().stages.iter().map(|stage| stage.blocking).collect();
    assert_eq!((blocking, p.plan().tasklets()), (vec![false, true, true], (1, 3)));
    let table = p.plan().to_string();
    assert!(table.contains("slow x2") && table.contains("map_blocking (blocks)"), "{table}");
    let column = |line: usize, text: &str| table.lines().nth(line).and_then(|line| line.find(text));
    assert_eq!(column(0, "reads"), column(3, "r1  "), "{table}");
    assert_eq!(column(0, "writes"), column(4, "r3 (dense"), "{table}");
}

/// However long a cell is, the cells of a column begin below each other.
#[test]
fn every_column_is_as_wide_as_its_longest_cell() {
    let all = pipeline::<u64>().fanout5(|p| p, |p| p, |p| p, |p| p, |p| p);
    let p = all.map(|(a, b, c, d, e)| a + b + c + d + e).named("größte Summe");
    let p = p.shard_by_within(Bound::refuse(1_000_000_000), |x| x % 7, 3, |p| p.scan(0, |n, x| *n + x));
    let table = p.plan().with_capacity(64).to_string();
    assert!(table.contains("up to 1000000000 keys") && table.contains("r0 r0 r0 r0 r0"), "{table}");
    let cells = |line: &str| -> Vec<usize> {
        let mut before = (' ', ' ');
        let mut starts = Vec::new();
        for (column, c) in line.chars().enumerate() {
            if c != ' ' && before == (' ', ' ') {
                starts.push(column);
            }
            before = (before.1, c);
        }
        starts
    };
    let rows: Vec<_> = table.lines().take_while(|line| !line.starts_with("rings:")).map(cells).collect();
    assert_eq!((rows.len(), rows[0].len()), (6, 4), "{table}");
    assert!(rows.iter().all(|row| *row == rows[0]), "{table}");
}

#[test]
fn a_sum_of_bytes_saturates() {
    let p = pipeline::<u64>().map(|x| *x);
    assert_eq!(p.plan().with_capacity(usize::MAX / 8).bytes(), Some(usize::MAX));
}

#[test]
fn rings_know_their_bytes() {
    let p = pipeline::<u64>().filter(|x| *x > 3).map(|x| *x as u8);
    let plan = p.plan();
    let bytes: Vec<_> = plan.rings.iter().map(|ring| (ring.slot_bytes, ring.dense)).collect();
    assert_eq!(bytes, [(8, true), (1, true), (2, false)]);
    assert_eq!(plan.stages[1].reads, [0, 1]);
    assert_eq!(plan.bytes(), None);
    assert_eq!(plan.with_capacity(16).bytes(), Some(16 * 11));
}

#[test]
fn a_join_of_a_fold_and_its_input_has_a_warning() {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.fold(0, |n, _| *n += 1, |n| n));
    assert_eq!(p.plan().warnings, [Warning::NeverJoins { at: "fanout-1".into() }]);
    let folds = pipeline::<u64>().fanout(|p| p.fold(0, |n, _| *n += 1, |n| n), |p| p.fold(0, |n, _| *n += 1, |n| n));
    assert_eq!(folds.plan().warnings, []);
}

#[test]
fn names_set_twice_or_on_nothing_have_a_warning() {
    let p = pipeline::<u64>().map(|x| *x).named("a").map(|x| *x).named("a");
    assert_eq!(names(&p), ["a", "a-2"]);
    assert_eq!(p.plan().warnings, [Warning::SameName { name: "a".into() }]);
    let nothing = pipeline::<u64>().named("b");
    assert_eq!(nothing.plan().warnings, [Warning::NamesNothing { name: "b".into() }]);
}
