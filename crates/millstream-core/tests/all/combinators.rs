//! Combinators that are made of others: what their plans say, and what of their bodies' types reaches the outside.

use millstream_core::{
    Arrow, AtEnd, BorrowedKeysExt, ChoiceExt, ClockExt, Dense, FoldExt, KeysExt, ModelExt, PartsExt, Shape, Shardable,
    StreamsExt, TryScanExt, Window, pipeline,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn kinds(p: &impl Arrow) -> Vec<String> {
    p.plan().stages.iter().map(|stage| stage.kind.to_string()).collect()
}

fn names(p: &impl Arrow) -> Vec<String> {
    p.plan().stages.into_iter().map(|stage| stage.name).collect()
}

fn density<P: Arrow>(_: &P) -> &'static str {
    std::any::type_name::<<P::Out as Shape>::Density>()
}

fn shardable<P: Arrow + Shardable>(p: P) -> P {
    p
}

#[test]
fn a_plan_calls_a_stage_by_the_name_of_its_combinator() {
    let p = || pipeline::<u64>();
    assert_eq!(kinds(&p().count()), ["count"]);
    assert_eq!(kinds(&p().sum()), ["sum"]);
    assert_eq!(kinds(&p().last()), ["last"]);
    assert_eq!(kinds(&p().min()), ["min"]);
    assert_eq!(kinds(&p().max()), ["max"]);
    assert_eq!(kinds(&p().min_by_key(|x| x % 3)), ["min_by_key"]);
    assert_eq!(kinds(&p().max_by_key(|x| x % 3)), ["max_by_key"]);
    assert_eq!(kinds(&p().min_by(u64::cmp)), ["min_by"]);
    assert_eq!(kinds(&p().max_by(u64::cmp)), ["max_by"]);
    assert_eq!(kinds(&p().top_n(3)), ["top_n"]);
    assert_eq!(kinds(&p().top_n_by(3, u64::cmp)), ["top_n_by"]);
    assert_eq!(kinds(&p().top_n_by_key(3, |x| x % 3)), ["top_n_by_key"]);
    assert_eq!(kinds(&p().find(|x| *x > 3)), ["find"]);
    assert_eq!(kinds(&p().any(|x| *x > 3)), ["any"]);
    assert_eq!(kinds(&p().all(|x| *x > 3)), ["all"]);
    assert_eq!(kinds(&p().count_by(|x| x % 3)), ["count_by"]);
    assert_eq!(kinds(&p().group_by(|x| x % 3)), ["group_by"]);
    // Snapshots of a stage with borrowed keys are those of the stage without.
    assert_eq!(kinds(&p().count_by_ref(|x| x)), ["count_by"]);
    assert_eq!(kinds(&p().group_by_ref(|x| x)), ["group_by"]);
    assert_eq!(kinds(&p().fold_by_ref(|x| x, 0, |n, _| *n += 1, |n| n)), ["fold_by"]);
    let [tens, visits] = [Window::tumbling(10), Window::session(10)];
    assert_eq!(kinds(&p().fold_windows_by_ref(|x| x, tens, |x| *x, 0, |n, _| *n += 1)), ["fold_windows_by"]);
    let sessions = p().fold_sessions_by_ref(|x| x, visits, |x| *x, 0, |n, _| *n += 1, |n, later| *n += later);
    assert_eq!(kinds(&sessions), ["fold_sessions_by"]);
    assert_eq!(
        kinds(&p().shard_by_ref(|x| x, 2, |p| p.scan(0, |_, x| *x))),
        kinds(&p().shard_by(|x| *x, 2, |p| p.scan(0, |_, x| *x)))
    );
    assert_eq!(kinds(&p().map_owned(|x| x + 1)), ["map_owned"]);
    assert_eq!(kinds(&p().cloned()), ["cloned"]);
    assert_eq!(kinds(&p().partition(|x| *x > 3)), ["partition"]);
    assert_eq!(kinds(&p().scan_finish(0, |_, x| *x, Some)), ["scan_finish"]);
    assert_eq!(kinds(&p().flat_scan(0, |_, x| Some(*x))), ["flat_scan"]);
    assert_eq!(kinds(&p().flat_scan_finish(0, |_, x| Some(*x), Some)), ["flat_scan_finish"]);
    assert_eq!(kinds(&p().try_scan(0, |_, x| Ok::<_, String>(*x))), ["try_scan"]);
    assert_eq!(kinds(&p().try_scan_or_empty(0, |_, x| Ok::<_, String>(*x))), ["try_scan_or_empty"]);
}

#[test]
fn a_fold_with_a_name_writes_nothing_below_end() {
    let p = pipeline::<u64>().sum();
    assert_eq!(density(&p), std::any::type_name::<AtEnd>());
    let ring = p.plan().rings.iter().find(|ring| ring.writer.is_some()).map(|ring| ring.slot_bytes);
    assert_eq!(ring, Some(0));
}

#[test]
fn of_equal_values_min_is_the_first_and_max_the_last() {
    let words = ["bb", "a", "cc", "d"];
    assert_eq!(pipeline::<&str>().min_by_key(|word| word.len()).model(words), ["a"]);
    assert_eq!(pipeline::<&str>().max_by_key(|word| word.len()).model(words), ["cc"]);
    let by_length = |a: &&str, b: &&str| a.len().cmp(&b.len());
    assert_eq!(pipeline::<&str>().min_by(by_length).model(words), ["a"]);
    assert_eq!(pipeline::<&str>().max_by(by_length).model(words), ["cc"]);
    assert_eq!(pipeline::<&str>().top_n_by(3, by_length).model(words), [["bb", "cc", "a"]]);
}

#[test]
fn a_fan_out_to_three_is_one_node_of_three_branches() {
    let p = pipeline::<u64>().fanout3(
        |p| p.map(|x| x + 1),
        |p| p.fanout(|p| p.map(|x| x + 2), |p| p),
        |p| p.map(|x| x + 3).named("third"),
    );
    assert_eq!(names(&p), ["fanout-1.first.map-1", "fanout-1.second.fanout-1.first.map-1", "third"]);
    // A body that is a fan-out itself stays a pair.
    let sums = p.map(|(a, (b, x), c)| a + b + x + c);
    assert_eq!(sums.model([0, 10]), [6, 46]);
}

#[test]
fn a_fan_out_to_eight_is_as_dense_and_as_shardable_as_its_bodies() {
    let p = pipeline::<u64>().fanout8(
        |p| p.map(|x| x + 1),
        |p| p.map(|x| x + 1),
        |p| p.map(|x| x + 1),
        |p| p.map(|x| x + 1),
        |p| p.map(|x| x + 1),
        |p| p.map(|x| x + 1),
        |p| p.map(|x| x + 1),
        |p| p,
    );
    assert_eq!(density(&p), std::any::type_name::<Dense>());
    assert_eq!(shardable(p).plan().stages.len(), 7);
    let sparse = pipeline::<u64>().fanout3(|p| p, |p| p.filter(|x| x % 2 == 0), |p| p.skip(1));
    assert_eq!(sparse.model_slots([1, 2, 4]), [None, Some((2, 2, 2)), Some((4, 4, 4)), None]);
}

#[test]
fn the_plan_warns_of_a_fan_out_to_three_that_never_joins() {
    let p = pipeline::<u64>().fanout3(|p| p, |p| p, |p| p.sum());
    assert_eq!(p.plan().warnings.len(), 1);
    assert!(pipeline::<u64>().fanout3(|p| p.sum(), |p| p.min(), |p| p.max()).plan().warnings.is_empty());
}

#[test]
fn two_total_lanes_of_a_partition_are_dense() {
    let p = pipeline::<u64>().partition(|x| x % 2 == 0).merge(|even| even.map(|x| x / 2), |odd| odd.map(|x| x * 3));
    assert_eq!(density(&p), std::any::type_name::<Dense>());
    let p = shardable(p);
    assert_eq!(p.model_slots([1, 2]), [Some(3), Some(1), None]);
}

/// A state that counts its clones.
struct Counted(u64, Arc<AtomicUsize>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.1.fetch_add(1, Ordering::Relaxed);
        Counted(self.0, self.1.clone())
    }
}

#[test]
fn a_state_that_a_failure_has_half_changed_is_put_back() {
    let step = |sum: &mut u64, x: &u64| {
        *sum += x;
        match x {
            0 => panic!("nothing"),
            x if x % 2 == 1 => Err("odd"),
            _ => Ok(*sum),
        }
    };
    let slots = pipeline::<u64>().try_scan_or_empty(10, step).model_slots([2, 3, 0, 4]);
    assert_eq!(slots, [Some(12), None, None, Some(16), None]);
}

#[test]
fn a_scan_that_ends_the_run_at_an_error_clones_no_state() {
    use millstream_core::SequenceNumber;
    use millstream_core::pipe::ScanKernel;
    let clones = Arc::new(AtomicUsize::new(0));
    let state = Counted(0, clones.clone());
    let step = |sum: &mut Counted, x: &u64| {
        sum.0 += x;
        Ok::<_, String>(sum.0)
    };
    let p = pipeline::<u64>().try_scan(state, step);
    let kernel = p.second.kernel.clone();
    let mut state = kernel.start();
    let before = clones.load(Ordering::Relaxed);
    for n in 0..10 {
        kernel.step(&mut state, SequenceNumber(n), Some(&n), false);
    }
    assert_eq!((state.0, clones.load(Ordering::Relaxed)), (45, before));
}

/// A scan that may also speak at END: after END's own value, in its place, or not at all.
#[test]
fn a_scan_finishes_at_end() {
    fn add(sum: &mut u64, x: &u64) -> u64 {
        *sum += x;
        *sum
    }
    let sums = |finish: fn(u64) -> Option<u64>| pipeline::<u64>().scan_finish(10, add, finish);
    assert_eq!(sums(|sum| Some(sum * 100)).model_slots([1, 2]), [Some(11), Some(13), Some(1300)]);
    assert_eq!(sums(|_| None).model_slots([1, 2]), [Some(11), Some(13), None]);
    assert_eq!(sums(Some).model_slots([]), [Some(10)]);
    let after_a_fold = |finish: fn(u64) -> Option<u64>| pipeline::<u64>().count().scan_finish(10, add, finish);
    assert_eq!(after_a_fold(|sum| Some(sum * 100)).model_slots([7, 8]), [None, None, Some(1200)]);
    assert_eq!(after_a_fold(|_| None).model_slots([7, 8]), [None, None, Some(12)]);
}

#[test]
fn a_flat_scan_has_any_number_of_outputs_and_those_of_its_last_state() {
    let step = |left: &mut u64, x: &u64| {
        *left += x;
        let full = *left / 3;
        *left %= 3;
        vec![*x; full as usize]
    };
    let p = pipeline::<u64>();
    assert_eq!(p.flat_scan(0, step).model_slots([2, 5, 1]), [Some(5), Some(5), None]);
    let rest = |left: u64| vec![100 + left];
    let p = pipeline::<u64>().flat_scan_finish(0, step, rest);
    assert_eq!(p.model_slots([2, 5, 1]), [Some(5), Some(5), Some(102), None]);
    assert_eq!(p.model([]), [100]);
}
