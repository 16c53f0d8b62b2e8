//! `take` and `take_while` at the outer level: a filter with a state that ends the stream before its source does.
//!
//! The values alone decide the number of END: for `take` it is the number after the last value that was taken, for
//! `take_while` the number of the value that was refused. END is empty. So the output has the same slots in every run.
//! The mask ends there, and a masked edge ends where its mask does, even if nothing more comes on the other ring.
//!
//! Then everything upstream is cancelled. The source's ring is ended, and each upstream tasklet is given up at its next
//! step. A tasklet in the middle of a step finishes it first; if that step panics, the panic is dropped. There are two
//! exceptions:
//!
//! - The body of a `tee` finishes the input that it already has. Whether it sees END is unspecified.
//! - An upstream stage may have failed before, at a number that would not have been wanted. That fails the run.

use crate::external_source::StopSource;
use crate::in_place::InPlace;
use crate::keeper::Keeper;
use crate::keeps::Keeps;
use crate::kept::Kept;
use crate::shared::Shared;
use crate::stage::{EndSlot, Shows, claimed, moved, take_end};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::pipe::FilterKernel;
use millstream_core::{Dense, Shape, Val};
use millstream_ring::{Mark, Producer, Reader, RingLayout, ring_from};
use std::sync::Arc;

/// Adds a stage that writes a filter kernel's mask to the wiring. When the kernel is over, the mask ends and all
/// tasklets before it are cancelled.
pub(crate) fn cut_stage<R: Keeps<K::State>, K: FilterKernel<In: RingLayout>>(
    input: Reader<K::In>,
    wiring: &mut Wiring,
    kernel: Arc<K>,
) -> Reader<Val<bool>> {
    let (output, reader) = ring_from::<bool, Dense>(input.position(), wiring.slots).expect("the options were checked");
    let (keeper, end) = (wiring.keeper(R::state().alone), EndSlot::of::<<K::In as Shape>::Density>());
    let state = wiring.state_or(kernel.start(), keeper);
    let (shared, end_source) = (wiring.shared.clone(), wiring.end_source.clone());
    let cancel = Cancel { before: wiring.next_order(), shared, end_source };
    let stage = CutStage {
        input: input.stops_at_marks(),
        output,
        kernel,
        state,
        keeper,
        cancel,
        batch: wiring.batch,
        end,
        busy: false,
        at_end: None,
    };
    wiring.stage(Home::Workers, [Box::new(stage) as Box<dyn Tasklet>]);
    reader
}

/// The source and all tasklets before this one, which are cancelled.
struct Cancel {
    before: usize,
    shared: Arc<Shared>,
    end_source: Option<StopSource>,
}

impl Cancel {
    fn cancel(&self) {
        if let Some(end_source) = &self.end_source {
            end_source.end();
        }
        self.shared.cancel(self.before);
    }
}

struct CutStage<K: FilterKernel<In: RingLayout>> {
    input: Reader<K::In>,
    output: Producer<bool>,
    kernel: Arc<K>,
    state: K::State,
    keeper: Keeper<K::State>,
    cancel: Cancel,
    batch: usize,
    end: EndSlot,
    /// Whether the kernel is at the number after those published.
    busy: bool,
    at_end: Option<u64>,
}

impl<K: FilterKernel<In: RingLayout>> CutStage<K> {
    /// As in any other stage, until the kernel is over.
    #[inline]
    fn move_batch(&mut self, max: usize) -> usize {
        let claimed = claimed(&mut self.input, &mut self.output, max);
        let Some((mut batch, claim)) = claimed else { return 0 };
        let (kernel, state) = (&*self.kernel, &mut self.state);
        self.busy = true;
        let (mut slots, mut shows) = (batch.iter(), Shows::new(claim));
        let written = shows.claim().fill_while(|| {
            if kernel.over(state) {
                return None;
            }
            let kept = slots.next()?.is_some_and(|value| kernel.keeps(state, value));
            // If a dropped value ends the stream, END takes its number.
            (kept || !kernel.over(state)).then_some(kept)
        });
        shows.publish();
        self.busy = false;
        batch.truncate(written);
        written
    }

    /// Ends the stream after the `moved` last numbers.
    fn cut(&mut self, moved: usize) -> Progress {
        match self.output.try_end(None) {
            Ok(()) => self.cancel.cancel(),
            Err(_) => unreachable!("an END without a slot needs no room"),
        }
        Progress { moved: moved + 1, ..Progress::DONE }
    }
}

impl<K: FilterKernel<In: RingLayout>> AtMarks for CutStage<K> {
    fn state(&mut self) -> Option<Kept> {
        self.keeper.keep(&mut self.state)
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.keeper.in_place(&mut self.state)
    }

    fn pass(&mut self) -> Option<Mark> {
        self.input.pass_mark_to(&mut self.output)
    }
}

impl<K: FilterKernel<In: RingLayout>> Tasklet for CutStage<K> {
    fn step(&mut self, most: usize) -> Progress {
        let moved = moved(self.batch.min(most), |max| self.move_batch(max));
        if self.kernel.over(&self.state) {
            return self.cut(moved);
        }
        if moved > 0 {
            return Progress::moved(moved);
        }
        let (kernel, state) = (&*self.kernel, &mut self.state);
        take_end(&mut self.input, &mut self.output, &mut self.at_end, self.end, |_, value| {
            value.is_some_and(|value| kernel.keeps(state, value)).into()
        })
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.busy.then(|| self.output.next().0))
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output)
    }
}
