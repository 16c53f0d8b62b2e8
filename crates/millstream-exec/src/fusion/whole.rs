//! A run whose stages are one loop: the loop takes the values from the source and gives its output to the sink, past
//! the rings between.
//!
//! Source, stages and sink remain tasklets, with their rings. Where a ring has something in it, or another reader, or a
//! mark that was not passed, values go through the slots as ever. Where all rings are idle, the loop
//! [goes past](millstream_ring::IdleRings) them in its own step. Meanwhile the source publishes nothing.
//!
//! If one worker was asked for, the stages are one tasklet. If the run chooses how many, each has its own
//! (`fusion/apart.rs`), and the loop is at work as long as there is one worker.

use super::apart::{Passer, apart};
use super::cost::Cost;
use super::ends::Lent;
use super::link::{EndsOfRun, Link, Pace};
use super::past::{At, Limits, run};
use crate::Wiring;
use crate::in_place::InPlace;
use crate::kept::Kept;
use crate::onlooker::Failing;
use crate::shared::Shared;
use crate::sink_tasklet::SinkTasklet;
use crate::source::SourceTasklet;
use crate::stage::{Stage, Work};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use crate::wiring::Home;
use millstream_core::fusion::RunEnds;
use millstream_core::{Density, Item, SequenceNumber, Shape, Val};
use millstream_ring::{IdleRings, Mark, MarkKind, RingEnd, RingLayout};
use std::any::TypeId;
use std::mem::swap;
use std::panic::resume_unwind;
use std::sync::Arc;

/// After this many steps through the slots the loop tries to go past the rings again.
const AGAIN: u32 = 16;

/// As [`AGAIN`], after numbers that were dear.
const AGAIN_IF_DEAR: u32 = 256;

/// The iterator of the ends `W`, and its values.
type Values<W, O> = <W as RunEnds<O>>::Values;
type Value<W, O> = <Values<W, O> as Iterator>::Item;
type SourceOf<W, O> = SourceTasklet<Value<W, O>, Values<W, O>>;
type SinkOf<W, O> = SinkTasklet<O, <W as RunEnds<O>>::Sink>;
/// The tasklet of such a loop. It is the last stage's.
pub(super) struct Whole<A: RingLayout, S, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> {
    /// The stages before the last one, if they have tasklets of their own.
    pub(super) before: Vec<Lent<Passer>>,
    pub(super) last: Last<A, S, B, D, F>,
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

/// The last stage.
pub(super) enum Last<A: RingLayout, S, B: Item, D: Density, F> {
    /// With all stages before it.
    Fused(Box<Stage<A, S, B, D, F>>),
    /// By itself, with what the loop over all stages does. Its state is in the loop while that is at work.
    Apart { stage: Box<dyn Tasklet>, work: Work<S, F>, batch: usize, failing: Failing },
}

/// The ends of the run, if they have these types, and what they agree on.
type ClaimedEnds<W, O> = (Lent<SourceOf<W, O>>, Lent<SinkOf<W, O>>, Arc<Link>);

/// The ends of the run, if the loop reads what the source gives. The sink will be in its place.
pub(super) fn claim_ends<A: Shape, W: RunEnds<O>, O: RingLayout>(wiring: &mut Wiring) -> Option<ClaimedEnds<W, O>> {
    if TypeId::of::<A>() != TypeId::of::<Val<Value<W, O>>>() {
        return None;
    }
    let EndsOfRun { link, source, sink } = wiring.ends.as_mut()?;
    let (source, place) = (source.downcast_ref::<Lent<SourceOf<W, O>>>()?, Lent::<SinkOf<W, O>>::nothing());
    *sink = Some(Box::new(place.clone()));
    Some((source.clone(), place, link.clone()))
}

/// Adds the tasklet of a loop, which is the whole pipeline if its input is the source's ring. If the stages have
/// tasklets, the loop becomes that of their last one.
pub(crate) fn whole<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>>(
    mut stage: Stage<A, S, B, D, F>,
    wiring: &mut Wiring,
) where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    if let Some(stages) = wiring.apart.take() {
        wiring.apart = Some(apart::<A, S, B, D, F, W>(stages, stage, wiring));
        return;
    }
    let reads_source = wiring.ends.as_ref().is_some_and(|ends| {
        let source = ends.source.downcast_ref::<Lent<SourceOf<W, Val<B, D>>>>();
        let mut source = source.and_then(Lent::try_lock);
        let source = source.as_mut().and_then(|source| source.as_mut());
        source.is_some_and(|source| IdleRings::of(&mut [source.for_loop().1, &mut stage.input]).is_some())
    });
    let ends = if reads_source { claim_ends::<A, W, _>(wiring) } else { None };
    let tasklet: Box<dyn Tasklet> = match ends {
        Some(ends) => {
            ends.2.take();
            Box::new(Whole::<_, _, _, _, _, W>::new(Vec::new(), Last::Fused(Box::new(stage)), ends, wiring))
        }
        None => Box::new(stage),
    };
    wiring.stage(Home::Workers, [tasklet]);
}

impl<A: RingLayout, S, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Whole<A, S, B, D, F, W> {
    pub(super) fn new(
        before: Vec<Lent<Passer>>,
        last: Last<A, S, B, D, F>,
        (source, sink, link): ClaimedEnds<W, Val<B, D>>,
        wiring: &Wiring,
    ) -> Self {
        let (shared, pace) = (wiring.shared.clone(), wiring.pace);
        let (cost, again, at) = (Cost::unknown(), AGAIN, At::Stage);
        Whole { before, last, source, sink, link, shared, pace, cost, again, at }
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Whole<A, S, B, D, F, W>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    /// Takes values past the rings.
    fn go_past(&mut self) -> Progress {
        let Whole { before, last, source, sink, link, shared, pace, cost, again, at } = self;
        let lent = || {
            let before: Option<Vec<_>> = before.iter().map(Lent::try_lock).collect();
            Some((source.try_lock()?, before?, sink.try_lock()?))
        };
        let lent = lent().or_else(|| {
            link.wait();
            lent()
        });
        let Some((mut source, mut before, mut sink)) = lent else { return Progress::NONE };
        let (Some(source), Some(sink)) = (source.as_mut(), sink.as_mut()) else { return link.rest() };
        if source.ends() {
            return link.rest();
        }
        let laid = source.lay();
        let rests = |link: &Link| Progress { worked: laid | link.rest().worked, ..Progress::NONE };
        let (values, to_stage) = source.for_loop();
        let Some((from_stage, to)) = sink.for_loop() else { return rests(link) };
        let mut ends: Vec<&mut dyn RingEnd> = Vec::with_capacity(2 * before.len() + 4);
        ends.push(to_stage);
        for stage in &mut before {
            let parts = stage.as_mut().and_then(|passer| passer.tasklet.in_loop());
            let Some(Parts { input, output, .. }) = parts else { return rests(link) };
            ends.extend([input, output]);
        }
        let (work, batch, mut state) = match &mut *last {
            Last::Fused(stage) => {
                let Stage { input, output, work, batch, .. } = &mut **stage;
                ends.push(input);
                ends.push(output);
                (work, *batch, None)
            }
            Last::Apart { stage, work, batch, .. } => {
                let Some(Parts { input, output, state, .. }) = stage.in_loop() else { return rests(link) };
                ends.extend([input, output]);
                (work, *batch, state.downcast_mut::<S>())
            }
        };
        ends.push(from_stage);
        let Some(rings) = IdleRings::of(&mut ends) else { return rests(link) };
        let limits = Limits { batch, pace: *pace, shared, cost: &mut *cost };
        state.iter_mut().for_each(|state| swap(*state, &mut work.state));
        let ran = run::<A, S, B, D, F, W>(rings, (values, work, to), limits, at);
        state.iter_mut().for_each(|state| swap(*state, &mut work.state));
        drop(ends);
        link.count(ran.numbers);
        before.iter_mut().flat_map(|stage| &mut **stage).for_each(|passer| passer.passed += ran.numbers);
        if ran.numbers > 0 || ran.failure.is_some() {
            sink.has_read(ran.filled, ran.failure.is_none());
        }
        if let Some(payload) = ran.failure {
            last.tasklet().in_loop().into_iter().for_each(|parts| *parts.busy = true);
            resume_unwind(payload);
        }
        if ran.exhausted {
            source.exhaust();
        } else if ran.dear {
            *again = AGAIN_IF_DEAR;
        }
        let rests = ran.dear || ran.numbers == 0 && !ran.exhausted;
        let rested = rests && link.rest().worked;
        if !rests {
            link.take();
        }
        let untimed = matches!(last, Last::Apart { .. }) || cost.is_dear() || ran.dear;
        Progress { worked: laid | ran.exhausted | rested, untimed, ..Progress::moved(ran.numbers) }
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F> Last<A, S, B, D, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    fn tasklet(&mut self) -> &mut dyn Tasklet {
        match self {
            Last::Fused(stage) => &mut **stage,
            Last::Apart { stage, .. } => &mut **stage,
        }
    }

    fn as_tasklet(&self) -> &dyn Tasklet {
        match self {
            Last::Fused(stage) => &**stage,
            Last::Apart { stage, .. } => &**stage,
        }
    }

    fn failed_in(&self) -> Option<&str> {
        match self {
            Last::Fused(stage) => stage.failed_in(),
            Last::Apart { failing, .. } => failing.stage(),
        }
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Tasklet for Whole<A, S, B, D, F, W>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    fn step(&mut self) -> Progress {
        self.at = At::Stage;
        let progress = self.last.tasklet().step();
        if matches!(self.last, Last::Apart { .. }) && !self.shared.has_one_worker() {
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
        self.last.as_tasklet().failed_at()
    }

    fn failed_in(&self) -> Option<&str> {
        match self.at {
            At::Stage => self.last.failed_in(),
            At::Source => Some("source"),
            At::Sink => Some("sink"),
        }
    }

    fn backlog(&self) -> u64 {
        self.last.as_tasklet().backlog()
    }

    fn probe(&self) -> TaskProbe {
        self.last.as_tasklet().probe()
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> AtMarks for Whole<A, S, B, D, F, W>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    fn pass(&mut self) -> Option<Mark> {
        let mark = self.last.tasklet().at_marks()?.pass()?;
        if mark.kind == MarkKind::Retire {
            self.link.rest();
        }
        Some(mark)
    }

    fn state(&mut self) -> Option<Kept> {
        self.last.tasklet().at_marks()?.state()
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.last.tasklet().at_marks()?.in_place()
    }
}

impl<A: RingLayout, S, B: Item, D: Density, F, W: RunEnds<Val<B, D>>> Drop for Whole<A, S, B, D, F, W> {
    fn drop(&mut self) {
        self.link.rest();
    }
}
