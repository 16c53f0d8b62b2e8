//! Snapshots before END: all values, and nothing of what stages make at END.

use millstream_core::{Arrow, ClockExt, KeysExt, ModelExt, SequenceNumber, StreamsExt, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, Snapshot, sink, source};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

/// Sums by key behind a stage that renumbers, and at END how many there were.
macro_rules! sums {
    () => {
        pipeline::<u64>()
            .flat_map(|x: &u64| vec![*x; (*x % 3) as usize])
            .shard_by(
                |x: &u64| x % 5,
                2,
                |p| {
                    p.scan(0_u64, |sum, x| {
                        *sum += x;
                        *sum
                    })
                },
            )
            .scan_finish(
                0_u64,
                |n, sum| {
                    *n += 1;
                    *sum
                },
                |n| Some(n),
            )
    };
}

type Taken = Arc<Mutex<Vec<Snapshot>>>;

fn taking(rings: Rings) -> (Taken, Rings) {
    let taken = Taken::default();
    let takes = taken.clone();
    (taken, rings.snapshot_at_end(move |snapshot| takes.lock().unwrap().push(snapshot)))
}

/// The one snapshot is at this number.
#[track_caller]
fn only(taken: &Taken, at: u64) -> Snapshot {
    let mut taken = std::mem::take(&mut *taken.lock().unwrap());
    assert_eq!(taken.iter().map(Snapshot::at).collect::<Vec<_>>(), [SequenceNumber(at)]);
    taken.remove(0)
}

#[test]
fn a_run_goes_on_with_it_as_if_the_stream_had_not_ended() {
    let p = sums!();
    for (workers, n, every) in [(1, 0, 1000), (1, 100, 1000), (2, 100, 7), (2, 5000, 1), (3, 5000, 1000)] {
        let (taken, rings) = taking(Rings::new().workers(workers).snapshot_every(every, |_| ()));
        assert_eq!(rings.collect((&p).from(source::ready(0..n))).unwrap(), p.model(0..n));
        let snapshot = only(&taken, n);
        let values = p.model(0..n).len() - 1;
        let rest = Rings::new().resume(snapshot).collect((&p).from(n..n + 50)).unwrap();
        assert_eq!(rest, p.model(0..n + 50)[values..], "{workers} workers, {n} values, every {every}");
    }
}

/// A source with a thread, while others ask for snapshots and cuts, and change the pipeline.
#[test]
fn it_is_taken_whatever_else_is_under_way() {
    let p = sums!();
    for n in (0..60).map(|n| n * 7) {
        let (taken, rings) = taking(Rings::new().workers(2).ring(64));
        let run = rings.start((&p).from((0..n).map(|x: u64| x)).to(sink::collect())).unwrap();
        let (snapshots, cuts) = (run.snapshotter(), run.snapshotter());
        let asks =
            [spawn(move || while snapshots.snapshot().is_some() {}), spawn(move || while cuts.cut().is_some() {})];
        // It may come too late.
        let _ = run.upgrade(sums!());
        assert_eq!(run.wait().unwrap().0, p.model(0..n));
        asks.into_iter().for_each(|asks| asks.join().unwrap());
        only(&taken, n);
    }
}

#[test]
fn a_drained_run_has_one_and_a_stopped_or_failed_one_has_none() {
    let sum = || {
        pipeline::<u64>().scan(0_u64, |sum, x| {
            *sum += x;
            *sum
        })
    };
    let (taken, rings) = taking(Rings::new());
    let (sender, receiver) = source::channel(16);
    let run = rings.start((&sum()).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    run.begin_drain();
    run.wait().unwrap();
    only(&taken, 10);

    let (sender, receiver) = source::channel(16);
    let run = rings.start((&sum()).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    run.stop_now().unwrap();
    let fails = sum().map(|x| assert!(*x < 20, "it fails"));
    assert!(rings.collect(fails.from(source::ready(0..10))).is_err());
    // The stage ends the stream, and not the source.
    assert_eq!(rings.collect((&sum().take(3)).from(source::ready(0..1_000_000))).unwrap(), [0, 1, 3]);
    assert_eq!(taken.lock().unwrap().len(), 0);
}
