//! Rings whose values are handed over, against a queue in memory.

use super::{Counted, Op, Tally};
use millstream_ring::{Given, Giver, SharedGiver, SharedTaker, Taken, Taker, moving_ring, shared_ring};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What must come out, in order, and how many slots there are for it.
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

    /// Takes `n` of what is lent, and leaves the rest where it is.
    fn take(&mut self, mut taken: Taken<'_, Counted>, n: usize) {
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

fn give(giver: &mut Giver<Counted>, oracle: &mut Oracle, n: usize, most: usize, breaks: bool) {
    let (tally, first, room) = (oracle.tally.clone(), oracle.next, oracle.room());
    let mut values =
        (0..n as u64).map(|i| if breaks && i == 2 { super::quietly_panic() } else { tally.value(first + i) });
    let moved = n.min(most).min(room);
    match catch_unwind(AssertUnwindSafe(|| giver.give(&mut values, most))) {
        Ok(Given::Full) => assert_eq!(room, 0),
        Ok(Given::Some(given)) => assert_eq!((given, given), (moved, most.min(room))),
        Ok(Given::All(given)) => assert_eq!((given, true), (n, n < most.min(room))),
        Ok(Given::Ended) => panic!("nobody ended it"),
        Err(_) => {
            assert!(breaks && n > 2 && most.min(room) > 2);
            return oracle.entered(2);
        }
    }
    oracle.entered(moved);
}

pub(crate) fn run(capacity: usize, ops: &[Op], taker_first: bool) {
    let mut oracle = Oracle::new(capacity);
    let (mut giver, mut taker) = moving_ring::<Counted>(capacity).unwrap();
    for &[what, a, b] in ops {
        let (a, b) = (usize::from(a % 9), usize::from(b % 9));
        match what % 5 {
            0 | 1 => give(&mut giver, &mut oracle, a, b + 1, what > 250),
            2 => oracle.take(taker.take(a), b),
            3 => oracle.take(taker.take(a), a),
            _ => look(&mut taker, &oracle),
        }
        assert_eq!(giver.free(), oracle.room());
        oracle.alive();
    }
    giver.end();
    giver.end();
    assert_eq!(giver.give(&mut [].into_iter(), 1), Given::Ended);
    assert_eq!(giver.given(), oracle.next);
    look(&mut taker, &oracle);
    assert_eq!(taker.ended(), oracle.within.is_empty());
    if taker_first {
        drop(taker);
        oracle.alive();
        drop(giver);
    } else {
        drop(giver);
        oracle.alive();
        drop(taker);
    }
    assert!(oracle.tally.numbers().is_empty());
}

fn look(taker: &mut Taker<Counted>, oracle: &Oracle) {
    assert_eq!((taker.ready(), taker.backlog()), (oracle.within.len() as u64, oracle.within.len() as u64));
    assert_eq!(taker.head().map(|value| value.number), oracle.within.front().copied());
    assert_eq!(taker.taken(), oracle.next - oracle.within.len() as u64);
}

pub(crate) fn run_shared(capacity: usize, givers: usize, ops: &[Op]) {
    let mut oracle = Oracle::new(capacity);
    let (first, mut taker) = shared_ring::<Counted>(capacity).unwrap();
    let mut givers: Vec<_> = (0..givers.max(1)).map(|who| first.another(who as u32)).collect();
    let mut by: VecDeque<u32> = VecDeque::new();
    for &[what, a, b] in ops {
        let (n, who) = (usize::from(a % 9), usize::from(b) % givers.len());
        match what % 4 {
            0 | 1 => {
                give_shared(&mut givers[who], &mut oracle, n);
                by.resize(oracle.within.len(), who as u32);
            }
            2 => oracle.take(taker.take(n), usize::from(b)),
            _ => take_run(&mut taker, &mut oracle, &by, n),
        }
        by.drain(..by.len() - oracle.within.len());
        assert_eq!(givers[who].free(), oracle.room());
        assert_eq!(taker.is_ready(), !oracle.within.is_empty());
        assert_eq!(taker.backlog(), oracle.within.len() as u64);
        oracle.alive();
    }
    first.close();
    let mut late = VecDeque::from([oracle.tally.value(u64::MAX)]);
    assert_eq!(givers[0].give(&mut late), None);
    assert_eq!((givers[0].free(), givers[0].closed(), givers[0].claimed()), (0, true, oracle.next));
    drop(late);
    assert_eq!(taker.ended(), oracle.within.is_empty());
    drop((first, givers, taker));
    assert!(oracle.tally.numbers().is_empty());
}

fn give_shared(giver: &mut SharedGiver<Counted>, oracle: &mut Oracle, n: usize) {
    let mut values: VecDeque<_> = (0..n as u64).map(|i| oracle.tally.value(oracle.next + i)).collect();
    let moved = n.min(oracle.room());
    assert_eq!(giver.give(&mut values), Some(moved));
    assert_eq!(values.len(), n - moved);
    drop(values);
    oracle.entered(moved);
}

fn take_run(taker: &mut SharedTaker<Counted>, oracle: &mut Oracle, by: &VecDeque<u32>, most: usize) {
    let (giver, run) = taker.take_run(most);
    if let Some(first) = by.front() {
        assert_eq!(giver, *first);
        let same = by.iter().take(most).take_while(|who| *who == first).count();
        assert!(run.len() <= same && (run.len() > 0 || most == 0));
    } else {
        assert_eq!(run.len(), 0);
    }
    let n = run.len();
    oracle.take(run, n);
}
