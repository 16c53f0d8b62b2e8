//! Loops: a thread that adds the state to each value, and waits for the body's output.

use super::{Owning, part, seen};
use crate::Queues;
use crate::queues::keyed::Kept;
use crate::queues::queue_shape::LendItem;
use crate::queues::{QueueShape, QueuesWiring};
use millstream_core::pipe::{Fed, Feedback, Looped};
use millstream_core::plan::Branch;
use millstream_core::{Arrow, Deploy, Item, Lens, On, Projected, lens};

impl<A: QueueShape, S: Item + Clone, P> Deploy<Queues> for Feedback<A, S, P>
where
    P: Deploy<Queues> + Arrow<In = Looped<A, S>, Out: QueueShape + Fed<S>>,
    lens::First: Lens<P::Out, Target: LendItem>,
{
    fn deploy(
        &self,
        input: Owning<A>,
        wiring: &mut QueuesWiring,
    ) -> <Projected<P::Out, lens::First> as On<Queues>>::Edge {
        let (into_body, body_input) = wiring.queue();
        let mut back = self.body.deploy(looped::<A, S>(body_input), &mut wiring.body(Branch::Only));
        let (outlet, output) = wiring.queue();
        let mut kept = Kept::new(self.state.clone(), wiring);
        wiring.stage(input, move |input, activity| {
            while let Some(message) = input.take(activity) {
                let at = message.at();
                let state = kept.at(at);
                let pair = message.into_value().zip(state.as_deref().cloned());
                if !into_body.put(at, pair) {
                    return;
                }
                let Some(given) = back.take(activity) else { return };
                let given = given.into_value();
                let next = given.as_ref().and_then(|pair| P::Out::state(P::Out::lend(pair)));
                if let (Some(state), Some(next)) = (state, next) {
                    *state = next;
                }
                if !outlet.put(at, part::<P::Out, lens::First>(given.as_ref())) {
                    return;
                }
            }
        });
        seen::<P::Out, lens::First>(output)
    }
}

fn looped<A: QueueShape, S: Item + Clone>(input: super::Queue<(A::Owned, S)>) -> <Looped<A, S> as On<Queues>>::Edge {
    input
}
