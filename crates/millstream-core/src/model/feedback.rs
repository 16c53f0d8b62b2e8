//! Loops, on ever longer prefixes of the input.

use super::{Extent, Model, ModelShape};
use crate::pipe::{Fed, Feedback, Looped};
use crate::{Arrow, Deploy, Item, Lens, On, lens};
use std::sync::Arc;

/// The input of a loop's body.
fn looped<A: ModelShape, S: Item>(input: A::Edge, states: Vec<Option<S>>) -> <Looped<A, S> as On<Model>>::Edge {
    (input, Arc::new(states.into_iter().map(|state| state.map(Arc::new)).collect()))
}

/// Slot n of the output needs the states up to n, and yields state n + 1. The body therefore runs on ever longer
/// prefixes of the stream, and finally on all of it.
impl<A: ModelShape, S: Item + Clone, P> Deploy<Model> for Feedback<A, S, P>
where
    P: Deploy<Model> + Arrow<In = Looped<A, S>, Out: ModelShape + Fed<S>>,
    lens::First: Lens<P::Out>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <P::Out as On<Model>>::Edge {
        let body = |states: &[S], mut extent| {
            let states = states.iter().cloned().map(Some).collect();
            self.body.deploy(looped::<A, S>(input.clone(), states), &mut extent)
        };
        let mut states = vec![self.state.clone()];
        while states.len() < A::slots(&input) {
            let n = states.len() - 1;
            let output = body(&states, Extent::Prefix);
            let next = P::Out::at(&output, n).and_then(P::Out::state);
            states.push(next.unwrap_or_else(|| states[n].clone()));
        }
        body(&states, *extent)
    }
}
