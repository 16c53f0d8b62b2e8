//! Stages that keep a state and their clock.
//!
//! A [`ScanKernel`] writes a ring of its own ([`ScanBy`]), or one that is read beside its input ([`Annotate`]:
//! `enumerate`, `pairwise`). A [`FilterKernel`](super::FilterKernel) writes a mask. A deployment runs either family by
//! one impl; the model runs the definition beside each step. A program brings kernels of its own to
//! [`KernelsExt`](crate::KernelsExt). `scan`, `fold`, `delay`, `inspect` and `try_map_or_park` are in neither family:
//! each deployment has an impl for each of them.

use super::combinator;
use crate::model::ModelSlots;
use crate::plan::{Describe, Filled, Port, StageKind, StateType};
use crate::{Arrow, Density, Item, Pair, SequenceNumber, Shape, Val};
use std::sync::Arc;

/// A Mealy machine that receives empty slots and END, and may leave a slot empty: the common part of stages that keep
/// a state and their clock.
pub trait ScanKernel: Send + Sync + 'static {
    /// The shape of the input.
    type In: Shape;
    /// The item of the output.
    type Out: Item;
    /// The density of the output.
    type Density: Density;
    /// The state from one slot to the next.
    type State: Item + Clone;
    /// The combinator's name.
    const NAME: &'static str;
    /// Whether some values can fail: reports count those at whose output [`is_failure`](ScanKernel::is_failure) is
    /// true.
    const COUNTS_FAILURES: bool = false;
    /// The state before the first slot.
    fn start(&self) -> Self::State;
    /// Processes a value, or END, whose slot comes last and may be empty, and returns the output of that slot. It is
    /// not called for an empty slot below END, which stays empty.
    fn step(
        &self,
        state: &mut Self::State,
        number: SequenceNumber,
        slot: Option<<Self::In as Shape>::Ref<'_>>,
        end: bool,
    ) -> Option<Self::Out>;
    /// Whether the output of a value says that the value failed: by default, if there is none.
    #[must_use]
    fn is_failure(output: Option<&Self::Out>) -> bool {
        output.is_none()
    }
    /// As [`step`](ScanKernel::step), for any slot: what deployments call.
    #[doc(hidden)]
    #[inline]
    fn at_slot(
        &self,
        state: &mut Self::State,
        number: SequenceNumber,
        slot: Option<<Self::In as Shape>::Ref<'_>>,
        end: bool,
    ) -> Option<Self::Out> {
        if slot.is_none() && !end {
            return None;
        }
        self.step(state, number, slot, end)
    }
    /// What [`step`](ScanKernel::step) means: the output of every slot, from all slots of the input; it is empty
    /// where the input is, but for END's. It is the [`Model`](crate::Model)'s definition, and is written apart from
    /// `step`, which is tested against it.
    fn model(&self, slots: ModelSlots<'_, Self::In>) -> Vec<Option<Self::Out>>;
    /// Where the output can be filled, for an input filled at `input`: the plan's warnings about joins go by it. By
    /// default that is where the input is filled, and at END alone if only the output is [`AtEnd`](crate::AtEnd). A
    /// kernel that also answers at END says `Filled { end: true, ..input }`.
    #[must_use]
    fn fills(input: Filled) -> Filled {
        let begins = Self::Density::AT_END && !<<Self::In as Shape>::Density as Density>::AT_END;
        if begins { Filled::END } else { input }
    }
    /// The bytes of the states of its keys, without what they own elsewhere, if it has keys. It is called after every
    /// batch.
    const STATE_BYTES: Option<fn(&Self::State) -> usize> = None;
    /// The most keys for which it keeps something, if it has keys.
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
    let kind = StageKind { name: M::NAME, state: Some(StateType::of::<M::State>()), slot_bytes, dense, fills };
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
