//! Stages that keep a state and their clock.
//!
//! A [`Machine`] writes a ring of its own ([`Stateful`]), or one that is read beside its input ([`Beside`]:
//! `enumerate`, `pairwise`). A [`Sieve`](super::Sieve) writes a mask. A deployment runs either family by one impl; the
//! model says for each stage separately what it means. `scan`, `fold`, `delay`, `inspect` and `try_map_or_park` are in
//! neither family: each deployment has an impl for each of them.

use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind};
use crate::{Arrow, Density, Event, Flow, Pair, SequenceNumber, Val};
use std::sync::Arc;

/// A Mealy machine that is told where END is and may leave a slot empty: what the stages have in common that keep a
/// state and their clock.
pub trait Machine: Send + Sync + 'static {
    /// What it reads.
    type In: Flow;
    /// What it gives.
    type Out: Event;
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
        slot: Option<<Self::In as Flow>::Ref<'_>>,
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

/// The ring that a [`Machine`] writes.
pub struct Stateful<M> {
    /// The machine, shared by every deployment.
    pub machine: Arc<M>,
}
combinator!(Stateful<M>: KeepsClock Determinate; through M: Quiet);

/// The ring that a [`Machine`] writes and the edge that it reads, side by side. No value is copied.
pub struct Beside<M> {
    /// The machine, shared by every deployment.
    pub machine: Arc<M>,
}
combinator!(Beside<M>: KeepsClock Determinate; through M: Quiet);

fn describe<M: Machine>(machine: &M, input: &Port, plan: &mut Describe) -> Port {
    let (slot_bytes, full) = (Val::<M::Out, M::Density>::BYTES, M::Density::FULL);
    let fills = M::fills(input.filled());
    let kind = StageKind { name: M::NAME, stateful: true, slot_bytes, full, fills };
    match machine.keys() {
        Some(most) => plan.keyed_stage(input, kind, most),
        None => plan.stage(input, kind),
    }
}

impl<M> Stateful<M> {
    pub(crate) fn new(machine: M) -> Self {
        Stateful { machine: Arc::new(machine) }
    }
}

impl<M: Machine> Arrow for Stateful<M> {
    type In = M::In;
    type Out = Val<M::Out, M::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        describe(&*self.machine, &input, plan)
    }
}

impl<M> Beside<M> {
    pub(crate) fn new(machine: M) -> Self {
        Beside { machine: Arc::new(machine) }
    }
}

impl<M: Machine> Arrow for Beside<M> {
    type In = M::In;
    type Out = Pair<Val<M::Out, M::Density>, M::In>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let written = describe(&*self.machine, &input, plan);
        plan.beside(&written, &input)
    }
}
