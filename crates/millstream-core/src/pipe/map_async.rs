use super::{LeaveEmpty, Stop, combinator};
use crate::blocking::block_on;
use crate::failure::{Cause, Finished, caught, discard, fail, finish};
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Item, Shape, Sparse, Val};
use std::future::Future;
use std::{marker::PhantomData, sync::Arc};

/// An async function applied to every value. `P` decides what a result makes of the slot.
pub struct MapAsync<A, F, Fut, P> {
    /// The most futures in flight; at least 1.
    pub limit: usize,
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    /// The policy for results and panics.
    pub policy: P,
    shape: PhantomData<fn() -> (A, Fut)>,
}
combinator!(MapAsync<A, F, Fut, P>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, F, Fut, P: Clone> Clone for MapAsync<A, F, Fut, P> {
    fn clone(&self) -> Self {
        MapAsync { limit: self.limit, f: self.f.clone(), policy: self.policy.clone(), shape: PhantomData }
    }
}

/// The result of a future is the value.
#[derive(Clone, Copy, Debug)]
pub struct AsIs;

/// The policy for a slot, given the result `R` of its future, or its panic.
pub trait Settle<R>: Clone + Send + Sync + 'static {
    /// The item of the output.
    type Value: Item;
    /// The density of the output for an input of density `D`.
    type Density<D: Density>: Density;
    /// The combinator's name.
    const NAME: &'static str;

    /// Whether the result is an error of the user's function.
    fn is_error(_: &R) -> bool {
        false
    }

    /// The output of one value, or `None` for an empty slot. A failure that ends the run unwinds.
    fn settle(&self, result: Finished<R>) -> Option<Self::Value>;
}

impl<B: Item> Settle<B> for AsIs {
    type Value = B;
    type Density<D: Density> = D;
    const NAME: &'static str = "map_async";

    fn settle(&self, result: Finished<B>) -> Option<B> {
        Some(finish(result))
    }
}

impl<B: Item, E: Cause> Settle<Result<B, E>> for Stop {
    type Value = B;
    type Density<D: Density> = D;
    const NAME: &'static str = "try_map_async";

    fn is_error(result: &Result<B, E>) -> bool {
        result.is_err()
    }

    fn settle(&self, result: Finished<Result<B, E>>) -> Option<B> {
        Some(finish(result).unwrap_or_else(|error| fail(error)))
    }
}

impl<B: Item, E: Cause> Settle<Result<B, E>> for LeaveEmpty {
    type Value = B;
    type Density<D: Density> = Sparse;
    const NAME: &'static str = "try_map_async_or_empty";

    fn is_error(result: &Result<B, E>) -> bool {
        result.is_err()
    }

    fn settle(&self, result: Finished<Result<B, E>>) -> Option<B> {
        result.map_err(discard).ok()?.ok()
    }
}

impl<A, F, Fut, P> MapAsync<A, F, Fut, P> {
    /// The stage that calls `f`, with at most `limit` futures in flight.
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    pub fn new(limit: usize, f: F, policy: P) -> Self {
        assert!(limit >= 1, "map_async(0, ..): at least one future must be allowed at a time");
        MapAsync { limit, f: Arc::new(f), policy, shape: PhantomData }
    }
}

impl<A: Shape, F, Fut, P: Settle<Fut::Output>> MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut,
    Fut: Future,
{
    /// The output of one value. Waits for its future on this thread.
    pub fn wait_for(&self, value: A::Ref<'_>) -> Option<P::Value> {
        self.policy.settle(self.finished(value))
    }

    /// The result of one value's future, or its panic. Waits for it on this thread.
    pub fn finished(&self, value: A::Ref<'_>) -> Finished<Fut::Output> {
        caught(|| block_on((self.f)(value)))
    }
}

impl<A: Shape, F, Fut, P: Settle<Fut::Output>> Arrow for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    type In = A;
    type Out = Val<P::Value, P::Density<A::Density>>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, <P::Density<A::Density>>::DENSE);
        plan.single_stage(&input, StageKind { name: P::NAME, state: None, slot_bytes, dense, fills: input.filled() })
    }
}
