use super::combinator;
use crate::blocking::block_on;
use crate::plan::{Describe, Filled, Port, StageKind};
use crate::{Arrow, Item, Shape, Val};
use std::future::Future;
use std::{marker::PhantomData, sync::Arc};

/// An async function applied to every value; the results come in the order in which they finish, on a new clock.
///
/// It has none of the markers: the number of a result is left to chance.
pub struct Unordered<A, F, Fut> {
    /// The most futures in flight; at least 1.
    pub limit: usize,
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    shape: PhantomData<fn() -> (A, Fut)>,
}
combinator!(Unordered<A, F, Fut>: ; through :);

impl<A, F, Fut> Clone for Unordered<A, F, Fut> {
    fn clone(&self) -> Self {
        Unordered { limit: self.limit, f: self.f.clone(), shape: PhantomData }
    }
}

impl<A, F, Fut> Unordered<A, F, Fut> {
    pub(crate) fn new(limit: usize, f: F) -> Self {
        assert!(limit >= 1, "unordered(0, ..): at least one future must be allowed at a time");
        Unordered { limit, f: Arc::new(f), shape: PhantomData }
    }
}

impl<A: Shape, F, Fut: Future> Unordered<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut,
{
    /// The output of one value. Waits for its future on this thread.
    pub fn wait_for(&self, value: A::Ref<'_>) -> Fut::Output {
        block_on((self.f)(value))
    }
}

impl<A: Shape, F, Fut> Arrow for Unordered<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Item> + Send + 'static,
{
    type In = A;
    type Out = Val<Fut::Output>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Self::Out::BYTES, true, Filled::NUMBERS);
        plan.new_clock(&input, StageKind { name: "unordered", state: None, slot_bytes, dense, fills })
    }
}
