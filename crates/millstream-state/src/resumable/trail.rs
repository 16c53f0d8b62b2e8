//! The trail of a source's positions.

use super::{Places, Position, Resumable};
use millstream_core::Item;
use millstream_exec::Source;
use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most marks that are kept between two snapshots.
const MARKS: usize = 1024;
/// The same for a source whose values do not repeat. Older marks are forgotten: snapshots are of late numbers.
const ALL_MARKS: usize = 1 << 16;

/// Where a source was at some of its numbers: at all of the latest ones while they are few, and at every second,
/// fourth, and so on where they are many. From a mark at or before a number the source reaches that number by leaving
/// out the values between the two. Of a source whose values do not repeat it has the latest ones, without a gap.
pub(crate) struct Trail<M> {
    repeats: bool,
    every: AtomicU64,
    marks: Mutex<VecDeque<(u64, M)>>,
    /// The numbers behind values that are not [whole](Places::is_whole).
    within: Mutex<VecDeque<u64>>,
}

impl<M: Clone> Trail<M> {
    /// For a source that [repeats](Resumable::repeats), or not.
    pub(crate) fn new(repeats: bool) -> Arc<Self> {
        Arc::new(Trail { repeats, every: AtomicU64::new(1), marks: Mutex::default(), within: Mutex::default() })
    }

    fn marks(&self) -> MutexGuard<'_, VecDeque<(u64, M)>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source is at this number, and there.
    fn put(&self, number: u64, mark: impl FnOnce() -> M) {
        let every = self.every.load(Ordering::Relaxed);
        if !number.is_multiple_of(every) {
            return;
        }
        let mark = mark();
        let mut marks = self.marks();
        marks.push_back((number, mark));
        if !self.repeats {
            if marks.len() > ALL_MARKS {
                marks.pop_front();
            }
        } else if marks.len() > MARKS {
            let every = every * 2;
            self.every.store(every, Ordering::Relaxed);
            let first = marks[0].0;
            marks.retain(|(number, _)| number.is_multiple_of(every) || *number == first);
        }
    }

    fn within(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.within.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value before this number is not whole.
    fn is_within(&self, number: u64) {
        let mut within = self.within();
        within.push_back(number);
        if within.len() > ALL_MARKS {
            within.pop_front();
        }
    }

    /// Whether the value before this number is whole. Earlier numbers are forgotten.
    pub(crate) fn is_whole(&self, number: u64) -> bool {
        let mut within = self.within();
        while within.front().is_some_and(|first| *first < number) {
            within.pop_front();
        }
        within.front() != Some(&number)
    }

    /// The last mark at or before this number, with its own number. Earlier ones are forgotten.
    pub(crate) fn at(&self, number: u64) -> Option<(u64, M)> {
        let mut marks = self.marks();
        while marks.get(1).is_some_and(|(next, _)| *next <= number) {
            marks.pop_front();
        }
        if marks.len() < MARKS / 2 {
            self.every.store(1, Ordering::Relaxed);
        }
        marks.front().filter(|(at, _)| if self.repeats { *at <= number } else { *at == number }).cloned()
    }
}

/// A resumable source that leaves a trail.
pub(crate) struct Trailing<T, X: Resumable<T>>
where
    T: Item,
{
    values: TrailingValues<X::Values>,
    waits: bool,
    item: PhantomData<fn() -> T>,
}

pub(crate) struct TrailingValues<V: Places> {
    values: V,
    trail: Arc<Trail<V::Mark>>,
    number: u64,
    /// The number of the first value that is passed on.
    begins: u64,
}

impl<T: Item, X: Resumable<T>> Trailing<T, X> {
    /// The source from the number `at` on. It begins at a position, with that position's number, which is at most `at`;
    /// at its first value and number 0 if there is none. If it follows another process, the values up to `at` are left
    /// out when they come: of the last one it may not be known yet that it is durable.
    ///
    /// # Errors
    ///
    /// If it cannot begin there, or ends before.
    pub(crate) fn new(
        source: &X,
        position: Option<(u64, Position)>,
        at: u64,
        trail: Arc<Trail<X::Mark>>,
        follows: bool,
    ) -> io::Result<Self> {
        let (number, position) = position.unzip();
        let values = source.begin(position.as_ref())?;
        Self::of(source, values, number.unwrap_or(0), at, trail, follows)
    }

    /// As [`new`](Trailing::new), of these values of the source, from the number `number` on.
    pub(crate) fn of(
        source: &X,
        values: X::Values,
        number: u64,
        at: u64,
        trail: Arc<Trail<X::Mark>>,
        follows: bool,
    ) -> io::Result<Self> {
        let mut values = TrailingValues { values, trail, number, begins: at };
        values.leave_mark();
        if !follows && let Err(number) = values.leave_out() {
            let why = format!("it ends at number {number}, before the snapshot's number {at}: is it the same input?");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        Ok(Trailing { values, waits: source.waits(), item: PhantomData })
    }
}

impl<V: Places<Mark: Clone>> TrailingValues<V> {
    /// Leaves out the values before the first one that is passed on; the number at which they end if that is before.
    fn leave_out(&mut self) -> Result<(), u64> {
        while self.number < self.begins {
            self.values.next().ok_or(self.number)?;
            self.number += 1;
            self.leave_mark();
        }
        Ok(())
    }

    /// Where the source is.
    pub(crate) fn place(&self) -> V::Mark {
        self.values.place()
    }

    fn leave_mark(&self) {
        if !self.values.is_whole() {
            self.trail.is_within(self.number);
        }
        self.trail.put(self.number, || self.values.place());
    }
}

impl<V: Places<Mark: Clone>> Iterator for TrailingValues<V> {
    type Item = V::Item;

    fn next(&mut self) -> Option<V::Item> {
        self.leave_out().ok()?;
        let value = self.values.next()?;
        self.number += 1;
        // The mark is left now, and not when the next value is read: a snapshot here may be stored before that.
        self.leave_mark();
        Some(value)
    }
}

impl<T: Item, X: Resumable<T>> Source<T> for Trailing<T, X> {
    type Values = TrailingValues<X::Values>;
    const WAITS: bool = X::WAITS;
    /// Each value leaves its place, and most come from a file.
    const IN_LOOP: bool = false;
    const LOOP_BEHIND: bool = false;

    fn waits(&self) -> bool {
        self.waits
    }

    fn into_values(self) -> Self::Values {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL_MARKS, MARKS, Trail};

    #[test]
    fn a_trail_has_a_mark_at_or_a_little_before_every_number() {
        let trail = Trail::new(true);
        let mut last = 0;
        for number in 0..100_000_u64 {
            trail.put(number, || number * 10);
            assert!(trail.marks().len() <= MARKS);
            if number % 7919 == 7918 {
                let (at, mark) = trail.at(number).unwrap();
                assert_eq!(mark, at * 10);
                let since = number - last;
                assert!(number - at <= 4 * since / MARKS as u64 + 1, "{at} for {number}, {last} before");
                last = number;
            }
        }
    }

    #[test]
    fn a_source_that_does_not_repeat_has_a_mark_at_every_late_number() {
        let trail = Trail::new(false);
        let numbers = 3 * ALL_MARKS as u64;
        (0..numbers).for_each(|number| trail.put(number, || number * 10));
        for number in [numbers - ALL_MARKS as u64, numbers - 4321, numbers - 4320, numbers - 1] {
            assert_eq!(trail.at(number), Some((number, number * 10)));
        }
        let trail = Trail::new(false);
        (0..numbers).for_each(|number| trail.put(number, || number * 10));
        assert_eq!(trail.at(1), None);
    }

    #[test]
    fn a_trail_knows_behind_which_numbers_the_value_is_not_whole() {
        let trail = Trail::<()>::new(true);
        [3, 7].into_iter().for_each(|number| trail.is_within(number));
        let whole: Vec<u64> = (2..9).filter(|number| trail.is_whole(*number)).collect();
        assert_eq!(whole, [2, 4, 5, 6, 8]);
    }

    #[test]
    fn a_trail_that_begins_after_a_number_has_no_mark_for_it() {
        let trail = Trail::new(true);
        trail.put(6, || ());
        assert_eq!(trail.at(5), None);
        assert_eq!(trail.at(9), Some((6, ())));
    }
}
