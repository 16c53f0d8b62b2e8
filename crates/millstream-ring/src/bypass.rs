//! Values that one thread takes from a source, through stages, into a sink, past the rings between, whose slots they do
//! not touch.
//!
//! The rings keep their clocks: their cursors and gates move as if the values had gone through the slots. So marks,
//! END, probes and forks find the rings as they would be anyway, and values can go through the slots again at any
//! number.

use crate::gate::{Gate, GateId};
use crate::producer::Producer;
use crate::reader::Reader;
use crate::vectorised::{Loop3, vectorised3};
use crate::view::{RingLayout, View};
use millstream_core::{Item, SequenceNumber};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

/// A [`Producer`] or a [`Reader`]. Sealed.
pub trait RingEnd: sealed::Sealed {
    /// The number of its clock that is next.
    #[doc(hidden)]
    fn at(&self) -> u64;

    /// How many numbers can pass before it has something to do: none if its ring is not empty.
    #[doc(hidden)]
    fn before_work(&mut self) -> u64;

    /// The gates that hold a producer back, as they were read last.
    #[doc(hidden)]
    fn held_by(&self, see: &mut dyn FnMut(Option<GateId>));

    /// The gates of a reader, one for each of its rings. Returns whether these are all.
    #[doc(hidden)]
    fn holds(&self, see: &mut dyn FnMut(GateId)) -> bool;

    /// The next `n` numbers pass. `filled` of them have a value; none if it is not known.
    #[doc(hidden)]
    fn pass_by(&mut self, n: usize, filled: Option<usize>);
}

mod sealed {
    pub trait Sealed {}
    impl<S: super::Item> Sealed for super::Producer<S> {}
    impl<F: super::RingLayout> Sealed for super::Reader<F> {}
}

impl<S: Item> RingEnd for Producer<S> {
    fn at(&self) -> u64 {
        self.next
    }

    fn before_work(&mut self) -> u64 {
        if self.is_drained() { u64::MAX } else { 0 }
    }

    fn held_by(&self, see: &mut dyn FnMut(Option<GateId>)) {
        self.gates().map(Gate::id).for_each(see);
    }

    fn holds(&self, _: &mut dyn FnMut(GateId)) -> bool {
        true
    }

    fn pass_by(&mut self, n: usize, filled: Option<usize>) {
        self.pass_by(n, filled);
    }
}

impl<F: RingLayout> RingEnd for Reader<F> {
    fn at(&self) -> u64 {
        self.position
    }

    fn before_work(&mut self) -> u64 {
        self.before_mark()
    }

    fn held_by(&self, _: &mut dyn FnMut(Option<GateId>)) {}

    fn holds(&self, see: &mut dyn FnMut(GateId)) -> bool {
        self.view.gates(see)
    }

    fn pass_by(&mut self, n: usize, _: Option<usize>) {
        self.pass_by(self.position + n as u64);
    }
}

/// All ends of some rings in which nothing waits.
pub struct IdleRings<'e, 'r> {
    ends: &'e mut [&'r mut dyn RingEnd],
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
        let mut most = u64::MAX;
        for end in ends.iter_mut() {
            if end.at() != next {
                return None;
            }
            most = most.min(end.before_work());
        }
        (most > 0 && are_all(ends)).then_some(IdleRings { ends, next, most })
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

    /// Takes at most `n` values, and calls `f` with each and its number, on the clock of the rings, and with the state
    /// of a loop and a sink. `f` returns whether the output's slot is filled. There are fewer than `n` if the values
    /// have ended, or if a [mark](IdleRings::before_mark) lies ahead.
    ///
    /// What went past is stored in `passed`. If `values` or `f` panics, that are the numbers before the present one.
    ///
    /// ```
    /// use millstream::{prelude::*, ring::{IdleRings, Passed, ring}};
    /// let (mut producer, mut stage) = ring::<u64, Dense>(2)?;
    /// let (mut output, mut sink) = ring::<u64, Dense>(2)?;
    /// let (mut values, mut all, mut passed) = (1..=3, Vec::new(), Passed::default());
    /// let double = |_: &mut (), all: &mut Vec<u64>, _: SequenceNumber, x: u64| {
    ///     all.push(x * 2);
    ///     true
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
        f: impl FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> bool,
    ) {
        let (first, n) = (self.next(), n.min(self.before_mark()));
        *passed = Passed::default();
        let passing = Passing { rings: self, passed };
        vectorised3(values, work, sink, Each { first, n, passed: &mut *passing.passed, f });
    }

    #[inline(never)]
    fn pass(&mut self, Passed { numbers, filled }: Passed) {
        let last = self.ends.len().saturating_sub(2);
        for (i, end) in self.ends.iter_mut().enumerate() {
            // The values of a source are all there. What is filled between the source and the sink is not known.
            let filled = if i == 0 { Some(numbers) } else { (i == last).then_some(filled) };
            end.pass_by(numbers, filled);
        }
        self.next += numbers as u64;
        self.most -= numbers as u64;
    }
}

impl std::fmt::Debug for IdleRings<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdleRings").field("next", &self.next).field("most", &self.most).finish_non_exhaustive()
    }
}

/// Whether no other reader holds one of these producers back, and no other producer fills a ring of one of these
/// readers. Each gate of a reader is on one ring.
fn are_all(ends: &[&mut dyn RingEnd]) -> bool {
    let (mut gates, mut known, mut held) = (0, true, 0);
    for reader in ends {
        known &= reader.holds(&mut |_| gates += 1);
    }
    for (i, producer) in ends.iter().enumerate() {
        producer.held_by(&mut |gate| {
            held += 1;
            // Its readers come behind it, mostly at once.
            known &= ends[i + 1..].iter().any(|reader| {
                let mut is_there = false;
                reader.holds(&mut |other| is_there |= gate == Some(other));
                is_there
            });
        });
    }
    known && held == gates
}

/// What went past the rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How many numbers.
    pub numbers: usize,
    /// How many of them have a value in the output.
    pub filled: usize,
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
    F: FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> bool,
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
        F: FnMut(&mut W, &mut K, SequenceNumber, I::Item) -> bool,
    {
        let mut count = Count { so_far: Passed::default(), passed: self.passed };
        while count.so_far.numbers < self.n {
            let Some(value) = values.next() else { break };
            let number = SequenceNumber(self.first.0 + count.so_far.numbers as u64);
            let filled = (self.f)(work, sink, number, value);
            count.so_far.numbers += 1;
            count.so_far.filled += usize::from(filled);
        }
    }
}

/// As many bytes of states are moved for a loop.
const IN_HAND: usize = 256;

/// A value that was moved out of its place, and is moved back when this is dropped. The compiler keeps a local variable
/// in registers, where a loop that can end before its first store would store to memory at every turn.
struct InHand<'h, T> {
    value: ManuallyDrop<T>,
    home: &'h mut MaybeUninit<T>,
}

impl<'h, T> InHand<'h, T> {
    #[inline(always)]
    fn new(home: &'h mut T) -> Self {
        // SAFETY: both types have one layout. Nothing but this value reaches the place as long as it is borrowed, and
        // `drop`, which also a panic runs, moves the value back into it.
        let home = unsafe { &mut *std::ptr::from_mut(home).cast::<MaybeUninit<T>>() };
        // SAFETY: it holds a value, which is used by its new place alone from now on.
        let value = ManuallyDrop::new(unsafe { home.assume_init_read() });
        InHand { value, home }
    }
}

impl<T> Deref for InHand<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for InHand<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for InHand<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        self.home.write(unsafe { ManuallyDrop::take(&mut self.value) });
    }
}

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
