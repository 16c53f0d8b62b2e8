//! Control of runs: workers, draining, stopping, senders.

use millstream_core::{Arrow, AsyncExt, ClockExt, ModelExt, SequenceNumber, pipeline};
use millstream_exec::{
    Inline, JobExt, JobRefExt, Rings, RunError, RunOutcome, Runner, Snapshotter, Source, TrySendError, Wait, fan_in,
    sink, source,
};
use millstream_testkit::within;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{sleep, yield_now};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn workers_change_while_it_runs_and_the_output_does_not() {
    let p = pipeline::<u64>()
        .map(|x| x.wrapping_mul(31))
        .shard(3, |p| p.map(|x| x ^ (x >> 3)).filter(|x| x % 5 != 0))
        .scan(7_u64, |h, x| {
            *h = h.wrapping_mul(31).wrapping_add(*x);
            *h
        })
        .fold(0, |last, h| *last = *h, |last| last);
    let n = 300_000;
    let expected = p.model(0..n)[0];
    let run = Rings::new()
        .ring(64)
        .workers(1)
        .start(p.from(source::ready(0..n)).to_fold(0, |last, _, h| *last = *h))
        .unwrap();
    let mut workers = 1;
    while !run.is_finished() {
        workers = workers % 5 + 1;
        run.set_workers(workers).unwrap();
        assert_eq!(run.workers(), workers);
        std::thread::yield_now();
    }
    let (last, report) = run.wait().unwrap();
    assert_eq!((last, report.outcome, report.numbers), (expected, RunOutcome::End, SequenceNumber(n)));
}

#[test]
fn every_idle_strategy_has_the_same_output() {
    let p = pipeline::<u64>().map(|x| x + 1).fanout(|p| p, |p| p.shard(2, |p| p.map(|x| x * 2))).map(|(a, b)| a + b);
    let expected = p.model(0..300);
    for wait in Wait::ALL {
        for workers in 1..4 {
            let rings = Rings::new().ring(16).workers(workers).wait(wait);
            assert_eq!(rings.collect((&p).from(0..300)).unwrap(), expected, "{wait}, {workers} workers");
        }
    }
}

#[test]
fn draining_finishes_accepted_values_also_while_the_source_waits() {
    let (values, source) = channel::<u64>();
    let (seen, sees) = channel();
    let p = pipeline::<u64>().map(|x| x * 2).fold(0, |sum, x| *sum += x, |sum| sum);
    let (sender, sink) = (seen.clone(), seen);
    let source = source.into_iter().inspect(move |_| sender.send(()).unwrap());
    let run = Rings::new().workers(2).start((&p).from(source).to_fold(0, |all, _, sum| *all = *sum)).unwrap();
    drop(sink);
    (1..=10).for_each(|x| values.send(x).unwrap());
    (1..=10).for_each(|_| sees.recv().unwrap());
    // The eleventh value never comes, and the source's thread waits for it.
    let (sum, report) = run.drain(LONG).unwrap();
    assert_eq!(report.outcome, RunOutcome::Drained);
    // The tenth was taken from the source, and may not have been accepted yet.
    assert!(sum == 110 && report.numbers.0 <= 10 || sum == 90, "{sum}");
    drop(values);
}

#[test]
fn an_endless_run_drains_to_a_prefix() {
    let p = pipeline::<u64>().map(|x| x + 1).shard(2, |p| p.map(|x| x - 1)).fold(0, |n, _| *n += 1, |n| n);
    for workers in 1..3 {
        for ready in [true, false] {
            let rings = Rings::new().workers(workers).ring(32);
            let count = |n: &mut u64, _: SequenceNumber, count: &u64| *n = *count;
            let run = if ready {
                rings.start((&p).from(source::ready(0..)).to_fold(0, count))
            } else {
                rings.start((&p).from(0..).to_fold(0, count))
            };
            let (n, report) = run.unwrap().drain(LONG).unwrap();
            assert_eq!((report.outcome, report.numbers), (RunOutcome::Drained, SequenceNumber(n)));
            assert!(report.stages.iter().all(|stage| stage.left == 0), "{report:?}");
        }
    }
}

#[test]
fn a_stopped_run_reports_what_it_left() {
    let p = pipeline::<u64>().map(|x| x + 1).named("increment");
    let (go, went) = channel::<()>();
    let (seen, sees) = channel();
    let sink = move |n: &mut u64, _: SequenceNumber, _: &u64| {
        *n += 1;
        seen.send(()).unwrap();
        went.recv().unwrap_or(());
    };
    let run = Rings::new().workers(2).ring(8).batch(1).start((&p).from(source::ready(0..)).to_fold(0, sink)).unwrap();
    sees.recv().unwrap();
    drop(go);
    let (values, report) = run.stop_now().unwrap();
    assert_eq!((report.outcome, report.values), (RunOutcome::Stopped, values));
    assert_eq!(report.stages.iter().map(|stage| &*stage.name).collect::<Vec<_>>(), ["source", "increment", "sink"]);
    let sum_left: u64 = report.stages.iter().map(|stage| stage.left).sum();
    assert_eq!(report.stages[0].moved - values, sum_left, "{report:?}");
}

/// Accepted, passed on and left, at every stage, for every kind of source: on a worker, on a thread of its own, a
/// sender.
#[test]
fn reports_count_from_the_source_to_the_sink() {
    let p = pipeline::<u64>().map(|x| x + 1).filter(|x| x % 2 == 0);
    let (sender, receiver) = source::channel(4096);
    let fed = Rings::new().start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    (0..10).for_each(|x| sender.send(x).unwrap());
    drop(sender);
    let waiting = Rings::new().start((&p).from(0..10).to_each(|_, _| ())).unwrap();
    let ready = Rings::new().start((&p).from(source::ready(0..10)).to_each(|_, _| ())).unwrap();
    for run in [fed, waiting, ready] {
        let ((), report) = run.wait().unwrap();
        let stages: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.moved, stage.left)).collect();
        assert_eq!(stages, [("source", 11, 0), ("map-1", 11, 0), ("filter-1", 11, 0), ("sink", 11, 0)]);
    }
    // Values that need dropping have a tasklet for it, which is not listed twice.
    let p = pipeline::<String>().map(String::len);
    let report = Rings::new().for_each(p.from((0..10).map(|x| x.to_string())), |_, _| ()).unwrap();
    assert_eq!(report.stages.iter().map(|stage| stage.moved).collect::<Vec<_>>(), [11; 3]);
    assert_eq!(report.tasklets, 3);
}

#[test]
fn dropping_a_handle_stops_the_run() {
    let p = pipeline::<u64>().map(|x| x + 1);
    for _ in 0..50 {
        drop(Rings::new().workers(2).ring(4).start((&p).from(0..).to_each(|_, _| ())).unwrap());
    }
}

#[test]
fn a_sender_feeds_from_any_thread_and_returns_values_without_room() {
    let p = pipeline::<String>().map(|s| s.len());
    let push = |all: &mut Vec<usize>, _: SequenceNumber, n: &usize| all.push(*n);
    let (sender, receiver) = source::channel(2);
    let run = Rings::new().ring(2).start((&p).from(receiver).to_fold(Vec::new(), push)).unwrap();
    std::thread::spawn(move || (0..1000).for_each(|n| sender.send("x".repeat(n)).unwrap())).join().unwrap();
    assert_eq!(run.wait().unwrap().0, (0..1000).collect::<Vec<_>>());

    let (gate, opened) = channel::<()>();
    let slow = pipeline::<u64>().map_blocking({
        let opened = std::sync::Mutex::new(opened);
        move |x| {
            opened.lock().unwrap().recv().unwrap_or(());
            *x
        }
    });
    let (sender, receiver) = source::channel(2);
    let run = Rings::new().ring(2).start((&slow).from(receiver).to_fold(0, |n: &mut u64, _, _| *n += 1)).unwrap();
    let mut accepted = 0;
    let full = loop {
        match sender.try_send(7) {
            Ok(()) => accepted += 1,
            Err(full) => break full,
        }
    };
    assert_eq!(full, TrySendError::Full { value: 7, missing: 1 });
    assert_eq!(full.to_string(), "the ring is full: 1 more slots are needed");
    drop((gate, sender));
    assert_eq!(run.wait().unwrap().0, accepted);
}

#[test]
fn a_sender_whose_run_was_drained_or_failed_gets_its_value_back() {
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start(pipeline::<u64>().from(receiver).to_each(|_, _| ())).unwrap();
    run.drain(LONG).unwrap();
    assert_eq!(sender.send(9).unwrap_err().0, 9);
    let p = pipeline::<u64>().map(|x| 1 / x);
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    sender.send(0).unwrap();
    assert!(run.wait().is_err());
    assert_eq!(sender.send(9).unwrap_err().0, 9);
}

/// A receiver and a poller fill the ring by themselves, also with `few` around them.
#[test]
fn a_drain_of_few_takes_what_was_sent() {
    fn drained<X: Source<u64> + Send + 'static>(send: impl Fn(u64) -> bool, source: X) {
        let (opens, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let stuck = pipeline::<u64>().map_blocking(move |x| gate.lock().unwrap().recv().map_or(*x, |()| *x));
        let run = Rings::new().ring(2).start(stuck.from(source).to(sink::collect())).unwrap();
        assert!((0..10).all(&send));
        run.begin_drain();
        assert!(!send(10), "it takes no more");
        drop(opens);
        let (all, report) = run.wait().unwrap();
        assert_eq!((all, report.outcome), ((0..10).collect(), RunOutcome::Drained));
    }
    let (sender, receiver) = source::channel(16);
    drained(|x| sender.send(x).is_ok(), source::few::<1, _>(receiver));
    let (senders, poller) = fan_in(2).ring(16).open(&Rings::new()).unwrap();
    drained(|x| senders[0].send(x).is_ok(), source::few::<1, _>(poller));
}

/// Sending, draining and dropping a sender drop released values, and must not receive the panics of others.
#[test]
fn a_drop_that_panics_in_a_sender_fails_only_the_run() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 {
                std::panic::resume_unwind(Box::new("boom"));
            }
        }
    }
    for round in 0..100 {
        let (seen, sees) = channel();
        let sink = move |(): &mut (), _: SequenceNumber, _: &Bomb| seen.send(()).unwrap_or(());
        let (sender, receiver) = source::channel(1);
        let run = Rings::new().ring(1).start(pipeline::<Bomb>().from(receiver).to_fold((), sink)).unwrap();
        sender.send(Bomb(true)).unwrap();
        sees.recv().unwrap();
        match round % 4 {
            0 => assert!(sender.send(Bomb(false)).is_err() || sender.free() == 0),
            1 => assert!(sender.free() <= 1),
            2 => run.begin_drain(),
            _ => {}
        }
        drop(sender);
        let error = run.wait().unwrap_err().to_string();
        assert_eq!(error, r#"stage "source": panicked: boom"#, "round {round}");
    }
}

/// The drop of a value is user code as well, also when a stage that has ended is dropped.
#[test]
fn a_drop_that_panics_ends_the_run_without_a_hang() {
    struct Bomb(u64);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 == 70 {
                std::panic::resume_unwind(Box::new("boom"));
            }
        }
    }
    let p = pipeline::<Bomb>().map(|bomb| bomb.0).map(|x| x + 1);
    for workers in 1..4 {
        for slots in [4, 1024] {
            let rings = Rings::new().workers(workers).ring(slots);
            let error = rings.for_each((&p).from(source::ready((0..100).map(Bomb))), |_, _| ()).unwrap_err();
            assert!(error.to_string().ends_with("panicked: boom"), "{error}");
            let error = Inline::new(rings.clone()).run((&p).from((0..100).map(Bomb)).to_each(|_, _| ())).unwrap_err();
            assert!(error.to_string().ends_with("panicked: boom"), "{error}");
        }
    }
}

#[test]
fn a_run_on_the_calling_thread_starts_no_other() {
    let sinks = |all: &mut std::collections::HashSet<_>, _: SequenceNumber, _: &u64| {
        all.insert(std::thread::current().id());
    };
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| x * 2);
    let rings = Rings::new().batch(16);
    // Long enough for a review of the placement.
    let (threads, report) = Inline::new(rings.clone())
        .run((&p).from(source::ready(0..500_000)).to_fold(Default::default(), sinks))
        .unwrap();
    assert_eq!(threads.into_iter().collect::<Vec<_>>(), [std::thread::current().id()]);
    assert_eq!(report.stages.iter().map(|stage| stage.moved).collect::<Vec<_>>(), [500_001; 4]);
}

#[test]
fn draining_can_take_for_ever() {
    let run = Rings::new().start(pipeline::<u64>().from(0..).to_fold(0, |n: &mut u64, _, _| *n += 1)).unwrap();
    let (n, report) = run.drain(Duration::MAX).unwrap();
    assert_eq!(report.numbers, SequenceNumber(n));
}

#[test]
fn a_stage_that_holds_up_the_end_of_a_run_is_named() {
    let (let_go, held) = channel::<()>();
    let (entered, has_entered) = channel();
    let held = Mutex::new(held);
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .map_blocking(move |x| {
            entered.send(()).unwrap();
            let _ = held.lock().unwrap().recv();
            *x
        })
        .named("stuck");
    let run = Rings::new().workers(1).start((&p).from(0..3).to_each(|_, _| ())).unwrap();
    let stopper = run.stopper();
    let stuck = || stopper.unfinished().into_iter().any(|stage| stage.stage == "stuck" && stage.in_step == Some(true));
    has_entered.recv().unwrap();
    let ending = std::thread::spawn(move || run.drain(Duration::from_millis(1)));
    while stopper.unfinished().iter().any(|stage| stage.stage != "stuck" && stage.in_step == Some(true)) {
        std::thread::yield_now();
    }
    assert!(stuck() && !ending.is_finished(), "it waits for the closure");
    drop(let_go);
    match ending.join().unwrap() {
        // If that thread was late, nothing was left to drain.
        Ok(((), report)) => assert!(matches!(report.outcome, RunOutcome::End | RunOutcome::Drained), "{report:?}"),
        Err(failure) => assert!(matches!(failure, RunError::DrainTimeout { .. }), "{failure}"),
    }
    assert_eq!(stopper.unfinished(), []);
}

/// Also while another thread waits for the run: the run's threads are then being joined.
#[test]
fn a_closure_of_a_run_that_waits_for_it_panics() {
    let ended = within(LONG, || {
        let waits: Arc<OnceLock<Snapshotter>> = Arc::default();
        let (is_there, is_waited_for) = (waits.clone(), Arc::new(AtomicBool::new(false)));
        let begins = is_waited_for.clone();
        let p = pipeline::<u64>().map(move |x| {
            while !begins.load(Ordering::Acquire) {
                yield_now();
            }
            // The other thread begins to join.
            sleep(Duration::from_millis(50));
            is_there.get().map_or(*x, |waits| waits.cut().map_or(*x, |at| at.0.0))
        });
        let run = Rings::new().workers(1).start(p.from(source::ready(0..10)).to_each(|_, _| ())).unwrap();
        assert!(waits.set(run.snapshotter()).is_ok());
        is_waited_for.store(true, Ordering::Release);
        run.wait().unwrap_err().to_string()
    });
    let said = ended.unwrap();
    assert!(said.contains("a closure of a run waits for the run, which waits for the closure"), "{said}");
}

#[test]
fn a_drain_that_times_out_reports_how_much_was_left() {
    // No result ever comes.
    let p = pipeline::<u64>().map_async(8, |_| std::future::pending::<u64>());
    let start = || {
        let (sender, receiver) = source::channel(4096);
        let run = Rings::new().start((&p).from(receiver).to_fold(0, |n, _, _| *n += 1)).unwrap();
        sender.send_all(0..5).unwrap();
        run
    };
    let overdue = |left| RunError::DrainTimeout { left };
    assert_eq!(start().drain(Duration::ZERO).unwrap_err(), overdue(5));
    let ended = start().drain_join(Duration::from_millis(1));
    assert_eq!((ended.output, ended.report.outcome, ended.failure), (Some(0), RunOutcome::Stopped, Some(overdue(5))));
    let run = start();
    let stopper = run.stopper();
    assert!(!stopper.drain_within(Duration::ZERO));
    assert_eq!(run.wait().unwrap_err(), overdue(5));
    assert!(stopper.drain_within(Duration::ZERO), "it has ended");
    // A caller that asks for a stop knows.
    assert_eq!(start().stop_now().unwrap().1.outcome, RunOutcome::Stopped);

    let (senders, poller) = fan_in(2).open(&Rings::new()).unwrap();
    let run = Rings::new().start((&p).from(poller).to_fold(0, |n, _, _| *n += 1)).unwrap();
    senders[0].send_all(0..3).unwrap();
    senders[1].send(3).unwrap();
    assert_eq!(run.drain(Duration::ZERO).unwrap_err(), overdue(4));

    let twice = pipeline::<u64>().flat_map(|x| [*x, *x]).map_async(8, |_| std::future::pending::<u64>());
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start((&twice).from(receiver).to_fold(0, |n, _, _| *n += 1)).unwrap();
    sender.send_all(0..3).unwrap();
    let failure = run.drain(Duration::ZERO).unwrap_err();
    assert!((3..=6).any(|left| failure == overdue(left)), "{failure}");

    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start(pipeline::<u64>().from(receiver).to_fold(0, |n, _, _| *n += 1)).unwrap();
    sender.send_all(0..5).unwrap();
    assert!(run.stopper().drain_within(LONG));
    let (n, report) = run.wait().unwrap();
    assert_eq!((n, report.outcome), (5, RunOutcome::Drained));
}
