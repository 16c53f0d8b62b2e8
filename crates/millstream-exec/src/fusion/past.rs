//! One step of a loop past the rings.

use super::cost::Cost;
use super::ends::RunEnds;
use super::link::Pace;
use crate::Sink;
use crate::shared::{Payload, Shared};
use crate::sink_tasklet::put;
use millstream_core::failure::caught;
use millstream_core::fusion::{Next, Passage};
use millstream_core::{SequenceNumber, Shape};
use millstream_ring::{IdleRings, Passed, RingLayout};
use std::cell::Cell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// How long a step takes further batches past the rings: long beside what a step costs by itself, and short beside a
/// time slice.
const STEP: Duration = Duration::from_micros(50);

/// What was at work when a number failed, if that was not a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Stage,
    Source,
    Sink,
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

/// What a step has taken past the rings, and why it has stopped.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) numbers: usize,
    pub(super) filled: usize,
    /// No further value comes.
    pub(super) exhausted: bool,
    /// The numbers were dear.
    pub(super) dear: bool,
    pub(super) failure: Option<Payload>,
}

/// The sink, at a number.
struct ToSink<'s, O, K> {
    sink: &'s mut K,
    number: SequenceNumber,
    from: &'s Cell<At>,
    shape: PhantomData<fn() -> O>,
}

impl<O: RingLayout, K: Sink<O>> Next<O> for ToSink<'_, O, K> {
    #[inline(always)]
    fn take(self, slot: Option<O::Ref<'_>>) -> bool {
        let ToSink { sink, number, from, .. } = self;
        Unwinding::call(from, At::Sink, || slot.map(|value| put::<O, _>(sink, number, value)).is_some())
    }
}

/// How far a step may go.
pub(super) struct Limits<'l> {
    pub(super) batch: usize,
    pub(super) pace: Pace,
    pub(super) shared: &'l Shared,
    pub(super) cost: &'l mut Cost,
}

/// Takes values past the rings, batch by batch. Stores what was at work when a number failed.
pub(super) fn run<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>>(
    mut rings: IdleRings<'_, '_>,
    (values, work, to): (&mut W::Values, (&mut P, &mut P::State), &mut W::Sink),
    Limits { batch, pace, shared, cost }: Limits<'_>,
    at: &mut At,
) -> Ran {
    let (mut ran, from) = (Ran::default(), Cell::new(At::Source));
    let (began, mut before) = (Instant::now(), Duration::ZERO);
    let (passage, state) = work;
    loop {
        let due = shared.marks.distance(rings.next()).min(rings.before_mark());
        let due = if pace == Pace::Untimed { due } else { due.min(cost.most()) };
        let due = if pace == Pace::Several { due } else { due.min(batch - ran.numbers) };
        if due == 0 {
            break;
        }
        let mut passed = Passed::default();
        let outcome = caught(|| {
            rings.bypass(due, (&mut *values, &mut *state, &mut *to), &mut passed, |state, to, number, value| {
                Unwinding::call(&from, At::Stage, || {
                    passage.pass(
                        state,
                        number,
                        A::ref_to(&value),
                        ToSink::<O, _> { sink: to, number, from: &from, shape: PhantomData },
                    )
                })
            });
        });
        (ran.numbers, ran.filled) = (ran.numbers + passed.numbers, ran.filled + passed.filled);
        if let Err(payload) = outcome {
            *at = from.get();
            ran.failure = Some(payload);
            break;
        }
        if passed.numbers < due {
            ran.exhausted = true;
            break;
        }
        let now = began.elapsed();
        if pace != Pace::Untimed && cost.note(due, now.saturating_sub(before)) {
            ran.dear = true;
            break;
        }
        before = now;
        let is_over = if pace == Pace::Several { now >= STEP } else { ran.numbers >= batch };
        // A mark that is due is laid by the next step.
        if is_over || shared.marks.is_due(rings.next()) || shared.stopped() {
            break;
        }
    }
    ran
}
