//! Park and wake under loom, in every interleaving: no wake-up is lost. Alone in its test binary, since it is built
//! with `--cfg loom`.
#![cfg(loom)]

#[path = "loom/batons.rs"]
mod batons;
#[path = "loom/conditions.rs"]
mod conditions;
#[path = "loom/leads.rs"]
mod leads;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use millstream_core::{Dense, Val};
use millstream_exec::{Gate, Shown, Signal, WakerSlot, Wakes};
use millstream_ring::{RunWriter, ring, run_writers, spsc};
use std::task::{Context, Poll, Wake, Waker};

/// The awaited change, published apart from the signal, as in the rings, by release and acquire alone.
struct Work {
    signal: Signal,
    published: AtomicUsize,
}

impl Work {
    fn new() -> Arc<Self> {
        Arc::new(Work { signal: Signal::new(), published: AtomicUsize::new(0) })
    }

    fn publish(&self, n: usize) {
        self.published.store(n, Ordering::Release);
        self.signal.notify();
    }

    fn is_there(&self, n: usize) -> bool {
        self.published.load(Ordering::Acquire) >= n
    }

    /// Waits as a worker does: announces itself, looks once more, parks.
    fn wait_for(&self, n: usize) {
        while !self.is_there(n) {
            let ticket = self.signal.announce();
            if self.is_there(n) {
                self.signal.withdraw(ticket);
            } else {
                self.signal.park(ticket);
            }
        }
    }
}

#[test]
fn one_waits_for_one() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || work.wait_for(1))
        };
        work.publish(1);
        waiter.join().unwrap();
    });
}

#[test]
fn one_waits_twice() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || {
                work.wait_for(1);
                work.wait_for(2);
            })
        };
        work.publish(1);
        work.publish(2);
        waiter.join().unwrap();
    });
}

#[test]
fn two_wait_for_one() {
    loom::model(|| {
        let work = Work::new();
        let waiters = [(); 2].map(|()| {
            let work = work.clone();
            thread::spawn(move || work.wait_for(1))
        });
        work.publish(1);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// A ring of one slot: each of two threads waits for the other.
#[test]
fn two_hand_over_in_turns() {
    loom::model(|| {
        let (work, room) = (Work::new(), Work::new());
        let reader = {
            let (work, room) = (work.clone(), room.clone());
            thread::spawn(move || {
                work.wait_for(1);
                room.publish(1);
            })
        };
        work.publish(1);
        room.wait_for(1);
        reader.join().unwrap();
    });
}

/// Wakes a thread by a signal of its own, as an executor would.
struct Executor(Arc<Work>);

impl Wake for Executor {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.publish(1);
    }
}

impl Work {
    /// Waits as a future does, with an executor that sleeps until it is woken.
    fn poll_for(&self, n: usize) {
        let mut place = WakerSlot::default();
        loop {
            // A new one for every poll: notifications of an earlier one come too early to help.
            let woken = Work::new();
            let waker = Waker::from(std::sync::Arc::new(Executor(woken.clone())));
            let poll =
                self.signal.poll(&mut place, &mut Context::from_waker(&waker), || self.is_there(n).then_some(()));
            match poll {
                Poll::Ready(()) => return,
                Poll::Pending => woken.wait_for(1),
            }
        }
    }
}

#[test]
fn a_future_waits_for_one() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || work.poll_for(1))
        };
        work.publish(1);
        waiter.join().unwrap();
    });
}

#[test]
fn a_future_waits_twice() {
    let mut bounded = loom::model::Builder::new();
    bounded.preemption_bound = bounded.preemption_bound.or(Some(2));
    bounded.check(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || work.poll_for(2))
        };
        work.publish(1);
        work.publish(2);
        waiter.join().unwrap();
    });
}

/// A future that leaves does not consume another one's wake-up.
#[test]
fn a_future_that_leaves_does_not_take_the_wake_up_of_another() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || work.poll_for(1))
        };
        let mut place = WakerSlot::default();
        let never = work.signal.poll(&mut place, &mut Context::from_waker(Waker::noop()), || None::<()>);
        assert!(never.is_pending());
        work.publish(1);
        work.signal.leave(&mut place);
        waiter.join().unwrap();
    });
}

/// Two threads wake one future, and a stage polls it until it has seen both; without a wake-up it sleeps.
#[test]
fn a_stage_notices_every_wake_up_of_its_futures() {
    loom::model(|| {
        let (work, done) = (Work::new(), Arc::new([(); 2].map(|()| AtomicUsize::new(0))));
        let notifying = work.clone();
        // As the signal of a run: some change has happened.
        let wakes = Wakes::new(move || notifying.signal.notify());
        let wakeable = wakes.wakeable(0);
        let wakers = [0, 1].map(|i| {
            let (done, waker) = (done.clone(), wakeable.waker().clone());
            thread::spawn(move || {
                done[i].store(1, Ordering::Release);
                waker.wake();
            })
        });
        let mut seen = 0;
        let step = |seen: &mut usize| {
            let mut woken = Vec::new();
            wakes.attend(&mut woken);
            for _ in &woken {
                wakeable.polled();
                *seen = done.iter().map(|done| done.load(Ordering::Acquire)).sum();
            }
            !wakes.leave() || !woken.is_empty()
        };
        while seen < 2 {
            if step(&mut seen) {
                continue;
            }
            let ticket = work.signal.announce();
            if step(&mut seen) { work.signal.withdraw(ticket) } else { work.signal.park(ticket) }
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

/// A run writer that competes for a run holds the group's cursor back; if it loses, it notifies the readers that looked
/// meanwhile.
#[test]
fn the_loser_of_a_claim_wakes_the_readers_it_misled() {
    loom::model(|| {
        let (mut producer, input) = ring::<u64, Dense>(1).unwrap();
        let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 1).unwrap();
        let Ok(Some(mut claim)) = producer.try_claim(1) else { panic!("there is room") };
        claim.fill(1, |_| 7);
        claim.publish();
        let signal = Arc::new(Signal::new());
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let work = |writer: &mut RunWriter<Val<u64>, u64>, signal: &Signal| {
            if writer.fill_or_tell(1, || signal.notify(), |value| *value.unwrap()) > 0 {
                signal.notify();
            }
        };
        let (other, reading) = (signal.clone(), signal.clone());
        let other = thread::spawn(move || work(&mut a, &other));
        // Loom checks a reader only against the last access to an atomic: it is spawned last.
        let reader = thread::spawn(move || {
            while reading.park_unless(|| output.batch(1).and_then(|batch| batch.get(0).copied())).is_none() {}
        });
        work(&mut b, &signal);
        other.join().unwrap();
        reader.join().unwrap();
    });
}

/// As a sender: publishes its value, then notifies.
fn send(mut sender: spsc::Sender<u64>, signal: &Signal, value: u64) {
    sender.give(&mut [value].into_iter(), 1);
    signal.notify();
    sender.end();
    signal.notify();
}

/// As a poller: looks at every ring, announces itself, looks at every ring once more, and parks.
fn poll_all(receivers: &mut [spsc::Receiver<u64>], signal: &Signal) -> u64 {
    let look = |receivers: &mut [spsc::Receiver<u64>]| {
        let mut sum = 0;
        for receiver in receivers.iter_mut() {
            sum += receiver.take(1).sum::<u64>();
        }
        (sum, receivers.iter_mut().all(spsc::Receiver::ended))
    };
    let mut sum = 0;
    loop {
        let (came, ended) = look(receivers);
        sum += came;
        if ended {
            return sum;
        }
        let ticket = signal.announce();
        match look(receivers) {
            (0, false) => signal.park(ticket),
            (came, _) => {
                signal.withdraw(ticket);
                sum += came;
            }
        }
    }
}

/// A sender's values, one from an iterator and one directly, and the end of the stream, in any order: exactly the
/// accepted values come.
fn closing(iterator_first: bool) {
    loom::model(move || {
        let (sender, mut receiver) = spsc::ring::<u64>(2).unwrap();
        let gate = Arc::new(Gate::new(sender));
        let sender = {
            let gate = gate.clone();
            thread::spawn(move || {
                let iterate = || {
                    let give = |sender: &mut spsc::Sender<u64>| sender.give_if(&mut [1].into_iter(), 1, || gate.pass());
                    let given = gate.iterate(give).expect("there is one iterator");
                    u64::from(given.map_err(|refused| assert_eq!(refused, [1])) == Ok(spsc::Sent::Some(1)))
                };
                let show =
                    || u64::from(matches!(gate.show(|sender| sender.give(&mut [2].into_iter(), 1)), Shown::Did(_)));
                if iterator_first { iterate() + show() } else { show() + iterate() }
            })
        };
        let receiver = {
            let gate = gate.clone();
            thread::spawn(move || gate.is_closed().then(|| receiver.take(2).count() as u64))
        };
        gate.close();
        let (came, accepted) = (receiver.join().unwrap(), sender.join().unwrap());
        assert_eq!(came.unwrap_or(accepted), accepted);
    });
}

#[test]
fn accepted_values_are_visible_once_the_gate_is_closed() {
    closing(true);
}

#[test]
fn accepted_values_are_visible_with_an_iterator_afterwards() {
    closing(false);
}

/// Refused values of an iterator are dropped while the ring is held, by code that may wait until the gate is closed.
#[test]
fn closing_does_not_wait_for_refused_values() {
    loom::model(|| {
        let (gate, there) = (Arc::new(Gate::new(())), Arc::new(AtomicBool::new(false)));
        let sender = {
            let (gate, there) = (gate.clone(), there.clone());
            thread::spawn(move || {
                gate.iterate(|()| {
                    there.store(true, Ordering::Release);
                    if !gate.pass() {
                        while !gate.is_closed() {
                            thread::yield_now();
                        }
                    }
                })
            })
        };
        // Loom has no fairness: a closing thread may see the state before the iterator for ever.
        while !there.load(Ordering::Acquire) {
            thread::yield_now();
        }
        gate.close();
        sender.join().unwrap();
    });
}

#[test]
fn a_poller_of_several_rings_wakes_on_any() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let (mut receivers, mut threads) = (Vec::new(), Vec::new());
        for value in [1, 10] {
            let (sender, receiver) = spsc::ring(1).unwrap();
            let signal = signal.clone();
            receivers.push(receiver);
            threads.push(thread::spawn(move || send(sender, &signal, value)));
        }
        assert_eq!(poll_all(&mut receivers, &signal), 11);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
