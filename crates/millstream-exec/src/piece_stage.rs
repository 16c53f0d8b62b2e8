//! A stage that cuts text into pieces, on a new clock.

use crate::keeper::Keeper;
use crate::kept::Kept;
use crate::renumber_stage::{At, Part};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::text::Cut;
use millstream_core::{Dense, OfPieces, SequenceNumber, Text};
use millstream_ring::{Claim, Kind, Mark, Passing, Pen, Producer, Reader, RingLayout, Span, text_ring};
use std::sync::Arc;

/// Adds a stage to the wiring that cuts every value into pieces.
pub(crate) fn piece_stage<A: RingLayout + OfPieces<Kind: Kind>, C: Cut<A::Kind>>(
    input: Reader<A>,
    wiring: &mut Wiring,
    cut: Arc<C>,
) -> Reader<Text<A::Kind>> {
    let (next, ()) = wiring.clock_or(input.position(), (), Keeper::none());
    let (output, reader) = text_ring::<A::Kind, Dense>(next, wiring.slots).expect("the options were checked");
    let stage = PieceStage::new(input.stops_at_marks(), output, cut, wiring.batch);
    wiring.stage(Home::Workers, [Box::new(stage) as Box<dyn Tasklet>]);
    reader
}

struct PieceStage<A: RingLayout + OfPieces<Kind: Kind>, C> {
    input: Reader<A>,
    output: Producer<Span<A::Kind>>,
    cut: Arc<C>,
    pen: Pen<A::Kind>,
    /// The position from which the next piece of the current value is searched: a value may need many steps.
    from: usize,
    at: At,
    batch: usize,
}

impl<A: RingLayout + OfPieces<Kind: Kind>, C: Cut<A::Kind>> PieceStage<A, C> {
    fn new(input: Reader<A>, output: Producer<Span<A::Kind>>, cut: Arc<C>, batch: usize) -> Self {
        let at = At { number: 0, busy: false };
        PieceStage { input, output, cut, pen: Pen::new(), from: 0, at, batch }
    }

    /// Cuts values while there is room for their pieces: at most `max` of both.
    fn take(&mut self, max: usize) -> Part {
        let Some(mut batch) = self.input.batch(max) else { return Part::Nothing };
        let first = batch.first().0;
        let Ok(Some(claim)) = self.output.try_claim(max) else {
            batch.truncate(0);
            return Part::Full;
        };
        let mut cutter = Cutter { cut: &*self.cut, from: &mut self.from, at: &mut self.at };
        let (taken, part) = cutter.cut_into::<A>(claim, &mut self.pen, first, batch.iter());
        batch.truncate(taken);
        part
    }

    /// As [`take`](PieceStage::take), for END's value.
    fn take_end(&mut self, max: usize) -> Part {
        let Some(end) = self.input.end() else { return Part::Nothing };
        let Ok(Some(claim)) = self.output.try_claim(max) else {
            end.keep();
            return Part::Full;
        };
        let mut cutter = Cutter { cut: &*self.cut, from: &mut self.from, at: &mut self.at };
        let (taken, part) = cutter.cut_into::<A>(claim, &mut self.pen, end.number().0, std::iter::once(end.value()));
        if taken == 0 {
            end.keep();
        }
        part
    }
}

struct Cutter<'s, C> {
    cut: &'s C,
    from: &'s mut usize,
    at: &'s mut At,
}

impl<C> Cutter<'_, C> {
    /// Cuts the values of some slots into the claim and publishes it. Returns how many slots are done, and the part of
    /// the step: `Part::Full` if the pen has no room.
    fn cut_into<'b, A: OfPieces<Kind: Kind>>(
        &mut self,
        mut claim: Claim<'_, Span<A::Kind>>,
        pen: &mut Pen<A::Kind>,
        first: u64,
        values: impl Iterator<Item = Option<A::Ref<'b>>>,
    ) -> (usize, Part)
    where
        C: Cut<A::Kind>,
    {
        let mut taken = 0;
        let written = claim.pass_on::<A::Kind, Dense>(pen, |slots| taken = self.cut_all::<A>(first, values, slots));
        claim.publish();
        let part = match taken.max(written) {
            0 => Part::Full,
            moved => Part::Moved(moved),
        };
        (taken, part)
    }

    /// Cuts the values of some slots, the first of which has this number, while there are slots for their pieces.
    /// Returns how many slots are done.
    #[inline]
    fn cut_all<'b, A: OfPieces<Kind: Kind>>(
        &mut self,
        first: u64,
        values: impl Iterator<Item = Option<A::Ref<'b>>>,
        slots: &mut Passing<'_, 'b, A::Kind, Dense>,
    ) -> usize
    where
        C: Cut<A::Kind>,
    {
        let mut taken = 0;
        for value in values {
            if slots.is_full() {
                break;
            }
            if let Some(value) = value {
                *self.at = At { number: first + taken as u64, busy: true };
                let whole = A::piece(value);
                let done = slots.cut(whole, &mut self.cut.pieces(whole.text(), *self.from), self.from);
                self.at.busy = false;
                if !done {
                    break;
                }
                *self.from = 0;
            }
            taken += 1;
        }
        taken
    }
}

/// Between two values. A value that was begun has passed its marks.
impl<A: RingLayout + OfPieces<Kind: Kind>, C: Cut<A::Kind>> AtMarks for PieceStage<A, C> {
    fn state(&mut self) -> Option<Kept> {
        Some(Kept::at(self.output.next(), None))
    }

    fn clock(&mut self) -> Option<SequenceNumber> {
        Some(self.output.next())
    }

    fn pass(&mut self) -> Option<Mark> {
        self.input.pass_mark_to_new_clock(&mut self.output)
    }
}

impl<A: RingLayout + OfPieces<Kind: Kind>, C: Cut<A::Kind>> Tasklet for PieceStage<A, C> {
    fn step(&mut self, most: usize) -> Progress {
        let most = self.batch.min(most);
        let mut left = most;
        while left > 0 {
            match self.take(left) {
                Part::Moved(moved) => left -= moved.min(left),
                Part::Full | Part::Nothing => break,
            }
        }
        if left < most {
            return Progress::moved(most - left);
        }
        self.output.sweep();
        match self.take_end(most) {
            Part::Moved(moved) => Progress::moved(moved),
            Part::Nothing if self.input.ended() => match self.output.try_end(None) {
                Ok(()) => Progress::ENDED,
                Err(_) => unreachable!("the END of a new clock has no slot"),
            },
            Part::Full | Part::Nothing => Progress::NONE,
        }
    }

    fn in_loop(&mut self) -> Option<Parts<'_>> {
        let PieceStage { input, output, from, .. } = self;
        Some(Parts { input, output, state: from, renumbers: true })
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at.busy.then_some(self.at.number)
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output)
    }
}
