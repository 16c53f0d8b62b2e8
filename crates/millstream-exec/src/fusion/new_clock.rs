//! Stages that start a clock, in a loop past the rings: they pass the outputs of a slot to the next stage, one after
//! another, at the numbers of their clock.
//!
//! A step has to end. So a stage passes on only as many outputs as its [`Clock`] allows, and some more of the last
//! value, so that a value with a few outputs passes whole. The rest of a value's outputs goes through the slots. A text
//! that a stage cuts is in the source's ring: it remains there until the last piece is cut. Text that the last stage
//! writes goes to the sink block by block ([`OfFormat`](super::OfFormat)), at the latest when the step ends.

use crate::Wiring;
use crate::onlooker::Place;
use crate::renumber_stage::Expanding;
use millstream_core::fusion::{Clock, Fill, Next, Passage};
use millstream_core::pipe::ExpandKernel;
use millstream_core::text::{Cut, Textual, not_a_part};
use millstream_core::{OfPieces, SequenceNumber, Shape, Text, Val};
use std::any::Any;
use std::mem::swap;
use std::sync::Arc;

/// The most outputs of a value that are passed on beyond the clock's limit.
const FURTHER: usize = 1024;

/// A stage of an [`ExpandKernel`], and its place in the pipeline.
pub(crate) struct OfExpand<E> {
    expand: Arc<E>,
    place: Place,
}

impl<E> OfExpand<E> {
    /// Where the walk is.
    pub(crate) fn new(expand: Arc<E>, wiring: &mut Wiring) -> Self {
        OfExpand { expand, place: wiring.fuse(None, false, false) }
    }
}

impl<E: ExpandKernel> Passage<E::In, Val<E::Item>> for OfExpand<E> {
    type State = (Expanding<E>, Clock);

    fn start(&self) -> Self::State {
        (Expanding::from(self.expand.start()), Clock::default())
    }

    fn exchange(&self, (work, _): &mut Self::State, stages: &mut [&mut dyn Any]) -> bool {
        let own = stages.get_mut(self.place.index()).and_then(|stage| stage.downcast_mut());
        own.map(|own| swap(own, work)).is_some()
    }

    const RENUMBERS: bool = true;

    fn clocks(&self, (_, clock): &mut Self::State, f: &mut dyn FnMut(&mut Clock)) {
        f(clock);
    }

    #[inline(always)]
    fn pass<N: Next<Val<E::Item>>>(
        &self,
        (Expanding { state, values }, clock): &mut Self::State,
        _: SequenceNumber,
        slot: Option<<E::In as Shape>::Ref<'_>>,
        mut next: N,
    ) -> Fill {
        let mut fill = Fill::EMPTY;
        let (Some(value), Some(state)) = (slot, state) else { return fill };
        debug_assert!(values.is_none(), "what is left of a value comes before the next one");
        let outputs = values.insert(self.place.call(|| self.expand.expand(state, value)));
        let mut further = 0;
        while let Some(output) = self.place.call(|| outputs.next()) {
            let one = next.again().take(SequenceNumber(clock.next), Some(&output));
            clock.next += 1;
            fill.add(one);
            if clock.most > 0 {
                clock.most -= 1;
            } else {
                further += 1;
            }
            if one.stops() || further == FURTHER {
                // Its stage goes on with them.
                return fill.stopping();
            }
        }
        *values = None;
        if clock.most == 0 { fill.stopping() } else { fill }
    }
}

/// A stage that cuts the text of the source's values.
pub(crate) struct OfCut<C> {
    cut: Arc<C>,
    place: Place,
}

impl<C> OfCut<C> {
    /// Where the walk is; none if that is not the first stage.
    pub(crate) fn first(cut: Arc<C>, wiring: &mut Wiring) -> Option<Self> {
        let place = wiring.fuse(None, false, false);
        (place.index() == 0).then_some(OfCut { cut, place })
    }
}

impl<A: OfPieces, C: Cut<A::Kind>> Passage<A, Text<A::Kind>> for OfCut<C> {
    /// The position from which the next piece is searched, as the stage has it.
    type State = (usize, Clock);

    fn start(&self) -> Self::State {
        Self::State::default()
    }

    fn exchange(&self, (from, _): &mut Self::State, stages: &mut [&mut dyn Any]) -> bool {
        let own = stages.get_mut(self.place.index()).and_then(|stage| stage.downcast_mut());
        own.map(|own| swap(own, from)).is_some()
    }

    const RENUMBERS: bool = true;
    const CUTS: bool = true;

    fn clocks(&self, (_, clock): &mut Self::State, f: &mut dyn FnMut(&mut Clock)) {
        f(clock);
    }

    #[inline(always)]
    fn pass<N: Next<Text<A::Kind>>>(
        &self,
        (from, clock): &mut Self::State,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        mut next: N,
    ) -> Fill {
        let mut fill = Fill::EMPTY;
        let Some(value) = slot else { return fill };
        let whole = A::piece(value);
        let mut pieces = self.place.call(|| self.cut.pieces(whole.text(), *from));
        loop {
            if clock.most == 0 {
                return fill.held();
            }
            let Some(piece) = self.place.call(|| pieces.next()) else { break };
            let part = whole.part(piece.range.clone());
            let part = part.unwrap_or_else(|| not_a_part(piece.range.clone(), whole.text().bytes().len()));
            let one = next.again().take(SequenceNumber(clock.next), Some(part));
            fill.add(one);
            (clock.next, clock.most, *from) = (clock.next + 1, clock.most - 1, piece.next);
            if one.stops() {
                return fill.held().stopping();
            }
        }
        *from = 0;
        fill
    }
}
