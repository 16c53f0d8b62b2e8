//! The user's code in the middle of sending and polling: it panics, it blocks, it sends itself. Nobody else waits for it.

use millstream_core::{StreamsExt, pipeline};
use millstream_exec::{Choices, Rings, Run, RunError, SendError, Sender, TrySendError, fan_in};
use millstream_testkit::within;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::spawn;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Sends 0, 1 and 2 from an iterator that panics then.
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
fn whoever_ends_a_fan_in_does_not_wait_for_an_iterator_that_has_panicked() {
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
                let (senders, run) = pipeline().start_fan_in(&rings, fan_in(2), 0, count).unwrap();
                send_and_panic(&senders[0]);
                if by == By::Drain {
                    return run.drain(LONG).unwrap().0;
                }
                run.stopper().drain();
                run.wait().unwrap().0
            }
            By::Take => {
                let (senders, run) = pipeline().take(4).start_fan_in(&rings, fan_in(2), 0, count).unwrap();
                send_and_panic(&senders[0]);
                senders[1].send_all([1, 2, 3]).unwrap();
                run.wait().unwrap().0
            }
            By::Record => {
                let choices: Choices = [(1, 3)].into_iter().collect();
                let (senders, run) = pipeline().start_fan_in(&rings, fan_in(2).replay(choices), 0, count).unwrap();
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

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn nobody_waits_for_another_threads_iterator() {
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
        // The iterator has been asked for its first value, and waits for its second one.
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
        // What it sent is sent, and whoever waited for it was told.
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
fn whoever_waits_for_an_iterator_is_woken_where_it_panics() {
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

/// An iterator that sends by its own sender gets no deadlock but "full", and a drain ends its wait.
#[test]
fn an_iterator_that_uses_its_own_sender_waits_for_nobody() {
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
fn a_poller_whose_closure_panics_tells_its_senders() {
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

/// What is told of every choice, and what knows a value's time, are the user's as the closure is.
#[test]
fn a_poller_whose_rule_panics_tells_its_senders() {
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
