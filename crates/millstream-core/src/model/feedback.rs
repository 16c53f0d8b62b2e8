//! Loops: the state of each number, and then the body on the whole stream.

use super::{Extent, Model, ModelShape, SlotOf};
use crate::pipe::{Fed, Feedback, Looped};
use crate::{Arrow, Deploy, Item, Lens, On, lens};
use std::sync::Arc;

/// The input of a loop's body.
fn looped<A: ModelShape, S: Item>(input: A::Edge, states: Vec<Option<S>>) -> <Looped<A, S> as On<Model>>::Edge {
    (input, Arc::new(states.into_iter().map(|state| state.map(Arc::new)).collect()))
}

/// Slot n of the output needs the states up to n, and yields state n + 1. The states are therefore computed one after
/// another, and then the body runs on the whole stream with all of them.
///
/// A state is computed from the slots up to its number. Of these a body without a state of its own needs one alone.
impl<A: ModelShape, S: Item + Clone, P> Deploy<Model> for Feedback<A, S, P>
where
    P: Deploy<Model> + Arrow<In = Looped<A, S>, Out: ModelShape + Fed<S>>,
    lens::First: Lens<P::Out>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <P::Out as On<Model>>::Edge {
        let mut states = vec![self.state.clone()];
        let body = |input: A::Edge, states: &[S], extent: &mut Extent| {
            let states = states.iter().cloned().map(Some).collect();
            self.body.deploy(looped::<A, S>(input, states), extent)
        };
        let keeps_nothing = self.body.plan().stages.iter().all(|stage| stage.state.is_none());
        while states.len() < A::slots(&input) {
            let n = states.len() - 1;
            let first = if keeps_nothing { n } else { 0 };
            let part: Vec<_> = (first..=n).map(|slot| Some(SlotOf { edge: 0, slot })).collect();
            let output =
                body(A::gathered(std::slice::from_ref(&input), &part), &states[first..], &mut extent.part(first..=n));
            let next = P::Out::at(&output, n - first).and_then(P::Out::state);
            states.push(next.unwrap_or_else(|| states[n].clone()));
        }
        body(input, &states, extent)
    }
}
