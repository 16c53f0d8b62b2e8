//! `unordered`: results leave in the order in which their futures finish (`arrivals.rs`), on a new clock.
//!
//! It is the one stage whose output may differ from run to run. Its type says so by lacking the marker `Determinate`,
//! which every other combinator has or inherits from its bodies. Code that compares deployments asks for the marker,
//! and so does code that passes a pipeline on as an opaque type. A mark waits until nothing before it is in flight.

use crate::arrivals::Arrivals;
use crate::flights::InFlight;
use crate::keeper::Keeper;
use crate::kept::Kept;
use crate::reactor::Reactor;
use crate::stage::Shows;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wakes::Wakes;
use crate::wiring::{Home, Wiring};
use millstream_core::pipe::{AsIs, ExpandKernel, Settle, Unordered};
use millstream_core::{Dense, Item, SequenceNumber, Shape, Val};
use millstream_ring::{Mark, Producer, Reader, RingLayout, ring_from};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Adds the stage to the wiring.
pub(crate) fn unordered_stage<A: RingLayout, F, Fut>(
    map: Unordered<A, F, Fut>,
    input: Reader<A>,
    wiring: &mut Wiring,
) -> Reader<Val<Fut::Output>>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Item> + Send + 'static,
{
    let (next, ()) = wiring.clock_or(input.position(), (), Keeper::none());
    let (output, reader) = ring_from::<Fut::Output, Dense>(next, wiring.slots).expect("the options were checked");
    let input = input.stops_at_marks();
    let shared = wiring.shared.clone();
    let arrivals = Arrivals::new(map.limit, Wakes::new(move || shared.wake()));
    let (batch, reactor) = (wiring.batch, wiring.reactor());
    let (ended, failed, holds) = (false, None, Arc::default());
    let stage = UnorderedStage { input, output, arrivals, batch, map, reactor, holds, ended, failed };
    wiring.stage(Home::Workers, [Box::new(stage) as Box<dyn Tasklet>]);
    reader
}

/// An input is released when its future is made, since the future keeps nothing of it.
struct UnorderedStage<A: RingLayout, F, Fut: Future<Output: Item>> {
    input: Reader<A>,
    output: Producer<Fut::Output>,
    arrivals: Arrivals<Fut>,
    batch: usize,
    map: Unordered<A, F, Fut>,
    reactor: Arc<Reactor>,
    /// Whether anything is in flight, for observers.
    holds: Arc<AtomicBool>,
    /// Whether END, and the future of its value if it has one, was taken.
    ended: bool,
    /// The number of the value whose future failed.
    failed: Option<u64>,
}

impl<A: RingLayout, F, Fut> UnorderedStage<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut,
    Fut: Future<Output: Item>,
{
    /// Starts the futures of at most `max` numbers. Returns how many numbers those were.
    fn start(&mut self, max: usize) -> usize {
        if max == 0 || self.ended || self.arrivals.full() {
            return 0;
        }
        let Some(mut batch) = self.input.batch(max) else { return 0 };
        let (arrivals, f) = (&mut self.arrivals, &self.map.f);
        let _entered = self.reactor.enter();
        arrivals.start_batch(&mut batch, |value| f(value))
    }

    /// Publishes at most `max` results. Returns how many.
    fn publish(&mut self, max: usize) -> usize {
        let max = max.min(self.arrivals.landed());
        if max == 0 {
            return 0;
        }
        let Ok(Some(claim)) = self.output.try_claim(max) else { return 0 };
        let (arrivals, failed) = (&mut self.arrivals, &mut self.failed);
        let mut shows = Shows::new(claim);
        let published = shows.claim().fill_while(|| {
            let (number, landed) = arrivals.land()?;
            *failed = Some(number);
            let value = AsIs.settle(landed);
            *failed = None;
            value
        });
        shows.publish();
        published
    }

    /// Takes END, and starts the future of its value if it has one. Returns whether it did.
    fn start_end(&mut self) -> bool {
        if self.ended || self.arrivals.full() {
            return false;
        }
        let Some(end) = self.input.end() else { return false };
        if let Some(value) = end.value() {
            let _entered = self.reactor.enter();
            self.arrivals.start(end.number().0, || (self.map.f)(value));
        }
        self.ended = true;
        true
    }

    /// Polls and publishes as much as is possible now, and starts at most this many futures: their first polls may do
    /// all of their work.
    fn move_batch(&mut self, most: usize) -> Progress {
        let mut worked = self.arrivals.poll_woken(|| self.reactor.enter());
        let (mut started, mut published) = (0, 0);
        loop {
            let (publish, start) = (self.publish(self.batch - published), self.start(most - started));
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
        if self.ended && self.arrivals.len() == 0 {
            return match self.output.try_end(None) {
                Ok(()) => Progress::ENDED,
                Err(_) => unreachable!("the END of a new clock has no slot"),
            };
        }
        if worked { Progress::WORKED } else { Progress::NONE }
    }
}

/// When nothing is in flight: everything before the mark is published.
impl<A: RingLayout, F, Fut> AtMarks for UnorderedStage<A, F, Fut>
where
    F: Send + Sync,
    Fut: Future<Output: Item> + Send,
{
    fn state(&mut self) -> Option<Kept> {
        Some(Kept::at(self.output.next(), None))
    }

    fn clock(&mut self) -> Option<SequenceNumber> {
        Some(self.output.next())
    }

    fn pass(&mut self) -> Option<Mark> {
        if self.arrivals.len() == 0 { self.input.pass_mark_to_new_clock(&mut self.output) } else { None }
    }
}

impl<A: RingLayout, F, Fut> Tasklet for UnorderedStage<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync,
    Fut: Future<Output: Item> + Send,
{
    fn step(&mut self, most: usize) -> Progress {
        let progress = self.move_batch(self.batch.min(most));
        self.holds.store(self.arrivals.len() > 0, Ordering::Relaxed);
        // Wake-ups in the meantime did not notify; they count as work.
        match self.arrivals.leave() {
            false if progress.moved == 0 && !progress.done => Progress::WORKED,
            _ => progress,
        }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.failed
    }

    fn backlog(&self) -> u64 {
        self.input.backlog() + self.arrivals.len() as u64
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output).saying(&self.holds)
    }
}

/// The futures in flight are dropped in the runtime in which they were polled.
impl<A: RingLayout, F, Fut: Future<Output: Item>> Drop for UnorderedStage<A, F, Fut> {
    fn drop(&mut self) {
        self.arrivals.clear(|| self.reactor.enter());
    }
}

/// One future after another, for a thread that may wait for each.
pub(crate) struct InTurn<A, F, Fut, W> {
    pub(crate) map: Unordered<A, F, Fut>,
    pub(crate) reactor: Arc<Reactor>,
    /// Waits for a future.
    pub(crate) wait: W,
}

impl<A: Shape, F, Fut, W> ExpandKernel for InTurn<A, F, Fut, W>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Item> + Send + 'static,
    W: Fn(Fut) -> Fut::Output + Send + Sync + 'static,
{
    type In = A;
    type Item = Fut::Output;
    type Values = std::option::IntoIter<Fut::Output>;
    type State = ();
    const NAME: &'static str = "unordered";

    fn start(&self) {}

    fn expand(&self, (): &mut (), value: A::Ref<'_>) -> Self::Values {
        let _entered = self.reactor.enter();
        Some((self.wait)((self.map.f)(value))).into_iter()
    }

    fn model(&self, values: Vec<A::Ref<'_>>, _: bool) -> Vec<Self::Item> {
        values.into_iter().flat_map(|value| self.expand(&mut (), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_core::{AsyncExt, pipeline};
    use millstream_ring::{MarkKind, ring};
    use std::sync::Mutex;
    use std::task::{Poll, Waker};

    #[test]
    fn a_mark_comes_after_everything_before_it_and_before_the_rest() {
        let gate: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
        let opens = gate.clone();
        let p = pipeline::<u64>().unordered(4, move |x| {
            let (x, gate) = (*x, opens.clone());
            std::future::poll_fn(move |cx| {
                let mut gate = gate.lock().unwrap();
                if x != 0 || gate.0 {
                    return Poll::Ready(x);
                }
                gate.1 = Some(cx.waker().clone());
                Poll::Pending
            })
        });
        let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
        let (output, mut outputs) = ring::<u64, Dense>(8).unwrap();
        let mut stage = UnorderedStage {
            input: input.stops_at_marks(),
            output,
            arrivals: Arrivals::new(4, Wakes::new(|| ())),
            batch: 8,
            map: p.second.clone(),
            reactor: Arc::new(Reactor::here()),
            holds: Arc::default(),
            ended: false,
            failed: None,
        };
        let mut feed = |values: std::ops::Range<u64>| {
            let mut claim = producer.try_claim(8).unwrap().unwrap();
            claim.extend(&mut values.into_iter());
            claim.publish();
            producer.mark(7, MarkKind::Snapshot);
        };
        let read = |outputs: &mut Reader<Val<u64>>| {
            let mut values: Vec<u64> = Vec::new();
            while let Some(batch) = outputs.batch(8) {
                values.extend(batch.iter().flatten());
            }
            values
        };
        feed(0..3);
        feed(3..5);
        stage.step(usize::MAX);
        // 0 is in flight, so the mark after 2 is not to be passed, and nothing after it is begun.
        assert_eq!(read(&mut outputs), [1, 2]);
        assert_eq!((stage.pass(), stage.arrivals.len()), (None, 1));
        {
            let mut gate = gate.lock().unwrap();
            gate.0 = true;
            gate.1.take().unwrap().wake();
        }
        stage.step(usize::MAX);
        assert_eq!(outputs.batch(1).map(|batch| batch.iter().flatten().copied().collect()), Some(vec![0]));
        assert!(stage.pass().is_some());
        stage.step(usize::MAX);
        assert_eq!(outputs.mark().map(|mark| (mark.at.0, mark.id)), Some((3, 7)));
        assert_eq!(read(&mut outputs), [3, 4]);
    }
}
