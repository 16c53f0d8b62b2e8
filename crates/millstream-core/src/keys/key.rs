//! A key, as it is kept and as it is found.

use crate::Item;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// A key, by which values are grouped. Every type that qualifies implements it.
pub trait Key: Item + Hash + Eq + Clone {}
impl<K: Item + Hash + Eq + Clone> Key for K {}

/// A key that was found in a value. It becomes an owned key only if it has no state yet.
pub trait FoundKey {
    /// The key, as it is kept.
    type Key: Key;
    /// Looks it up in a table.
    fn look_up<'t, V, H: BuildHasher>(&self, table: &'t HashMap<Self::Key, V, H>) -> Option<&'t V>;
    /// Looks it up in a table whose value will be changed.
    fn look_up_mut<'t, V, H: BuildHasher>(&self, table: &'t mut HashMap<Self::Key, V, H>) -> Option<&'t mut V>;
    /// Makes the key that is kept.
    fn into_key(self) -> Self::Key;
}

/// A key that a function has made.
#[derive(Clone, Copy, Debug)]
pub struct MadeKey<K>(pub K);

impl<K: Key> FoundKey for MadeKey<K> {
    type Key = K;

    #[inline]
    fn look_up<'t, V, H: BuildHasher>(&self, table: &'t HashMap<K, V, H>) -> Option<&'t V> {
        table.get(&self.0)
    }

    #[inline]
    fn look_up_mut<'t, V, H: BuildHasher>(&self, table: &'t mut HashMap<K, V, H>) -> Option<&'t mut V> {
        table.get_mut(&self.0)
    }

    #[inline]
    fn into_key(self) -> K {
        self.0
    }
}

impl<Q: ?Sized + Hash + Eq + ToOwned<Owned: Key>> FoundKey for &Q {
    type Key = Q::Owned;

    #[inline]
    fn look_up<'t, V, H: BuildHasher>(&self, table: &'t HashMap<Q::Owned, V, H>) -> Option<&'t V> {
        table.get(*self)
    }

    #[inline]
    fn look_up_mut<'t, V, H: BuildHasher>(&self, table: &'t mut HashMap<Q::Owned, V, H>) -> Option<&'t mut V> {
        table.get_mut(*self)
    }

    #[inline]
    fn into_key(self) -> Q::Owned {
        self.to_owned()
    }
}
