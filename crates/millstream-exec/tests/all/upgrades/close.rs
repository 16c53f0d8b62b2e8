//! Planned upgrades close to one another, to a snapshot, or to END: each begins at its number all the same.

use super::number;
use millstream_core::{Arrow, AsyncExt, ClockExt, StreamsExt, pipeline};
use millstream_exec::{Inline, JobExt, Rings, RunError, Runner, Stepped, fan_in, sink, source};
use millstream_testkit::within;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The versions that follow one another at these numbers stamp their values.
const AT: [u64; 7] = [0, 5, 6, 6, 7, 20, 40];

macro_rules! version {
    ($which:expr) => {{
        let which = $which;
        pipeline::<u64>().map(|x| *x).shard(2, |p| p.map(|x| *x)).map(move |x| (which, *x)).named("stamp")
    }};
}

fn changing(rings: Rings) -> Rings {
    AT.iter().zip(1_usize..).fold(rings, |rings, (at, which)| rings.upgrade_at(number(*at), version!(which)))
}

fn stamped(n: u64) -> Vec<(usize, u64)> {
    (0..n).map(|x| (AT.iter().filter(|at| **at <= x).count(), x)).collect()
}

/// The numbers of the values, of END and of the changes coincide in some of these.
const LENGTHS: [u64; 9] = [0, 1, 5, 6, 7, 8, 20, 40, 50];

#[test]
fn changes_close_to_one_another_begin_at_their_numbers() {
    let all = || {
        for (n, ring, batch) in LENGTHS.iter().flat_map(|n| [(*n, 1, 1), (*n, 16, 16), (*n, 64, 8)]) {
            let plain = changing(Rings::new().ring(ring).batch(batch).workers(2));
            let often = plain.clone().snapshot_every(3, drop);
            for rings in [plain, often] {
                assert_eq!(rings.collect(version!(0).from(source::ready(0..n))), Ok(stamped(n)));
                assert_eq!(rings.collect(version!(0).from(0..n)), Ok(stamped(n)), "by a thread");
                assert_eq!(Inline::new(rings.clone()).collect(version!(0).from(0..n)), Ok(stamped(n)), "inline");
                for seed in 0..10 {
                    let stepped = Stepped::new(rings.clone(), seed).collect(version!(0).from(source::ready(0..n)));
                    assert_eq!(stepped, Ok(stamped(n)), "seed {seed}");
                }
                let (mut senders, poller) = fan_in::<u64>(1).open(&rings).unwrap();
                let sender = senders.remove(0);
                let feeds = std::thread::spawn(move || sender.send_all(0..n).unwrap());
                assert_eq!(rings.collect(version!(0).from(poller)), Ok(stamped(n)), "by a producer");
                feeds.join().unwrap();
            }
        }
    };
    within(Duration::from_secs(120), all).unwrap();
}

/// By a sender that ends before the run begins, and by ones that send meanwhile.
#[test]
fn a_channel_before_changes_close_to_one_another_keeps_its_values() {
    let all = || {
        for n in LENGTHS {
            let rings = changing(Rings::new().workers(2).snapshot_every(2, drop));
            let (sender, receiver) = source::channel(64);
            sender.send_all(0..n).unwrap();
            drop(sender);
            assert_eq!(rings.collect(version!(0).from(receiver)), Ok(stamped(n)), "before");
            let (sender, receiver) = source::channel(2);
            let run = rings.start(version!(0).from(receiver).to(sink::collect())).unwrap();
            for x in 0..n {
                if x % 3 == 0 {
                    futures_executor::block_on(async {
                        sender.room().await.unwrap();
                        sender.send_async(x).await.unwrap();
                    });
                } else {
                    sender.send(x).unwrap();
                }
            }
            assert_eq!(sender.sent(), n);
            drop(sender);
            assert_eq!(run.wait().unwrap().0, stamped(n), "meanwhile");
            let (sender, receiver) = source::channel(64);
            let run = rings.start(version!(0).from(receiver).to(sink::collect())).unwrap();
            sender.send_all(0..n).unwrap();
            let (all, report) = run.drain(Duration::from_secs(60)).unwrap();
            assert_eq!((all, report.stages[0].moved), (stamped(n), n + 1), "drained");
        }
    };
    within(Duration::from_secs(120), all).unwrap();
}

/// A `take` that ends the stream before a change lets everything upstream of it go: senders, and their values.
#[test]
fn a_stream_that_is_cut_before_a_change_does_not_hold_its_sender() {
    let all = || {
        for end in [4, 5, 6, 30] {
            let cut = |which| version!(which).take(end).named("take");
            let rings = [5, 6, 7, 31, 33].iter().zip(1_usize..);
            let rings =
                rings.fold(Rings::new().ring(4), |rings, (at, which)| rings.upgrade_at(number(*at), cut(which)));
            let (sender, receiver) = source::channel(4);
            let run = rings.start(cut(0).from(receiver).to(sink::collect())).unwrap();
            let sent = (0..100).take_while(|x| sender.send(*x).is_ok()).count();
            assert!(sent >= end && sender.send(0).is_err());
            let all = run.wait().unwrap().0;
            assert_eq!(all.iter().map(|(_, x)| *x).collect::<Vec<_>>(), (0..end as u64).collect::<Vec<_>>());
        }
    };
    within(Duration::from_secs(60), all).unwrap();
}

struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Values wait for the mark of a change before a stage that never reaches the mark.
#[test]
fn a_stopped_run_drops_what_waited_for_a_change() {
    let dropped: Arc<AtomicU64> = Arc::default();
    let (entered, enters) = std::sync::mpsc::channel();
    let (opens, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let stuck = pipeline::<Counted>().map_blocking(move |_| {
        entered.send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
    });
    let next = || pipeline::<Counted>().map(|_| ());
    let (sender, receiver) = source::channel(16);
    for _ in 0..10 {
        sender.send(Counted(dropped.clone())).unwrap();
    }
    let rings = Rings::new().upgrade_at(number(2), next()).upgrade_at(number(4), next());
    let run = rings.start(stuck.from(receiver).to_each(|_, ()| ())).unwrap();
    enters.recv().unwrap();
    let stopper = run.stopper();
    stopper.stop_now();
    drop(opens);
    let ended = run.join();
    assert_eq!(ended.failure, None);
    // The sender keeps none of them.
    assert_eq!((dropped.load(Ordering::Relaxed), sender.sent()), (10, 10));
}

/// END waits for its change, too.
#[test]
fn the_last_of_several_changes_at_end_speaks() {
    let last = |plus: u64| pipeline::<u64>().fold(0, |sum, x| *sum += x, move |sum| sum + plus).named("sum");
    let all = move || {
        for _ in 0..50 {
            let rings = [8, 9, 10, 10, 11].iter().zip(1..);
            let rings =
                rings.fold(Rings::new().workers(2), |rings, (at, plus)| rings.upgrade_at(number(*at), last(plus)));
            assert_eq!(rings.last(last(0).from(source::ready(0..10))), Ok(Some(45 + 4)));
            assert_eq!(rings.last(last(0).from(0..10)), Ok(Some(45 + 4)), "by a thread");
            let (sender, receiver) = source::channel(16);
            sender.send_all(0..10).unwrap();
            drop(sender);
            assert_eq!(rings.last(last(0).from(receiver)), Ok(Some(45 + 4)), "by a channel");
        }
    };
    within(Duration::from_secs(60), all).unwrap();
}

/// What waits for a change was accepted: it is counted where it is lost.
#[test]
fn a_drain_that_is_too_short_counts_what_waits_for_a_change() {
    let stuck = || pipeline::<u64>().map_async(16, |_| std::future::pending::<u64>());
    let renumbered = || stuck().flat_map(|x| [*x, *x]);
    let too_short = Some(RunError::DrainTimeout { left: 10 });
    let (sender, receiver) = source::channel(16);
    sender.send_all(0..10).unwrap();
    let rings = Rings::new().upgrade_at(number(2), stuck()).upgrade_at(number(4), stuck());
    let run = rings.start(stuck().from(receiver).to(sink::collect())).unwrap();
    let ended = run.drain_join(Duration::from_millis(20));
    assert_eq!(ended.failure, too_short);
    let source = &ended.report.stages[0];
    assert_eq!((&*source.name, source.moved, source.left), ("source", 4, 6));
    assert_eq!(sender.sent(), 10);
    let (sender, receiver) = source::channel(16);
    sender.send_all(0..10).unwrap();
    let rings = Rings::new().upgrade_at(number(2), renumbered()).upgrade_at(number(4), renumbered());
    let run = rings.start(renumbered().from(receiver).to(sink::collect())).unwrap();
    assert_eq!(run.drain_join(Duration::from_millis(20)).failure, too_short, "on a new clock");
    // END waits, and was not counted before it is published.
    let rings = Rings::new().upgrade_at(number(10), stuck()).upgrade_at(number(10), stuck());
    let given: Arc<AtomicU64> = Arc::default();
    let counts = given.clone();
    let values = (0..11_u64).inspect(move |_| _ = counts.fetch_add(1, Ordering::Relaxed)).take(10);
    let run = rings.start(stuck().from(source::ready(values)).to(sink::collect())).unwrap();
    while given.load(Ordering::Relaxed) < 10 {
        std::thread::yield_now();
    }
    assert_eq!(run.drain_join(Duration::from_millis(20)).failure, too_short, "of a ready source");
}

/// A permit that comes back where its value is dropped.
struct Permit(Arc<AtomicU64>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Values are dropped while the source waits at the number of a change.
#[test]
fn a_source_that_waits_for_a_change_keeps_no_values_alive() {
    let dropped: Arc<AtomicU64> = Arc::default();
    let version = || {
        let dropped = dropped.clone();
        let waits = pipeline::<(u64, Permit)>().map_blocking(move |(n, _)| {
            while *n == 3 && dropped.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            *n
        });
        waits.named("waits")
    };
    let made = dropped.clone();
    let rings = Rings::new().workers(1).upgrade_at(number(4), version()).upgrade_at(number(6), version());
    let job = version().from(source::ready((0..10).map(move |n| (n, Permit(made.clone())))));
    assert_eq!(within(Duration::from_secs(30), move || rings.collect(job)), Ok(Ok((0..10).collect())));
}
