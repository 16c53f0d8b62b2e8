//! Stages that get their values themselves, and not references to them.

use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Item, Shape, ToOwnedItem, Val};
use std::{marker::PhantomData, sync::Arc};

/// A function of an owned value.
pub trait OwnedKernel: Send + Sync + 'static {
    /// The values that it reads.
    type In: ToOwnedItem;
    /// The values that it returns.
    type Out: Item;
    /// The combinator's name.
    const NAME: &'static str;
    /// The output of one value.
    fn apply(&self, value: <Self::In as ToOwnedItem>::Owned) -> Self::Out;
}

/// An [`OwnedKernel`] at every value. A deployment clones the value out of its slot, unless nothing else reads it.
pub struct OwnedBy<K> {
    /// The kernel, shared by every deployment.
    pub kernel: Arc<K>,
}
combinator!(OwnedBy<K>: KeepsClock Quiet Shardable Determinate; through :);

/// A function of the user's.
pub struct MapOwned<A, F, B> {
    /// The function.
    pub f: F,
    shape: PhantomData<fn() -> (A, B)>,
}
super::debug!(MapOwned<A, F, B>);

/// The same values, each in a slot of its own.
pub struct Cloned<A> {
    shape: PhantomData<fn() -> A>,
}
super::debug!(Cloned<A>);

impl<K> OwnedBy<K> {
    pub(crate) fn new(kernel: K) -> Self {
        OwnedBy { kernel: Arc::new(kernel) }
    }
}

impl<K: OwnedKernel> Arrow for OwnedBy<K> {
    type In = K::In;
    type Out = Val<K::Out, <K::In as Shape>::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, <K::In as Shape>::Density::DENSE);
        plan.stage(&input, StageKind { name: K::NAME, state: None, slot_bytes, dense, fills: input.filled() })
    }
}

impl<A, F, B> MapOwned<A, F, B> {
    pub(crate) fn new(f: F) -> Self {
        MapOwned { f, shape: PhantomData }
    }
}

impl<A: ToOwnedItem, F, B: Item> OwnedKernel for MapOwned<A, F, B>
where
    F: Fn(A::Owned) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = B;
    const NAME: &'static str = "map_owned";

    #[inline]
    fn apply(&self, value: A::Owned) -> B {
        (self.f)(value)
    }
}

impl<A> Cloned<A> {
    pub(crate) fn new() -> Self {
        Cloned { shape: PhantomData }
    }
}

impl<A: ToOwnedItem> OwnedKernel for Cloned<A> {
    type In = A;
    type Out = A::Owned;
    const NAME: &'static str = "cloned";

    #[inline]
    fn apply(&self, value: A::Owned) -> A::Owned {
        value
    }
}
