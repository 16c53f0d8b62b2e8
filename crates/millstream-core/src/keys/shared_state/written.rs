//! The changes in a shared state, as they are written: the part beside the tables, and the tables in order, each whole
//! or as changes, with a tag that says which.

use super::SharedState;
use crate::keys::place_table::ApplyChanges;
use crate::keys::{CopyStamp, PlaceTable, TableChanges};
use serde::de::{DeserializeSeed, EnumAccess, Error, SeqAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The changes in a state since an earlier copy with these stamps, to be written.
#[derive(Debug)]
pub struct StateChanges<'s, P> {
    /// The state.
    pub state: &'s P,
    /// Its stamps in the earlier copy.
    pub earlier: &'s [CopyStamp],
}

/// A table as it is written.
#[derive(Serialize)]
enum Part<'t, S> {
    Whole(&'t PlaceTable<S>),
    Changes(TableChanges<'t, S>),
}

impl<P: SharedState<Plain: Serialize, Value: Serialize>> Serialize for StateChanges<'_, P> {
    fn serialize<W: serde::Serializer>(&self, to: W) -> Result<W::Ok, W::Error> {
        let StateChanges { state, earlier } = self;
        let part = |(nth, table): (usize, _)| {
            let changes = earlier.get(nth).and_then(|earlier| PlaceTable::changes_since(table, *earlier));
            changes.map_or(Part::Whole(table), Part::Changes)
        };
        let parts: Vec<Part<'_, P::Value>> = state.tables().into_iter().enumerate().map(part).collect();
        (state.plain(), parts).serialize(to)
    }
}

/// Reads [`StateChanges`], and applies them to the earlier state.
///
/// # Errors
///
/// If they cannot be read, or are those of another state.
pub fn apply_changes<'de, P, D>(state: &mut P, from: D) -> Result<(), D::Error>
where
    P: SharedState<Plain: Deserialize<'de>, Value: Deserialize<'de>>,
    D: Deserializer<'de>,
{
    from.deserialize_tuple(2, Changes(state))
}

struct Changes<'s, P>(&'s mut P);

impl<'de, P: SharedState<Plain: Deserialize<'de>, Value: Deserialize<'de>>> Visitor<'de> for Changes<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what has changed in a state")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<(), A::Error> {
        let plain = pair.next_element()?.ok_or_else(|| A::Error::custom("what is beside the tables is not there"))?;
        self.0.set_plain(plain).map_err(A::Error::custom)?;
        pair.next_element_seed(Tables(self.0.tables_mut()))?.ok_or_else(|| A::Error::custom("no tables are there"))
    }
}

struct Tables<'s, S>(Vec<&'s mut PlaceTable<S>>);

impl<'de, S: Deserialize<'de> + Clone> DeserializeSeed<'de> for Tables<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, S: Deserialize<'de> + Clone> Visitor<'de> for Tables<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tables", self.0.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(), A::Error> {
        let count = self.0.len();
        for table in self.0 {
            let part = parts.next_element_seed(ApplyPart(table))?;
            part.ok_or_else(|| A::Error::custom(format!("fewer than {count} tables")))?;
        }
        match parts.next_element::<()>() {
            Ok(None) => Ok(()),
            _ => Err(A::Error::custom(format!("more than {count} tables"))),
        }
    }
}

struct ApplyPart<'t, S>(&'t mut PlaceTable<S>);

/// The tag before a table.
#[derive(Deserialize)]
enum Tag {
    Whole,
    Changes,
}

impl<'de, S: Deserialize<'de> + Clone> DeserializeSeed<'de> for ApplyPart<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        struct Variants<'t, S>(&'t mut PlaceTable<S>);

        impl<'de, S: Deserialize<'de> + Clone> Visitor<'de> for Variants<'_, S> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table, whole or as changes")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, part: A) -> Result<(), A::Error> {
                match part.variant()? {
                    (Tag::Whole, whole) => {
                        *self.0 = whole.newtype_variant()?;
                        Ok(())
                    }
                    (Tag::Changes, changes) => changes.newtype_variant_seed(ApplyChanges(self.0)),
                }
            }
        }
        from.deserialize_enum("Part", &["Whole", "Changes"], Variants(self.0))
    }
}
