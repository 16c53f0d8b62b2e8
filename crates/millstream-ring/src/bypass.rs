//! Values that one thread takes from a source, through stages, into a sink, past the rings between, whose slots they do
//! not touch.
//!
//! The rings keep their clocks: their cursors and gates move as if the values had gone through the slots. So marks,
//! END, probes and forks find the rings as they would be anyway, and values can go through the slots again at any
//! number.

mod end;
mod in_hand;

pub use end::RingEnd;

use crate::shared::MOST;
use crate::vectorised::{Loop3, vectorised3};
use in_hand::InHand;
use millstream_core::SequenceNumber;
use millstream_core::fusion::Fill;
use std::ops::Range;

/// All ends of some rings in which nothing waits.
pub struct IdleRings<'e, 'r> {
    ends: &'e mut [&'r mut dyn RingEnd],
    /// The first end of each clock after the first.
    clocks: &'e [usize],
    /// Whether the first end is the producer that the source fills.
    from_source: bool,
    next: u64,
    /// How many numbers come before the next mark.
    most: u64,
}

impl<'e, 'r> IdleRings<'e, 'r> {
    /// These ends, in the order in which values pass them, from the producer that the source fills to the reader of the
    /// sink: if they are all ends of their rings, and if all of them are at the same number. None if there is another
    /// reader, if a reader has not read all that is published, or has not passed the marks at its number; also behind
    /// END, and if a [`Sweeper`](crate::Sweeper) drops the values of a ring.
    ///
    /// Edges of several rings can be among them, such as a filter's or a pair's.
    ///
    /// ```
    /// use millstream::{prelude::*, ring::{IdleRings, ring}};
    /// let (mut producer, mut reader) = ring::<char, Dense>(2)?;
    /// assert!(IdleRings::of(&mut [&mut producer, &mut reader]).is_some());
    /// let other = reader.fork();
    /// assert!(IdleRings::of(&mut [&mut producer, &mut reader]).is_none());
    /// drop(other);
    /// producer.fill(1, |_| 'a')?;
    /// assert!(IdleRings::of(&mut [&mut producer, &mut reader]).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(ends: &'e mut [&'r mut dyn RingEnd]) -> Option<Self> {
        let next = ends.first()?.at();
        Self::idle(next, true, ends, &[])
    }

    /// As [`of`](IdleRings::of), behind a stage's reader, which is at `next` and is none of the ends. The ends begin
    /// with the producer of that stage. `clocks` has the index of the first end of each clock after the reader's.
    #[must_use]
    pub fn behind(next: SequenceNumber, ends: &'e mut [&'r mut dyn RingEnd], clocks: &'e [usize]) -> Option<Self> {
        Self::idle(next.0, false, ends, clocks)
    }

    fn idle(next: u64, from_source: bool, ends: &'e mut [&'r mut dyn RingEnd], clocks: &'e [usize]) -> Option<Self> {
        if !clocks.is_sorted_by(|one, other| one < other) || clocks.last().is_some_and(|last| *last >= ends.len()) {
            return None;
        }
        let (mut at, mut most) = (next, u64::MAX);
        for (i, end) in ends.iter_mut().enumerate() {
            if clocks.contains(&i) {
                at = end.at();
            }
            let before = end.before_work();
            if end.at() != at {
                return None;
            }
            // How many numbers of a later clock pass is not known before they do.
            let is_later = clocks.first().is_some_and(|first| i >= *first);
            most = most.min(if is_later && before < u64::MAX { 0 } else { before });
        }
        (most > 0 && are_all(ends, clocks)).then_some(IdleRings { ends, clocks, from_source, next, most })
    }

    /// The next number.
    #[must_use]
    pub fn next(&self) -> SequenceNumber {
        SequenceNumber(self.next)
    }

    /// How many numbers come before the next mark.
    #[must_use]
    pub fn before_mark(&self) -> usize {
        usize::try_from(self.most).unwrap_or(usize::MAX)
    }

    /// Takes at most `n` values, and calls `f` with each and its number, on the first clock of the rings, and with the
    /// state of a loop and a sink. `f` returns the outcome of the slot. There are fewer than `n` if the values end, if
    /// a [mark](IdleRings::before_mark) comes first, or if a slot [does not go on](Fill::goes_on). The numbers of a
    /// later clock pass by [`pass_clock`](IdleRings::pass_clock).
    ///
    /// The numbers that went past are counted in `passed`. If `values` or `f` panics, those are the numbers before the
    /// present one.
    ///
    /// ```
    /// use millstream::{core::fusion::Fill, prelude::*, ring::{IdleRings, Passed, ring}};
    /// let (mut producer, mut stage) = ring::<u64, Dense>(2)?;
    /// let (mut output, mut sink) = ring::<u64, Dense>(2)?;
    /// let (mut values, mut all, mut passed) = (1..=3, Vec::new(), Passed::default());
    /// let double = |_: &mut (), all: &mut Vec<u64>, _: SequenceNumber, x: u64| {
    ///     all.push(x * 2);
    ///     Fill::of(true)
    /// };
    /// let mut ends: [&mut dyn millstream::ring::RingEnd; 4] = [&mut producer, &mut stage, &mut output, &mut sink];
    /// let mut rings = IdleRings::of(&mut ends).expect("they are new");
    /// rings.bypass(9, (&mut values, &mut (), &mut all), &mut passed, double);
    /// assert_eq!((passed.numbers, all, sink.position()), (3, vec![2, 4, 6], SequenceNumber(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn bypass<I: Iterator, W, K>(
        &mut self,
        n: usize,
        (values, work, sink): (&mut I, &mut W, &mut K),
        passed: &mut Passed,
        f: impl FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> Fill,
    ) {
        self.each(n, passed, f, |each| vectorised3(values, work, sink, each));
    }

    /// As [`bypass`](IdleRings::bypass), by a loop that is compiled once, for any machine: if one value becomes many
    /// after a later stage, wider vectors gain nothing.
    #[inline]
    pub fn bypass_one_by_one<I: Iterator, W, K>(
        &mut self,
        n: usize,
        (values, work, sink): (&mut I, &mut W, &mut K),
        passed: &mut Passed,
        f: impl FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> Fill,
    ) {
        self.each(n, passed, f, |each| each.run(values, work, sink));
    }

    /// Lets `run` run the loop, and passes what has gone through it, also if a panic ends it.
    #[inline(always)]
    fn each<F>(&mut self, n: usize, passed: &mut Passed, f: F, run: impl FnOnce(Each<'_, F>)) {
        let (first, n) = (self.next(), n.min(self.before_mark()));
        *passed = Passed::default();
        let passing = Passing { rings: self, passed };
        run(Each { first, n, passed: &mut *passing.passed, f });
    }

    /// How many later clocks there are.
    #[must_use]
    pub fn clocks(&self) -> usize {
        self.clocks.len()
    }

    /// The next number of a later clock, the first of which is clock 0.
    ///
    /// # Panics
    ///
    /// If there is no such clock.
    #[must_use]
    pub fn next_of(&self, clock: usize) -> SequenceNumber {
        SequenceNumber(self.ends[self.clocks[clock]].at())
    }

    /// The next `numbers` numbers of a later clock pass; the first such clock is clock 0. `filled` of them have a value
    /// at the sink, if it is the last clock.
    ///
    /// # Panics
    ///
    /// If a number from 2^63 on would pass. None has passed then.
    pub fn pass_clock(&mut self, clock: usize, numbers: usize, filled: usize) {
        if let Some(first) = self.clocks.get(clock) {
            let end = self.clocks.get(clock + 1).copied().unwrap_or(self.ends.len());
            self.pass_ends(*first..end, numbers, filled);
        }
    }

    #[inline(never)]
    fn pass(&mut self, Passed { numbers, filled, .. }: Passed) {
        let end = self.clocks.first().copied().unwrap_or(self.ends.len());
        self.pass_ends(0..end, numbers, filled);
        self.next += numbers as u64;
        self.most -= numbers as u64;
    }

    fn pass_ends(&mut self, ends: Range<usize>, numbers: usize, filled: usize) {
        let last = self.ends.len().saturating_sub(2);
        // All ends of a clock are at one number, and the check comes before the first of them moves.
        let at = self.ends[ends.clone()].first().map_or(0, |end| end.at());
        assert!(at <= MOST && numbers as u64 <= MOST - at, "no number from 2^63 on passes a ring");
        for i in ends {
            // The values of a source are all there. What is filled between the source and the sink is not known.
            let filled = if i == 0 && self.from_source { Some(numbers) } else { (i == last).then_some(filled) };
            // SAFETY: nothing waits in these rings. All of their ends are here, borrowed as mutable, and those of one
            // clock are at one number and move together. The numbers stay below 2^63.
            unsafe { self.ends[i].pass_by(numbers, filled) };
        }
    }
}

impl std::fmt::Debug for IdleRings<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdleRings").field("next", &self.next).field("most", &self.most).finish_non_exhaustive()
    }
}

/// Whether no other reader holds one of these producers back, no other producer fills a ring of one of these readers,
/// and all ends of a ring have one clock. Each gate of a reader is on one ring.
fn are_all(ends: &[&mut dyn RingEnd], clocks: &[usize]) -> bool {
    let (mut gates, mut known, mut held) = (0, true, 0);
    for reader in ends {
        known &= reader.holds(&mut |_| gates += 1);
    }
    for (i, producer) in ends.iter().enumerate() {
        let of_clock = clocks.iter().copied().find(|first| *first > i).unwrap_or(ends.len());
        producer.held_by(&mut |gate| {
            held += 1;
            // Its readers come after it, mostly at once.
            known &= ends[i + 1..of_clock].iter().any(|reader| {
                let mut is_there = false;
                reader.holds(&mut |other| is_there |= gate == Some(other));
                is_there
            });
        });
    }
    known && held == gates
}

/// The numbers that went past the rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How many numbers.
    pub numbers: usize,
    /// How many slots of the output have a value, those of a number among them that has not passed whole.
    pub filled: usize,
    /// Whether no further slot may follow in this step.
    pub stopped: bool,
    /// Whether the last slot has not passed whole.
    pub held: bool,
}

/// The rings, until that much has passed; also if a panic ends the loop.
struct Passing<'p, 'e, 'r> {
    rings: &'p mut IdleRings<'e, 'r>,
    passed: &'p mut Passed,
}

impl Drop for Passing<'_, '_, '_> {
    #[inline]
    fn drop(&mut self) {
        if self.passed.numbers > 0 {
            self.rings.pass(*self.passed);
        }
    }
}

struct Each<'p, F> {
    first: SequenceNumber,
    n: usize,
    passed: &'p mut Passed,
    f: F,
}

impl<I: Iterator, W, K, F> Loop3<I, W, K> for Each<'_, F>
where
    F: FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> Fill,
{
    #[inline(always)]
    fn run(self, values: &mut I, work: &mut W, sink: &mut K) {
        if size_of::<(I, W, K)>() > IN_HAND {
            return self.over(values, work, sink);
        }
        let (mut values, mut work, mut sink) = (InHand::new(values), InHand::new(work), InHand::new(sink));
        self.over(&mut *values, &mut *work, &mut *sink);
    }
}

impl<F> Each<'_, F> {
    #[inline(always)]
    fn over<I: Iterator, W, K>(mut self, values: &mut I, work: &mut W, sink: &mut K)
    where
        F: FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> Fill,
    {
        let mut count = Count { so_far: Passed::default(), passed: self.passed };
        while count.so_far.numbers < self.n {
            let Some(value) = values.next() else { break };
            let number = SequenceNumber(self.first.0 + count.so_far.numbers as u64);
            let fill = (self.f)(work, sink, number, value);
            count.so_far.filled += fill.count();
            if !fill.goes_on() {
                let (stopped, held) = (fill.stops(), fill.is_held());
                let numbers = count.so_far.numbers + usize::from(!held);
                count.so_far = Passed { numbers, stopped, held, ..count.so_far };
                break;
            }
            count.so_far.numbers += 1;
        }
    }
}

/// As many bytes of states are moved for a loop.
const IN_HAND: usize = 256;

/// Stores how far a loop has come, also if a panic leaves it.
struct Count<'p> {
    so_far: Passed,
    passed: &'p mut Passed,
}

impl Drop for Count<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.passed = self.so_far;
    }
}
