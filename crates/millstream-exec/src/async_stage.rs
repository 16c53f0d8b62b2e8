//! Futures: a stage whose function returns futures is one tasklet that polls them, and publishes their results in
//! order.
//!
//! In a shard of k it is one tasklet too, with k times the limit. A step polls the futures that were woken
//! (`wakes.rs`), starts as many more as the limit allows, and publishes what is finished. A result waits in the slot of
//! its future (`flights.rs`) for those before it. Those slots are used again, so a warm stage allocates nothing.
//!
//! A future borrows nothing, so its input is released when the future is made and not when its result is published. The
//! numbers under way are bounded all the same, empty ones too: by the limit or by the slots of the ring, whichever is
//! greater. A failure shows when its number is next, so it is the same one in every run.
//!
//! The stage polls its futures, as `buffered` of the futures crate does, and does not spawn them as tasks. So a run
//! that stops drops them and knows that they are gone; a panic is caught at its number; no result crosses a channel;
//! and any future runs, with a runtime or without. On the calling thread (`Inline`) the stage waits for each future in
//! turn.

use crate::flights::{Flights, InFlight};
use crate::keeper::Keeper;
use crate::reactor::Reactor;
use crate::stage::{EndSlot, Shows, stage};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wakes::Wakes;
use crate::watched::Calls;
use crate::wiring::{Home, Wiring};
use millstream_core::failure::Finished;
use millstream_core::pipe::{MapAsync, Settle};
use millstream_core::{Density, Val};
use millstream_ring::{Last, Mark, MarkKind, Producer, Reader, RingLayout, ring_from};
use std::future::Future;
use std::sync::Arc;

/// The density of the output.
type Out<A, Fut, P> = <P as Settle<<Fut as Future>::Output>>::Density<<A as millstream_core::Shape>::Density>;
type Value<Fut, P> = <P as Settle<<Fut as Future>::Output>>::Value;
type Output<A, Fut, P> = Val<Value<Fut, P>, Out<A, Fut, P>>;
type Slot<A, Fut, P> = <Out<A, Fut, P> as Density>::Slot<Value<Fut, P>>;

/// Adds the stage to the wiring. On the calling thread it waits for one future after another.
pub(crate) fn async_stage<A: RingLayout, F, Fut, P: Settle<Fut::Output>>(
    map: MapAsync<A, F, Fut, P>,
    input: Reader<A>,
    wiring: &mut Wiring,
) -> Reader<Output<A, Fut, P>>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    if wiring.inline {
        let (end, reactor, calls) = (EndSlot::of::<Out<A, Fut, P>>(), wiring.reactor(), wiring.counts_calls());
        let state = ((), Keeper::none());
        return stage::<A, (), Value<Fut, P>, Out<A, Fut, P>>(
            input,
            wiring,
            end,
            Home::Workers,
            state,
            move |(), _, value, _| {
                let value = value?;
                let _entered = reactor.enter();
                settled(&map.policy, map.finished(value), &calls)
            },
        );
    }
    let (output, reader) =
        ring_from::<Value<Fut, P>, Out<A, Fut, P>>(input.position(), wiring.slots).expect("the options were checked");
    let limit = map.limit.saturating_mul(wiring.scope.width);
    let shared = wiring.shared.clone();
    let stage = AsyncStage {
        input: input.stops_at_marks(),
        output,
        flights: Flights::new(limit, Wakes::new(move || shared.wake())),
        ahead: limit.max(wiring.slots) as u64,
        batch: wiring.batch,
        map,
        reactor: wiring.reactor(),
        calls: wiring.counts_calls(),
        end: None,
        busy: false,
        at_end: None,
    };
    wiring.stage(Home::Workers, [Box::new(stage) as Box<dyn Tasklet>]);
    reader
}

/// Maps a result, or a panic, to the output's slot, and counts errors, and panics that do not end the run.
fn settled<R, P: Settle<R>>(policy: &P, result: Finished<R>, calls: &Calls) -> Option<P::Value> {
    let panicked = result.is_err();
    if result.as_ref().is_ok_and(P::is_error) {
        calls.failed();
    }
    let value = policy.settle(result);
    if panicked {
        calls.failed();
    }
    value
}

/// An input is released when its future is made, since the future keeps nothing of it. Numbers from the output's next
/// to the input's next are in progress. Those with a value hold a future or its result, `limit` of them at most.
struct AsyncStage<A: RingLayout, F, Fut: Future, P: Settle<Fut::Output>> {
    input: Reader<A>,
    output: Producer<Slot<A, Fut, P>>,
    flights: Flights<Fut>,
    /// How many numbers the input may be ahead of the output. It holds back the source even if most numbers are empty.
    ahead: u64,
    batch: usize,
    map: MapAsync<A, F, Fut, P>,
    reactor: Arc<Reactor>,
    calls: Arc<Calls>,
    /// END's number, once its future, if it has one, is started.
    end: Option<u64>,
    /// Whether it is at the number after those published.
    busy: bool,
    at_end: Option<u64>,
}

impl<A: RingLayout, F, Fut, P: Settle<Fut::Output>> AsyncStage<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut,
    Fut: Future,
{
    /// The next number that is not started. END does not count.
    fn started(&self) -> u64 {
        self.end.unwrap_or_else(|| self.input.position().0)
    }

    /// Starts the futures of at most `max` numbers. Returns how many numbers those were.
    fn start(&mut self, max: usize) -> usize {
        let room = self.ahead.saturating_sub(self.started() - self.output.next().0);
        let max = max.min(usize::try_from(room).unwrap_or(usize::MAX));
        if max == 0 || self.flights.full() {
            return 0;
        }
        let Some(mut batch) = self.input.batch(max) else { return 0 };
        let (flights, f) = (&mut self.flights, &self.map.f);
        let _entered = self.reactor.enter();
        flights.start_batch(&mut batch, |value| f(value))
    }

    /// Publishes at most `max` numbers, up to the first future in flight. Returns how many.
    fn publish(&mut self, max: usize) -> usize {
        let (mut next, started) = (self.output.next().0, self.started());
        if next == started || self.flights.in_flight(next) {
            return 0;
        }
        let max = max.min(usize::try_from(started - next).unwrap_or(usize::MAX));
        let Ok(Some(claim)) = self.output.try_claim(max) else { return 0 };
        let (flights, policy, calls) = (&mut self.flights, &self.map.policy, &self.calls);
        self.busy = true;
        let mut shows = Shows::new(claim);
        let published = shows.claim().fill_while(|| {
            let landed = flights.land(next)?;
            next += 1;
            Some(Out::<A, Fut, P>::pack(landed.and_then(|result| settled(policy, result, calls))))
        });
        shows.publish();
        self.busy = false;
        published
    }

    /// Starts the future of END's value, if there is one and it is next. Returns whether it did anything.
    fn start_end(&mut self) -> bool {
        if self.end.is_some() || self.flights.full() {
            return false;
        }
        let Some(end) = self.input.end() else { return false };
        let f = &self.map.f;
        if let Some(value) = end.value() {
            let _entered = self.reactor.enter();
            self.flights.start(end.number().0, || f(value));
        }
        self.end = Some(end.number().0);
        true
    }

    /// Publishes END once everything before it is published.
    fn try_end(&mut self) -> Progress {
        let Some(end) = self.end.filter(|end| *end == self.output.next().0) else { return Progress::NONE };
        let slot = EndSlot::of::<Out<A, Fut, P>>();
        if slot == EndSlot::Written && self.output.free() == 0 {
            return Progress::NONE;
        }
        let Some(landed) = self.flights.land(end) else { return Progress::NONE };
        self.at_end = Some(end);
        let value = landed.and_then(|result| settled(&self.map.policy, result, &self.calls));
        self.at_end = None;
        match self.output.try_end_with(slot.then(|| Last::of::<_, Out<A, Fut, P>>(value))) {
            Ok(()) => Progress::ENDED,
            Err(_) => unreachable!("there was room for END"),
        }
    }

    /// Polls and publishes as much as is possible now, and starts at most this many futures: their first polls may do
    /// all of their work.
    fn move_batch(&mut self, most: usize) -> Progress {
        let mut worked = self.flights.poll_woken(|| self.reactor.enter());
        let (mut started, mut published) = (0, 0);
        loop {
            let (start, publish) = (self.start(most - started), self.publish(self.batch - published));
            if start + publish == 0 {
                break;
            }
            (started, published) = (started + start, published + publish);
        }
        if published > 0 {
            return Progress::moved(published);
        }
        worked |= started > 0 || self.start_end();
        self.output.sweep();
        match self.try_end() {
            Progress { moved: 0, .. } if worked => Progress::WORKED,
            progress => progress,
        }
    }
}

/// It has no state, so it passes a mark with numbers below it still in flight: none from the mark on is published. A
/// mark at which it retires it passes when none is in flight.
impl<A: RingLayout, F, Fut, P: Settle<Fut::Output>> AtMarks for AsyncStage<A, F, Fut, P>
where
    F: Send + Sync,
    Fut: Future<Output: Send> + Send,
{
    fn pass(&mut self) -> Option<Mark> {
        let mark = self.input.mark()?;
        if mark.kind == MarkKind::Retire && self.output.next() < mark.at {
            return None;
        }
        self.input.pass_mark_to(&mut self.output)
    }
}

impl<A: RingLayout, F, Fut, P: Settle<Fut::Output>> Tasklet for AsyncStage<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync,
    Fut: Future<Output: Send> + Send,
{
    fn step(&mut self, most: usize) -> Progress {
        let progress = self.move_batch(self.batch.min(most));
        // Wake-ups in the meantime did not notify; they count as work.
        match self.flights.leave() {
            false if progress.moved == 0 && !progress.done => Progress::WORKED,
            _ => progress,
        }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.busy.then(|| self.output.next().0))
    }

    /// Numbers in flight are not done either.
    fn backlog(&self) -> u64 {
        self.input.backlog() + self.started().saturating_sub(self.output.next().0)
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output).holding_numbers()
    }
}

/// The futures in flight are dropped in the runtime in which they were polled.
impl<A: RingLayout, F, Fut: Future, P: Settle<Fut::Output>> Drop for AsyncStage<A, F, Fut, P> {
    fn drop(&mut self) {
        self.flights.clear(|| self.reactor.enter());
    }
}
