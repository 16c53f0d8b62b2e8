//! States that share their tables with copies, and can be written as changes.

#[cfg(feature = "serde")]
mod written;

#[cfg(feature = "serde")]
pub use written::{StateChanges, apply_changes};

use super::{CopyStamp, PlaceTable};

/// A state that is tables of one type, and something small beside them. To copy it is quick, however large it is.
pub trait SharedState: Sized {
    /// The value at a place of its tables.
    type Value: Clone;
    /// The part beside the tables.
    type Plain;

    /// A copy. The state and the copy share the parts that neither of them changes.
    fn share(&mut self) -> Self;

    /// Its tables, in an order of their own. It is never written as changes if there are none.
    fn tables(&self) -> Vec<&PlaceTable<Self::Value>>;

    /// The same.
    fn tables_mut(&mut self) -> Vec<&mut PlaceTable<Self::Value>>;

    /// A copy of the part beside the tables.
    fn plain(&self) -> Self::Plain;

    /// Takes the part beside the tables from a later copy.
    ///
    /// # Errors
    ///
    /// If that is not a later copy's.
    fn set_plain(&mut self, plain: Self::Plain) -> Result<(), String>;

    /// Which copies its tables are.
    fn stamps(&self) -> Vec<CopyStamp> {
        self.tables().into_iter().map(PlaceTable::stamp).collect()
    }

    /// How many of its places may differ from an earlier copy with these stamps, and how many places there are. A table
    /// that was not in that copy counts whole. None if no table was in it.
    fn changed(&self, earlier: &[CopyStamp]) -> Option<(usize, usize)> {
        let tables = self.tables();
        let changed = tables.iter().zip(earlier).map(|(table, earlier)| (table, table.changed(*earlier)));
        let same = tables.len() == earlier.len() && changed.clone().any(|(_, changed)| changed.is_some());
        same.then(|| {
            changed.fold((0, 0), |(places, all), (table, changed)| {
                (places + changed.unwrap_or(table.len()), all + table.len())
            })
        })
    }

    /// The bytes of its tables, without what their values own elsewhere. It is called often, and allocates nothing.
    fn bytes(&self) -> usize;
}
