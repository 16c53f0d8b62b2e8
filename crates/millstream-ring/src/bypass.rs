//! Values that one thread takes from a source, through a stage, into a sink, past two rings whose slots they do not
//! touch.
//!
//! The rings keep their clocks: their cursors and gates move as if the values had gone through the slots. So marks,
//! END, probes and forks find the rings as they would be anyway, and values can go through the slots again at any
//! number.

use crate::producer::Producer;
use crate::reader::Reader;
use crate::vectorised::{Loop3, vectorised3};
use millstream_core::{Dense, Density, Item, SequenceNumber, Val};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

/// Both ends of a ring in which nothing waits, and that has no other reader.
#[derive(Debug)]
pub struct IdleRing<'r, T: Item, D: Density> {
    producer: &'r mut Producer<D::Slot<T>>,
    reader: &'r mut Reader<Val<T, D>>,
    /// How many numbers come before the next mark.
    most: u64,
}

impl<'r, T: Item, D: Density> IdleRing<'r, T, D> {
    /// The two ends, if the reader is the only one, has read all that is published, and has passed the marks at its
    /// number. None also behind END, and if a [`Sweeper`](crate::Sweeper) drops the values.
    ///
    /// ```
    /// use millstream::{prelude::*, ring::{IdleRing, ring}};
    /// let (mut producer, mut reader) = ring::<char, Dense>(2)?;
    /// assert!(IdleRing::of(&mut producer, &mut reader).is_some());
    /// let other = reader.fork();
    /// assert!(IdleRing::of(&mut producer, &mut reader).is_none());
    /// drop(other);
    /// producer.fill(1, |_| 'a')?;
    /// assert!(IdleRing::of(&mut producer, &mut reader).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(producer: &'r mut Producer<D::Slot<T>>, reader: &'r mut Reader<Val<T, D>>) -> Option<Self> {
        if producer.next != reader.position || !producer.is_drained_by(reader.view.reads(), reader.view.gate()) {
            return None;
        }
        let most = reader.before_mark();
        (most > 0).then_some(IdleRing { producer, reader, most })
    }

    /// The next number.
    #[must_use]
    pub fn next(&self) -> SequenceNumber {
        SequenceNumber(self.producer.next)
    }

    /// How many numbers come before the next mark.
    #[must_use]
    pub fn before_mark(&self) -> usize {
        usize::try_from(self.most).unwrap_or(usize::MAX)
    }

    /// The next `n` numbers pass; `filled` of them have a value.
    fn pass(&mut self, n: usize, filled: usize) {
        self.producer.pass_by(n, filled);
        self.reader.pass_by(self.producer.next);
    }
}

/// What went past two rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How many numbers.
    pub numbers: usize,
    /// How many of them have a value in the output.
    pub filled: usize,
}

/// Takes at most `n` values, and calls `f` with each and its number, on the clock of both rings, and with the state of
/// a stage and a sink. `f` returns whether the output's slot is filled. There are fewer than `n` if the values have
/// ended, or if a [mark](IdleRing::before_mark) lies ahead.
///
/// What went past is stored in `passed`. If `values` or `f` panics, that are the numbers before the present one.
///
/// # Panics
///
/// If the rings have different clocks.
///
/// ```
/// use millstream::{prelude::*, ring::{IdleRing, Passed, bypass, ring}};
/// let (mut producer, mut stage) = ring::<u64, Dense>(2)?;
/// let (mut output, mut sink) = ring::<u64, Dense>(2)?;
/// let input = IdleRing::of(&mut producer, &mut stage).expect("it is new");
/// let to_sink = IdleRing::of(&mut output, &mut sink).expect("it is new");
/// let (mut values, mut all, mut passed) = (1..=3, Vec::new(), Passed::default());
/// let double = |_: &mut (), all: &mut Vec<u64>, _: SequenceNumber, x: u64| {
///     all.push(x * 2);
///     true
/// };
/// bypass((input, to_sink, 9), (&mut values, &mut (), &mut all), &mut passed, double);
/// assert_eq!((passed.numbers, all, sink.position()), (3, vec![2, 4, 6], SequenceNumber(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn bypass<T: Item, U: Item, D: Density, I, W, K>(
    (input, output, n): (IdleRing<'_, T, Dense>, IdleRing<'_, U, D>, usize),
    (values, work, sink): (&mut I, &mut W, &mut K),
    passed: &mut Passed,
    f: impl FnMut(&mut W, &mut K, SequenceNumber, T) -> bool,
) where
    I: Iterator<Item = T>,
{
    let first = input.next();
    assert_eq!(first, output.next(), "the clock of the input is that of the output");
    let n = n.min(input.before_mark()).min(output.before_mark());
    *passed = Passed::default();
    let passing = Passing { input, output, passed };
    vectorised3(values, work, sink, Each { first, n, passed: &mut *passing.passed, f });
}

/// Both rings, until that much has passed; also if a panic ends the loop.
struct Passing<'r, T: Item, U: Item, D: Density> {
    input: IdleRing<'r, T, Dense>,
    output: IdleRing<'r, U, D>,
    passed: &'r mut Passed,
}

impl<T: Item, U: Item, D: Density> Drop for Passing<'_, T, U, D> {
    #[inline]
    fn drop(&mut self) {
        let Passed { numbers, filled } = *self.passed;
        if numbers > 0 {
            self.input.pass(numbers, numbers);
            self.output.pass(numbers, filled);
        }
    }
}

struct Each<'p, F> {
    first: SequenceNumber,
    n: usize,
    passed: &'p mut Passed,
    f: F,
}

impl<T: Item, I, W, K, F> Loop3<I, W, K> for Each<'_, F>
where
    I: Iterator<Item = T>,
    F: FnMut(&mut W, &mut K, SequenceNumber, T) -> bool,
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
