use crate::boxed::{Erased, sealed};
use crate::keeps::RingBackend;
use crate::{
    Admits, AnyPipe, BoxExact, BoxKind, BoxShape, Durable, ErasedStatements, Fits, FitsStatement, RingShape, Wiring,
};
use millstream_core::wires::{Bind, Start};
use millstream_core::{Arrow, Deploy, KeepsClock, Quiet, Shardable};
use millstream_ring::Reader;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

/// The kind of a box whose pipeline has the properties of `Known`, and whose states can be written: it also runs on
/// [`Durable`] rings. `OnQueues<OnDurable>` runs on queues as well.
///
/// The stages in it are compiled for durable rings alone, and run on [`Rings`](crate::Rings) by the same code.
///
/// ```
/// use millstream::prelude::*;
///
/// // The stages, and what they start with, are known at run time only.
/// fn built(steps: &[&str]) -> BoxPipeline<u64, u64, OnDurable> {
///     steps.iter().fold(pipeline::<u64>().boxed_as(), |p, step| match *step {
///         "sum" => p.scan(0, |sum, x| { *sum += x; *sum }).named("sum").boxed_as(),
///         _ => p.filter(|x| x % 2 == 0).boxed_as(),
///     })
/// }
///
/// let durable = Durable::new(Rings::new());
/// assert_eq!(durable.collect((&built(&["even", "sum"])).from(0..5))?, [0, 2, 6]);
/// assert_eq!(built(&["sum", "even"]).collect(0..4)?, [0, 6]);
/// # Ok::<(), RunError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OnDurable<Known = AnyPipe>(PhantomData<Known>);

impl<Known: BoxKind> sealed::Sealed for OnDurable<Known> {}

impl<Known: BoxKind> BoxKind for OnDurable<Known> {
    type Rings = Durable;
    type Boxed<A: BoxShape, B: BoxShape> = dyn Erased<A, B, Durable>;
    type Statements = dyn ErasedStatements<Durable>;
}

impl<P, Known: Admits<P>> Fits<P> for OnDurable<Known>
where
    P: Arrow<In: BoxShape, Out: BoxShape> + Erased<P::In, P::Out, Durable>,
{
    fn put(pipeline: P) -> Arc<dyn Erased<P::In, P::Out, Durable>> {
        Arc::new(pipeline)
    }
}

impl<P: Arrow + KeepsClock, Known: Admits<P>> FitsStatement<P> for OnDurable<Known>
where
    Bind<Start, P>: ErasedStatements<Durable>,
{
    fn put_statement(name: Cow<'static, str>, pipeline: P) -> Arc<dyn ErasedStatements<Durable>> {
        Arc::new(Bind::new(name, pipeline))
    }
}

#[diagnostic::do_not_recommend]
impl<Known: KeepsClock> KeepsClock for OnDurable<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: Quiet> Quiet for OnDurable<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: Shardable> Shardable for OnDurable<Known> {}

/// A kind of box that [`Durable`] rings run. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`Durable` rings do not run a box of the kind `{Self}`, whose states may not be written",
    label = "a box in this pipeline is not of the kind `OnDurable`",
    note = "write `.boxed_as()` for `.boxed()`, and the type `BoxPipeline<A, B, OnDurable>`, or `OnDurable<{Self}>`"
)]
pub trait KindOnDurable: BoxKind<Rings = Durable> {}
#[diagnostic::do_not_recommend]
impl<Known: BoxKind<Rings = Durable>> KindOnDurable for Known {}

impl<A, B, Known> Deploy<RingBackend<Durable>> for BoxExact<A, B, Known>
where
    A: BoxShape + RingShape<Durable>,
    B: BoxShape + RingShape<Durable>,
    Known: KindOnDurable,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.inside().rings_erased(input, wiring, false)
    }

    fn deploy_outer(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.inside().rings_erased(input, wiring, true)
    }
}
