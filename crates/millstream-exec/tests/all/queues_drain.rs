//! Runs on queues that senders feed, and that are drained.

use millstream_core::{Arrow, SequenceNumber, StreamsExt, pipeline};
use millstream_exec::{JobExt, JobRefExt, Queues, Rings, RunError, RunOutcome, Runner, Source, fan_in, source};
use millstream_testkit::within;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn push(all: &mut Vec<u64>, _: SequenceNumber, x: &u64) {
    all.push(*x);
}

/// Every value that a sender accepted comes out, although it waits in the sender's own queue when the drain begins.
#[test]
fn a_drain_on_queues_takes_what_was_sent() {
    fn drained<X: Source<u64> + Send + 'static>(send: impl Fn(u64) -> bool, source: X) {
        let (opens, gate) = mpsc::sync_channel(0);
        let gate = Mutex::new(gate);
        let slow = pipeline::<u64>().map(move |x| {
            if *x == 0 {
                let () = gate.lock().unwrap().recv().unwrap();
            }
            *x
        });
        let run = Queues::new().capacity(1).start((&slow).from(source).to_fold(Vec::new(), push)).unwrap();
        assert!((0..10).all(&send));
        let stopper = run.stopper();
        stopper.drain();
        assert!(!send(10), "it takes no more");
        opens.send(()).unwrap();
        let (all, report) = run.wait().unwrap();
        assert_eq!((all.len(), report.outcome), (10, RunOutcome::Drained));
    }
    within(LONG, || {
        let (sender, receiver) = source::channel(16);
        drained(|x| sender.send(x).is_ok(), receiver);
        let (senders, poller) = fan_in(2).ring(16).open(&Rings::new()).unwrap();
        drained(|x| senders[0].send(x).is_ok(), poller);
    })
    .unwrap();
}

/// A drain whose time is over says how much of what was accepted is left, what waits at the sender's included.
#[test]
fn a_drain_on_queues_counts_what_was_sent() {
    within(LONG, || {
        let (opens, gate) = mpsc::channel();
        let gate = Mutex::new(gate);
        let stuck = pipeline::<u64>().map(move |x| gate.lock().unwrap().recv().map_or(*x, |()| *x));
        let (sender, receiver) = source::channel(16);
        let run = Queues::new().capacity(1).start((&stuck).from(receiver).to_fold(Vec::new(), push)).unwrap();
        sender.send_all(0..10).unwrap();
        let stopper = run.stopper();
        let late = thread::spawn(move || stopper.drain_within(Duration::from_millis(1)));
        assert!(!late.join().unwrap());
        drop(opens);
        let ended = run.join();
        // The value in the stage may still come out.
        let left = 10 - ended.output.unwrap().len() as u64;
        assert_eq!(ended.failure, Some(RunError::DrainTimeout { left }));
    })
    .unwrap();
}

/// A sender whose run takes no more gets its value back, although the source's thread waits for what it sends.
#[test]
fn a_sender_whose_run_on_queues_is_over_gets_its_value_back() {
    #[derive(Clone, Copy)]
    enum By {
        Stop,
        Panic,
        Take,
    }
    fn over<X: Source<u64> + Send + 'static>(by: By, send: impl Fn(u64) -> bool, source: X) {
        let p = pipeline::<u64>().map(|x| 6 / x).take(2);
        let run = Queues::new().start(p.from(source).to_each(|_, _| ())).unwrap();
        match by {
            By::Stop => assert_eq!(run.stop_now().unwrap().1.outcome, RunOutcome::Stopped),
            By::Panic => {
                assert!(send(0));
                assert!(run.wait().is_err());
            }
            By::Take => {
                assert!(send(1) && send(2));
                assert_eq!(run.wait().unwrap().1.outcome, RunOutcome::End);
            }
        }
        assert!(!send(3), "it takes no more");
    }
    within(LONG, || {
        for by in [By::Stop, By::Panic, By::Take] {
            let (sender, receiver) = source::channel(16);
            over(by, |x| sender.send(x).is_ok(), receiver);
            let (senders, poller) = fan_in(2).ring(16).open(&Rings::new()).unwrap();
            over(by, |x| senders[0].send(x).is_ok(), poller);
        }
    })
    .unwrap();
}

/// Each stage once, whatever copies it has, and none of the threads that join them.
#[test]
fn a_run_on_queues_lists_the_stages_of_its_plan_that_have_not_ended() {
    let p = pipeline::<u64>().shard(2, |p| p.map(|x| *x).named("first").map(|x| *x).named("then"));
    let (sender, receiver) = source::channel(16);
    let run = Queues::new().start(p.from(receiver).to_fold(Vec::new(), push)).unwrap();
    let stopper = run.stopper();
    let unfinished: Vec<_> = stopper.unfinished().into_iter().map(|stage| stage.stage).collect();
    assert_eq!(unfinished, ["first", "then", "sink"]);
    drop(sender);
    run.wait().unwrap();
    assert_eq!(stopper.unfinished(), []);
}
