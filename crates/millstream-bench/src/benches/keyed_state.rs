//! A job with 96 bytes of state for each of many keys, over numbers that are the same each time. Benches `snapshot` and
//! `restore` run it.

use millstream::core::RunOutcome;
use millstream::prelude::*;
use millstream::state::{ClaimingSink, Claims, OpenError, Places, Position, Resumable};
use std::convert::Infallible;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The state of a key.
pub(super) type Totals = [u64; 12];

/// The state before a key's first number. Such numbers take as many bytes in a snapshot as in memory.
pub(super) const START: Totals = [0x0102_0304_0506_0708; 12];

/// The keys of about 100 MB of states.
pub(super) const KEYS: u64 = 1 << 20;

/// Numbers, each with a key below `keys`: every key once, in order, and then keys in an order that a processor cannot
/// predict, of which one in `spread` is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) keys: u64,
    pub(super) spread: u64,
    pub(super) end: u64,
    /// A pause, and the number of numbers between two of them.
    pub(super) pause: Option<(u64, Duration)>,
}

impl Numbers {
    /// The key at a number.
    #[inline]
    pub(super) fn key(self, number: u64) -> u64 {
        if number < self.keys {
            return number;
        }
        let taken = (self.keys / self.spread).max(1);
        number.wrapping_mul(0x9e37_79b1) % taken * self.spread
    }

    /// The sum of what the job's sink gets from a number on.
    pub(super) fn expected_from(self, first: u64) -> u64 {
        let mut states = vec![START; self.keys as usize];
        let mut outputs = (0..self.end).map(|n| step(&mut states[self.key(n) as usize], n)).skip(first as usize);
        outputs.by_ref().fold(0, u64::wrapping_add)
    }
}

/// The values of [`Numbers`]: a number and its key.
#[derive(Debug)]
pub(super) struct From {
    numbers: Numbers,
    next: u64,
}

impl Iterator for From {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let number = (self.next < self.numbers.end).then_some(self.next)?;
        if let Some((every, time)) = self.numbers.pause
            && number.is_multiple_of(every)
        {
            sleep(time);
        }
        self.next += 1;
        Some((number, self.numbers.key(number)))
    }
}

impl Places for From {
    type Mark = u64;

    fn place(&self) -> u64 {
        self.next
    }
}

impl Resumable<(u64, u64)> for Numbers {
    type Mark = u64;
    type Values = From;
    const WAITS: bool = false;

    fn begin(&self, position: Option<&Position>) -> io::Result<From> {
        Ok(From { numbers: *self, next: position.and_then(Position::as_u64).unwrap_or(0) })
    }

    fn position(&self, mark: &u64) -> io::Result<Position> {
        Ok((*mark).into())
    }
}

/// The output of a key for a number.
#[inline]
fn step(totals: &mut Totals, number: u64) -> u64 {
    let place = (number % 12) as usize;
    totals[place] = totals[place].wrapping_add(number);
    totals[0] ^ totals[place]
}

/// The job's pipeline, with its keys on one lane.
pub(super) fn totals() -> impl Lasting<In = Val<(u64, u64)>, Out = Val<u64>> {
    pipeline::<(u64, u64)>()
        .shard_by_within(
            Bound::refuse(1 << 26),
            |(_, key)| *key,
            1,
            |p| p.scan(START, |totals, (number, _)| step(totals, *number)).named("totals"),
        )
        .named("keys")
}

/// Sums what it gets, and measures the time from a number on.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumFrom(pub(super) u64);

/// An open [`SumFrom`].
#[derive(Debug)]
pub(super) struct Summing {
    from: u64,
    sum: u64,
    began: Option<Instant>,
}

impl ClaimingSink<Val<u64>> for SumFrom {
    type Open = Summing;

    fn open(&self, _: Option<(SequenceNumber, &Position)>) -> Result<Summing, OpenError> {
        Ok(Summing { from: self.0, sum: 0, began: None })
    }
}

impl Claims for Summing {
    fn claim(&mut self) -> io::Result<Position> {
        Ok(Position::Null)
    }
}

impl Sink<Val<u64>> for Summing {
    type Output = (u64, Duration);
    type Error = Infallible;

    #[inline]
    fn put(&mut self, number: SequenceNumber, value: &u64) -> Result<(), Infallible> {
        if number.0 >= self.from && self.began.is_none() {
            self.began = Some(Instant::now());
        }
        self.sum = self.sum.wrapping_add(*value);
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(u64, Duration), Infallible> {
        Ok((self.sum, self.began.map(|began| began.elapsed()).unwrap_or_default()))
    }
}
