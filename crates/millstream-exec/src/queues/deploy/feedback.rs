//! Loops: a thread that puts the state beside each value, and waits for what the body makes of it.

use super::{Owning, part, seen};
use crate::Queues;
use crate::queues::keyed::Kept;
use crate::queues::shape::Lend;
use crate::queues::{Queued, QueuesWiring};
use millstream_core::pipe::{Fed, Feedback, Looped};
use millstream_core::{Arrow, Deploy, Event, Fst, Lens, On, Seen};

impl<A: Queued, S: Event + Clone, P> Deploy<Queues> for Feedback<A, S, P>
where
    P: Deploy<Queues> + Arrow<In = Looped<A, S>, Out: Queued + Fed<S>>,
    Fst: Lens<P::Out, Target: Lend>,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> <Seen<P::Out, Fst> as On<Queues>>::Edge {
        let (into_body, body_input) = wiring.queue();
        let mut back = self.body.deploy(looped::<A, S>(body_input), wiring);
        let (outlet, output) = wiring.queue();
        let mut kept = Kept::new(self.state.clone(), wiring);
        wiring.stage(input, move |input, desk| {
            while let Some(message) = input.take(desk) {
                let at = message.at();
                let state = kept.at(at);
                let pair = message.into_value().zip(state.as_deref().cloned());
                if !into_body.put(at, pair) {
                    return;
                }
                let Some(given) = back.take(desk) else { return };
                let given = given.into_value();
                let next = given.as_ref().and_then(|pair| P::Out::state(P::Out::lend(pair)));
                if let (Some(state), Some(next)) = (state, next) {
                    *state = next;
                }
                if !outlet.put(at, part::<P::Out, Fst>(given.as_ref())) {
                    return;
                }
            }
        });
        seen::<P::Out, Fst>(output)
    }
}

fn looped<A: Queued, S: Event + Clone>(input: super::Queue<(A::Owned, S)>) -> <Looped<A, S> as On<Queues>>::Edge {
    input
}
