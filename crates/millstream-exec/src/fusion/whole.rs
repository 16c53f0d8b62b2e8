//! A run with one worker: a loop takes the values from the source and passes its output to the sink, past all rings.
//!
//! Source, stages and sink remain tasklets, with their rings. Values go through the slots as usual if a ring holds
//! values, has another reader or a mark that was not passed, or if there are more workers. If all rings are idle, the
//! loop [goes past](millstream_ring::IdleRings) them in its own step. Meanwhile the source publishes nothing.
//!
//! A run begins with steps through the slots, and so does each trial of another worker; and a few of each hundred are
//! such steps. They show what a stage costs.

use super::clocks::{Clocks, clock_before};
use super::cost::{Cost, Few};
use super::ends::{Lent, RunEnds};
use super::lent_stage::Passer;
use super::link::{Link, Pace};
use super::past::{At, Limits, Ran, run, run_behind, run_one_by_one};
use super::taken::{Spare, Taken, recycled, ring_of_source};
use crate::Wiring;
use crate::in_place::InPlace;
use crate::kept::Kept;
use crate::onlooker::Failing;
use crate::shared::Shared;
use crate::sink_tasklet::SinkTasklet;
use crate::source::SourceTasklet;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use millstream_core::fusion::Passage;
use millstream_core::{SequenceNumber, Shape};
use millstream_ring::{IdleRings, Mark, MarkKind, RingEnd, RingLayout};
use std::any::Any;
use std::marker::PhantomData;
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::Arc;

/// After this many steps through the slots the loop tries to go past the rings again.
const AGAIN: u32 = 16;

/// As [`AGAIN`], after numbers that were dear, or that came a few at a time.
const AGAIN_IF_DEAR: u32 = 256;

/// After this many steps past the rings some go through the slots, to measure what each stage costs and leaves empty:
/// of several batches each, of one batch, and where the run is observed.
const LOOKS: u32 = 64;
const LOOKS_AFTER_BATCHES: u32 = 1_024;
const LOOKS_IF_OBSERVED: u32 = 16;

/// Steps through the slots are this many times as rare if a number becomes many at a later stage: each step takes
/// longer.
const RARER: u32 = 8;

/// The values of the ends `W`, and their tasklets.
pub(super) type Value<W, O> = <<W as RunEnds<O>>::Values as Iterator>::Item;
pub(super) type SourceOf<W, O> = SourceTasklet<Value<W, O>, <W as RunEnds<O>>::Values>;
pub(super) type SinkOf<W, O> = SinkTasklet<O, <W as RunEnds<O>>::Sink>;

/// The work of all stages on a slot, and their states meanwhile. Between two steps these are start states.
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
    /// None if the loop takes values from the source's ring.
    source: Option<Lent<SourceOf<W, O>>>,
    clocks: Clocks,
    sink: Lent<SinkOf<W, O>>,
    link: Arc<Link>,
    shared: Arc<Shared>,
    pace: Pace,
    batch: usize,
    cost: Cost,
    /// After how many steps through the slots values may go past them.
    again: u32,
    /// How many times it looks for idle rings before the first stage goes on.
    patience: u32,
    /// How many steps past the rings there were since.
    past: u32,
    few: Few,
    at: At,
    /// The clock and the number at which it has failed.
    failed: Option<(usize, u64)>,
    shape: PhantomData<fn() -> A>,
}

/// The ends of the run, and the state that they share with the loop.
type LentEnds<W, O> = (Option<Lent<SourceOf<W, O>>>, Lent<SinkOf<W, O>>, Arc<Link>);

impl<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>> Whole<A, O, P, W> {
    /// Whether it takes values from the source itself, or from the source's ring.
    pub(super) const TAKES_VALUES: bool = W::TAKES_VALUES && !P::RENUMBERS;

    pub(super) fn new(
        (before, last): (Vec<Lent<Passer>>, Box<dyn Tasklet>),
        over_all: Loop<P, P::State>,
        (source, sink, link): LentEnds<W, O>,
        clocks: Clocks,
        wiring: &Wiring,
    ) -> Self {
        let (shared, pace, batch) = (wiring.shared.clone(), wiring.pace, wiring.batch);
        if pace != Pace::Several && !wiring.observed {
            link.take();
        }
        Whole {
            before,
            spare: Spare::default(),
            last,
            over_all,
            source,
            clocks,
            sink,
            link,
            shared,
            pace,
            batch,
            cost: Cost::unknown(),
            again: AGAIN,
            patience: AGAIN,
            past: 0,
            few: Few::default(),
            at: At::Stage,
            failed: None,
            shape: PhantomData,
        }
    }

    /// Whether it is time to measure the stages.
    fn looks(&self) -> bool {
        let steps = match self.pace {
            Pace::Untimed => u32::MAX,
            _ if self.shared.markers.on() => LOOKS_IF_OBSERVED,
            Pace::One => LOOKS_AFTER_BATCHES,
            Pace::Several => LOOKS,
        };
        self.past >= if P::RENUMBERS { steps.saturating_mul(RARER) } else { steps }
    }

    /// Takes values past the rings: from the source, or from its ring.
    fn go_past(&mut self) -> Progress {
        let looks = self.looks();
        let Spare { taken, ends: spare_ends, states: spare_states } = &mut self.spare;
        let lent = || {
            let source = self.source.as_ref().map(|source| source.try_lock().ok_or(())).transpose();
            Some((source.ok()?, self.sink.try_lock()?))
        };
        let lent = lent().or_else(|| {
            self.link.wait();
            lent()
        });
        let Some((mut source, mut sink)) = lent else { return Progress::NONE };
        let Some(sink) = sink.as_mut() else { return self.link.rest() };
        let mut source = match source.as_mut().map(|source| source.as_mut()) {
            Some(None) => return self.link.rest(),
            Some(Some(source)) if source.ends() => return self.link.rest(),
            source => source.flatten(),
        };
        if W::ONE_BY_ONE {
            self.at = At::Pause;
            sink.pause();
            self.at = At::Stage;
        }
        let laid = source.as_mut().is_some_and(|source| source.lay());
        let rests = |link: &Link| Progress { worked: laid | link.rest().worked, ..Progress::NONE };
        let Some((from_stages, to)) = sink.for_loop() else { return rests(&self.link) };
        let taken = Taken::of(&self.before, taken, &mut self.clocks);
        if taken.stages.len() < self.before.len() {
            return rests(&self.link);
        }
        let mut ends: Vec<&mut dyn RingEnd> = recycled(take(spare_ends));
        let mut states: Vec<&mut dyn Any> = recycled(take(spare_states));
        let (mut values, mut first) = (None, None);
        if let Some(source) = source.as_mut() {
            let (from, to_stages) = source.for_loop();
            values = Some(from);
            ends.push(to_stages);
        }
        let stages = taken.stages.iter_mut().map(|stage| &mut **stage).chain([&mut *self.last]);
        for (stage, tasklet) in stages.enumerate() {
            let Some(Parts { input, output, state, .. }) = tasklet.in_loop() else { return rests(&self.link) };
            match stage {
                0 if !Self::TAKES_VALUES => first = ring_of_source::<Value<W, O>>(input),
                _ => ends.push(input),
            }
            ends.push(output);
            states.push(state);
        }
        ends.push(from_stages);
        let Clocks { ends: starts, moved } = &mut *taken.clocks;
        let rings = match &first {
            Some(first) => IdleRings::behind(first.position(), &mut ends, starts),
            None => IdleRings::of(&mut ends),
        };
        let Some(rings) = rings else {
            (*spare_ends, *spare_states) = (recycled(ends), recycled(states));
            self.patience = self.patience.saturating_sub(1);
            if Self::TAKES_VALUES || self.patience == 0 {
                self.again = if Self::TAKES_VALUES { self.again } else { AGAIN_IF_DEAR };
                return rests(&self.link);
            }
            // The first stage rests, and the others have something left.
            return Progress::WORKED;
        };
        self.patience = AGAIN;
        let Loop { passage, state, failing } = &mut self.over_all;
        let limits = Limits { batch: self.batch, pace: self.pace, shared: &self.shared, cost: &mut self.cost };
        passage.exchange(state, &mut states);
        let ran = match (values, &mut first) {
            (Some(values), _) if Self::TAKES_VALUES && W::ONE_BY_ONE => run_one_by_one::<A, O, P, W>(
                rings,
                (values, (&mut *passage, &mut *state), to),
                limits,
                (&mut self.at, moved),
            ),
            (Some(values), _) if Self::TAKES_VALUES => {
                run::<A, O, P, W>(rings, (values, (&mut *passage, &mut *state), to), limits, (&mut self.at, moved))
            }
            (_, Some(first)) if !Self::TAKES_VALUES => run_behind::<_, A, O, P, _>(
                rings,
                (first, (&mut *passage, &mut *state), to),
                limits,
                (&mut self.at, moved),
            ),
            _ => Ran::default(),
        };
        passage.exchange(state, &mut states);
        // END is next, and nothing before it; or the first stage has read END, and its output had no room for it.
        let ends_now =
            first.as_mut().is_some_and(|first| first.ended() || first.backlog() > 0 && first.mark().is_none());
        if ran.failure.is_some() {
            let stages = states.len();
            self.failed = match self.at {
                At::Source => Some((0, ends[0].at())),
                At::Sink(number) => Some((starts.len(), number)),
                At::Pause => None,
                At::Stage => {
                    let stage = failing.index().unwrap_or(stages - 1);
                    let input = match (&first, stage) {
                        (Some(first), 0) => first.position().0,
                        (Some(_), stage) => ends[2 * stage - 1].at(),
                        (None, stage) => ends[2 * stage + 1].at(),
                    };
                    Some((clock_before(starts, stage), input))
                }
            };
        }
        (*spare_ends, *spare_states) = (recycled(ends), recycled(states));
        let at_sink = moved[starts.len()];
        self.link.count_sink(at_sink);
        if Self::TAKES_VALUES {
            self.link.count_source(moved[0]);
        }
        drop(taken);
        if at_sink > 0 || ran.failure.is_some() {
            // After values one by one, the sink has paused.
            sink.has_read(ran.filled, ran.failure.is_none() && !W::ONE_BY_ONE);
        }
        if let Some(payload) = ran.failure {
            resume_unwind(payload);
        }
        if ran.exhausted {
            source.into_iter().for_each(SourceTasklet::exhaust);
        } else if ran.dear {
            self.again = AGAIN_IF_DEAR;
        }
        let nothing = ran.most == 0 && !ran.exhausted;
        let few = !Self::TAKES_VALUES && self.pace != Pace::Untimed && self.few.note(ran.most);
        if few {
            self.again = AGAIN_IF_DEAR;
        }
        let rests = ran.dear || few || looks || nothing && (Self::TAKES_VALUES || ends_now);
        self.past = if rests { 0 } else { self.past.saturating_add(u32::from(!nothing)) };
        let rested = rests && self.link.rest().worked;
        if !rests {
            self.link.take();
        }
        // The time is that of all stages.
        let worked = laid | ran.exhausted | rested | (ran.most > at_sink);
        Progress { worked, untimed: true, ..Progress::moved(at_sink) }
    }
}

impl<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>> Tasklet for Whole<A, O, P, W> {
    fn step(&mut self, most: usize) -> Progress {
        (self.at, self.failed) = (At::Stage, None);
        let one = self.shared.has_one_worker();
        if one && !Self::TAKES_VALUES && self.before.is_empty() && self.link.takes() {
            // Its stage would read the source's ring.
            return self.go_past();
        }
        let progress = self.last.step(most);
        if !one {
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
        self.failed.map(|(_, number)| number).or_else(|| self.last.failed_at())
    }

    fn failed_on(&self) -> Option<usize> {
        self.failed.map(|(clock, _)| clock)
    }

    fn failed_in(&self) -> Option<&str> {
        match self.at {
            At::Stage => self.over_all.failing.stage(),
            At::Source => Some("source"),
            At::Sink(_) | At::Pause => Some("sink"),
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

    fn clock(&mut self) -> Option<SequenceNumber> {
        self.last.at_marks()?.clock()
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
