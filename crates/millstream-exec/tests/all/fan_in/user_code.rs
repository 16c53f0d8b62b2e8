//! User code in the middle of sending and polling: it panics, blocks, or sends by itself. No other thread waits for it.

use millstream_core::{StreamsExt, pipeline};
use millstream_exec::{
    JobExt, JoinError, MergeLog, Polled, Poller, Rings, RunError, RunOutcome, Runner, SendError, Sender, TrySendError,
    fan_in, source,
};
use millstream_testkit::within;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::spawn;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Sends 0, 1 and 2 from an iterator that then panics.
fn send_and_panic(sender: &Sender<u64>) {
    let values = (0..10).map(|n| if n == 3 { resume_unwind(Box::new("meant to panic")) } else { n });
    assert!(catch_unwind(AssertUnwindSafe(|| sender.send_all(values))).is_err());
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Drain,
    Stopper,
    Poller,
    Take,
    Record,
}

#[test]
fn ending_a_fan_in_does_not_wait_for_an_iterator_that_has_panicked() {
    fn ended(by: By) -> u64 {
        let count = |n: &mut u64, _, _: &u64| *n += 1;
        let rings = Rings::new();
        match by {
            By::Poller => {
                let (senders, mut poller) = fan_in(2).open(&rings).unwrap();
                send_and_panic(&senders[0]);
                poller.drain();
                poller.fold(0, |n, _, _| *n += 1).unwrap()
            }
            By::Drain | By::Stopper => {
                let (senders, poller) = fan_in(2).open(&rings).unwrap();
                let run = rings.start(pipeline().from(poller).to_fold(0, count)).unwrap();
                send_and_panic(&senders[0]);
                if by == By::Drain {
                    return run.drain(LONG).unwrap().0;
                }
                run.stopper().drain();
                run.wait().unwrap().0
            }
            By::Take => {
                let (senders, poller) = fan_in(2).open(&rings).unwrap();
                let run = rings.start(pipeline().take(4).from(poller).to_fold(0, count)).unwrap();
                send_and_panic(&senders[0]);
                senders[1].send_all([1, 2, 3]).unwrap();
                run.wait().unwrap().0
            }
            By::Record => {
                let choices: MergeLog = [(1, 3)].into_iter().collect();
                let (senders, poller) = fan_in(2).replay(choices).open(&rings).unwrap();
                let run = rings.start(pipeline().from(poller).to_fold(0, count)).unwrap();
                send_and_panic(&senders[0]);
                senders[1].send_all([1, 2, 3]).unwrap();
                run.wait().unwrap().0
            }
        }
    }
    for (by, came) in [(By::Drain, 3), (By::Stopper, 3), (By::Poller, 3), (By::Take, 4), (By::Record, 3)] {
        assert_eq!(within(LONG, move || ended(by)).unwrap(), came, "{by:?}");
    }
}

/// Counts how many times it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn another_threads_iterator_is_not_waited_for() {
    let works = || {
        let (mut senders, mut poller) = fan_in::<u64>(1).open(&Rings::new()).unwrap();
        let sender = Arc::new(senders.pop().unwrap());
        sender.send(1).unwrap();
        let (there, (go, wait)) = (Arc::new(Barrier::new(2)), channel::<u64>());
        let sending = {
            let (sender, there) = (sender.clone(), there.clone());
            spawn(move || {
                let first = std::iter::once_with(|| {
                    there.wait();
                    2
                });
                sender.send_all(first.chain(wait))
            })
        };
        // The iterator has returned its first value and blocks before its second.
        there.wait();
        let slice = {
            let sender = sender.clone();
            spawn(move || sender.send_slice(&[8, 9]).is_ok())
        };
        assert_eq!(sender.try_send(7), Err(TrySendError::Full { value: 7, missing: 1 }));
        assert_eq!((sender.free(), sender.sent()), (0, 1));
        let woken = Arc::new(Woken::default());
        let (waker, other) = (Waker::from(woken.clone()), Waker::noop());
        let mut sends = pin!(sender.send_async(4));
        let mut room = pin!(sender.room());
        assert!(sends.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(room.as_mut().poll(&mut Context::from_waker(other)).is_pending());
        let before = woken.0.load(Ordering::SeqCst);
        go.send(3).unwrap();
        drop(go);
        sending.join().unwrap().unwrap();
        assert!(slice.join().unwrap());
        // Its values are sent, and waiters for it were woken.
        assert!(woken.0.load(Ordering::SeqCst) > before);
        assert_eq!(sends.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(())));
        assert!(room.as_mut().poll(&mut Context::from_waker(other)).is_ready());
        let mut all = Vec::new();
        poller.poll(|_, x| all.push(x)).unwrap();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 4, 8, 9]);
    };
    within(LONG, works).unwrap();
}

#[test]
fn waiters_for_an_iterator_are_woken_if_it_panics() {
    let works = || {
        let (mut senders, mut poller) = fan_in::<u64>(1).open(&Rings::new()).unwrap();
        let sender = Arc::new(senders.pop().unwrap());
        let (there, (go, wait)) = (Arc::new(Barrier::new(2)), channel::<()>());
        let panicking = {
            let (sender, there) = (sender.clone(), there.clone());
            spawn(move || {
                let first = std::iter::once_with(|| {
                    there.wait();
                    1
                });
                let then = std::iter::once_with(|| {
                    let _ = wait.recv();
                    resume_unwind(Box::new("meant to panic"))
                });
                catch_unwind(AssertUnwindSafe(|| sender.send_all(first.chain(then)))).is_err()
            })
        };
        there.wait();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut sends = pin!(sender.send_async(2));
        assert!(sends.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(go);
        assert!(panicking.join().unwrap());
        assert!(woken.0.load(Ordering::SeqCst) > 0);
        assert_eq!(sends.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(())));
        let mut all = Vec::new();
        poller.poll(|_, x| all.push(x)).unwrap();
        assert_eq!(all, [1, 2]);
    };
    within(LONG, works).unwrap();
}

/// An iterator that sends through its own sender finds it full instead of deadlocking, and a drain ends its wait.
#[test]
fn an_iterator_that_uses_its_own_sender_does_not_deadlock() {
    let works = || {
        let (mut senders, mut poller) = fan_in::<u64>(1).open(&Rings::new()).unwrap();
        let sender = Arc::new(senders.pop().unwrap());
        let there = Arc::new(Barrier::new(2));
        let sending = {
            let (sender, there) = (sender.clone(), there.clone());
            spawn(move || {
                let of_itself = std::iter::once_with(|| {
                    assert!(matches!(sender.try_send(9), Err(TrySendError::Full { .. })));
                    there.wait();
                    let SendError(value) = sender.send(9).unwrap_err();
                    value
                });
                sender.send_all(of_itself)
            })
        };
        there.wait();
        poller.drain();
        assert_eq!(sending.join().unwrap(), Err(SendError(vec![9])));
        assert_eq!(poller.fold(0, |n, _, _| *n += 1).unwrap(), 0);
    };
    within(LONG, works).unwrap();
}

#[test]
fn a_poller_whose_closure_panics_notifies_its_senders() {
    for several in [false, true] {
        let works = move || {
            let of = fan_in::<u64>(1).ring(4);
            let (mut senders, mut poller) = if several { of.shared() } else { of }.open(&Rings::new()).unwrap();
            let sender = senders.pop().unwrap();
            let sending = spawn(move || sender.send_all(0..100).is_err());
            while catch_unwind(AssertUnwindSafe(|| poller.poll(|_, _| resume_unwind(Box::new("meant to panic")))))
                .is_ok()
            {}
            // The poller is still there.
            assert!(sending.join().unwrap());
            let failed = poller.poll(|_, _| ()).unwrap_err();
            assert!(matches!(failed, RunError::Stage { .. }), "{failed}");
        };
        within(LONG, works).unwrap();
    }
}

/// The record and the function of a value's time are user code as the closure is.
#[test]
fn a_poller_whose_rule_panics_notifies_its_senders() {
    for recorded in [false, true] {
        let works = move || {
            let of = fan_in::<u64>(1).ring(4);
            let panics = |_: &u64| -> u64 { resume_unwind(Box::new("meant to panic")) };
            let of = match recorded {
                true => of.record(|_, _| resume_unwind(Box::new("meant to panic"))),
                false => of.by_timestamp(panics),
            };
            let (mut senders, mut poller) = of.open(&Rings::new()).unwrap();
            let sender = senders.pop().unwrap();
            let sending = spawn(move || sender.send_all(0..100).is_err());
            while catch_unwind(AssertUnwindSafe(|| poller.poll(|_, _| ()))).is_ok() {}
            assert!(sending.join().unwrap());
            assert!(poller.poll(|_, _| ()).is_err());
        };
        within(LONG, works).unwrap();
    }
}

/// A value whose drop sends again, up to a number of times.
struct Job(u64, Weak<Sender<Job>>);

impl Drop for Job {
    fn drop(&mut self) {
        if let (Some(left), Some(sender)) = (self.0.checked_sub(1), self.1.upgrade()) {
            assert!(sender.free() > 0);
            assert!(sender.try_send(Job(left, self.1.clone())).is_ok());
        }
    }
}

#[test]
fn a_value_whose_drop_sends_does_not_deadlock() {
    let works = || {
        let (done, all) = channel();
        let rings = Rings::new().workers(1).ring(4);
        let (sender, receiver) = source::channel(4);
        let run =
            rings.start(pipeline().from(receiver).to_each(move |_, job: &Job| done.send(job.0).unwrap())).unwrap();
        let sender = Arc::new(sender);
        assert!(sender.send(Job(9, Arc::downgrade(&sender))).is_ok());
        assert_eq!(all.iter().take(10).collect::<Vec<_>>(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        run.stop_now().unwrap();
    };
    within(LONG, works).unwrap();
}

/// A value that keeps the stream open.
struct Holds(#[expect(dead_code, reason = "its drop is what it is for")] Arc<Sender<Holds>>);

#[test]
fn a_value_that_drops_the_last_sender_ends_the_stream() {
    let works = || {
        let (sender, receiver) = source::channel(4096);
        let run = Rings::new().start(pipeline().from(receiver).to_fold(0, |n, _, _: &Holds| *n += 1)).unwrap();
        let sender = Arc::new(sender);
        assert!((0..3).all(|_| sender.send(Holds(sender.clone())).is_ok()));
        drop(sender);
        assert_eq!(run.wait().unwrap().0, 3);
    };
    within(LONG, works).unwrap();
}

/// A value whose drop waits for the room that only its own drop makes.
struct Waits(Weak<Sender<Waits>>, std::sync::mpsc::Sender<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(sender) = self.0.upgrade() {
            self.1.send(()).unwrap();
            assert!(sender.send(Waits(Weak::new(), self.1.clone())).is_err());
        }
    }
}

#[test]
fn a_drop_that_waits_for_room_is_freed_by_the_end() {
    for drained in [false, true] {
        let works = move || {
            let rings = Rings::new().workers(1).ring(1);
            let (sender, receiver) = source::channel(1);
            let run = rings.start(pipeline().from(receiver).to_each(|_, _: &Waits| ())).unwrap();
            let (sender, (there, waits)) = (Arc::new(sender), channel());
            assert!(sender.send(Waits(Arc::downgrade(&sender), there)).is_ok());
            waits.recv().unwrap();
            if drained { run.drain(LONG) } else { run.stop_now() }.unwrap();
        };
        within(LONG, works).unwrap();
    }
}

/// A thread of this name sends these values and then panics while it owns the sender.
fn dies(name: &str, sender: Sender<u64>, values: &[u64]) {
    let values = values.to_vec();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        sender.send_all(values).unwrap();
        resume_unwind(Box::new("meant to panic"))
    });
    assert!(thread.unwrap().join().is_err());
}

#[test]
fn a_producer_that_panics_can_end_alone() {
    for several in [false, true] {
        let of = fan_in(3).isolate_panics();
        let of = if several { of.shared() } else { of };
        let collect = |all: &mut Vec<u64>, _, x: &u64| all.push(*x);
        let (mut senders, poller) = of.open(&Rings::new()).unwrap();
        let run = Rings::new().start(pipeline().from(poller).to_fold(Vec::new(), collect)).unwrap();
        dies("feeder", senders.remove(1), &[1, 2]);
        let panics = run.producer_panics();
        assert_eq!((panics.count, panics.last.len()), (1, 1));
        let panic = &panics.last[0];
        assert_eq!((panic.producer, panic.sent, panic.thread.as_deref()), (1, 2, Some("feeder")));
        assert_eq!(panic.to_string(), "producer 1 ended after 2 values: its thread \"feeder\" panicked");
        // There is room for another one.
        let fourth = loop {
            match senders[0].add_producer() {
                Err(JoinError::Full(3)) => std::thread::yield_now(),
                joined => break joined.unwrap(),
            }
        };
        fourth.send(8).unwrap();
        senders[0].send(7).unwrap();
        drop((senders, fourth));
        let (mut all, report) = run.wait().unwrap();
        all.sort_unstable();
        assert_eq!((all, report.outcome, report.producer_panics), (vec![1, 2, 7, 8], RunOutcome::End, panics));
    }
}

#[test]
fn of_many_panics_the_last_are_listed_individually() {
    let (senders, mut poller) = fan_in(1).at_most(2).isolate_panics().open(&Rings::new()).unwrap();
    for n in 1..=70 {
        dies("feeder", senders[0].add_producer().unwrap(), &[n]);
        while poller.poll(|_, x| assert_eq!(x, n)).unwrap() != Polled::Nothing {}
    }
    let panics = poller.producer_panics();
    assert_eq!((panics.count, panics.last.len()), (70, 64));
    assert_eq!((panics.last[0].producer, panics.last[63].producer), (7, 70));
}

/// Ends the fan-in, yields one value, and panics when it is dropped.
struct EndsAndPanics {
    ends: Option<Poller<Arc<()>>>,
    value: Option<Arc<()>>,
}

impl Iterator for EndsAndPanics {
    type Item = Arc<()>;

    fn next(&mut self) -> Option<Arc<()>> {
        drop(self.ends.take());
        self.value.take()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (1, None)
    }
}

impl Drop for EndsAndPanics {
    fn drop(&mut self) {
        resume_unwind(Box::new("meant to panic"));
    }
}

#[test]
fn what_a_sender_returns_does_not_leak_if_the_iterators_drop_panics() {
    let value = Arc::new(());
    let (senders, poller) = fan_in(2).open(&Rings::new()).unwrap();
    let iterator = EndsAndPanics { ends: Some(poller), value: Some(value.clone()) };
    assert!(catch_unwind(AssertUnwindSafe(|| senders[0].send_all(iterator).is_ok())).is_err());
    drop(senders);
    assert_eq!(Arc::strong_count(&value), 1);
}
