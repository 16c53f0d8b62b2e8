use super::combinator;
use super::dead_letter::Fault;
use crate::failure::{Cause, Retry, attempt, caught, fail};
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Item, Shape, Sparse, Val};
use std::{marker::PhantomData, sync::Arc, time::Duration};

/// A function that can fail, applied to every value. The policy `P` decides what a failure does.
pub struct TryMap<A, F, B, E, P> {
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    /// The policy for failures.
    pub policy: P,
    shape: Phantom<A, B, E>,
}
combinator!(TryMap<A, F, B, E, P>: KeepsClock Quiet Shardable Determinate; through :);

type Phantom<A, B, E> = PhantomData<fn() -> (A, B, E)>;

/// A failure ends the run.
#[derive(Clone, Copy, Debug)]
pub struct Stop;

/// A failure leaves its slot empty.
#[derive(Clone, Copy, Debug)]
pub struct LeaveEmpty;

/// A failure is the output.
#[derive(Clone, Copy, Debug)]
pub struct GiveFault;

/// The policy for a failure at one value, and the density of the output.
pub trait Policy: Clone + Send + Sync + 'static {
    /// The output for a function that returns a `B` or fails with an `E`.
    type Output<B, E>;
    /// The density of the output for an input of density `D`.
    type Density<D: Density>: Density;
    /// The combinator's name.
    const NAME: &'static str;
    /// Whether the policy may wait.
    const WAITS: bool;
    /// The output of one value, or `None` for an empty slot. A failure that ends the run unwinds. `wait` is how a
    /// deployment waits.
    fn judge<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>, wait: impl Fn(Duration)) -> Option<Self::Output<B, E>>;
}

impl Policy for Stop {
    type Output<B, E> = B;
    type Density<D: Density> = D;
    const NAME: &'static str = "try_map";
    const WAITS: bool = false;

    fn judge<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>, _: impl Fn(Duration)) -> Option<B> {
        Some(f().unwrap_or_else(|error| fail(error)))
    }
}

impl Policy for LeaveEmpty {
    type Output<B, E> = B;
    type Density<D: Density> = Sparse;
    const NAME: &'static str = "try_map_or_empty";
    const WAITS: bool = false;

    fn judge<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>, _: impl Fn(Duration)) -> Option<B> {
        attempt(f)
    }
}

impl Policy for GiveFault {
    type Output<B, E> = Result<B, Fault<E>>;
    type Density<D: Density> = D;
    const NAME: &'static str = "try_map_or_error";
    const WAITS: bool = false;

    fn judge<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>, _: impl Fn(Duration)) -> Option<Result<B, Fault<E>>> {
        Some(Fault::of(caught(f)))
    }
}

impl Policy for Retry {
    type Output<B, E> = B;
    type Density<D: Density> = D;
    const NAME: &'static str = "try_map_retry";
    const WAITS: bool = true;

    fn judge<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>, wait: impl Fn(Duration)) -> Option<B> {
        Some(self.run(f, wait))
    }
}

impl<A, F, B, E, P> TryMap<A, F, B, E, P> {
    pub(crate) fn new(f: F, policy: P) -> Self {
        TryMap { f: Arc::new(f), policy, shape: PhantomData }
    }
}

impl<A: Shape, F, B: Item, E: Cause, P: Policy> Arrow for TryMap<A, F, B, E, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    P::Output<B, E>: Item,
{
    type In = A;
    type Out = Val<P::Output<B, E>, P::Density<A::Density>>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, <P::Density<A::Density>>::DENSE);
        let kind = StageKind { name: P::NAME, state: None, slot_bytes, dense, fills: input.filled() };
        if P::WAITS { plan.blocking_stage(&input, kind) } else { plan.stage(&input, kind) }
    }
}
