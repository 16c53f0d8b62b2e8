//! The values of a table that is taken apart.

use super::PlaceTable;
use std::mem;
use std::vec::IntoIter;

/// The values of a [`PlaceTable`], each to be taken once. They are moved once if each segment's are taken in order; the
/// memory of a segment is free again after its last value.
pub(crate) struct Taken<S>(Vec<Segment<S>>);

enum Segment<S> {
    /// The values before this place are taken, and no others.
    InOrder(usize, IntoIter<S>),
    InAnyOrder(Vec<Option<S>>),
}

impl<S: Clone> PlaceTable<S> {
    /// Takes the table apart. Values that a copy has as well are cloned.
    pub(crate) fn into_taken(self) -> Taken<S> {
        let segment = |mut segment: super::Segment<S>| Segment::InOrder(0, mem::take(segment.held.own()).into_iter());
        Taken(self.segments.into_iter().map(segment).collect())
    }
}

impl<S: Clone> Taken<S> {
    /// The value at a place, if it is there and was not taken.
    pub(crate) fn take(&mut self, place: usize) -> Option<S> {
        let segment = self.0.get_mut(place >> PlaceTable::<S>::SHIFT)?;
        let within = place & (PlaceTable::<S>::PLACES - 1);
        if let Segment::InOrder(next, values) = segment {
            if *next == within {
                *next += 1;
                let value = values.next();
                if values.len() == 0 {
                    *segment = Segment::InAnyOrder(Vec::new());
                }
                return value;
            }
            let taken = (0..*next).map(|_| None);
            *segment = Segment::InAnyOrder(taken.chain(values.map(Some)).collect());
        }
        match segment {
            Segment::InAnyOrder(values) => values.get_mut(within)?.take(),
            Segment::InOrder(..) => unreachable!("it is in any order now"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value once, in whichever order they are taken.
    #[test]
    fn every_value_is_taken_once() {
        let n = 150;
        let orders: [fn(usize) -> usize; 4] = [|i| i, |i| 149 - i, |i| i * 7 % 150, |i| i ^ 1];
        for order in orders {
            let table: PlaceTable<u64> = (0..n as u64).collect();
            let mut taken = table.into_taken();
            for place in (0..n).map(order) {
                assert_eq!((taken.take(place), taken.take(place)), (Some(place as u64), None));
            }
            assert_eq!((taken.take(n), taken.take(10_000)), (None, None));
        }
    }

    #[test]
    fn a_copy_keeps_its_values() {
        let mut table: PlaceTable<String> = (0..40).map(|n| n.to_string()).collect();
        let copy = table.share();
        let mut taken = table.into_taken();
        assert_eq!(taken.take(3).as_deref(), Some("3"));
        drop(taken);
        assert!(copy.iter().eq(&(0..40).map(|n| n.to_string()).collect::<Vec<_>>()));
    }
}
