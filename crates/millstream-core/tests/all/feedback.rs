//! The model of a loop runs its body on prefixes of the stream, and the body sees no end before END.

use millstream_core::{Arrow, FeedbackExt, ModelExt, StreamsExt, pipeline};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_fold_in_a_loop_ends_once() {
    let ends = Arc::new(AtomicUsize::new(0));
    let seen = ends.clone();
    let p = pipeline::<i64>().feedback(4, move |p| {
        p.fold(
            0,
            |sum, (x, s)| *sum += x * s,
            move |sum| {
                seen.fetch_add(1, Ordering::Relaxed);
                (sum, sum)
            },
        )
    });
    assert_eq!(p.model_slots([1, 2, 3]), [None, None, None, Some(24)]);
    assert_eq!(ends.load(Ordering::Relaxed), 1);
}

#[test]
fn a_stage_after_a_fold_in_a_loop_sees_only_its_result() {
    let p = pipeline::<i64>().feedback(4, |p| {
        p.fold(0, |sum, (x, _)| *sum += x, |sum| sum).map(|sum| {
            assert_eq!(*sum, 6, "the sum of a prefix");
            (*sum, *sum)
        })
    });
    assert_eq!(p.model([1, 2, 3]), [6]);
}

#[test]
fn the_last_chunk_in_a_loop_comes_at_end() {
    let p = pipeline::<i64>().feedback(0, |p| p.chunks(2).map(|pairs| (pairs.len(), pairs[0].1 + 1)));
    assert_eq!(p.model_slots([1, 2, 3]), [None, Some(2), None, Some(1)]);
}
