//! Stages whose functions return futures, on any executor or none.

use futures_executor::block_on;
use futures_util::future::{pending, poll_fn};
use millstream_core::{Arrow, AsyncExt, ModelExt, SequenceNumber, pipeline};
use millstream_exec::{Inline, JobExt, JobRefExt, Rings, RunError, RunOutcome, Runner, Stepped, source};
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Yields `times` times.
async fn yielding(times: u64) {
    for _ in 0..times {
        let mut yielded = false;
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// How many of a thing are alive, and the maximum.
#[derive(Default)]
struct Alive {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct OneAlive(Arc<Alive>);

impl Alive {
    fn one(self: &Arc<Self>) -> OneAlive {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        OneAlive(self.clone())
    }
}

impl Drop for OneAlive {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Doors that a thread opens from outside, in any order.
#[derive(Clone, Default)]
struct Doors(Arc<Mutex<HashMap<u64, Door>>>);

enum Door {
    Open,
    WaitedFor(Waker),
}

impl Doors {
    fn open(&self, n: u64) {
        if let Some(Door::WaitedFor(waker)) = self.0.lock().unwrap().insert(n, Door::Open) {
            waker.wake();
        }
    }

    fn pass(&self, n: u64) -> impl Future<Output = u64> + Send + use<> {
        let doors = self.clone();
        poll_fn(move |cx| {
            let mut all = doors.0.lock().unwrap();
            if let Some(Door::Open) = all.get(&n) {
                return Poll::Ready(n * 10);
            }
            all.insert(n, Door::WaitedFor(cx.waker().clone()));
            Poll::Pending
        })
    }
}

#[test]
fn results_have_their_inputs_numbers_in_any_order_of_completion() {
    let alive = Arc::new(Alive::default());
    let counter = alive.clone();
    let scrambled = move |x: &u64| {
        let (x, one) = (*x, counter.one());
        async move {
            yielding(x.wrapping_mul(0x9E37_79B9) % 17).await;
            drop(one);
            x + 1
        }
    };
    let p = pipeline::<u64>().filter(|x| x % 5 != 0).map_async(7, scrambled).filter_map(|x| (x % 2 == 0).then_some(*x));
    let model = p.model_slots(0..400);
    for slots in [1, 4, 64] {
        for batch in [1, 3, 100] {
            for workers in 1..4 {
                alive.most.store(0, Ordering::SeqCst);
                let rings = Rings::new().ring(slots).batch(batch).workers(workers);
                assert_eq!(rings.collect_slots((&p).from(source::ready(0..400))).unwrap(), model);
                let most = alive.most.load(Ordering::SeqCst);
                assert!(most <= 7, "{most} in flight");
            }
        }
    }
    assert_eq!(alive.now.load(Ordering::SeqCst), 0);
}

/// The doors are opened from the last to the first, so every permitted future must have been started.
#[test]
fn the_limit_is_reached_also_in_a_shard_and_on_a_ring_of_one() {
    for (shards, slots) in [(1, 64), (3, 64), (1, 1), (3, 1)] {
        let (limit, doors) = (4 * shards, Doors::default());
        let (called, calls) = channel();
        let pass = {
            let (doors, called) = (doors.clone(), Mutex::new(called));
            move |x: &u64| {
                called.lock().unwrap().send(*x).unwrap();
                doors.pass(*x)
            }
        };
        let p = pipeline::<u64>().shard(shards, |p| p.map_async(4, pass));
        assert_eq!(p.plan().stages[0].tasklets, 1);
        let push = |all: &mut Vec<u64>, _: SequenceNumber, x: &u64| all.push(*x);
        let rings = Rings::new().workers(2).ring(slots);
        let run = rings.start((&p).from(source::ready(0..limit as u64 * 3)).to_fold(Vec::new(), push)).unwrap();
        for round in 0..3 {
            let numbers = (0..limit as u64).map(|x| round * limit as u64 + x);
            assert!(calls.iter().take(limit).eq(numbers.clone()));
            assert!(calls.try_recv().is_err(), "more than {limit} are in flight");
            numbers.rev().for_each(|x| doors.open(x));
        }
        let (all, report) = run.wait().unwrap();
        assert_eq!(all, (0..limit as u64 * 3).map(|x| x * 10).collect::<Vec<_>>());
        assert_eq!(report.stages[1].moved, limit as u64 * 3 + 1);
    }
}

#[test]
fn an_error_or_a_panic_has_its_number_and_earlier_values_count() {
    let failing = |x: &u64| {
        let x = *x;
        // The later ones fail first.
        async move {
            yielding(100 - x).await;
            match x {
                40 => Err("too much"),
                41 => std::panic::resume_unwind(Box::new("at 41")),
                x => Ok(x),
            }
        }
    };
    let p = pipeline::<u64>().shard(2, |p| p.try_map_async(8, failing)).named("ask");
    let q = pipeline::<u64>().filter(|x| *x != 40).try_map_async(8, failing).named("ask");
    let or_empty = pipeline::<u64>().try_map_async_or_empty(8, failing);
    for workers in 1..3 {
        let rings = Rings::new().workers(workers).batch(16);
        let error = rings.collect((&p).from(0..100)).unwrap_err();
        let (stage, number) = ("ask.try_map_async-1".to_owned(), Some(SequenceNumber(40)));
        assert_eq!(error, RunError::Stage { stage, number, cause: "too much".into() });
        let error = rings.collect((&q).from(0..100)).unwrap_err();
        assert_eq!(error.to_string(), r#"stage "ask", number 41: panicked: at 41"#);
        assert_eq!(rings.collect_slots((&or_empty).from(0..100)).unwrap(), or_empty.model_slots(0..100));
        let (_, report) = rings.run((&or_empty).from(0..100).to_each(|_, _| ())).unwrap();
        assert_eq!(report.stages.iter().map(|stage| stage.failures).sum::<u64>(), 2, "an error and a panic");
    }
    // The function itself panics, not its future.
    let makes = |x: &u64| std::future::ready(10 / (5 - *x));
    let error = pipeline::<u64>().map_async(3, makes).collect(0..).unwrap_err();
    assert_eq!(error.to_string(), r#"stage "map_async-1", number 5: panicked: attempt to divide by zero"#);
}

#[test]
fn ends_value_has_a_future_too() {
    let answer = |x: &u64| {
        let x = *x;
        async move {
            yielding(3).await;
            if x == 45 { Err("fails") } else { Ok(x + 1) }
        }
    };
    let p = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum).try_map_async(1, answer);
    for slots in [1, 8] {
        let rings = Rings::new().ring(slots).workers(2);
        assert_eq!(rings.collect_slots((&p).from(0..5)).unwrap(), p.model_slots(0..5));
        let error = rings.collect((&p).from(0..10)).unwrap_err();
        assert_eq!(error.to_string(), r#"stage "try_map_async-1", number 10: fails"#);
    }
}

/// A run in which some futures never end, and a receiver that reports that they wait.
fn stuck(alive: &Arc<Alive>) -> (millstream_exec::Handle<u64>, Receiver<()>) {
    let (started, starts): (Sender<()>, _) = channel();
    let (counter, started) = (alive.clone(), Mutex::new(started));
    let p = pipeline::<u64>().map_async(4, move |x| {
        let (x, one) = (*x, counter.one());
        started.lock().unwrap().send(()).unwrap();
        async move {
            if x >= 10 {
                pending::<()>().await;
            }
            drop(one);
        }
    });
    let run = Rings::new().workers(2).start((&p).from(0..).to_fold(0, |n: &mut u64, _, ()| *n += 1)).unwrap();
    (run, starts)
}

#[test]
fn futures_in_flight_are_dropped_when_a_run_is_stopped() {
    let alive = Arc::new(Alive::default());
    for round in 0..30 {
        let (run, starts) = stuck(&alive);
        starts.iter().take(14).for_each(drop);
        assert_eq!(alive.now.load(Ordering::SeqCst), 4);
        match round % 3 {
            0 => {
                let (n, report) = run.stop_now().unwrap();
                assert!(n <= 10 && report.outcome == RunOutcome::Stopped);
                assert!(report.stages.iter().any(|stage| stage.name == "map_async-1" && stage.left >= 4));
            }
            1 => assert!(matches!(run.drain(Duration::ZERO), Err(RunError::DrainTimeout { left: 4.. }))),
            _ => drop(run),
        }
        assert_eq!(alive.now.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn draining_finishes_futures_in_flight() {
    let doors = Doors::default();
    let passing = doors.clone();
    let p = pipeline::<u64>().map_async(100, move |x| passing.pass(*x));
    let (sender, receiver) = source::channel(4096);
    let run =
        Rings::new().start((&p).from(receiver).to_fold(Vec::new(), |all: &mut Vec<u64>, _, x| all.push(*x))).unwrap();
    (0..20).for_each(|x| sender.send(x).unwrap());
    run.begin_drain();
    assert!(sender.send(20).is_err());
    (0..20).rev().for_each(|x| doors.open(x));
    let (all, report) = run.wait().unwrap();
    assert_eq!((all.len(), report.outcome), (20, RunOutcome::Drained));
}

#[test]
fn runs_on_the_calling_thread_wait_for_one_future_after_another() {
    let doors = Doors::default();
    let passing = doors.clone();
    let p = pipeline::<u64>().shard(2, |p| p.map_async(4, move |x| passing.pass(*x)));
    let opening = std::thread::spawn(move || (0..20).rev().for_each(|x| doors.open(x)));
    let push = |all: &mut Vec<u64>, _: SequenceNumber, x: &u64| all.push(*x);
    let (inline, _) = Inline::new(Rings::new()).run((&p).from(0..20).to_fold(Vec::new(), push)).unwrap();
    opening.join().unwrap();
    let (stepped, _) =
        Stepped::new(Rings::new().ring(2), 7).run((&p).from(source::ready(0..20)).to_fold(Vec::new(), push)).unwrap();
    assert!(inline == stepped && inline == (0..20).map(|x| x * 10).collect::<Vec<_>>());
    assert_eq!(block_on(async { p.model(0..3) }), [0, 10, 20]);
}

/// Empty slots start no future and do not count towards the limit, and an endless stream of them does not run ahead.
#[test]
fn empty_slots_start_nothing_and_do_not_run_ahead() {
    let doors = Doors::default();
    let passing = doors.clone();
    let (pulled, pulls) = channel();
    let p = pipeline::<u64>().filter(|x| *x == 0).map_async(1, move |x| passing.pass(*x));
    let source = source::ready((0..20_000).inspect(move |x| pulled.send(*x).unwrap_or(())));
    let run = Rings::new().ring(8).workers(2).start((&p).from(source).to_fold(0, |n: &mut u64, _, _| *n += 1)).unwrap();
    // Two rings, the numbers allowed ahead, and nothing more.
    std::thread::sleep(Duration::from_millis(50));
    let ahead = pulls.try_iter().count();
    assert!(ahead <= 8 + 8 + 1, "{ahead}");
    doors.open(0);
    let (n, report) = run.wait().unwrap();
    assert_eq!((n, report.numbers.0), (1, 20_000));
}
