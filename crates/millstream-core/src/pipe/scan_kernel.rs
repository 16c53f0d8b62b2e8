//! Stages that keep a state and their clock.
//!
//! A [`ScanKernel`] writes a ring of its own ([`ScanBy`]), or one that is read beside its input ([`Annotate`]:
//! `enumerate`, `pairwise`). A [`FilterKernel`](super::FilterKernel) writes a mask. A deployment runs either family by one impl; the
//! model says for each stage separately what it means. `scan`, `fold`, `delay`, `inspect` and `try_map_or_park` are in
//! neither family: each deployment has an impl for each of them.

use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind};
use crate::{Arrow, Density, Item, Pair, SequenceNumber, Shape, Val};
use std::sync::Arc;

/// A Mealy machine that is told where END is and may leave a slot empty: what the stages have in common that keep a
/// state and their clock.
pub trait ScanKernel: Send + Sync + 'static {
    /// What it reads.
    type In: Shape;
    /// What it gives.
    type Out: Item;
    /// Whether it may leave a slot below END empty, or fill END's.
    type Density: Density;
    /// What it keeps from one slot to the next.
    type State: Send + Clone + 'static;
    /// The combinator's name.
    const NAME: &'static str;
    /// The state before the first slot.
    fn start(&self) -> Self::State;
    /// One slot, END the last: what the output's slot holds. An empty slot changes nothing; a deployment need not ask about
    /// it, unless it is END.
    fn step(
        &self,
        state: &mut Self::State,
        number: SequenceNumber,
        slot: Option<<Self::In as Shape>::Ref<'_>>,
        end: bool,
    ) -> Option<Self::Out>;
    /// Where it can give something, behind an edge that can hold something there.
    #[must_use]
    fn fills(input: Filled) -> Filled {
        input
    }
    /// How many keys it keeps something for at most, if it has keys.
    fn keys(&self) -> Option<usize> {
        None
    }
}

/// The ring that a [`ScanKernel`] writes.
pub struct ScanBy<M> {
    /// The kernel, shared by every deployment.
    pub kernel: Arc<M>,
}
combinator!(ScanBy<M>: KeepsClock Determinate; through M: Quiet);

/// The ring that a [`ScanKernel`] writes and the edge that it reads, side by side. No value is copied.
pub struct Annotate<M> {
    /// The kernel, shared by every deployment.
    pub kernel: Arc<M>,
}
combinator!(Annotate<M>: KeepsClock Determinate; through M: Quiet);

fn describe<M: ScanKernel>(kernel: &M, input: &Port, plan: &mut Describe) -> Port {
    let (slot_bytes, dense) = (Val::<M::Out, M::Density>::BYTES, M::Density::DENSE);
    let fills = M::fills(input.filled());
    let kind = StageKind { name: M::NAME, stateful: true, slot_bytes, dense, fills };
    match kernel.keys() {
        Some(most) => plan.keyed_stage(input, kind, most),
        None => plan.stage(input, kind),
    }
}

impl<M> ScanBy<M> {
    pub(crate) fn new(kernel: M) -> Self {
        ScanBy { kernel: Arc::new(kernel) }
    }
}

impl<M: ScanKernel> Arrow for ScanBy<M> {
    type In = M::In;
    type Out = Val<M::Out, M::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        describe(&*self.kernel, &input, plan)
    }
}

impl<M> Annotate<M> {
    pub(crate) fn new(kernel: M) -> Self {
        Annotate { kernel: Arc::new(kernel) }
    }
}

impl<M: ScanKernel> Arrow for Annotate<M> {
    type In = M::In;
    type Out = Pair<Val<M::Out, M::Density>, M::In>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let written = describe(&*self.kernel, &input, plan);
        plan.beside(&written, &input)
    }
}
