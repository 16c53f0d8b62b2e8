//! Rings that move values, against a queue in memory.

use super::{Counted, Op, Tally};
use millstream_ring::{mpsc, spsc};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The values that must be received, in order, and the number of slots for them.
struct Oracle {
    tally: Tally,
    next: u64,
    within: VecDeque<u64>,
    capacity: usize,
}

impl Oracle {
    fn new(capacity: usize) -> Self {
        Oracle { tally: Tally::default(), next: 0, within: VecDeque::new(), capacity }
    }

    fn room(&self) -> usize {
        self.capacity - self.within.len()
    }

    fn entered(&mut self, n: usize) {
        for _ in 0..n {
            self.within.push_back(self.next);
            self.next += 1;
        }
    }

    /// Takes `n` of the lent values, and leaves the others in the ring.
    fn take(&mut self, mut taken: spsc::Received<'_, Counted>, n: usize) {
        for _ in 0..n.min(taken.len()) {
            let value = taken.next().expect("it is lent");
            assert_eq!(Some(value.number), self.within.pop_front());
        }
    }

    fn alive(&self) {
        let mut numbers = self.tally.numbers();
        numbers.sort_unstable();
        assert_eq!(numbers, self.within.iter().copied().collect::<Vec<_>>());
    }
}

fn give(sender: &mut spsc::Sender<Counted>, oracle: &mut Oracle, n: usize, most: usize, breaks: bool) {
    let (tally, first, room) = (oracle.tally.clone(), oracle.next, oracle.room());
    let mut values =
        (0..n as u64).map(|i| if breaks && i == 2 { super::quietly_panic() } else { tally.value(first + i) });
    let moved = n.min(most).min(room);
    match catch_unwind(AssertUnwindSafe(|| sender.give(&mut values, most))) {
        Ok(spsc::Sent::Full) => assert_eq!(room, 0),
        Ok(spsc::Sent::Some(given)) => assert_eq!((given, given), (moved, most.min(room))),
        Ok(spsc::Sent::All(given)) => assert_eq!((given, true), (n, n < most.min(room))),
        Ok(spsc::Sent::Ended) => panic!("it has not ended"),
        Err(_) => {
            assert!(breaks && n > 2 && most.min(room) > 2);
            return oracle.entered(2);
        }
    }
    oracle.entered(moved);
}

pub(crate) fn run(capacity: usize, ops: &[Op], receiver_first: bool) {
    let mut oracle = Oracle::new(capacity);
    let (mut sender, mut receiver) = spsc::ring::<Counted>(capacity).unwrap();
    for &[what, a, b] in ops {
        let (a, b) = (usize::from(a % 9), usize::from(b % 9));
        match what % 5 {
            0 | 1 => give(&mut sender, &mut oracle, a, b + 1, what > 250),
            2 => oracle.take(receiver.take(a), b),
            3 => oracle.take(receiver.take(a), a),
            _ => look(&mut receiver, &oracle),
        }
        assert_eq!(sender.free(), oracle.room());
        oracle.alive();
    }
    sender.end();
    sender.end();
    assert_eq!(sender.give(&mut [].into_iter(), 1), spsc::Sent::Ended);
    assert_eq!(sender.given(), oracle.next);
    look(&mut receiver, &oracle);
    assert_eq!(receiver.ended(), oracle.within.is_empty());
    if receiver_first {
        drop(receiver);
        oracle.alive();
        drop(sender);
    } else {
        drop(sender);
        oracle.alive();
        drop(receiver);
    }
    assert!(oracle.tally.numbers().is_empty());
}

fn look(receiver: &mut spsc::Receiver<Counted>, oracle: &Oracle) {
    assert_eq!((receiver.ready(), receiver.backlog()), (oracle.within.len() as u64, oracle.within.len() as u64));
    assert_eq!(receiver.head().map(|value| value.number), oracle.within.front().copied());
    assert_eq!(receiver.taken(), oracle.next - oracle.within.len() as u64);
}

pub(crate) fn run_shared(capacity: usize, senders: usize, ops: &[Op]) {
    let mut oracle = Oracle::new(capacity);
    let (first, mut receiver) = mpsc::ring::<Counted>(capacity).unwrap();
    let mut senders: Vec<_> = (0..senders.max(1)).map(|id| first.another(id as u32)).collect();
    let mut by: VecDeque<u32> = VecDeque::new();
    for &[what, a, b] in ops {
        let (n, sender) = (usize::from(a % 9), usize::from(b) % senders.len());
        match what % 4 {
            0 | 1 => {
                give_shared(&mut senders[sender], &mut oracle, n);
                by.resize(oracle.within.len(), sender as u32);
            }
            2 => oracle.take(receiver.take(n), usize::from(b)),
            _ => take_run(&mut receiver, &mut oracle, &by, n),
        }
        by.drain(..by.len() - oracle.within.len());
        assert_eq!(senders[sender].free(), oracle.room());
        assert_eq!(receiver.is_ready(), !oracle.within.is_empty());
        assert_eq!(receiver.backlog(), oracle.within.len() as u64);
        oracle.alive();
    }
    first.close();
    let mut late = VecDeque::from([oracle.tally.value(u64::MAX)]);
    assert_eq!(senders[0].give(&mut late), None);
    assert_eq!((senders[0].free(), senders[0].closed(), senders[0].claimed()), (0, true, oracle.next));
    drop(late);
    assert_eq!(receiver.ended(), oracle.within.is_empty());
    drop((first, senders, receiver));
    assert!(oracle.tally.numbers().is_empty());
}

fn give_shared(sender: &mut mpsc::Sender<Counted>, oracle: &mut Oracle, n: usize) {
    let mut values: VecDeque<_> = (0..n as u64).map(|i| oracle.tally.value(oracle.next + i)).collect();
    let moved = n.min(oracle.room());
    assert_eq!(sender.give(&mut values), Some(moved));
    assert_eq!(values.len(), n - moved);
    drop(values);
    oracle.entered(moved);
}

fn take_run(receiver: &mut mpsc::Receiver<Counted>, oracle: &mut Oracle, by: &VecDeque<u32>, most: usize) {
    let (sender, run) = receiver.take_run(most);
    if let Some(first) = by.front() {
        assert_eq!(sender, *first);
        let same = by.iter().take(most).take_while(|id| *id == first).count();
        assert!(run.len() <= same && (run.len() > 0 || most == 0));
    } else {
        assert_eq!(run.len(), 0);
    }
    let n = run.len();
    oracle.take(run, n);
}
