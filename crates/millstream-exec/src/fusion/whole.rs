//! A run whose stages are one loop: the loop takes the values from the source and gives its output to the sink, past
//! the rings between.
//!
//! Source, loop and sink remain three tasklets, with their rings. Where a ring has something in it, or another reader,
//! or a mark that was not passed, values go through its slots as ever. Where both rings are idle, the loop
//! [goes past](millstream_ring::bypass) them in its own step. Meanwhile the source publishes nothing.

use super::ends::Lent;
use super::link::{EndsOfRun, Link, Pace};
use crate::Wiring;
use crate::in_place::InPlace;
use crate::keeper::Keeper;
use crate::kept::Kept;
use crate::shared::Shared;
use crate::sink_tasklet::{SinkTasklet, put};
use crate::source::SourceTasklet;
use crate::stage::Stage;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::Home;
use crate::{RingBackend, RingRunner};
use millstream_core::failure::caught;
use millstream_core::fusion::{RunEnds, SlotKernel};
use millstream_core::{Dense, Density, Item, SequenceNumber, Shape, Val};
use millstream_ring::{IdleRing, Mark, MarkKind, Passed, Producer, Reader, RingLayout, bypass};
use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a step takes further batches past the rings: long beside what a step costs by itself, and short beside a
/// time slice.
const STEP: Duration = Duration::from_micros(50);

/// After this many steps through the slots the loop tries to go past the rings again.
const AGAIN: u32 = 16;

/// As [`AGAIN`], after numbers that were dear.
const AGAIN_IF_DEAR: u32 = 256;

/// How many numbers go past the rings first, to see what they cost; while they are cheap, each batch is this many times
/// as long as the one before.
const FIRST: usize = 1;
const GROWS: usize = 16;

/// Beside numbers that take this long a slot costs nothing. They go through the slots, which shows whose time it is:
/// the source's, the loop's or the sink's. A batch may take some more, for what is cold.
const DEAR: Duration = Duration::from_micros(1);
const COLD: Duration = Duration::from_micros(20);

/// What the last numbers have cost that went past the rings.
struct Cost {
    /// The length of the next batch.
    most: usize,
    /// How many batches in a row were dear. One may be by chance, where others use the core.
    dear: u32,
}

impl Cost {
    fn unknown() -> Self {
        Cost { most: FIRST, dear: 0 }
    }

    /// Notes how long a batch took. Returns whether the next one goes through the slots.
    fn note(&mut self, numbers: usize, took: Duration) -> bool {
        if took <= COLD + DEAR * numbers as u32 {
            *self = Cost { most: self.most.saturating_mul(GROWS), dear: 0 };
            return false;
        }
        self.dear += 1;
        let is_dear = self.dear > 1;
        if is_dear {
            *self = Cost::unknown();
        }
        is_dear
    }
}

/// A kernel that is last, and whose ring goes to the sink of a run with the ends `W`.
pub(crate) struct BeforeSink<N, W> {
    last: N,
    ends: PhantomData<fn() -> W>,
}

impl<N, W> BeforeSink<N, W> {
    pub(crate) fn new(last: N) -> Self {
        BeforeSink { last, ends: PhantomData }
    }
}

impl<R, A, N, W> SlotKernel<RingBackend<R>, A> for BeforeSink<N, W>
where
    R: RingRunner,
    A: Shape,
    N: SlotKernel<RingBackend<R>, A>,
    W: RunEnds<Val<N::Item, N::Density>>,
{
    type State = N::State;
    type Item = N::Item;
    type Density = N::Density;
    type Ends = W;
    const EMPTIES: bool = N::EMPTIES;

    fn enroll(&mut self, wiring: &mut Wiring) {
        self.last.enroll(wiring);
    }

    fn start(&self) -> (N::State, Keeper<N::State>) {
        self.last.start()
    }

    fn writes_end(&self) -> bool {
        self.last.writes_end()
    }

    #[inline(always)]
    fn at(
        &mut self,
        state: &mut N::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<N::Item> {
        self.last.at(state, number, slot, end)
    }
}

/// What was at work when a number failed, if that was not a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Stage,
    Source,
    Sink,
}

/// The iterator of the ends `W`, and its values.
type Values<W, O> = <W as RunEnds<O>>::Values;
type Value<W, O> = <Values<W, O> as Iterator>::Item;
type SourceOf<W, O> = SourceTasklet<Value<W, O>, Values<W, O>>;
type SinkOf<W, O> = SinkTasklet<O, <W as RunEnds<O>>::Sink>;
type EndsOf<'e, W, O> = (&'e mut SourceOf<W, O>, &'e mut SinkOf<W, O>);

/// The tasklet of such a loop.
struct Whole<A: RingLayout, S, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> {
    stage: Stage<A, S, B, D, F>,
    source: Lent<SourceOf<W, Val<B, D>>>,
    sink: Lent<SinkOf<W, Val<B, D>>>,
    link: Arc<Link>,
    shared: Arc<Shared>,
    pace: Pace,
    cost: Cost,
    /// After how many steps through the slots values may go past them.
    again: u32,
    at: At,
}

/// Adds the tasklet of a loop, which is the whole pipeline if its input is the source's ring.
pub(crate) fn whole<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>>(
    mut stage: Stage<A, S, B, D, F>,
    wiring: &mut Wiring,
) where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    let ends = wiring.ends.as_mut().and_then(|EndsOfRun { link, source, sink }| {
        let source = source.downcast_ref::<Lent<SourceOf<W, Val<B, D>>>>()?;
        // Of a new ring with one reader this is one, and that is the loop's.
        idle_input::<A, Value<W, Val<B, D>>>(&mut stage.input, source.try_lock()?.as_mut()?.for_loop().1)?;
        let place = Lent::<SinkOf<W, Val<B, D>>>::nothing();
        *sink = Some(Box::new(place.clone()));
        link.take();
        Some((source.clone(), place, link.clone()))
    });
    let tasklet: Box<dyn Tasklet> = match ends {
        Some((source, sink, link)) => {
            let (shared, pace) = (wiring.shared.clone(), wiring.pace);
            let (cost, again, at) = (Cost::unknown(), AGAIN, At::Stage);
            Box::new(Whole::<_, _, _, _, _, W> { stage, source, sink, link, shared, pace, cost, again, at })
        }
        None => Box::new(stage),
    };
    wiring.stage(Home::Workers, [tasklet]);
}

/// The ring that this source fills, if the reader is that of a loop and the ring is idle.
fn idle_input<'r, A: RingLayout, T: Item>(
    reader: &'r mut Reader<A>,
    producer: &'r mut Producer<T>,
) -> Option<IdleRing<'r, T, Dense>> {
    IdleRing::of(producer, (reader as &mut dyn Any).downcast_mut::<Reader<Val<T>>>()?)
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

/// Keeps what a panic came from, once a step is over.
struct Noted<'c> {
    from: &'c Cell<At>,
    at: &'c mut At,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        *self.at = self.from.get();
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Whole<A, S, B, D, F, W>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    /// Takes values past the rings.
    fn go_past(&mut self) -> Progress {
        let lent = || Some((self.source.try_lock()?, self.sink.try_lock()?));
        let lent = lent().or_else(|| {
            self.link.wait();
            lent()
        });
        let Some((mut source, mut sink)) = lent else { return Progress::NONE };
        let (Some(source), Some(sink)) = (source.as_mut(), sink.as_mut()) else { return self.link.rest() };
        if source.ends() {
            return self.link.rest();
        }
        let (began, from) = (Instant::now(), Cell::new(At::Source));
        let noted = Noted { from: &from, at: &mut self.at };
        let (worked, mut moved, mut before) = (source.lay(), 0, Duration::ZERO);
        while let Some(due) = source.due() {
            let due = if self.pace == Pace::Untimed { due } else { due.min(self.cost.most) };
            let due = if self.pace == Pace::Several { due } else { due.min(self.stage.batch - moved) };
            let Some((n, most)) =
                pass_batch::<A, S, B, D, F, W>(&mut self.stage, (source, sink), (&self.link, due), &from)
            else {
                break;
            };
            moved += n;
            if n < most {
                source.exhaust();
                break;
            }
            let now = began.elapsed();
            if self.pace != Pace::Untimed && self.cost.note(n, now.saturating_sub(before)) {
                self.again = AGAIN_IF_DEAR;
                self.link.rest();
                return untimed(moved);
            }
            before = now;
            let is_over = if self.pace == Pace::Several { now >= STEP } else { moved >= self.stage.batch };
            if is_over || self.shared.stopped() {
                break;
            }
        }
        drop(noted);
        if moved == 0 && !source.ends() {
            return Progress { worked: worked | self.link.rest().worked, ..Progress::NONE };
        }
        self.link.take();
        if self.cost.dear > 0 {
            return untimed(moved);
        }
        Progress { worked: worked | source.ends(), ..Progress::moved(moved) }
    }
}

/// The progress of a step whose time is not the loop's alone, or not known.
fn untimed(numbers: usize) -> Progress {
    Progress { elsewhere: numbers, ..Progress::WORKED }
}

/// At most a batch, and at most `due` numbers; how many there were, and how many there could have been. None if a ring
/// is not idle.
fn pass_batch<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>>(
    stage: &mut Stage<A, S, B, D, F>,
    (source, sink): EndsOf<'_, W, Val<B, D>>,
    (link, due): (&Link, usize),
    from: &Cell<At>,
) -> Option<(usize, usize)>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    let (values, to_stage) = source.for_loop();
    let input = idle_input::<A, _>(&mut stage.input, to_stage)?;
    let (to_sink, to) = sink.for_loop()?;
    let output = IdleRing::of(&mut stage.output, to_sink)?;
    let most = stage.batch.min(due).min(input.before_mark()).min(output.before_mark());
    stage.busy = true;
    let mut passed = Passed::default();
    let outcome = caught(|| {
        bypass((input, output, most), (values, &mut stage.work, to), &mut passed, |work, to, number, value| {
            Unwinding::call(from, At::Stage, || {
                let made = (work.f)(&mut work.state, number, A::ref_to(&value), false);
                Unwinding::call(from, At::Sink, || {
                    made.as_ref().map(|made| put::<Val<B, D>, _>(to, number, made)).is_some()
                })
            })
        });
    });
    link.count(passed.numbers);
    sink.has_read(passed.filled, outcome.is_ok());
    outcome.unwrap_or_else(|payload| resume_unwind(payload));
    stage.busy = false;
    Some((passed.numbers, most))
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Tasklet for Whole<A, S, B, D, F, W>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    fn step(&mut self) -> Progress {
        self.at = At::Stage;
        let progress = self.stage.step();
        if progress == Progress::NONE {
            return if self.link.takes() { self.go_past() } else { progress };
        }
        if !self.link.takes() {
            self.again -= 1;
            if self.again == 0 {
                // The source would always be first, and fill its ring.
                self.link.take();
                self.again = AGAIN;
            }
        }
        progress
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.stage.failed_at()
    }

    fn failed_in(&self) -> Option<&str> {
        match self.at {
            At::Stage => self.stage.failed_in(),
            At::Source => Some("source"),
            At::Sink => Some("sink"),
        }
    }

    fn backlog(&self) -> u64 {
        self.stage.backlog()
    }

    fn probe(&self) -> TaskProbe {
        self.stage.probe()
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> AtMarks for Whole<A, S, B, D, F, W>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    fn pass(&mut self) -> Option<Mark> {
        let mark = self.stage.pass()?;
        if mark.kind == MarkKind::Retire {
            self.link.rest();
        }
        Some(mark)
    }

    fn state(&mut self) -> Option<Kept> {
        self.stage.state()
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.stage.in_place()
    }
}

impl<A: RingLayout, S, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Drop for Whole<A, S, B, D, F, W> {
    fn drop(&mut self) {
        self.link.rest();
    }
}
