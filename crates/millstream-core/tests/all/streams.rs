//! Stages that keep a state and their clock, in the model, against lists written by hand.

use millstream_core::{Arrow, ClockExt, ModelExt, SequenceNumber, StreamsExt, pipeline};

#[test]
fn at_the_outer_level_take_ends_the_stream_and_in_a_body_it_does_not() {
    let outer = |n: usize| pipeline::<u64>().take(n).fold(0, |n, _| *n += 1, |n| n);
    assert_eq!(outer(2).model_slots(5..9), [None, None, Some(2)]);
    assert_eq!(outer(0).model_slots(5..9), [Some(0)]);
    assert_eq!(outer(9).model_slots(5..7), [None, None, Some(2)]);
    let named = pipeline::<u64>().map(|x| *x).take(1).named("one").map(|x| x + 1);
    assert_eq!(named.model_slots(5..9), [Some(6), None]);
    let body = pipeline::<u64>().fanout(|p| p.take(1), |p| p.skip(1));
    assert_eq!(body.model_slots(5..7), [None, None, None]);
    let refused = pipeline::<u64>().filter(|x| x % 2 == 1).take_while(|x| *x < 4);
    assert_eq!(refused.model_slots(0..9), [None, Some(1), None, Some(3), None, None]);
}

#[test]
fn the_value_of_end_counts_as_any_other() {
    let end = || pipeline::<u64>().fold(0, |n, x| *n += x, |n| n);
    assert_eq!(end().take(1).model_slots([5, 6]), [None, None, Some(11)]);
    assert_eq!(end().take(0).model_slots([5, 6]), [None]);
    assert_eq!(end().take_while(|x| *x < 9).model_slots([5, 6]), [None, None, None]);
    assert_eq!(end().skip(1).model_slots([5, 6]), [None, None, None]);
    assert_eq!(end().chunks(1).model_slots([5]), [None, Some(vec![5])]);
    assert_eq!(end().chunks(2).model_slots([5]), [None, Some(vec![5])]);
    assert_eq!(end().windows(2).model_slots([5]), [None, None]);
    let numbered = end().enumerate().map(|(number, x)| (*number, *x));
    assert_eq!(numbered.model_slots([5]), [None, Some((SequenceNumber(1), 5))]);
}

#[test]
fn empty_slots_change_no_state() {
    let odd = || pipeline::<u64>().filter(|x| x % 2 == 1);
    assert_eq!(odd().chunks(2).model_slots(0..6), [None, None, None, Some(vec![1, 3]), None, None, Some(vec![5])]);
    assert_eq!(odd().windows(2).model(0..6), [[1, 3], [3, 5]]);
    assert_eq!(
        odd().map_windows(2, |last| last[1] - last[0]).model_slots(0..6),
        [None, None, None, Some(2), None, Some(2), None]
    );
    assert_eq!(odd().pairwise().map(|(a, b)| (*a, *b)).model(0..6), [(1, 3), (3, 5)]);
    assert_eq!(pipeline::<u64>().map(|x| x / 3).dedup().compact().model_slots(0..7), [Some(0), Some(1), Some(2), None]);
    let pairs = pipeline::<u64>().fanout(|p| p.map(|x| x / 2), |p| p.map(|_| 1)).dedup();
    assert_eq!(pairs.model(0..4), [(0, 1), (1, 1)]);
}

#[test]
fn inspect_changes_no_shape() {
    let p = pipeline::<u64>().map(|x| (*x, !x)).inspect(|_| ()).both(|p| p, |p| p.inspect(|_| ()).map(|y| !y));
    assert_eq!(p.model([1, 2]), [(1, 1), (2, 2)]);
    assert!(p.plan().rings.iter().all(|ring| ring.dense), "every ring is dense");
}

#[test]
fn a_plan_shows_where_the_stream_can_end() {
    let clocks = |plan: millstream_core::Plan| plan.rings.iter().map(|ring| ring.clock).collect::<Vec<_>>();
    assert_eq!(clocks(pipeline::<u64>().take(1).map(|x| *x).plan()), [0, 1, 1]);
    assert_eq!(clocks(pipeline::<u64>().fanout(|p| p.take(1), |p| p).plan()), [0, 0]);
}

#[test]
#[should_panic(expected = "at least one value")]
fn chunks_0_is_refused_when_it_is_built() {
    let _ = pipeline::<u64>().chunks(0);
}

#[test]
#[should_panic(expected = "at least one value")]
fn windows_0_is_refused_when_it_is_built() {
    let _ = pipeline::<u64>().windows(0);
}
