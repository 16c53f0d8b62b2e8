//! Values by place. A copy is cheap, and knows what has changed since an earlier one.
//!
//! The values are in segments. A copy shares all segments with the table; the table copies a segment when one of its
//! values is touched first, so to take a copy does not take long. Each segment knows which of its places were touched
//! before each of the last copies, so a copy can be written as the changes since an earlier one.

mod taken;
#[cfg(feature = "serde")]
mod written;

#[cfg(feature = "serde")]
pub(crate) use written::ApplyChanges;
#[cfg(feature = "serde")]
pub use written::TableChanges;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Values by place, from 0 on.
pub struct PlaceTable<S> {
    segments: Vec<Segment<S>>,
    /// By segment, the places that were touched before earlier copies.
    past: Vec<Past>,
    length: usize,
    stamp: CopyStamp,
}

/// Which copy of which table it is. Two tables that may differ for other reasons than a copy's age have other stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyStamp {
    table: u64,
    copies: u32,
}

struct Segment<S> {
    /// The places that were touched since the last copy.
    touched: u64,
    held: Held<S>,
}

enum Held<S> {
    Own(Vec<S>),
    /// As in the last copy.
    Shared(Arc<Vec<S>>),
}

/// The places of a segment, all of which have a value, that were touched before each of some copies, the last copy
/// first. The oldest entry has those of older copies as well: more than was touched may be written, and never less.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    copies: [u32; PAST],
    touched: [u64; PAST],
}

const PAST: usize = 3;

impl CopyStamp {
    fn new() -> Self {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        CopyStamp { table: TABLES.fetch_add(1, Ordering::Relaxed), copies: 0 }
    }
}

impl Past {
    fn note(&mut self, copy: u32, touched: u64) {
        let last = PAST - 1;
        self.touched[last - 1] |= self.touched[last];
        self.copies.copy_within(..last, 1);
        self.touched.copy_within(..last, 1);
        (self.copies[0], self.touched[0]) = (copy, touched);
    }

    /// The places that were touched since an earlier copy.
    fn since(&self, copy: u32) -> u64 {
        let later = self.copies.iter().zip(&self.touched).filter(|(at, _)| **at > copy);
        later.fold(0, |all, (_, touched)| all | touched)
    }
}

impl<S> PlaceTable<S> {
    /// The logarithm of the number of places of a segment: a segment is copied at once, so it has few values if they
    /// are large, or own memory elsewhere that may be large.
    const SHIFT: u32 = match size_of::<S>() {
        0..=256 if std::mem::needs_drop::<S>() => 4,
        0..=256 => 6,
        257..=4096 => 3,
        _ => 0,
    };
    const PLACES: usize = 1 << Self::SHIFT;

    /// The bytes of a value, and of its part of a full segment.
    pub(crate) const BYTES_EACH: usize =
        size_of::<S>() + (size_of::<Segment<S>>() + size_of::<Past>()).div_ceil(Self::PLACES);

    /// No values yet.
    #[must_use]
    pub fn new() -> Self {
        PlaceTable { segments: Vec::new(), past: Vec::new(), length: 0, stamp: CopyStamp::new() }
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The value at a place.
    #[inline]
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&S> {
        self.segments.get(place >> Self::SHIFT)?.values().get(place & (Self::PLACES - 1))
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.segments.iter().flat_map(Segment::values)
    }

    /// The bytes of the table, without memory that its values own elsewhere.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.length * size_of::<S>() + self.segments.len() * (size_of::<Segment<S>>() + size_of::<Past>())
    }

    /// Removes all values. Later copies do not know the changes since an earlier one.
    pub fn clear(&mut self) {
        *self = PlaceTable::new();
    }

    /// Which copy this is.
    #[must_use]
    pub fn stamp(&self) -> CopyStamp {
        self.stamp
    }

    /// Of a copy, how many places may differ from an earlier copy of the same table. None if that is not known.
    #[must_use]
    pub fn changed(&self, earlier: CopyStamp) -> Option<usize> {
        let known = earlier.table == self.stamp.table && earlier.copies <= self.stamp.copies;
        known.then(|| self.past.iter().map(|past| past.since(earlier.copies).count_ones() as usize).sum())
    }

    /// Those places, with their values. Call [`changed`](PlaceTable::changed) first.
    pub fn changes(&self, earlier: CopyStamp) -> impl Iterator<Item = (u32, &S)> {
        let segments = self.segments.iter().zip(&self.past).enumerate();
        segments.flat_map(move |(nth, (segment, past))| {
            let touched = past.since(earlier.copies);
            let values = segment.values().iter().enumerate();
            let values = values.filter(move |(place, _)| touched >> place & 1 == 1);
            values.map(move |(place, value)| ((nth << Self::SHIFT | place) as u32, value))
        })
    }
}

impl<S: Clone> PlaceTable<S> {
    /// The value at a place. It counts as changed.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut S> {
        let segment = self.segments.get_mut(place >> Self::SHIFT)?;
        let within = place & (Self::PLACES - 1);
        segment.touched |= 1 << within;
        match &mut segment.held {
            Held::Own(values) => values.get_mut(within),
            shared @ Held::Shared(_) => shared.own().get_mut(within),
        }
    }

    /// Adds a value at the next place.
    pub fn push(&mut self, value: S) {
        let within = self.length & (Self::PLACES - 1);
        if within == 0 {
            // A table of few values is small; one of many fills its segments.
            let most = if self.segments.is_empty() { 0 } else { Self::PLACES };
            self.segments.push(Segment { touched: 0, held: Held::Own(Vec::with_capacity(most)) });
            self.past.push(Past::default());
        }
        let segment = self.segments.last_mut().expect("there is one");
        segment.touched |= 1 << within;
        segment.held.own().push(value);
        self.length += 1;
    }

    /// Takes a copy that shares all values, until the table changes them.
    pub fn share(&mut self) -> Self {
        self.stamp.copies += 1;
        let copies = self.stamp.copies;
        for (segment, past) in self.segments.iter_mut().zip(&mut self.past) {
            if segment.touched != 0 {
                past.note(copies, std::mem::take(&mut segment.touched));
            }
        }
        let segments = self
            .segments
            .iter_mut()
            .map(|Segment { held, .. }| Segment { touched: 0, held: Held::Shared(held.share()) });
        PlaceTable { segments: segments.collect(), past: self.past.clone(), length: self.length, stamp: self.stamp }
    }
}

impl<S> Segment<S> {
    #[inline]
    fn values(&self) -> &[S] {
        match &self.held {
            Held::Own(values) => values,
            Held::Shared(values) => values,
        }
    }
}

impl<S> Held<S> {
    fn share(&mut self) -> Arc<Vec<S>> {
        match self {
            Held::Shared(values) => values.clone(),
            Held::Own(values) => {
                let values = Arc::new(std::mem::take(values));
                *self = Held::Shared(values.clone());
                values
            }
        }
    }
}

impl<S: Clone> Held<S> {
    /// The values, copied if a copy of the table has them as well.
    fn own(&mut self) -> &mut Vec<S> {
        if let Held::Shared(values) = self {
            // The clone may panic, and then the values must still be there.
            let own = match Arc::get_mut(values) {
                Some(values) => std::mem::take(values),
                None => values.to_vec(),
            };
            *self = Held::Own(own);
        }
        match self {
            Held::Own(values) => values,
            Held::Shared(_) => unreachable!("they are its own now"),
        }
    }
}

impl<S> Default for PlaceTable<S> {
    fn default() -> Self {
        PlaceTable::new()
    }
}

/// A table of its own, whose copies say nothing of those of this one.
impl<S: Clone> Clone for PlaceTable<S> {
    fn clone(&self) -> Self {
        let segments = self.segments.iter().map(|Segment { held, .. }| {
            let held = match held {
                Held::Own(values) => Held::Own(values.clone()),
                Held::Shared(values) => Held::Shared(values.clone()),
            };
            let mut all = Segment { touched: 0, held };
            all.touched = u64::MAX.checked_shr(u64::BITS - all.values().len() as u32).unwrap_or_default();
            all
        });
        let (past, stamp) = (vec![Past::default(); self.past.len()], CopyStamp::new());
        PlaceTable { segments: segments.collect(), past, length: self.length, stamp }
    }
}

impl<S: Clone> FromIterator<S> for PlaceTable<S> {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Self {
        let mut table = PlaceTable::new();
        table.extend(values);
        table
    }
}

impl<S: Clone> Extend<S> for PlaceTable<S> {
    fn extend<I: IntoIterator<Item = S>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<S: fmt::Debug> fmt::Debug for PlaceTable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    /// A copy is an earlier one with its changes, which are as many as it says, also of a clone.
    fn copies_are_known<S: Clone + PartialEq + fmt::Debug>(of: fn(u64) -> S) {
        let mut random = SplitMix64::new(3);
        for _ in 0..10 {
            let (mut table, mut copies) = (PlaceTable::<S>::new(), Vec::<PlaceTable<S>>::new());
            for _ in 0..60 {
                let n = random.draw();
                match n % 8 {
                    0 => table.extend((0..n / 8 % 40).map(of)),
                    1 if (n / 8).is_multiple_of(8) => table = table.clone(),
                    1..5 if !table.is_empty() => {
                        let place = (n / 8) as usize % table.len();
                        *table.get_mut(place).unwrap() = of(n);
                    }
                    _ => copies.push(table.share()),
                }
            }
            copies.push(table.share());
            for (at, later) in copies.iter().enumerate() {
                for earlier in &copies[..at] {
                    let Some(changed) = later.changed(earlier.stamp()) else { continue };
                    let mut values: Vec<S> = earlier.iter().cloned().collect();
                    let mut changes = 0;
                    for (place, value) in later.changes(earlier.stamp()) {
                        values.splice(place as usize..values.len().min(place as usize + 1), [value.clone()]);
                        changes += 1;
                    }
                    assert_eq!(changes, changed);
                    assert!(values.iter().eq(later.iter()), "{values:?} {later:?}");
                }
            }
        }
    }

    #[test]
    fn a_copy_is_an_earlier_one_with_its_changes() {
        copies_are_known(|n| n);
        copies_are_known(|n| n.to_string());
        copies_are_known(|n| [n; 40]);
        copies_are_known(|n| [n; 600]);
    }
}
