//! One step of a loop past the rings.

use super::cost::Cost;
use super::ends::RunEnds;
use super::link::Pace;
use crate::Sink;
use crate::shared::{Payload, Shared};
use crate::sink_tasklet::put;
use millstream_core::failure::{caught, discard, fail};
use millstream_core::fusion::{Fill, Next, Passage};
use millstream_core::{Item, SequenceNumber, Shape, Val};
use millstream_ring::{IdleRings, Passed, Reader, RingLayout};
use std::cell::Cell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// How long a step takes further batches past the rings: long compared with the cost of a step itself, and short
/// compared with a time slice.
const STEP: Duration = Duration::from_micros(50);

/// Of a source that may wait, the loop takes this many values before it reads the clock.
const UNTIMED: usize = 16;

/// The end that was at work when a number failed, if it was not a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Stage,
    Source,
    /// At a number of the sink.
    Sink(u64),
    /// The sink, between two numbers.
    Pause,
}

/// Tells where a panic came from, at no cost where there is none.
struct Unwinding<'c>(&'c Cell<At>, At);

impl<'c> Unwinding<'c> {
    #[inline(always)]
    fn call<T>(cell: &'c Cell<At>, at: At, f: impl FnOnce() -> T) -> T {
        let unwinding = Unwinding(cell, at);
        let returned = f();
        std::mem::forget(unwinding);
        returned
    }
}

impl Drop for Unwinding<'_> {
    #[cold]
    fn drop(&mut self) {
        // The innermost one comes first.
        if self.0.get() == At::Source {
            self.0.set(self.1);
        }
    }
}

/// The result of a step past the rings: how far it came, and why it stopped.
#[derive(Default)]
pub(super) struct Ran {
    /// How many numbers have passed, on the clock that has moved most.
    pub(super) most: usize,
    pub(super) filled: usize,
    /// Whether no further value comes.
    pub(super) exhausted: bool,
    /// Whether the numbers were dear.
    pub(super) dear: bool,
    pub(super) failure: Option<Payload>,
}

/// The sink. `COUNTS` says whether it counts the values that it gets: some outputs of a number that fails may have
/// arrived.
struct ToSink<'s, O, K, const COUNTS: bool> {
    sink: &'s mut K,
    from: &'s Cell<At>,
    count: &'s Cell<usize>,
    shape: PhantomData<fn() -> O>,
}

impl<O: RingLayout, K: Sink<O>, const COUNTS: bool> Next<O> for ToSink<'_, O, K, COUNTS> {
    type Again<'n>
        = ToSink<'n, O, K, COUNTS>
    where
        Self: 'n;

    #[inline(always)]
    fn again(&mut self) -> Self::Again<'_> {
        ToSink { sink: self.sink, from: self.from, count: self.count, shape: PhantomData }
    }

    #[inline(always)]
    fn take(self, number: SequenceNumber, slot: Option<O::Ref<'_>>) -> Fill {
        let ToSink { sink, from, count, .. } = self;
        let at = At::Sink(number.0);
        let filled = Unwinding::call(from, at, || slot.map(|value| put::<O, _>(sink, number, value)).is_some());
        if COUNTS {
            count.set(count.get() + usize::from(filled));
        }
        Fill::of(filled)
    }
}

/// How far a step may go.
pub(super) struct Limits<'l> {
    pub(super) batch: usize,
    pub(super) pace: Pace,
    pub(super) shared: &'l Shared,
    pub(super) cost: &'l mut Cost,
}

/// A step, while it goes on.
struct Going<'l> {
    limits: Limits<'l>,
    ran: Ran,
    began: Instant,
    before: Duration,
}

impl<'l> Going<'l> {
    fn new(limits: Limits<'l>) -> Self {
        Going { limits, ran: Ran::default(), began: Instant::now(), before: Duration::ZERO }
    }

    /// How many numbers may follow, of `most`.
    fn due(&self, most: usize) -> usize {
        let Limits { batch, pace, cost, .. } = &self.limits;
        let due = if *pace == Pace::Untimed { most } else { most.min(cost.most()) };
        if *pace == Pace::Several { due } else { due.min(batch.saturating_sub(self.ran.most)) }
    }

    /// Notes that this many numbers have passed on the clock that has moved most. Returns whether the step is over.
    fn is_over(&mut self, numbers: usize) -> bool {
        let Limits { batch, pace, cost, .. } = &mut self.limits;
        let now = self.began.elapsed();
        if *pace != Pace::Untimed && cost.note(numbers, now.saturating_sub(self.before)) {
            self.ran.dear = true;
            return true;
        }
        self.before = now;
        if *pace == Pace::Several { now >= STEP } else { self.ran.most >= *batch }
    }
}

/// Takes values past the rings, batch by batch. Stores which stage or end was at work when a number failed.
pub(super) fn run<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>>(
    mut rings: IdleRings<'_, '_>,
    (values, work, to): (&mut W::Values, (&mut P, &mut P::State), &mut W::Sink),
    limits: Limits<'_>,
    (at, moved): (&mut At, &mut [usize]),
) -> Ran {
    let (shared, from, count) = (limits.shared, Cell::new(At::Source), Cell::new(0));
    let mut going = Going::new(limits);
    let (passage, state) = work;
    loop {
        let due = going.due(shared.marks.distance(rings.next()).min(rings.before_mark()));
        if due == 0 {
            break;
        }
        let mut passed = Passed::default();
        let outcome = caught(|| {
            rings.bypass(due, (&mut *values, &mut *state, &mut *to), &mut passed, |state, to, number, value| {
                Unwinding::call(&from, At::Stage, || {
                    let sink = ToSink::<O, _, false> { sink: to, from: &from, count: &count, shape: PhantomData };
                    passage.pass(state, number, A::ref_to(&value), sink)
                })
            });
        });
        let ran = &mut going.ran;
        (ran.most, ran.filled) = (ran.most + passed.numbers, ran.filled + passed.filled);
        moved[0] += passed.numbers;
        if let Err(payload) = outcome {
            *at = from.get();
            ran.failure = Some(payload);
            break;
        }
        if passed.numbers < due {
            ran.exhausted = true;
            break;
        }
        // A mark that is due is laid by the next step.
        if going.is_over(due) || shared.marks.is_due(rings.next()) || shared.stopped() {
            break;
        }
    }
    going.ran
}

/// As [`run`], of values from a source that may wait: it is asked for a value only when the sink has the outputs of all
/// values before and has paused, and when nothing else is to be done.
pub(super) fn run_one_by_one<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>>(
    mut rings: IdleRings<'_, '_>,
    (values, work, to): (&mut W::Values, (&mut P, &mut P::State), &mut W::Sink),
    limits: Limits<'_>,
    (at, moved): (&mut At, &mut [usize]),
) -> Ran {
    let (shared, from, count) = (limits.shared, Cell::new(At::Source), Cell::new(0));
    let mut going = Going::new(limits);
    let (passage, state) = work;
    loop {
        let due = going.due(shared.marks.distance(rings.next()).min(rings.before_mark())).min(UNTIMED);
        let (mut all, mut exhausted) = (Passed::default(), false);
        let outcome = caught(|| {
            while all.numbers < due && !shared.stopped() && !shared.draining() && !shared.marks.is_due(rings.next()) {
                let mut passed = Passed::default();
                rings.bypass_one_by_one(
                    1,
                    (&mut *values, &mut *state, &mut *to),
                    &mut passed,
                    |state, to, number, value| {
                        Unwinding::call(&from, At::Stage, || {
                            let sink =
                                ToSink::<O, _, false> { sink: to, from: &from, count: &count, shape: PhantomData };
                            passage.pass(state, number, A::ref_to(&value), sink)
                        })
                    },
                );
                if passed.numbers == 0 {
                    exhausted = true;
                    return;
                }
                (all.numbers, all.filled) = (all.numbers + 1, all.filled + passed.filled);
                if passed.filled > 0
                    && let Err(error) = to.pause()
                {
                    Unwinding::call(&from, At::Pause, || fail(error));
                }
            }
        });
        let ran = &mut going.ran;
        (ran.most, ran.filled, ran.exhausted) = (ran.most + all.numbers, ran.filled + all.filled, exhausted);
        moved[0] += all.numbers;
        if let Err(payload) = outcome {
            *at = from.get();
            ran.failure = Some(payload);
            break;
        }
        if all.numbers < due || due == 0 || going.is_over(due) {
            break;
        }
    }
    going.ran
}

/// As [`run`], of values in the source's ring: of those that are published, up to the next mark. Adds to `moved` how
/// many numbers have passed on each clock.
pub(super) fn run_behind<T: Item, A: Shape, O: RingLayout, P: Passage<A, O>, K: Sink<O>>(
    mut rings: IdleRings<'_, '_>,
    (input, work, to): (&mut Reader<Val<T>>, (&mut P, &mut P::State), &mut K),
    limits: Limits<'_>,
    (at, moved): (&mut At, &mut [usize]),
) -> Ran {
    let (shared, from) = (limits.shared, Cell::new(At::Source));
    let mut going = Going::new(limits);
    let (passage, state) = work;
    let mut clock = 0;
    passage.clocks(state, &mut |of| {
        of.next = rings.next_of(clock).0;
        clock += 1;
    });
    loop {
        let due = going.due(rings.before_mark());
        let Some(mut batch) = input.batch(due) else { break };
        passage.clocks(state, &mut |clock| clock.most = due);
        let (mut passed, count) = (Passed::default(), Cell::new(0));
        let outcome = caught(|| {
            let mut slots = batch.iter();
            rings.bypass_one_by_one(
                due,
                (&mut slots, &mut *state, &mut *to),
                &mut passed,
                |state, to, number, slot| {
                    Unwinding::call(&from, At::Stage, || {
                        let sink = ToSink::<O, _, true> { sink: to, from: &from, count: &count, shape: PhantomData };
                        passage.pass(state, number, slot.and_then(|value| A::ref_to(value)), sink)
                    })
                },
            );
        });
        let outcome = if P::DEFERS { flushed(outcome, passage, state, to, (&from, &count)) } else { outcome };
        batch.truncate(passed.numbers);
        drop(batch);
        let (mut clock, mut numbers) = (0, passed.numbers);
        moved[0] += passed.numbers;
        // The sink's clock is the last one. Numbers after its failure have not passed.
        let most = match (&outcome, from.get()) {
            (Err(_), At::Sink(number)) => number,
            _ => u64::MAX,
        };
        passage.clocks(state, &mut |of| {
            let next = if clock + 1 == rings.clocks() { of.next.min(most) } else { of.next };
            let given = (next - rings.next_of(clock).0) as usize;
            rings.pass_clock(clock, given, count.get());
            (clock, numbers) = (clock + 1, numbers.max(given));
            moved[clock] += given;
        });
        let ran = &mut going.ran;
        (ran.most, ran.filled) = (ran.most + numbers, ran.filled + count.get());
        if let Err(payload) = outcome {
            *at = from.get();
            ran.failure = Some(payload);
            break;
        }
        // A stage that has stopped the step may have outputs left, for the slots.
        if going.is_over(numbers) || passed.stopped || shared.stopped() {
            break;
        }
    }
    going.ran
}

/// The outcome of a batch, once its deferred outputs are with the sink, those before a failed stage's number among
/// them. If the sink fails, that is the first failure.
fn flushed<A: Shape, O: RingLayout, P: Passage<A, O>, K: Sink<O>>(
    outcome: Result<(), Payload>,
    passage: &P,
    state: &mut P::State,
    to: &mut K,
    (from, count): (&Cell<At>, &Cell<usize>),
) -> Result<(), Payload> {
    let failed_at = from.replace(At::Source);
    let sink = ToSink::<O, _, true> { sink: to, from, count, shape: PhantomData };
    let flushed = caught(|| _ = passage.flush(state, sink));
    match (outcome, flushed) {
        (outcome, Ok(())) => {
            from.set(failed_at);
            outcome
        }
        (outcome, Err(payload)) => {
            outcome.err().into_iter().for_each(discard);
            Err(payload)
        }
    }
}
