//! Marks in running pipelines: snapshots, and runs that go on from them.

use millstream_core::{
    Arrow, Bound, ClockExt, FeedbackExt, KeysExt, ModelExt, SequenceNumber, StreamsExt, Window, pipeline,
};
use millstream_exec::{
    Inline, JobExt, JobRefExt, Rings, RunError, Runner, Snapshot, Stepped, Stopper, fan_in, sink, source,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// The last snapshot of a run, and the options that take one after `every` numbers.
fn last_of(rings: Rings, every: u64) -> (Arc<Mutex<Option<Snapshot>>>, Rings) {
    let last: Arc<Mutex<Option<Snapshot>>> = Arc::default();
    let kept = last.clone();
    (last, rings.snapshot_every(every, move |snapshot| *kept.lock().unwrap() = Some(snapshot)))
}

#[test]
fn a_silent_source_and_a_full_one_are_no_obstacle() {
    let p = pipeline::<u64>().map(|x| x + 1).scan(0, |sum, x| {
        *sum += x;
        *sum
    });
    for slots in [1, 64] {
        let (sender, receiver) = source::channel(slots);
        let run = Rings::new().ring(slots).start((&p).from(receiver).to(sink::collect())).unwrap();
        assert_eq!(run.snapshot().unwrap().at(), SequenceNumber(0), "nothing was sent");
        sender.send_all(0..100).unwrap();
        let snapshot = run.snapshot().unwrap();
        assert_eq!((snapshot.at(), snapshot.output_at()), (SequenceNumber(100), Some(SequenceNumber(100))));
        assert_eq!(run.snapshot().unwrap().at(), SequenceNumber(100), "two marks at one number");
        drop(sender);
        let (whole, _) = run.wait().unwrap();
        assert_eq!(whole, p.model(0..100));
        let rest = Rings::new().resume(snapshot).collect((&p).from(100..110)).unwrap();
        assert_eq!(rest, p.model(0..110)[100..]);
    }
}

#[test]
fn a_run_that_ends_has_no_further_snapshot() {
    let run = Rings::new().start(pipeline::<u64>().from(source::ready(0..10)).to(sink::collect())).unwrap();
    while !run.is_finished() {
        std::thread::yield_now();
    }
    let taken = run.snapshot();
    assert!(taken.is_none_or(|snapshot| snapshot.at().0 <= 10));
    assert_eq!(run.wait().unwrap().0.len(), 10);
    let gate: Arc<Mutex<()>> = Arc::default();
    let (shut, behind) = (gate.lock().unwrap(), gate.clone());
    let (sender, receiver) = source::channel::<u64>(4);
    let stuck = pipeline::<u64>().map_blocking(move |_| drop(behind.lock()));
    let run = Rings::new().start(stuck.from(receiver).to_each(|_, ()| ())).unwrap();
    let stopper: Stopper = run.stopper();
    sender.send(1).unwrap();
    // The stage does not reach the mark before the run is stopped.
    let stops = std::thread::spawn(move || stopper.stop_now());
    assert!(run.snapshot().is_none());
    stops.join().unwrap();
    drop(shut);
}

/// A state whose drop says so and waits at a gate, once.
#[derive(Clone)]
struct DropsLate {
    late: Arc<AtomicBool>,
    dropping: SyncSender<()>,
    gate: Arc<Mutex<()>>,
}

impl Drop for DropsLate {
    fn drop(&mut self) {
        if self.late.swap(false, Ordering::Relaxed) {
            self.dropping.send(()).unwrap();
            drop(self.gate.lock());
        }
    }
}

/// It would have no states, and would be taken for one of the run.
#[test]
fn a_run_that_was_stopped_has_no_snapshot_while_its_states_are_dropped() {
    let (dropping, is_dropped) = sync_channel(1);
    let state = DropsLate { late: Arc::default(), dropping, gate: Arc::default() };
    let (late, gate) = (state.late.clone(), state.gate.clone());
    let (sender, receiver) = source::channel(4);
    let run = pipeline::<u64>().scan(state, |_, x| *x).from(receiver).to(sink::collect());
    let run = Rings::new().start(run).unwrap();
    sender.send(1).unwrap();
    assert_eq!(run.snapshot().unwrap().stages().count(), 1);
    let (snapshotter, shut) = (run.snapshotter(), gate.lock().unwrap());
    late.store(true, Ordering::Relaxed);
    run.stopper().stop_now();
    let ends = std::thread::spawn(move || run.wait());
    is_dropped.recv().unwrap();
    assert!(snapshotter.snapshot().is_none());
    drop(shut);
    ends.join().unwrap().unwrap();
}

#[test]
fn a_run_keeps_no_snapshot_that_was_taken() {
    let state = Arc::new(());
    let (sender, receiver) = source::channel(4);
    let held = pipeline::<u64>().scan(state.clone(), |_, x| *x).from(receiver).to(sink::collect());
    let run = Rings::new().start(held).unwrap();
    sender.send(1).unwrap();
    let before = Arc::strong_count(&state);
    let snapshots = [run.snapshot().unwrap(), run.snapshot().unwrap()];
    assert_eq!(Arc::strong_count(&state), before + 2);
    drop(snapshots);
    assert_eq!(Arc::strong_count(&state), before);
    drop(sender);
    assert_eq!(run.wait().unwrap().0, [1]);
}

#[test]
fn many_producers_share_one_mark() {
    let (senders, poller) = fan_in::<u64>(3).open(&Rings::new()).unwrap();
    let p = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
    let run = Rings::new().start((&p).from(poller).to(sink::last())).unwrap();
    senders.iter().for_each(|sender| sender.send_all(0..50).unwrap());
    let mut snapshot = run.snapshot().unwrap();
    while snapshot.at() < SequenceNumber(150) {
        snapshot = run.snapshot().unwrap();
    }
    drop(senders);
    assert_eq!(run.wait().unwrap().0, Some(3 * 1225));
    let last = Rings::new().resume(snapshot).last((&p).from(source::ready([5]))).unwrap();
    assert_eq!(last, Some(3 * 1225 + 5));
}

/// Sums by key and windows on a new clock, in a run that goes on with other rings, batches and workers.
#[test]
fn a_run_goes_on_with_other_options() {
    let p = pipeline::<u64>()
        .shard_by_within(
            Bound::forget(5),
            |x| x % 7,
            2,
            |p| {
                p.scan(0, |sum, x| {
                    *sum += x;
                    (*x, *sum)
                })
            },
        )
        .windows_by(Window::tumbling(10), |(x, _)| *x)
        .map(|window| window.values.iter().map(|(_, sum)| sum).sum::<u64>())
        .dedup();
    let (last, rings) = last_of(Rings::new().ring(16).batch(5).workers(2), 30);
    let whole = rings.collect((&p).from(source::ready(0..200))).unwrap();
    assert_eq!(whole, p.model(0..200));
    let snapshot = last.lock().unwrap().take().unwrap();
    let (at, output) = (snapshot.at().0, snapshot.output_at().unwrap().0 as usize);
    assert!(at >= 30 && output > 0 && snapshot.stages().count() == 4, "{snapshot:?}");
    let rest = Inline::new(Rings::new().ring(256).resume(snapshot)).collect_slots((&p).from(source::ready(at..200)));
    assert_eq!(rest.unwrap()[output..], p.model_slots(0..200)[output..]);
}

#[test]
fn a_snapshot_of_another_pipeline_is_refused() {
    let (last, rings) = last_of(Rings::new().batch(5), 5);
    let sums = pipeline::<u64>().scan(0_u64, |sum, x| {
        *sum += x;
        *sum
    });
    rings.collect(sums.named("sums").from(source::ready(0..20))).unwrap();
    let snapshot = last.lock().unwrap().take().unwrap();
    let refused = |error: RunError| {
        assert!(matches!(error, RunError::Snapshot(_)), "{error}");
        error.to_string()
    };
    let rings = Rings::new().resume(snapshot);
    let plain = rings.collect(pipeline::<u64>().map(|x| *x).from(source::ready(0..1)));
    assert_eq!(
        refused(plain.unwrap_err()),
        "the snapshot does not fit the pipeline: stage \"sums\" has a state in the snapshot, and the pipeline has no \
         such stage with a state"
    );
    let words = pipeline::<u64>().scan(String::new(), |all, _| all.len()).named("sums");
    assert_eq!(
        refused(rings.collect(words.from(source::ready(0..1))).unwrap_err()),
        "the snapshot does not fit the pipeline: stage \"sums\" has a state of type alloc::string::String, \
         and the snapshot has a u64 for it"
    );
    let two = pipeline::<u64>().delay(0).scan(0_u64, |sum, x| *sum + x).named("sums");
    let error = refused(rings.collect(two.from(source::ready(0..1))).unwrap_err());
    assert!(error.ends_with("stage \"delay-1\" has a state, and the snapshot has none for it"), "{error}");
}

/// A state whose `Clone` panics, once it counts.
#[derive(Debug)]
struct Fragile(Arc<AtomicU64>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert_eq!(self.0.load(Ordering::Relaxed), 0, "it cannot be cloned now");
        Fragile(self.0.clone())
    }
}

#[test]
fn a_state_that_cannot_be_cloned_at_a_mark_fails_the_run() {
    let fragile = Fragile(Arc::default());
    let count = |state: &mut Fragile, _: &u64| state.0.fetch_add(1, Ordering::Relaxed);
    let p = pipeline::<u64>().scan(fragile, count).named("fragile");
    let (last, rings) = last_of(Rings::new().batch(5), 5);
    let error = rings.collect(p.from(source::ready(0..100))).unwrap_err();
    assert!(error.to_string().contains("\"fragile\"") && error.to_string().contains("cannot be cloned"), "{error}");
    assert!(last.lock().unwrap().is_none());
}

#[test]
fn a_snapshot_that_cannot_be_taken_fails_the_run() {
    let rings = Rings::new().batch(5).snapshot_every(5, |_| panic!("the disk is full"));
    let error = rings.collect(pipeline::<u64>().from(source::ready(0..100))).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

#[test]
fn a_loop_goes_on_with_its_state() {
    let p = pipeline::<u64>().feedback(1_u64, |p| p.map(|(x, last): (&u64, &u64)| (x ^ last, x.wrapping_add(*last))));
    let p = p.map(|x| *x);
    // The mark is there before the loop has come to it, in some orders of the steps.
    for seed in 0..20 {
        let (last, rings) = last_of(Rings::new().ring(64).batch(8), 30);
        Stepped::new(rings, seed).collect((&p).from(source::ready(0..100))).unwrap();
        let snapshot = last.lock().unwrap().take().unwrap();
        let at = snapshot.at().0;
        let rest = Rings::new().resume(snapshot).collect((&p).from(source::ready(at..100))).unwrap();
        assert_eq!(rest, p.model(0..100)[at as usize..], "seed {seed}");
    }
}

/// A state whose drop calls back into its run, and counts.
struct CallsBack(u64, Arc<Mutex<Option<Stopper>>>, Arc<AtomicU64>);

impl Clone for CallsBack {
    fn clone(&self) -> Self {
        CallsBack(self.0, self.1.clone(), self.2.clone())
    }
}

impl Drop for CallsBack {
    fn drop(&mut self) {
        self.2.fetch_add(1, Ordering::Relaxed);
        let run = self.1.try_lock().ok().and_then(|run| run.clone());
        run.into_iter().for_each(|run| _ = run.unfinished());
    }
}

#[test]
fn earlier_snapshots_are_dropped_while_the_run_goes_on_and_under_no_lock() {
    let (run, drops): (Arc<Mutex<Option<Stopper>>>, Arc<AtomicU64>) = Default::default();
    let p = pipeline::<u64>().scan(CallsBack(0, run.clone(), drops.clone()), |sum, x| {
        sum.0 += x;
        sum.0
    });
    let (sender, receiver) = source::channel(16);
    let handle = Rings::new().start((&p).from(receiver).to(sink::collect())).unwrap();
    *run.lock().unwrap() = Some(handle.stopper());
    for n in 0..10 {
        sender.send(n).unwrap();
        let snapshot = handle.snapshot().unwrap();
        drop(snapshot);
    }
    // The last one may be kept, and the one before may be under way.
    assert!(drops.load(Ordering::Relaxed) >= 7, "{drops:?}");
    *run.lock().unwrap() = None;
    drop(sender);
    assert_eq!(handle.wait().unwrap().0, p.model(0..10));
}

#[test]
fn a_mark_right_before_end_is_passed_in_a_shard() {
    let p = pipeline::<u64>().shard(3, |p| p.map(|x| x + 1)).map(|x| x + 1);
    for seed in 0..50 {
        let (last, rings) = last_of(Rings::new().ring(16).batch(10), 40);
        Stepped::new(rings, seed).collect((&p).from(source::ready(0..40))).unwrap();
        assert_eq!(last.lock().unwrap().as_ref().map(Snapshot::at), Some(SequenceNumber(40)), "seed {seed}");
    }
}
