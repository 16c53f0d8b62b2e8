use super::Sink;
use crate::RunOutcome;
use millstream_core::{SequenceNumber, ToOwnedItem};
use std::convert::Infallible;

/// Every value, in order: see [`collect`].
#[derive(Clone, Debug)]
pub struct Collect<T>(Vec<T>);

/// A sink that keeps a clone of every value, and returns them in order.
///
/// ```
/// use millstream::prelude::*;
/// let run = pipeline::<u64>().map(|x| x * x).from(1..=3).to(sink::collect()).start()?;
/// assert_eq!(run.wait()?.0, [1, 4, 9]);
/// # Ok::<(), RunError>(())
/// ```
#[must_use]
pub fn collect<T>() -> Collect<T> {
    Collect(Vec::new())
}

impl<A: ToOwnedItem> Sink<A> for Collect<A::Owned> {
    type Output = Vec<A::Owned>;
    type Error = Infallible;

    #[inline(always)]
    fn put(&mut self, _: SequenceNumber, value: A::Ref<'_>) -> Result<(), Infallible> {
        self.0.push(A::to_owned_item(value));
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Self::Output, Infallible> {
        Ok(self.0)
    }
}

/// Every slot, by number: see [`collect_slots`].
#[derive(Clone, Debug)]
pub struct CollectSlots<T>(Vec<Option<T>>);

/// A sink that keeps a clone of every value at its number, and returns the slots up to the last value. It does not see
/// the empty slots after that value, nor an empty END. [`Runner::collect_slots`](crate::Runner::collect_slots) adds
/// those. It panics if a number comes a second time, or after a later one: no run does that.
#[must_use]
pub fn collect_slots<T>() -> CollectSlots<T> {
    CollectSlots(Vec::new())
}

impl<A: ToOwnedItem> Sink<A> for CollectSlots<A::Owned> {
    type Output = Vec<Option<A::Owned>>;
    type Error = Infallible;

    #[inline(always)]
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), Infallible> {
        put(&mut self.0, number, A::to_owned_item(value));
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Self::Output, Infallible> {
        Ok(self.0)
    }
}

/// Puts a value into the slot of its number, which is beyond all others.
fn put<T>(slots: &mut Vec<Option<T>>, SequenceNumber(number): SequenceNumber, value: T) {
    assert!(number >= slots.len() as u64, "number {number} comes again, or after a later one");
    slots.resize_with(number as usize, || None);
    slots.push(Some(value));
}

/// The last value: see [`last`].
#[derive(Clone, Debug)]
pub struct Last<T>(Option<T>);

/// A sink that returns a clone of the last value, the answer of a fold for example; none if there is no value. It
/// clones every value on the way.
///
/// ```
/// use millstream::prelude::*;
/// let sum = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
/// assert_eq!(sum.from(1..=4).to(sink::last()).run()?.0, Some(10));
/// # Ok::<(), RunError>(())
/// ```
#[must_use]
pub fn last<T>() -> Last<T> {
    Last(None)
}

impl<A: ToOwnedItem> Sink<A> for Last<A::Owned> {
    type Output = Option<A::Owned>;
    type Error = Infallible;

    #[inline(always)]
    fn put(&mut self, _: SequenceNumber, value: A::Ref<'_>) -> Result<(), Infallible> {
        self.0 = Some(A::to_owned_item(value));
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Self::Output, Infallible> {
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn a_number_comes_once_and_in_order() {
        let slots = |numbers: &'static [u64]| {
            catch_unwind(|| {
                let mut slots = Vec::new();
                numbers.iter().for_each(|number| put(&mut slots, SequenceNumber(*number), *number));
                slots
            })
        };
        assert_eq!(slots(&[0, 2]).ok(), Some(vec![Some(0), None, Some(2)]));
        assert!(slots(&[0, 1, 1]).is_err() && slots(&[0, 1, 2, 0, 1, 2, 3]).is_err());
    }
}
