//! Tables written down: as a list of their values, or as the values that have changed since an earlier copy.

use super::{CopyStamp, PlaceTable};
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

impl<S: Serialize> Serialize for PlaceTable<S> {
    fn serialize<W: Serializer>(&self, to: W) -> Result<W::Ok, W::Error> {
        let values = Counted(self.iter(), self.len());
        to.collect_seq(values)
    }
}

/// An iterator whose length is known, since the encoding of a list begins with its length.
struct Counted<I>(I, usize);

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, Some(self.1))
    }
}

impl<'de, S: Deserialize<'de> + Clone> Deserialize<'de> for PlaceTable<S> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Values<S>(PhantomData<S>);

        impl<'de, S: Deserialize<'de> + Clone> Visitor<'de> for Values<S> {
            type Value = PlaceTable<S>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of values by place")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<PlaceTable<S>, A::Error> {
                let mut table = PlaceTable::new();
                while let Some(value) = values.next_element()? {
                    table.push(value);
                }
                Ok(table)
            }
        }
        from.deserialize_seq(Values(PhantomData))
    }
}

/// The changes in a copy since an earlier one, to be written: the length, and places with their values.
#[derive(Debug)]
pub struct TableChanges<'t, S> {
    table: &'t PlaceTable<S>,
    earlier: CopyStamp,
    count: usize,
}

impl<S> PlaceTable<S> {
    /// The changes since an earlier copy; `None` if they are not known.
    #[must_use]
    pub fn changes_since(&self, earlier: CopyStamp) -> Option<TableChanges<'_, S>> {
        self.changed(earlier).map(|count| TableChanges { table: self, earlier, count })
    }
}

impl<S: Serialize> Serialize for TableChanges<'_, S> {
    fn serialize<W: Serializer>(&self, to: W) -> Result<W::Ok, W::Error> {
        /// As a list.
        struct Changed<'a, 't, S>(&'a TableChanges<'t, S>);

        impl<S: Serialize> Serialize for Changed<'_, '_, S> {
            fn serialize<W: Serializer>(&self, to: W) -> Result<W::Ok, W::Error> {
                let TableChanges { table, earlier, count } = self.0;
                to.collect_seq(Counted(table.changes(*earlier), *count))
            }
        }
        let mut pair = to.serialize_tuple(2)?;
        pair.serialize_element(&self.table.len())?;
        pair.serialize_element(&Changed(self))?;
        pair.end()
    }
}

/// Reads [`TableChanges`], and applies them to the earlier table.
#[derive(Debug)]
pub(crate) struct ApplyChanges<'t, S>(pub(crate) &'t mut PlaceTable<S>);

impl<'de, S: Deserialize<'de> + Clone> DeserializeSeed<'de> for ApplyChanges<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_tuple(2, self)
    }
}

impl<'de, S: Deserialize<'de> + Clone> Visitor<'de> for ApplyChanges<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length, and places with their values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<(), A::Error> {
        let length: usize = pair.next_element()?.ok_or_else(|| A::Error::custom("a table's length is not there"))?;
        let put = PutEach(&mut *self.0);
        pair.next_element_seed(put)?.ok_or_else(|| A::Error::custom("a table's changes are not there"))?;
        match self.0.len() {
            len if len == length => Ok(()),
            len => Err(A::Error::custom(format!("{len} places instead of {length}"))),
        }
    }
}

/// Puts values at their places, in order.
struct PutEach<'t, S>(&'t mut PlaceTable<S>);

impl<'de, S: Deserialize<'de> + Clone> DeserializeSeed<'de> for PutEach<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, S: Deserialize<'de> + Clone> Visitor<'de> for PutEach<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of places with their values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut changes: A) -> Result<(), A::Error> {
        while let Some((place, value)) = changes.next_element::<(u32, S)>()? {
            let (place, length) = (place as usize, self.0.len());
            match self.0.get_mut(place) {
                Some(old) => *old = value,
                None if place == length => self.0.push(value),
                None => return Err(A::Error::custom(format!("place {place} of {length}"))),
            }
        }
        Ok(())
    }
}
