//! Filters with a state. All of them write a mask; `take` and `take_while` can also end the stream.
//!
//! In a body, a filter that keeps no further value leaves the remaining slots empty. At the outer level, where a
//! pipeline is started, it ends the stream there (`Deploy::deploy_outer`). The meaning of `take` therefore depends on
//! its place. The price: a law that moves a pipeline into a body or out of one holds only for pipelines without `take`
//! and `take_while`.

use super::combinator;
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Filtered, Item, Shape};
use std::sync::Arc;

/// A filter with a state.
pub trait FilterKernel: Send + Sync + 'static {
    /// The shape of the input.
    type In: Shape;
    /// The state from one value to the next.
    type State: Item + Clone;
    /// The combinator's name.
    const NAME: &'static str;
    /// Whether it can be [over](FilterKernel::over).
    const ENDS: bool = false;
    /// The state before the first value.
    fn start(&self) -> Self::State;
    /// Whether a value is kept.
    fn keeps(&self, state: &mut Self::State, value: <Self::In as Shape>::Ref<'_>) -> bool;
    /// Whether no further value is kept: at the outer level the stream ends here.
    fn over(&self, _: &Self::State) -> bool {
        false
    }
    /// What [`keeps`](FilterKernel::keeps) means: whether each value is kept, from all values of the input. It is the
    /// [`Model`](crate::Model)'s definition, and is written apart from `keeps`, which is tested against it.
    fn model(&self, values: Vec<<Self::In as Shape>::Ref<'_>>) -> Vec<bool>;
    /// What [`over`](FilterKernel::over) means: the number of values after which it is over.
    fn model_over(&self, _values: Vec<<Self::In as Shape>::Ref<'_>>) -> Option<usize> {
        None
    }
}

/// The same slots, some of them masked, by a [`FilterKernel`]. No value is copied: the stage writes a mask of one byte
/// a number.
pub struct FilterBy<K> {
    /// The kernel, shared by every deployment.
    pub kernel: Arc<K>,
}
combinator!(FilterBy<K>: KeepsClock Quiet Determinate; through :);

impl<K> FilterBy<K> {
    pub(crate) fn new(kernel: K) -> Self {
        FilterBy { kernel: Arc::new(kernel) }
    }
}

impl<K: FilterKernel> Arrow for FilterBy<K> {
    type In = K::In;
    type Out = Filtered<K::In>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (size_of::<bool>(), <K::In as Shape>::Density::DENSE);
        let kind = StageKind {
            name: K::NAME,
            state: Some(StateType::of::<K::State>()),
            slot_bytes,
            dense,
            fills: input.filled(),
        };
        let mask = if K::ENDS { plan.ending_stage(&input, kind) } else { plan.stage(&input, kind) };
        plan.masked(&input, &mask)
    }
}
