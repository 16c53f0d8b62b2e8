//! Several stages as one loop.
//!
//! Between two stages that one thread runs, a ring is only a detour: the first one writes a slot, and the second one
//! reads it. A deployment that knows that fuses them. Stages that keep their clock and no state can be before others:
//! what they make of a slot goes to the next stage at once, in a local variable. The last stage writes the ring, and
//! may keep a state. The slots of that ring are those that it would have anyway, number by number, since no stage moves
//! a value to another number; so the law says nothing about rings between.
//!
//! A pipeline is walked from its end: [`Then`](crate::pipe::Then) asks its second part to be deployed
//! [after](crate::Deploy) the first one. A stage that can be last hands a [`SlotKernel`] to what is before it, a stage
//! that can be before others puts its own function before that kernel, and what can be neither makes its edge. Each
//! closure is compiled into one loop, whatever the length of the chain.
//!
//! Where the ends of the run are known, too, a loop need not write a ring at all: see [`Passage`].

mod passage;

pub(crate) use passage::chain_within;
pub use passage::{Chain, Clock, Fill, Next, OfPassage, Passage, Same, chain};

use crate::{Backend, Density, Item, On, SequenceNumber, Shape};

/// The work of one or more stages on a slot of an edge of shape `A`, and the ring that the last of them writes.
pub trait SlotKernel<K: Backend, A: Shape>: Sized + Send + 'static {
    /// The state of the last stage.
    type State: Item + Clone;
    /// The item of the ring.
    type Item: Item;
    /// The density of the ring.
    type Density: Density;
    /// Whether a slot can be left empty where the input is filled.
    const EMPTIES: bool;
    /// Adds the stages before the last one. The walk over the plan begins at the first stage, and ends at the last one.
    fn enroll(&mut self, wiring: &mut K::Wiring);

    /// The state before the first slot, and how it is kept.
    fn start(&self) -> (Self::State, K::Keeper<Self::State>);

    /// Whether END has a slot in the ring.
    fn writes_end(&self) -> bool;

    /// The output of a slot, or of END's.
    fn at(
        &mut self,
        state: &mut Self::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<Self::Item>;
}

/// A pipeline and a kernel after it, once the pipeline is deployed.
#[expect(missing_debug_implementations, reason = "edges and kernels have none")]
pub enum Fusing<K: Backend, A: On<K>, N: SlotKernel<K, A>> {
    /// The edge before the kernel, and the kernel, which was not added.
    Apart(A::Edge, N),
    /// The edge after the kernel.
    Done(K::Ring<N::Item, N::Density>),
}
