use crate::Shape;
use crate::keys::{Key, MadeKey};
use crate::pipe::{BorrowedKeys, KeyFn, OwnedKeys};

/// The key of a value. Nothing to implement.
pub trait WindowKey<A: Shape>: KeyFn<A, Key: Ord> {
    /// Whether there can be several.
    const BY_KEY: bool;
}

/// All values have one key.
#[derive(Clone, Copy, Debug)]
pub struct OneKey;

impl<A: Shape> KeyFn<A> for OneKey {
    type Key = ();
    type Found<'a> = MadeKey<()>;

    #[inline]
    fn find<'a>(&self, _: A::Ref<'a>) -> Self::Found<'a> {
        MadeKey(())
    }
}

impl<A: Shape> WindowKey<A> for OneKey {
    const BY_KEY: bool = false;
}

impl<A: Shape, K: Key + Ord, L> WindowKey<A> for OwnedKeys<K, L>
where
    Self: KeyFn<A, Key = K>,
{
    const BY_KEY: bool = true;
}

impl<A: Shape, Q: ?Sized + 'static, L> WindowKey<A> for BorrowedKeys<Q, L>
where
    Self: KeyFn<A, Key: Ord>,
{
    const BY_KEY: bool = true;
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
