use crate::keeps::RingBackend;
use crate::{AnyPipe, BoxKind, FreePipe, PurePipe, QuietPipe, RingRunner, Rings, Wiring};
use millstream_core::model::{Extent, Model};
use millstream_core::plan::{Describe, Port};
use millstream_core::wires::{Bind, DeployStatements, Edges, Scope, Start, Statements, Wire, Wires};
use millstream_core::{Arrow, Determinate, KeepsClock, Quiet, Shape, Shardable};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

/// A block of named wires whose statements are in boxes: for graphs that are built at run time.
///
/// It is as [`BlockBuilder`](millstream_core::wires::BlockBuilder), and a statement does not change its type. A
/// statement costs one virtual call a deployment, and nothing an item. `Known` is the [kind](BoxKind) of the pipelines
/// in it, and of the block.
///
/// ```
/// use millstream::prelude::*;
///
/// enum Sums {}
/// let (mut w, x) = BoxBlock::<Val<u64>, Sums>::new();
/// let mut sum = w.wire("zero", x.map(|x| *x).any_edge());
/// for step in 1..=3 {
///     sum = w.wire(format!("sum-{step}"), (x, sum).map(|(x, sum)| x + sum).any_edge());
/// }
/// let p = w.emit(sum).boxed();
/// assert_eq!(p.model([1, 2]), [4, 8]);
/// assert_eq!(p.collect([1, 2])?, [4, 8]);
/// # Ok::<(), RunError>(())
/// ```
#[must_use = "a block that is not ended by `emit` is not a pipeline"]
pub struct BoxBlock<A, S, Known: BoxKind = AnyPipe> {
    statements: Vec<Arc<Known::Statements>>,
    shape: PhantomData<fn() -> (A, S)>,
}

impl<A: Shape, S: 'static, Known: BoxKind> BoxBlock<A, S, Known> {
    /// Begins a block that reads an edge of shape `A`; its first wire is that edge. `S` is any type of the block's own.
    pub fn new() -> (Self, Wire<S, A>) {
        (BoxBlock { statements: Vec::new(), shape: PhantomData }, Wire::new(0))
    }

    /// Adds the statement that binds a wire, and returns the wire. The last stage of `pipeline` has the name `name`.
    pub fn wire<P>(&mut self, name: impl Into<Cow<'static, str>>, pipeline: P) -> Wire<S, P::Out>
    where
        P: Arrow<In = Scope<S>>,
        Known: FitsStatement<P>,
    {
        self.statements.push(Known::put_statement(name.into(), pipeline));
        Wire::new(self.statements.len())
    }

    /// Ends the block: the pipeline that reads the block's edge and writes what `result` writes.
    pub fn emit<P: Arrow<In = Scope<S>> + KeepsClock>(self, result: P) -> Wires<A, S, BoxStatements<Known>, P> {
        Wires::new(BoxStatements(self.statements), result)
    }
}

impl<A, S, Known: BoxKind> std::fmt::Debug for BoxBlock<A, S, Known> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoxBlock").field("statements", &self.statements.len()).finish_non_exhaustive()
    }
}

/// The statements of a [`BoxBlock`].
pub struct BoxStatements<Known: BoxKind>(Vec<Arc<Known::Statements>>);

impl<Known: BoxKind> std::fmt::Debug for BoxStatements<Known> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BoxStatements").field(&self.0.len()).finish()
    }
}

impl<Known: BoxKind> BoxStatements<Known> {
    /// Statements that were put into boxes one by one.
    #[doc(hidden)]
    #[must_use]
    pub fn new(statements: Vec<Arc<Known::Statements>>) -> Self {
        BoxStatements(statements)
    }
}

/// Statements of a block, as an object.
pub trait ErasedStatements<R: RingRunner = Rings>: Send + Sync {
    #[doc(hidden)]
    fn describe_erased(&self, scope: &Port, plan: &mut Describe);
    #[doc(hidden)]
    fn model_erased(&self, scope: &Edges<Model>, extent: &mut Extent);
    #[doc(hidden)]
    fn rings_erased(&self, scope: &Edges<RingBackend<R>>, wiring: &mut Wiring);
}

impl<R: RingRunner, L: DeployStatements<Model> + DeployStatements<RingBackend<R>>> ErasedStatements<R> for L {
    fn describe_erased(&self, scope: &Port, plan: &mut Describe) {
        self.describe(scope, plan);
    }

    fn model_erased(&self, scope: &Edges<Model>, extent: &mut Extent) {
        DeployStatements::<Model>::deploy(self, scope, extent);
    }

    fn rings_erased(&self, scope: &Edges<RingBackend<R>>, wiring: &mut Wiring) {
        DeployStatements::<RingBackend<R>>::deploy(self, scope, wiring);
    }
}

/// A kind of box that a statement fits into, since its pipeline has the properties of the kind. Nothing to implement.
pub trait FitsStatement<P: Arrow>: BoxKind {
    #[doc(hidden)]
    fn put_statement(name: Cow<'static, str>, pipeline: P) -> Arc<Self::Statements>;
}

macro_rules! kinds {
    ($($kind:ident: $law:path),*) => {$(
        impl<P: Arrow + Determinate + $law> FitsStatement<P> for $kind
        where
            Bind<Start, P>: DeployStatements<Model> + DeployStatements<RingBackend>,
        {
            fn put_statement(name: Cow<'static, str>, pipeline: P) -> Arc<dyn ErasedStatements> {
                Arc::new(Bind::new(name, pipeline))
            }
        }
    )*};
}
kinds!(AnyPipe: KeepsClock, QuietPipe: Quiet, PurePipe: Shardable, FreePipe: KeepsClock);

impl<Known: BoxKind> Statements for BoxStatements<Known> {
    fn describe(&self, scope: &Port, plan: &mut Describe) {
        self.0.iter().for_each(|statement| statement.describe_erased(scope, plan));
    }
}

impl<Known: BoxKind> DeployStatements<Model> for BoxStatements<Known> {
    fn deploy(&self, scope: &Edges<Model>, extent: &mut Extent) {
        self.0.iter().for_each(|statement| statement.model_erased(scope, extent));
    }
}

impl<R: RingRunner, Known: BoxKind<Rings = R>> DeployStatements<RingBackend<R>> for BoxStatements<Known> {
    fn deploy(&self, scope: &Edges<RingBackend<R>>, wiring: &mut Wiring) {
        self.0.iter().for_each(|statement| statement.rings_erased(scope, wiring));
    }
}

#[diagnostic::do_not_recommend]
impl<Known: BoxKind> Determinate for BoxStatements<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: BoxKind> KeepsClock for BoxStatements<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: BoxKind + Quiet> Quiet for BoxStatements<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: BoxKind + Shardable> Shardable for BoxStatements<Known> {}

#[cfg(feature = "queues")]
mod on_queues {
    use super::*;
    use crate::{OnQueues, Queues, QueuesWiring};

    /// Statements that also run on queues, as an object.
    pub trait ErasedStatementsOnQueues<R: RingRunner = Rings>: ErasedStatements<R> {
        #[doc(hidden)]
        fn queues_erased(&self, scope: &Edges<Queues>, wiring: &mut QueuesWiring);
    }

    impl<R: RingRunner, L: ErasedStatements<R> + DeployStatements<Queues>> ErasedStatementsOnQueues<R> for L {
        fn queues_erased(&self, scope: &Edges<Queues>, wiring: &mut QueuesWiring) {
            self.deploy(scope, wiring);
        }
    }

    impl<P: Arrow, Known: FitsStatement<P>> FitsStatement<P> for OnQueues<Known>
    where
        Bind<Start, P>: ErasedStatementsOnQueues<Known::Rings>,
    {
        fn put_statement(name: Cow<'static, str>, pipeline: P) -> Arc<dyn ErasedStatementsOnQueues<Known::Rings>> {
            Arc::new(Bind::new(name, pipeline))
        }
    }

    impl<Known: BoxKind> DeployStatements<Queues> for BoxStatements<OnQueues<Known>> {
        fn deploy(&self, scope: &Edges<Queues>, wiring: &mut QueuesWiring) {
            self.0.iter().for_each(|statement| statement.queues_erased(scope, wiring));
        }
    }
}

#[cfg(feature = "queues")]
pub(crate) use on_queues::ErasedStatementsOnQueues;
