//! A run with one worker: a loop takes the values from the source and gives its output to the sink, past all rings.
//!
//! Source, stages and sink remain tasklets, with their rings. Where a ring has something in it, or another reader, or a
//! mark that was not passed, values go through the slots as ever, and so where there are more workers. Where all rings
//! are idle, the loop [goes past](millstream_ring::IdleRings) them in its own step. Meanwhile the source publishes
//! nothing.
//!
//! A run begins with steps through the slots, and so does each trial of another worker; and a few of each hundred are
//! such steps. They show what a stage costs.

use super::cost::Cost;
use super::ends::{Lent, RunEnds};
use super::lent_stage::Passer;
use super::link::{Link, Pace};
use super::past::{At, Limits, run};
use crate::Wiring;
use crate::in_place::InPlace;
use crate::kept::Kept;
use crate::onlooker::Failing;
use crate::shared::Shared;
use crate::sink_tasklet::SinkTasklet;
use crate::source::SourceTasklet;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use millstream_core::Shape;
use millstream_core::fusion::Passage;
use millstream_ring::{IdleRings, Mark, MarkKind, RingEnd, RingLayout};
use std::any::Any;
use std::marker::PhantomData;
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::Arc;

/// After this many steps through the slots the loop tries to go past the rings again.
const AGAIN: u32 = 16;

/// As [`AGAIN`], after numbers that were dear.
const AGAIN_IF_DEAR: u32 = 256;

/// After this many steps past the rings some go through the slots, to see what each stage costs, and leaves empty: of
/// several batches each, of one batch, and where the run is observed.
const LOOKS: u32 = 64;
const LOOKS_AFTER_BATCHES: u32 = 1_024;
const LOOKS_IF_OBSERVED: u32 = 16;

/// The values of the ends `W`, and their tasklets.
pub(super) type Value<W, O> = <<W as RunEnds<O>>::Values as Iterator>::Item;
pub(super) type SourceOf<W, O> = SourceTasklet<Value<W, O>, <W as RunEnds<O>>::Values>;
pub(super) type SinkOf<W, O> = SinkTasklet<O, <W as RunEnds<O>>::Sink>;

/// What all stages do with a slot, and their states while they do. Otherwise these are start states.
pub(super) struct Loop<P, S> {
    pub(super) passage: P,
    pub(super) state: S,
    /// Which stage has failed.
    pub(super) failing: Failing,
}

/// The tasklet of the last stage, with the loop over all of them.
pub(super) struct Whole<A, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>>
where
    A: Shape,
{
    before: Vec<Lent<Passer>>,
    spare: Spare,
    last: Box<dyn Tasklet>,
    over_all: Loop<P, P::State>,
    source: Lent<SourceOf<W, O>>,
    sink: Lent<SinkOf<W, O>>,
    link: Arc<Link>,
    shared: Arc<Shared>,
    pace: Pace,
    batch: usize,
    cost: Cost,
    /// After how many steps through the slots values may go past them.
    again: u32,
    /// How many steps past the rings there were since.
    past: u32,
    at: At,
    shape: PhantomData<fn() -> A>,
}

/// Room for what a step collects, kept so that a step does not allocate. It is empty between steps.
#[derive(Default)]
struct Spare {
    taken: Vec<Box<dyn Tasklet>>,
    ends: Vec<&'static mut (dyn RingEnd + Send)>,
    states: Vec<&'static mut (dyn Any + Send)>,
}

/// An empty list with the room of this one.
fn recycled<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    // Of nothing; it is collected in place.
    list.into_iter().map(|_| unreachable!("it is empty")).collect()
}

/// The tasklets of the stages before the last one, which are given back when this is dropped.
struct Taken<'t> {
    lent: &'t [Lent<Passer>],
    stages: &'t mut Vec<Box<dyn Tasklet>>,
    /// How many numbers have passed them.
    passed: usize,
}

impl<'t> Taken<'t> {
    /// All of them, or fewer if one is in use or has ended.
    fn of(lent: &'t [Lent<Passer>], stages: &'t mut Vec<Box<dyn Tasklet>>) -> Self {
        stages.extend(lent.iter().map_while(|stage| stage.try_lock()?.as_mut()?.tasklet.take()));
        Taken { lent, stages, passed: 0 }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        for (lent, stage) in self.lent.iter().zip(self.stages.drain(..)) {
            // Where the stage has ended meanwhile, its tasklet ends here.
            if let Some(passer) = lent.lock().as_mut() {
                passer.tasklet = Some(stage);
                passer.passed += self.passed;
            }
        }
    }
}

/// The ends of the run, and what they agree on.
type LentEnds<W, O> = (Lent<SourceOf<W, O>>, Lent<SinkOf<W, O>>, Arc<Link>);

impl<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>> Whole<A, O, P, W> {
    pub(super) fn new(
        (before, last): (Vec<Lent<Passer>>, Box<dyn Tasklet>),
        over_all: Loop<P, P::State>,
        (source, sink, link): LentEnds<W, O>,
        wiring: &Wiring,
    ) -> Self {
        let (shared, pace, batch) = (wiring.shared.clone(), wiring.pace, wiring.batch);
        if pace != Pace::Several && !wiring.observed {
            link.take();
        }
        let (cost, again, past, at, shape) = (Cost::unknown(), AGAIN, 0, At::Stage, PhantomData);
        let spare = Spare::default();
        Whole { before, spare, last, over_all, source, sink, link, shared, pace, batch, cost, again, past, at, shape }
    }

    /// Whether it is time to see what the stages do.
    fn looks(&self) -> bool {
        self.past
            >= match self.pace {
                Pace::Untimed => u32::MAX,
                _ if self.shared.markers.on() => LOOKS_IF_OBSERVED,
                Pace::One => LOOKS_AFTER_BATCHES,
                Pace::Several => LOOKS,
            }
    }

    /// Takes values past the rings.
    fn go_past(&mut self) -> Progress {
        let looks = self.looks();
        let Whole {
            before, spare, last, over_all, source, sink, link, shared, pace, batch, cost, again, past, at, ..
        } = self;
        let Spare { taken, ends: spare_ends, states: spare_states } = spare;
        let lent = || Some((source.try_lock()?, sink.try_lock()?));
        let lent = lent().or_else(|| {
            link.wait();
            lent()
        });
        let Some((mut source, mut sink)) = lent else { return Progress::NONE };
        let (Some(source), Some(sink)) = (source.as_mut(), sink.as_mut()) else { return link.rest() };
        if source.ends() {
            return link.rest();
        }
        let laid = source.lay();
        let rests = |link: &Link| Progress { worked: laid | link.rest().worked, ..Progress::NONE };
        let (values, to_stages) = source.for_loop();
        let Some((from_stages, to)) = sink.for_loop() else { return rests(link) };
        let mut taken = Taken::of(before, taken);
        if taken.stages.len() < before.len() {
            return rests(link);
        }
        let mut ends: Vec<&mut dyn RingEnd> = recycled(take(spare_ends));
        let mut states: Vec<&mut dyn Any> = recycled(take(spare_states));
        ends.push(to_stages);
        for stage in taken.stages.iter_mut().map(|stage| &mut **stage).chain([&mut **last]) {
            let Some(Parts { input, output, state, .. }) = stage.in_loop() else { return rests(link) };
            ends.extend([input, output]);
            states.push(state);
        }
        ends.push(from_stages);
        let Some(rings) = IdleRings::of(&mut ends) else {
            (*spare_ends, *spare_states) = (recycled(ends), recycled(states));
            return rests(link);
        };
        let Loop { passage, state, .. } = over_all;
        let limits = Limits { batch: *batch, pace: *pace, shared, cost: &mut *cost };
        passage.exchange(state, &mut states);
        let ran = run::<A, O, P, W>(rings, (values, (&mut *passage, &mut *state), to), limits, at);
        passage.exchange(state, &mut states);
        (*spare_ends, *spare_states) = (recycled(ends), recycled(states));
        link.count(ran.numbers);
        taken.passed = ran.numbers;
        drop(taken);
        if ran.numbers > 0 || ran.failure.is_some() {
            sink.has_read(ran.filled, ran.failure.is_none());
        }
        if let Some(payload) = ran.failure {
            last.in_loop().into_iter().for_each(|parts| *parts.busy = true);
            resume_unwind(payload);
        }
        if ran.exhausted {
            source.exhaust();
        } else if ran.dear {
            *again = AGAIN_IF_DEAR;
        }
        let rests = ran.dear || looks || ran.numbers == 0 && !ran.exhausted;
        *past = if rests { 0 } else { past.saturating_add(1) };
        let rested = rests && link.rest().worked;
        if !rests {
            link.take();
        }
        // The time is that of all stages.
        Progress { worked: laid | ran.exhausted | rested, untimed: true, ..Progress::moved(ran.numbers) }
    }
}

impl<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>> Tasklet for Whole<A, O, P, W> {
    fn step(&mut self) -> Progress {
        self.at = At::Stage;
        let progress = self.last.step();
        if !self.shared.has_one_worker() {
            return Progress { worked: progress.worked | self.link.rest().worked, ..progress };
        }
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
        self.last.failed_at()
    }

    fn failed_in(&self) -> Option<&str> {
        match self.at {
            At::Stage => self.over_all.failing.stage(),
            At::Source => Some("source"),
            At::Sink => Some("sink"),
        }
    }

    fn backlog(&self) -> u64 {
        self.last.backlog()
    }

    fn probe(&self) -> TaskProbe {
        self.last.probe()
    }
}

impl<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>> AtMarks for Whole<A, O, P, W> {
    fn pass(&mut self) -> Option<Mark> {
        let mark = self.last.at_marks()?.pass()?;
        if mark.kind == MarkKind::Retire {
            self.link.rest();
        }
        Some(mark)
    }

    fn state(&mut self) -> Option<Kept> {
        self.last.at_marks()?.state()
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.last.at_marks()?.in_place()
    }
}

impl<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>> Drop for Whole<A, O, P, W> {
    fn drop(&mut self) {
        self.link.rest();
    }
}
