//! A loop over stages that have tasklets and rings of their own.
//!
//! Each stage has a tasklet, so that workers can share them. While there is one worker, the rings between them are a
//! detour. So the last tasklet also has a loop over all stages, which goes past all the rings. The stages keep their
//! rings and states, and work slot by slot when another worker is tried, a mark is due, or a ring is not idle. For a
//! step of the loop their states are moved into it, and back; meanwhile the stages hold start states.

use super::clocks::Clocks;
use super::ends::{Lent, RunEnds};
use super::lent_stage::{LentStage, Passer};
use super::link::EndsOfRun;
use super::taken::ring_of_source;
use super::whole::{Loop, SinkOf, SourceOf, Value, Whole};
use crate::onlooker::Member;
use crate::tasklet::Parts;
use crate::wiring::{Home, Named};
use crate::{RingBackend, RingRunner, Wiring};
use millstream_core::fusion::{OfPassage, Passage};
use millstream_core::{Shape, Val};
use millstream_ring::RingLayout;
use std::any::TypeId;
use std::marker::PhantomData;

/// Makes the tasklets of stages into those of a run with a loop over all of them.
pub(crate) type MakesLoop = Box<dyn FnOnce(Vec<Named>, &mut Wiring) -> Vec<Named>>;

/// Makes the loop between the ends `W`, of the stages' work on a slot.
pub(crate) struct MakeLoop<W>(PhantomData<fn() -> W>);

impl<W> MakeLoop<W> {
    pub(crate) fn new() -> Self {
        MakeLoop(PhantomData)
    }
}

impl<R: RingRunner, A: Shape, O: RingLayout, W: RunEnds<O>> OfPassage<RingBackend<R>, A, O> for MakeLoop<W> {
    type Made = MakesLoop;

    fn make<P: Passage<A, O>>(self, passage: P, of_loop: &mut Wiring) -> Option<MakesLoop> {
        let (members, failing) = of_loop.walked();
        // Without a stage there is no tasklet for it.
        if members.is_empty() || TypeId::of::<A>() != TypeId::of::<Val<Value<W, O>>>() {
            return None;
        }
        // What is deferred passes by clocks of its own.
        if !P::FITS || P::DEFERS && !P::CUTS {
            return None;
        }
        // After the source's ring, a loop is faster only if a slot there becomes many later ones. After a `flat_map`
        // with few outputs, stages that work slot by slot are as fast.
        if !P::CUTS && (P::RENUMBERS || !W::TAKES_VALUES || !of_loop.lends_source) {
            return None;
        }
        Some(Box::new(move |stages, wiring| {
            let (state, failing) = (passage.start(), failing);
            tasklets::<A, O, P, W>(stages, members, Loop { passage, state, failing }, wiring)
        }))
    }
}

/// Gives the last of these tasklets the loop over all of them.
fn tasklets<A: Shape, O: RingLayout, P: Passage<A, O>, W: RunEnds<O>>(
    mut stages: Vec<Named>,
    members: Vec<Member>,
    mut over_all: Loop<P, P::State>,
    wiring: &mut Wiring,
) -> Vec<Named> {
    let on_workers = stages.iter().all(|stage| stage.home == Home::Workers);
    let takes_values = Whole::<A, O, P, W>::TAKES_VALUES;
    let parts = stages.iter_mut().map(|stage| stage.tasklet.in_loop());
    let Some(parts) = parts.collect::<Option<Vec<Parts<'_>>>>() else { return stages };
    let clocks = Clocks::of(parts.iter().map(|parts| parts.renumbers));
    let (mut states, mut reads_source) = (Vec::new(), false);
    for (stage, Parts { input, state, .. }) in parts.into_iter().enumerate() {
        reads_source |= stage == 0 && ring_of_source::<Value<W, O>>(input).is_some();
        states.push(state);
    }
    // There and back.
    let fit = (0..2).all(|_| over_all.passage.exchange(&mut over_all.state, &mut states));
    if !on_workers || members.len() != states.len() || !fit || !(takes_values || reads_source) {
        return stages;
    }
    let Some(EndsOfRun { link, source, sink }) = wiring.ends.as_mut() else { return stages };
    let source = source.as_ref().filter(|_| takes_values);
    let source = source.and_then(|source| source.downcast_ref::<Lent<SourceOf<W, O>>>()).cloned();
    if takes_values && source.is_none() {
        return stages;
    }
    if !takes_values {
        link.stand_behind();
    }
    let place = Lent::<SinkOf<W, O>>::nothing();
    *sink = Some(Box::new(place.clone()));
    let link = link.clone();
    for (stage, member) in stages.iter().zip(members) {
        stage.calls.iter().zip(member.calls).for_each(|(stage, calls)| stage.count_also(calls));
    }
    let Some(mut last) = stages.pop() else { return stages };
    let mut before = Vec::new();
    let lend = |mut stage: Named| {
        let lent = Lent::of(Passer { tasklet: Some(stage.tasklet), passed: 0 });
        before.push(lent.clone());
        stage.tasklet = Box::new(LentStage::new(lent, link.clone(), before.len() == 1));
        stage
    };
    let mut stages: Vec<_> = stages.into_iter().map(lend).collect();
    let whole = Whole::<A, O, P, W>::new((before, last.tasklet), over_all, (source, place, link), clocks, wiring);
    last.tasklet = Box::new(whole);
    stages.push(last);
    stages
}
