//! Dead letters: a stage's one ring holds a failure or a value in each slot, and the two are read as two lanes.
//!
//! The success lane is the stage's output. A sink on a thread of its own reads the lane of the failures, from the same
//! ring. So failures keep their numbers and their order, also after a `shard`, hold the stage back while they wait to
//! be delivered, and no failure is copied.

use crate::group_stage::stateless_stage;
use crate::keeps::Keeps;
use crate::keyed_stage::{stateful_stage, waiting_stage};
use crate::sink::each;
use crate::sink_tasklet::{Left, SinkTasklet};
use crate::stage::EndSlot;
use crate::watched::Calls;
use crate::wiring::Home;
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::pipe::{
    Boxed, DeadLetter, DeadLetters, FailedItem, FallibleStep, Fault, Outcome, SuccessLane, TryMapOrDeadLetter,
    TryScanOrDeadLetter, TryScanRetry,
};
use millstream_core::{Cause, Deploy, Either, Item, ToOwnedItem, Val, lens};
use millstream_ring::{Reader, RingLayout};
use std::cell::Cell;

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
                Some(counted(&calls, judge.judge(value?)))
            });
        in_lanes::<A, B, E, G>(judged, &self.letters, wiring)
    }
}

impl<R: Keeps<T::State>, A: RingShape<R> + ToOwnedItem, T: FallibleStep<A>, G> Deploy<RingBackend<R>>
    for TryScanOrDeadLetter<A, T, T::Error, G>
where
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<SuccessLane<A, T::Out, T::Error>> {
        let (judge, end, start) = (self.clone(), EndSlot::of::<A::Density>(), (self.step.start(), R::state()));
        let calls = wiring.counts_calls();
        let judged = stateful_stage::<A, T::State, Outcome<A, T::Out, T::Error>, A::Density>(
            input,
            wiring,
            end,
            start,
            move |state, _, value, _| Some(counted(&calls, judge.judge(state, value?))),
        );
        in_lanes::<A, T::Out, T::Error, G>(judged, &self.letters, wiring)
    }
}

impl<R: Keeps<T::State>, A: RingShape<R>, T: FallibleStep<A>> Deploy<RingBackend<R>> for TryScanRetry<A, T> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<T::Out, A::Density>> {
        let (judge, calls, pauses) = (self.clone(), wiring.counts_calls(), wiring.pauses());
        let start = (self.step.start(), R::state());
        waiting_stage::<A, T::State, T::Out, A::Density>(input, wiring, start, move |state, _, value, _| {
            let (value, again) = (value?, Cell::new(false));
            let tried = |outcome| calls.outcome(again.replace(true), outcome);
            Some(judge.judge(state, value, tried, |time| pauses.wait(time)))
        })
    }
}

/// The outcome, counted if it is a failure or a parked value.
pub(super) fn counted<I, E, B>(
    calls: &Calls,
    judged: Either<Box<FailedItem<I, E>>, B>,
) -> Either<Box<FailedItem<I, E>>, B> {
    match &judged {
        Either::Left(dead) if matches!(dead.fault, Fault::Parked(_)) => calls.parked_one(),
        Either::Left(_) => calls.failed(),
        Either::Right(_) => {}
    }
    judged
}

/// The values' lane, with a sink that takes the failures from the other lane.
pub(super) fn in_lanes<A: RingLayout + ToOwnedItem, B: Item, E: Item, G>(
    judged: Reader<Val<Outcome<A, B, E>, A::Density>>,
    letters: &DeadLetters<A, E, G>,
    wiring: &mut Wiring,
) -> Reader<SuccessLane<A, B, E>>
where
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    // The failures have a reader of their own, so that the ring holds the stage back while failures wait; and a thread
    // of their own, since the user's function may wait.
    let (dead, deliver) = (judged.fork().seen::<lens::Left>(), letters.of_planned(wiring.name()));
    let name = format!("{}.dead-letters", deliver.name);
    let tell = each(move |number, dead: &Boxed<A, E>| deliver.deliver(number, dead));
    let sink = SinkTasklet::new(dead, tell, wiring.batch, Left::nothing());
    wiring.side_sink(name, wiring.written(), Box::new(sink));
    judged.seen::<lens::Right>()
}
