//! Boxes of pipelines whose states can be written.

use millstream_core::{Arrow, ModelExt, PartsExt, Val, pipeline};
use millstream_exec::{
    BoxBlock, BoxEverywhere, BoxExact, BoxExt, BoxKind, BoxPipeline, Durable, JobRefExt, OnDurable, Queues, Rings,
    Runner, Snapshot, source,
};
use std::sync::{Arc, Mutex};

fn sum(sum: &mut u64, x: &u64) -> u64 {
    *sum += x;
    *sum
}

/// Runs it on both kinds of rings, and on from every snapshot, by way of bytes: all is the model's.
#[track_caller]
fn goes_on<Known: BoxKind<Rings = Durable>>(p: &BoxPipeline<u64, u64, Known>) {
    let expected = p.model_slots(0..200);
    assert_eq!(Rings::new().collect_slots(p.from(0..200)).unwrap(), expected);
    let taken: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
    let kept = taken.clone();
    let rings = Rings::new().batch(5).snapshot_every(23, move |snapshot| kept.lock().unwrap().push(snapshot));
    assert_eq!(Durable::new(rings).collect_slots(p.from(source::ready(0..200))).unwrap(), expected);
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    assert!(!taken.is_empty());
    for snapshot in taken {
        let at = snapshot.at().0;
        let read = Snapshot::from_bytes(&snapshot.to_bytes().unwrap()).unwrap();
        let rest = Durable::new(Rings::new().resume(read)).collect_slots(p.from(source::ready(at..200))).unwrap();
        assert_eq!(rest[at as usize..], expected[at as usize..], "from {at}");
    }
}

#[test]
fn the_states_of_a_box_go_on_from_bytes() {
    type Boxed = BoxEverywhere<u64, u64, OnDurable>;
    let p: Boxed = pipeline::<u64>().scan(0, sum).named("sum").boxed_as();
    let p: Boxed = p.filter(|x| x % 3 != 0).scan(1, sum).named("more").boxed_as();
    goes_on(&p);
    assert_eq!(Queues::new().collect_slots((&p).from(0..200)).unwrap(), p.model_slots(0..200));
}

#[test]
fn the_states_of_a_block_go_on_from_bytes() {
    enum Sums {}
    let (mut w, x) = BoxBlock::<Val<u64>, Sums, OnDurable>::new();
    let first = w.wire("first", x.scan(0, sum).any_edge());
    let both = w.wire("both", (x, first).map(|(x, sum)| x + sum).any_edge());
    let last = w.wire("last", both.scan(0, sum).any_edge());
    let block: BoxPipeline<u64, u64, OnDurable> = BoxExact::of(w.emit(last));
    goes_on(&block);
}

#[test]
fn a_state_in_a_box_has_a_name() {
    let unnamed: BoxPipeline<u64, u64, OnDurable> = pipeline::<u64>().scan(0, sum).boxed_as();
    let refused = Durable::new(Rings::new()).collect((&unnamed).from(0..2)).unwrap_err();
    assert!(refused.to_string().contains("has no name of its own"), "{refused}");
}
