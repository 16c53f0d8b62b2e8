//! The key of a value, owned or borrowed from it.

use crate::Shape;
use crate::keys::{FoundKey, Key, MadeKey};
use std::hash::Hash;
use std::marker::PhantomData;

/// Which key a value has: that of `shard_by`, `fold_by`, `count_by` and `group_by`, with `_ref` or without. No
/// deployment knows whether keys are borrowed.
pub trait KeyFn<A: Shape>: Send + Sync + 'static {
    /// The key, as it is kept.
    type Key: Key;
    /// The key, as it is found in a value.
    type Found<'a>: FoundKey<Key = Self::Key>;
    /// Finds the key of a value.
    fn find<'a>(&self, value: A::Ref<'a>) -> Self::Found<'a>;
    /// The key of a value, to be kept.
    fn key(&self, value: A::Ref<'_>) -> Self::Key {
        self.find(value).into_key()
    }
}

/// A function that makes a key of every value.
pub struct OwnedKeys<K, L> {
    pub(super) key: L,
    of: PhantomData<fn() -> K>,
}
super::debug!(OwnedKeys<K, L>);

impl<K, L> OwnedKeys<K, L> {
    pub(crate) fn new(key: L) -> Self {
        OwnedKeys { key, of: PhantomData }
    }
}

impl<A: Shape, K: Key, L> KeyFn<A> for OwnedKeys<K, L>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    type Key = K;
    type Found<'a> = MadeKey<K>;

    #[inline]
    fn find<'a>(&self, value: A::Ref<'a>) -> Self::Found<'a> {
        MadeKey((self.key)(value))
    }
}

/// A function that borrows a key from every value.
pub struct BorrowedKeys<Q: ?Sized, L> {
    key: L,
    of: PhantomData<fn() -> Q>,
}

impl<Q: ?Sized, L> std::fmt::Debug for BorrowedKeys<Q, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BorrowedKeys")
    }
}

impl<Q: ?Sized, L> BorrowedKeys<Q, L> {
    pub(crate) fn new(key: L) -> Self {
        BorrowedKeys { key, of: PhantomData }
    }
}

impl<A: Shape, Q, L> KeyFn<A> for BorrowedKeys<Q, L>
where
    Q: ?Sized + Hash + Eq + ToOwned<Owned: Key> + 'static,
    L: for<'a> Borrows<'a, A::Ref<'a>, Q> + Send + Sync + 'static,
{
    type Key = Q::Owned;
    type Found<'a> = &'a Q;

    #[inline]
    fn find<'a>(&self, value: A::Ref<'a>) -> Self::Found<'a> {
        (self.key)(value)
    }
}

/// A function from a value to a part of it. Every function that qualifies implements it.
pub trait Borrows<'a, A, Q: ?Sized + 'a>: Fn(A) -> &'a Q {}
impl<'a, A, Q: ?Sized + 'a, L: Fn(A) -> &'a Q> Borrows<'a, A, Q> for L {}
