//! Blocks: statements that bind wires, and a result.

use super::as_parts;
use super::{BlockBackend, Edges, Forks, Scope, Wire};
use crate::pipe::{combinator, debug};
use crate::plan::{Branch, Describe, Port};
use crate::shape::Phantom;
use crate::{Arrow, Deploy, KeepsClock, On, Shape};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A block that is being written: the statements so far, which are `D` and after them `G`.
///
/// [`block`] begins one, [`wire`](BlockBuilder::wire) adds a statement, and [`emit`](BlockBuilder::emit) ends it.
#[must_use = "a block that is not ended by `emit` is not a pipeline"]
pub struct BlockBuilder<A, S, D, G = Start> {
    statements: Grouped<D, G>,
    wires: usize,
    shape: Phantom<(A, S)>,
}
debug!(BlockBuilder<A, S, D, G>);

/// A block without statements, and its first wire.
pub type NewBlock<A, S> = (BlockBuilder<A, S, Start>, Wire<S, A>);

/// A block with one statement more, and the wire that it binds.
pub type WithWire<A, S, D, G, P> = (BlockBuilder<A, S, D, Bind<G, P>>, Wire<S, <P as Arrow>::Out>);

/// Begins a block that reads an edge of shape `A`. Its first wire is that edge. `S` is any type of the block's own,
/// such as an empty `enum` beside it.
pub fn block<A: Shape, S: 'static>() -> NewBlock<A, S> {
    (BlockBuilder::<A, S, Start>::empty(), Wire::new(0))
}

/// As [`block`], for the edge that the pipeline `_before` writes.
pub fn wires_of<P: Arrow, S: 'static>(_before: &P) -> NewBlock<P::Out, S> {
    block()
}

impl<A, S: 'static, D, G> BlockBuilder<A, S, D, G> {
    /// Adds the statement that binds a wire: returns the block with it, and the wire.
    ///
    /// The last stage of `pipeline` has the name `name`, in plans, reports, errors and snapshots, unless it has a name
    /// already. A wire that nothing reads is computed for its effects alone.
    // The bound is on one line with the name because the compiler prints both.
    pub fn wire<P: Arrow<In = Scope<S>> + KeepsClock>(
        self,
        name: impl Into<Cow<'static, str>>,
        pipeline: P,
    ) -> WithWire<A, S, D, G, P> {
        let Grouped { before, last } = self.statements;
        let statements = Grouped { before, last: Bind { before: last, name: name.into(), pipeline } };
        (BlockBuilder { statements, wires: self.wires + 1, shape: PhantomData }, Wire::new(self.wires))
    }

    /// The same block, with the statements so far in a group. The compiler's limit on nested types holds for a group
    /// and not for the block: a block of more than a hundred statements needs a group every dozen or so.
    pub fn grouped(self) -> BlockBuilder<A, S, Grouped<D, G>> {
        let statements = Grouped { before: self.statements, last: Start };
        BlockBuilder { statements, wires: self.wires, shape: PhantomData }
    }

    /// Ends the block: the pipeline that reads the block's edge and writes what `result` writes.
    pub fn emit<P: Arrow<In = Scope<S>> + KeepsClock>(self, result: P) -> Wires<A, S, Grouped<D, G>, P> {
        Wires { body: self.body(result), shape: PhantomData }
    }

    pub(super) fn body<P>(self, result: P) -> BlockBody<Grouped<D, G>, P> {
        BlockBody { statements: self.statements, result }
    }

    /// A block of one wire, which no statement binds.
    pub(super) fn empty() -> BlockBuilder<A, S, Start> {
        let statements = Grouped { before: Start, last: Start };
        BlockBuilder { statements, wires: 1, shape: PhantomData }
    }
}

/// No statement.
pub struct Start;

/// Statements, and after them the one that binds a wire to `pipeline`.
pub struct Bind<L, P> {
    before: L,
    name: Cow<'static, str>,
    pipeline: P,
}

impl<P: Arrow> Bind<Start, P> {
    /// One statement, for statements that are kept in boxes.
    pub fn new(name: impl Into<Cow<'static, str>>, pipeline: P) -> Self {
        Bind { before: Start, name: name.into(), pipeline }
    }
}

/// Statements, and after them others.
pub struct Grouped<D, G> {
    before: D,
    last: G,
}

/// A block of wires, as a pipeline from an edge of shape `A`.
pub struct Wires<A, S, L, P> {
    body: BlockBody<L, P>,
    shape: Phantom<(A, S)>,
}

impl<A, S, L: Statements, P: Arrow<In = Scope<S>>> Wires<A, S, L, P> {
    /// A block of these statements.
    pub fn new(statements: L, result: P) -> Self {
        Wires { body: BlockBody { statements, result }, shape: PhantomData }
    }
}

/// The statements of a block and its result, as a pipeline that reads the block's scope.
pub struct BlockBody<L, P> {
    statements: L,
    result: P,
}

combinator!(Start<>: KeepsClock Quiet Shardable Determinate; through :);
debug!(Bind<L, P>);
debug!(Grouped<D, G>);
debug!(BlockBody<L, P>);
debug!(Wires<A, S, L, P>);
as_parts!(Bind<L, P>: L P; KeepsClock Quiet Shardable Determinate);
as_parts!(Grouped<D, G>: D G; KeepsClock Quiet Shardable Determinate);
as_parts!(BlockBody<L, P>: L P; KeepsClock Quiet Shardable Determinate);
as_parts!(Wires<A, S, L, P>: L P; KeepsClock Quiet Shardable Determinate);

/// The statements of a block.
pub trait Statements: Send + Sync + 'static {
    /// Adds their stages to a plan, and their wires to `scope`.
    fn describe(&self, scope: &Port, plan: &mut Describe);
}

/// Statements that the deployment `K` can run.
pub trait DeployStatements<K: BlockBackend>: Statements {
    /// Deploys each of them, and adds its wire to `scope`.
    fn deploy(&self, scope: &Edges<K>, wiring: &mut K::Wiring);
}

impl Statements for Start {
    fn describe(&self, _: &Port, _: &mut Describe) {}
}

impl<K: BlockBackend> DeployStatements<K> for Start {
    fn deploy(&self, _: &Edges<K>, _: &mut K::Wiring) {}
}

impl<L: Statements, P: Arrow> Statements for Bind<L, P> {
    fn describe(&self, scope: &Port, plan: &mut Describe) {
        self.before.describe(scope, plan);
        let wire = plan.statement(&self.name, Branch::Only, |plan| self.pipeline.describe(scope.clone(), plan));
        scope.add_wire(plan.advance(wire));
    }
}

impl<K, S: 'static, L: DeployStatements<K>, P: Deploy<K> + Arrow<In = Scope<S>>> DeployStatements<K> for Bind<L, P>
where
    K: Forks<P::Out>,
    Scope<S>: On<K, Edge = Edges<K>>,
    P::Out: On<K, Edge: 'static>,
{
    fn deploy(&self, scope: &Edges<K>, wiring: &mut K::Wiring) {
        self.before.deploy(scope, wiring);
        let edge = K::in_body(wiring, Branch::Only, |wiring| self.pipeline.deploy_body(scope.clone(), wiring));
        K::advance(wiring);
        scope.push::<P::Out>(edge, wiring);
    }
}

impl<D: Statements, G: Statements> Statements for Grouped<D, G> {
    fn describe(&self, scope: &Port, plan: &mut Describe) {
        self.before.describe(scope, plan);
        self.last.describe(scope, plan);
    }
}

impl<K: BlockBackend, D: DeployStatements<K>, G: DeployStatements<K>> DeployStatements<K> for Grouped<D, G> {
    fn deploy(&self, scope: &Edges<K>, wiring: &mut K::Wiring) {
        self.before.deploy(scope, wiring);
        self.last.deploy(scope, wiring);
    }
}

impl<S: 'static, L: Statements, P: Arrow<In = Scope<S>>> Arrow for BlockBody<L, P> {
    type In = Scope<S>;
    type Out = P::Out;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        plan.branch(Branch::Only, |plan| {
            let result = |plan: &mut Describe| self.result.describe(scope.clone(), plan);
            plan.block(|plan| self.statements.describe(&scope, plan), result)
        })
    }
}

#[diagnostic::do_not_recommend]
impl<K, S: 'static, L: DeployStatements<K>, P: Deploy<K> + Arrow<In = Scope<S>>> Deploy<K> for BlockBody<L, P>
where
    K: BlockBackend,
    Scope<S>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        K::in_body(wiring, Branch::Only, |wiring| {
            self.statements.deploy(&scope, wiring);
            let output = K::in_body(wiring, Branch::Only, |wiring| self.result.deploy_body(scope.clone(), wiring));
            scope.close(wiring);
            output
        })
    }
}

impl<A: Shape, S: 'static, L: Statements, P: Arrow<In = Scope<S>>> Arrow for Wires<A, S, L, P> {
    type In = A;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.body.describe(Port::scope(input), plan)
    }
}

#[diagnostic::do_not_recommend]
impl<K, A, S: 'static, L: DeployStatements<K>, P: Deploy<K> + Arrow<In = Scope<S>>> Deploy<K> for Wires<A, S, L, P>
where
    K: Forks<A>,
    A: On<K, Edge: 'static>,
    Scope<S>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, input: A::Edge, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        let scope = Edges::of::<A, _>(&self.body, input, None, wiring);
        self.body.deploy(scope, wiring)
    }
}
