//! Dead letters: a stage's one ring holds a failure or a value in each slot, and the two are read as two lanes.
//!
//! The success lane is the stage's output. A sink on a thread of its own reads the lane of the failures, from the same
//! ring. So failures keep their numbers and their order, also after a `shard`, hold the stage back while they wait to
//! be delivered, and no failure is copied.

use crate::group_stage::stateless_stage;
use crate::sink::each;
use crate::sink_tasklet::{Left, SinkTasklet};
use crate::stage::EndSlot;
use crate::wiring::Home;
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::pipe::{Boxed, DeadLetter, Outcome, SuccessLane, TryMapOrDeadLetter};
use millstream_core::{Cause, Deploy, Item, ToOwnedItem, Val, lens};
use millstream_ring::{Reader, RingLayout};

impl<R: RingRunner, A: RingShape<R> + ToOwnedItem, F, B: Item, E: Cause + Item, G> Deploy<RingBackend<R>>
    for TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<SuccessLane<A, B, E>> {
        let (judge, end, calls) = (self.clone(), EndSlot::of::<A::Density>(), wiring.counts_calls());
        let judged =
            stateless_stage::<A, Outcome<A, B, E>, A::Density>(input, wiring, end, Home::Workers, move |value| {
                let judged = judge.judge(value?);
                if judged.is_left() {
                    calls.failed();
                }
                Some(judged)
            });
        in_lanes(judged, self, wiring)
    }
}

/// The values' lane, with a sink that takes the failures from the other lane.
pub(super) fn in_lanes<A: RingLayout + ToOwnedItem, F, B: Item, E: Cause + Item, G>(
    judged: Reader<Val<Outcome<A, B, E>, A::Density>>,
    letters: &TryMapOrDeadLetter<A, F, B, E, G>,
    wiring: &mut Wiring,
) -> Reader<SuccessLane<A, B, E>>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    // The failures have a reader of their own, so that the ring holds the stage back while failures wait; and a thread
    // of their own, since the user's function may wait.
    let (dead, deliver) = (judged.fork().seen::<lens::Left>(), letters.clone());
    let tell = each(move |number, dead: &Boxed<A, E>| deliver.deliver(number, dead));
    let sink = SinkTasklet::new(dead, tell, wiring.batch, Left::nothing());
    wiring.side_sink(format!("{}.dead-letters", letters.name), Box::new(sink));
    judged.seen::<lens::Right>()
}
