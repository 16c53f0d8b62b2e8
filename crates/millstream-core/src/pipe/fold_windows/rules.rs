use crate::pipe::OwnedKeys;
use crate::{Item, Shape};
use std::hash::Hash;

/// The key of a value. Nothing to implement.
pub trait WindowKey<A: Shape>: Send + Sync + 'static {
    /// The type of the keys.
    type Key: Item + Ord + Hash + Clone;
    /// Whether there can be several.
    const BY_KEY: bool;
    /// The key of a value.
    fn key(&self, value: A::Ref<'_>) -> Self::Key;
}

/// All values have one key.
#[derive(Clone, Copy, Debug)]
pub struct OneKey;

impl<A: Shape> WindowKey<A> for OneKey {
    type Key = ();
    const BY_KEY: bool = false;

    #[inline]
    fn key(&self, _: A::Ref<'_>) {}
}

impl<A: Shape, K: Item + Ord + Hash + Clone, F> WindowKey<A> for OwnedKeys<K, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    type Key = K;
    const BY_KEY: bool = true;

    #[inline]
    fn key(&self, value: A::Ref<'_>) -> K {
        (self.key)(value)
    }
}

/// How the states of two sessions are joined. Nothing to implement.
pub trait JoinStates<S>: Send + Sync + 'static {
    /// Whether windows can be joined.
    const JOINS: bool;
    /// Makes a state that of its own session and of a later one.
    fn join(&self, state: &mut S, later: S);
}

/// Windows at fixed times are not joined.
#[derive(Clone, Copy, Debug)]
pub struct NeverJoined;

/// By a function.
pub struct JoinedBy<F>(pub(crate) F);
crate::pipe::debug!(JoinedBy<F>);

impl<S> JoinStates<S> for NeverJoined {
    const JOINS: bool = false;

    fn join(&self, _: &mut S, _: S) {
        unreachable!("windows at fixed times are not joined")
    }
}

impl<S, F: Fn(&mut S, S) + Send + Sync + 'static> JoinStates<S> for JoinedBy<F> {
    const JOINS: bool = true;

    fn join(&self, state: &mut S, later: S) {
        (self.0)(state, later);
    }
}
