//! Producers that come and go, waiting, and costs.

use super::{assert_complete, send_unevenly};
use millstream_core::{Arrow, StreamsExt, pipeline};
use millstream_exec::{
    FanIn, FromProducer, JobExt, JobRefExt, JoinError, MergeLog, OptionsError, Polled, Rings, RunError, RunOutcome,
    Runner, SendError, Sender, Wait, fan_in, source,
};
use millstream_testkit::within;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::{spawn, yield_now};
use std::time::Duration;

#[test]
fn producers_come_and_go_while_it_runs() {
    for several in [false, true] {
        let of = fan_in(1).at_most(3).ring(8);
        let of = if several { of.shared() } else { of };
        let p = pipeline::<(u32, u64)>();
        let (mut senders, poller) = of.open(&Rings::new()).unwrap();
        let run = Rings::new().start(p.from(poller).to_fold(Vec::new(), |all, _, x| all.push(*x))).unwrap();
        let first = senders.pop().unwrap();
        let mut counts = vec![0];
        for round in 1..20 {
            let sender = loop {
                match first.add_producer() {
                    Err(JoinError::Full(3)) => yield_now(),
                    joined => break joined.unwrap(),
                }
            };
            assert_eq!(sender.producer(), round);
            counts.push(u64::from(round) * 5);
            spawn(move || send_unevenly(sender, u64::from(round) * 5));
        }
        drop(first);
        assert_complete(&run.wait().unwrap().0, &counts);
    }
}

/// A producer that is gone makes room in a replay as well, even if it has sent nothing.
#[test]
fn a_replay_has_room_for_new_producers() {
    let choices: MergeLog = [(0, 1), (2, 1), (0, 1)].into_iter().collect();
    let (mut senders, mut poller) = fan_in(2).at_most(2).replay(choices).open(&Rings::new()).unwrap();
    senders[0].send_all([1, 3]).unwrap();
    senders.truncate(1);
    let mut all = Vec::new();
    poller.poll(|_, x| all.push(x)).unwrap();
    let third = senders[0].add_producer().unwrap();
    third.send(2).unwrap();
    drop(third);
    while poller.poll(|_, x| all.push(x)).unwrap() != Polled::Ended {}
    assert_eq!(all, [1, 2, 3]);

    let choices: MergeLog = [(0, 1), (1, 1), (0, 1)].into_iter().collect();
    let (mut senders, mut poller) = fan_in(2).replay(choices).open(&Rings::new()).unwrap();
    senders[0].send(1).unwrap();
    drop(senders.remove(0));
    poller.poll(|_, _| ()).unwrap();
    senders[0].send(2).unwrap();
    let failed = poller.for_each(|_, _| ()).unwrap_err().to_string();
    assert!(failed.ends_with("the record has 1 more values of producer 0, which has ended"), "{failed}");
}

#[test]
fn there_are_never_more_than_at_most() {
    let (mut senders, mut poller) = fan_in(2).at_most(3).open(&Rings::new()).unwrap();
    let third = senders[0].add_producer().unwrap();
    assert_eq!(senders[0].add_producer().unwrap_err(), JoinError::Full(3));
    third.send(1).unwrap();
    drop(third);
    // Its ring is not empty yet.
    assert_eq!(senders[0].add_producer().unwrap_err(), JoinError::Full(3));
    poller.poll(|_, _| ()).unwrap();
    poller.poll(|_, _| ()).unwrap();
    assert_eq!(senders[0].add_producer().unwrap().producer(), 3);
    let last = senders.pop().unwrap();
    drop(senders);
    poller.drain();
    assert_eq!(last.add_producer().unwrap_err(), JoinError::Ended);
    assert!(last.send(1).is_err());
    assert_eq!(poller.poll(|_, _| ()).unwrap(), Polled::Ended);
    let (alone, receiver) = source::channel(4096);
    let _run = Rings::new().start(pipeline::<u64>().from(receiver).to_each(|_, _| ())).unwrap();
    assert_eq!(alone.add_producer().unwrap_err(), JoinError::One);
}

#[test]
fn a_producer_that_panics_is_named() {
    for several in [false, true] {
        let of = fan_in(3);
        let of = if several { of.shared() } else { of };
        let (mut senders, poller) = of.open(&Rings::new()).unwrap();
        let run = Rings::new().start(pipeline().from(poller).to_each(|_, _: &u64| ())).unwrap();
        let dying = senders.remove(1);
        let thread = std::thread::Builder::new().name("feeder".to_owned()).spawn(move || {
            dying.send_all([1, 2]).unwrap();
            std::panic::resume_unwind(Box::new("meant to panic"));
        });
        assert!(thread.unwrap().join().is_err());
        let failed = run.wait().unwrap_err();
        assert_eq!(failed.to_string(), "stage \"producer 1\", number 2: its thread \"feeder\" panicked");
        assert!(senders[0].send(1).is_err());
    }
}

#[test]
fn an_iterator_that_panics_has_sent_its_earlier_values() {
    let (mut senders, mut poller) = fan_in(1).open(&Rings::new()).unwrap();
    let sender = senders.pop().unwrap();
    let values = (0..10).map(|n| if n == 3 { std::panic::resume_unwind(Box::new("meant to panic")) } else { n });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sender.send_all(values))).is_err());
    sender.send(77).unwrap();
    drop(sender);
    let mut all = Vec::new();
    poller.for_each(|_, n| all.push(n)).unwrap();
    assert_eq!(all, [0, 1, 2, 77]);
}

#[test]
fn a_drain_finishes_sent_values_and_takes_no_more() {
    for several in [false, true] {
        let of = fan_in(3).ring(64);
        let of = if several { of.shared() } else { of };
        let (senders, poller) = of.open(&Rings::new()).unwrap();
        let run = Rings::new().start(pipeline().from(poller).to_fold(0_u64, |sum, _, _: &u64| *sum += 1)).unwrap();
        let threads: Vec<_> = senders
            .into_iter()
            .map(|s| spawn(move || (0..).take_while(|n| s.send(*n).is_ok()).count() as u64))
            .collect();
        let (seen, report) = run.drain(Duration::from_secs(60)).unwrap();
        assert_eq!(report.outcome, RunOutcome::Drained);
        let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(seen, sent);
        assert_eq!(report.stages[0].name, "source");
        assert_eq!(report.stages[0].moved, sent + 1);
    }
}

/// The iterator returns only once the run has ended; ending the run must not wait for it.
#[test]
fn an_iterator_that_blocks_is_not_waited_for() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum By {
        Drain,
        Stop,
        Take,
        Record,
        Poller,
    }
    let ended = |by| {
        let rings = Rings::new().ring(64);
        let of = if by == By::Record { fan_in(2).replay([(0, 2), (1, 1)].into_iter().collect()) } else { fan_in(2) };
        let of = of.with_producer().ring(64);
        let (go, wait) = channel::<u64>();
        let send = |s: Sender<u64>, there: Arc<Barrier>| {
            spawn(move || {
                s.send_all([1, 2]).unwrap();
                let first = std::iter::once_with(|| {
                    there.wait();
                    3
                });
                let refused = s.send_all(AtLeast(first.chain(wait), 64));
                (refused.map_err(|SendError(values)| values), s.sent())
            })
        };
        let there = Arc::new(Barrier::new(2));
        let p = pipeline::<FromProducer<u64>>().take(if by == By::Take { 3 } else { 1000 });
        let (sending, numbers) = if by == By::Poller {
            let (mut senders, mut poller) = of.open(&rings).unwrap();
            let sending = send(senders.remove(0), there.clone());
            there.wait();
            senders[0].send(9).unwrap();
            poller.drain();
            poller.for_each(|_, _| ()).unwrap();
            (sending, poller.next_number().0)
        } else {
            let (mut senders, poller) = of.open(&rings).unwrap();
            let run = rings.start((&p).from(poller).to_each(|_, _| ())).unwrap();
            let sending = send(senders.remove(0), there.clone());
            there.wait();
            senders[0].send(9).unwrap();
            let report = match by {
                By::Drain => run.drain(Duration::from_secs(60)).unwrap().1,
                By::Stop => run.stop_now().unwrap().1,
                _ => run.wait().unwrap().1,
            };
            (sending, report.numbers.0)
        };
        go.send(4).unwrap();
        drop(go);
        let (refused, sent) = sending.join().unwrap();
        assert_eq!((refused, sent), (Err(vec![3, 4]), 2), "{by:?}");
        if by != By::Stop {
            assert_eq!(numbers, 3, "{by:?}");
        }
    };
    for by in [By::Drain, By::Stop, By::Take, By::Record, By::Poller] {
        within(Duration::from_secs(60), move || ended(by)).unwrap();
    }
}

/// It is asked for another value before room for that is waited for.
#[test]
fn an_exhausted_iterator_needs_no_room() {
    within(Duration::from_secs(60), || {
        let (senders, mut poller) = fan_in(1).ring(1).open(&Rings::new()).unwrap();
        let mut only = Some(7);
        senders[0].send_all(std::iter::from_fn(|| only.take())).unwrap();
        assert_eq!(poller.poll(|_, x| assert_eq!(x, 7)).unwrap(), Polled::Values(1));
    })
    .unwrap();
}

/// An iterator that reports a minimum size, so that its values are waited for together.
struct AtLeast<I>(I, usize);

impl<I: Iterator> Iterator for AtLeast<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, None)
    }
}

#[test]
fn a_stop_wakes_senders_that_wait_for_room() {
    let barrier = Arc::new(Barrier::new(4));
    let (senders, poller) = fan_in(3).ring(1).open(&Rings::new().wait(Wait::Blocking)).unwrap();
    let wait = |s: Sender<u64>, barrier: Arc<Barrier>| {
        spawn(move || {
            s.send(1).unwrap();
            barrier.wait();
            s.send(2).is_err()
        })
    };
    let threads: Vec<_> = senders.into_iter().map(|s| wait(s, barrier.clone())).collect();
    barrier.wait();
    drop(poller);
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
}

#[test]
fn a_parked_consumer_is_woken_by_any_sender() {
    for wait in Wait::ALL {
        for several in [false, true] {
            let of = fan_in(3).ring(2);
            let of = if several { of.shared() } else { of };
            let (senders, mut poller) = of.open(&Rings::new().wait(wait)).unwrap();
            let (there, back) = (Arc::new(Barrier::new(2)), std::sync::mpsc::channel());
            let thread = {
                let (there, back) = (there.clone(), back.0);
                spawn(move || {
                    there.wait();
                    while poller.poll_for(Duration::MAX, |_, x: u64| back.send(x).unwrap()).unwrap() != Polled::Ended {}
                })
            };
            there.wait();
            for n in 0..300 {
                // Each waits until the one before was taken: the consumer has no value, and may be parked.
                senders[n % 3].send(n as u64).unwrap();
                assert_eq!(back.1.recv(), Ok(n as u64));
            }
            drop(senders);
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_poll_comes_back_when_its_time_is_over() {
    let (senders, mut poller) = fan_in::<u64>(3).open(&Rings::new().wait(Wait::Blocking)).unwrap();
    assert_eq!(poller.poll_for(Duration::from_millis(100), |_, _| ()).unwrap(), Polled::Nothing);
    assert_eq!(poller.poll_for(Duration::ZERO, |_, _| ()).unwrap(), Polled::Nothing);
    drop(senders);
    assert_eq!(poller.poll_for(Duration::from_millis(100), |_, _| ()).unwrap(), Polled::Ended);
}

/// The faults of the article's many-ring consumer: the end of a batch, a halt, the query of the number.
#[test]
fn a_batch_ends_a_halt_wakes_and_the_number_can_be_read() {
    let (senders, mut poller) = fan_in(3).ring(8).turn(2).open(&Rings::new().batch(5).wait(Wait::Blocking)).unwrap();
    senders.iter().for_each(|s| s.send_all([1, 2, 3]).unwrap());
    for (given, next) in [(5, 5), (4, 9)] {
        let mut seen = 0;
        assert_eq!(poller.poll(|_, _| seen += 1).unwrap(), Polled::Values(given));
        assert_eq!((seen, poller.next_number().0), (given, next));
    }
    assert!(senders.iter().all(|s| s.sent() == 3));
    // The consumer is parked on three empty rings; another thread ends them.
    let parked = spawn(move || poller.poll_for(Duration::MAX, |_, _| ()).unwrap());
    drop(senders);
    assert_eq!(parked.join().unwrap(), Polled::Ended);
}

#[test]
fn a_closure_that_panicked_is_not_called_again() {
    let (senders, mut poller) = fan_in(1).open(&Rings::new()).unwrap();
    senders[0].send_all([1, 2]).unwrap();
    let poll = || poller.poll(|_, _| std::panic::resume_unwind(Box::new("meant to panic")));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll)).is_err());
    assert!(poller.poll(|_, _| ()).is_err());
}

#[test]
fn a_fold_takes_each_value_once_also_where_it_panics() {
    let values: Vec<_> = (0..5).map(Arc::new).collect();
    let (senders, mut poller) = fan_in(2).open(&Rings::new()).unwrap();
    senders[0].send_all(values[..3].iter().cloned()).unwrap();
    senders[1].send_all(values[3..].iter().cloned()).unwrap();
    drop(senders);
    let sums = poller.fold((0, 0), |(numbers, sum), number, x| (*numbers, *sum) = (*numbers + number.0, *sum + *x));
    assert_eq!(sums.unwrap(), (10, 10));
    assert!(values.iter().all(|x| Arc::strong_count(x) == 1));

    let (senders, mut poller) = fan_in(1).open(&Rings::new()).unwrap();
    senders[0].send_all(values.iter().cloned()).unwrap();
    let fold = || {
        poller.fold((), |(), _, x| {
            if *x == 2 {
                std::panic::resume_unwind(Box::new("meant to panic"));
            }
        })
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fold)).is_err());
    assert_eq!(values.iter().map(Arc::strong_count).collect::<Vec<_>>(), [1, 1, 1, 2, 2]);
    drop((senders, poller));
    assert!(values.iter().all(|x| Arc::strong_count(x) == 1));
}

#[test]
fn memory_grows_with_producers_and_is_bounded() {
    let p = pipeline::<[u64; 3]>().map(|x| x[0]);
    let rings = Rings::new().ring(1024);
    let bytes = |of: &FanIn<[u64; 3]>| rings.explain(&p.plan(), of.feed()).rings.bytes;
    let without = 1024 * (24 + 8);
    assert_eq!(bytes(&fan_in(1)), without + 1024 * 24);
    assert_eq!(bytes(&fan_in(3).at_most(5).ring(64)), without + 5 * 64 * 24);
    assert_eq!(bytes(&fan_in(16).shared()), without + 1024 * 32);
    let limit = 410_000;
    let start = |of: FanIn<[u64; 3]>| {
        let rings = rings.clone().memory_limit(limit);
        let (senders, poller) = of.open(&rings)?;
        Ok((senders, rings.start((&p).from(poller).to_each(|_, _| ()))?))
    };
    let (_, run) = start(fan_in(15)).unwrap();
    assert_eq!(run.wait().unwrap().1.ring_bytes, without + 15 * 1024 * 24);
    assert!(matches!(start(fan_in(16)), Err(RunError::Options(OptionsError::Memory { .. }))));
    assert!(start(fan_in(16).shared()).is_ok());
    assert!(fan_in::<[u64; 3]>(20).open(&rings.memory_limit(limit)).is_err());
}

/// A pipeline's output is the next one's producer.
#[test]
fn rings_are_linked_one_to_another() {
    let (ends, poller) = fan_in(2).round_robin().open(&Rings::new()).unwrap();
    let last = Rings::new()
        .start(
            pipeline::<u64>()
                .scan(0, |sum, x| {
                    *sum += x;
                    *sum
                })
                .from(poller)
                .to_fold(Vec::new(), |all, _, x| all.push(*x)),
        )
        .unwrap();
    let middles: Vec<_> = ends
        .into_iter()
        .map(|end| {
            let doubled = pipeline::<u64>().map(|x| x * 2);
            let (senders, poller) = fan_in(2).round_robin().open(&Rings::new()).unwrap();
            let sends = doubled.from(poller).to_each(move |_, x| end.send(*x));
            (senders, Rings::new().start(sends).unwrap())
        })
        .collect();
    let runs: Vec<_> = middles
        .into_iter()
        .map(|(senders, run)| {
            senders.into_iter().for_each(|s| drop(spawn(move || s.send_all([1, 2, 3]))));
            run
        })
        .collect();
    runs.into_iter().for_each(|run| drop(run.wait().unwrap()));
    assert_eq!(last.wait().unwrap().0, [2, 4, 6, 8, 12, 16, 20, 24, 30, 36, 42, 48]);
}
