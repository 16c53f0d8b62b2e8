//! A stage that numbers its outputs from 0 again. `pipe/renumber.rs` in `millstream-core` says what such a stage is.

use crate::in_place::InPlace;
use crate::keeper::Keeper;
use crate::keeps::Keeps;
use crate::kept::Kept;
use crate::stage::Shows;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::pipe::ExpandKernel;
use millstream_core::{Dense, SequenceNumber, Val};
use millstream_ring::{Mark, Producer, Reader, RingLayout, ring_from};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Adds a renumbering stage to the wiring.
pub(crate) fn renumber_stage<R: Keeps<E::State>, E: ExpandKernel<In: RingLayout>>(
    input: Reader<E::In>,
    wiring: &mut Wiring,
    expand: Arc<E>,
) -> Reader<Val<E::Item>> {
    let keeper = wiring.keeper(R::state().alone);
    let (next, state) = wiring.clock_or(input.position(), expand.start(), keeper);
    let (output, reader) = ring_from::<E::Item, Dense>(next, wiring.slots).expect("the options were checked");
    let (work, at) = (Expanding::<E>::from(state), At { number: 0, busy: false });
    let (input, batch, holds) = (input.stops_at_marks(), wiring.batch, Arc::default());
    let stage = RenumberStage { input, output, expand, keeper, work, at, batch, holds };
    wiring.stage(Home::Workers, [Box::new(stage) as Box<dyn Tasklet>]);
    reader
}

struct RenumberStage<E: ExpandKernel<In: RingLayout>> {
    input: Reader<E::In>,
    output: Producer<E::Item>,
    expand: Arc<E>,
    keeper: Keeper<E::State>,
    work: Expanding<E>,
    at: At,
    batch: usize,
    /// Whether outputs of a value remain, for observers.
    holds: Arc<AtomicBool>,
}

/// The part that changes with every value.
pub(crate) struct Expanding<E: ExpandKernel> {
    /// None once the outputs after the last value were requested.
    pub(crate) state: Option<E::State>,
    /// The remaining outputs of a value: they may need many steps.
    pub(crate) values: Option<E::Values>,
}

impl<E: ExpandKernel> Expanding<E> {
    pub(crate) fn from(state: E::State) -> Self {
        Expanding { state: Some(state), values: None }
    }
}

/// The input's number at which user code was last called, and whether it has not returned.
pub(crate) struct At {
    pub(crate) number: u64,
    pub(crate) busy: bool,
}

/// The outputs of some slots, in order.
struct Outputs<'s, E: ExpandKernel, I> {
    expand: &'s E,
    state: &'s mut E::State,
    values: &'s mut Option<E::Values>,
    slots: I,
    /// How many slots were taken.
    taken: usize,
    first: u64,
    at: &'s mut At,
}

impl<'b, E: ExpandKernel, I: Iterator<Item = Option<<E::In as millstream_core::Shape>::Ref<'b>>>> Iterator
    for Outputs<'_, E, I>
{
    type Item = E::Item;

    #[inline]
    fn next(&mut self) -> Option<E::Item> {
        loop {
            if let Some(values) = self.values {
                if let Some(value) = values.next() {
                    return Some(value);
                }
                *self.values = None;
            }
            let slot = self.slots.next()?;
            self.at.number = self.first + self.taken as u64;
            self.taken += 1;
            if let Some(value) = slot {
                *self.values = Some(self.expand.expand(self.state, value));
            }
        }
    }
}

/// The result of a part of a step.
pub(crate) enum Part {
    /// This many numbers were read or written.
    Moved(usize),
    /// There is no room for outputs, or for marks.
    Full,
    /// Nothing of this kind is left to do.
    Nothing,
}

impl<E: ExpandKernel<In: RingLayout>> RenumberStage<E> {
    /// Writes at most `max` of the remaining outputs of an earlier value.
    fn go_on(&mut self, max: usize) -> Part {
        let Some(values) = &mut self.work.values else { return Part::Nothing };
        let Ok(Some(claim)) = self.output.try_claim(max) else { return Part::Full };
        self.at.busy = true;
        let mut shows = Shows::new(claim);
        let written = shows.claim().extend(values);
        let all = written < shows.claim().len();
        if all {
            self.work.values = None;
        }
        self.at.busy = false;
        shows.publish();
        // Finding out that nothing remains counts as progress.
        Part::Moved(written.max(usize::from(all)))
    }

    /// Takes values while there is room for their outputs: at most `max` slots, and as many outputs.
    fn take(&mut self, max: usize) -> Part {
        let Some(mut batch) = self.input.batch(max) else { return Part::Nothing };
        let first = batch.first().0;
        let (Ok(Some(claim)), Some(state)) = (self.output.try_claim(max), &mut self.work.state) else {
            batch.truncate(0);
            return Part::Full;
        };
        let (expand, values) = (&*self.expand, &mut self.work.values);
        self.at.busy = true;
        let (slots, mut shows) = (batch.iter(), Shows::new(claim));
        let mut outputs = Outputs { expand, state, values, slots, taken: 0, first, at: &mut self.at };
        let written = shows.claim().fill_while(|| outputs.next());
        let taken = outputs.taken;
        self.at.busy = false;
        shows.publish();
        batch.truncate(taken);
        Part::Moved(taken.max(written))
    }

    /// Takes END, once it is there. Its value's outputs, and those after the last value, then remain to be written.
    fn take_end(&mut self) -> Part {
        let Some(end) = self.input.end() else { return Part::Nothing };
        let Some(state) = &mut self.work.state else {
            end.keep();
            return Part::Full;
        };
        self.at = At { number: end.number().0, busy: true };
        self.work.values = end.value().map(|value| self.expand.expand(state, value));
        self.at.busy = false;
        Part::Moved(1)
    }

    /// Writes the outputs after those of the last value, and then END.
    fn end(&mut self) -> Progress {
        if let Some(state) = self.work.state.take() {
            self.at.busy = true;
            self.work.values = self.expand.finish(state);
            self.at.busy = false;
            return Progress::WORKED;
        }
        match self.output.try_end(None) {
            Ok(()) => Progress::ENDED,
            Err(_) => unreachable!("the END of a new clock has no slot"),
        }
    }
}

/// Between two values: all outputs of the one before are published.
impl<E: ExpandKernel<In: RingLayout>> AtMarks for RenumberStage<E> {
    fn state(&mut self) -> Option<Kept> {
        self.work.state.as_mut().map(|state| Kept::at(self.output.next(), self.keeper.keep(state)))
    }

    fn clock(&mut self) -> Option<SequenceNumber> {
        Some(self.output.next())
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.work.state.as_mut().and_then(|state| self.keeper.in_place(state))
    }

    fn pass(&mut self) -> Option<Mark> {
        if self.work.values.is_none() { self.input.pass_mark_to_new_clock(&mut self.output) } else { None }
    }
}

impl<E: ExpandKernel<In: RingLayout>> Tasklet for RenumberStage<E> {
    fn step(&mut self, most: usize) -> Progress {
        let progress = self.move_batch(self.batch.min(most));
        self.holds.store(self.work.values.is_some(), Ordering::Relaxed);
        progress
    }

    fn in_loop(&mut self) -> Option<Parts<'_>> {
        let RenumberStage { input, output, work, .. } = self;
        // The remaining outputs of a value come before the next value.
        work.values.is_none().then_some(Parts { input, output, state: work, renumbers: true })
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at.busy.then_some(self.at.number)
    }

    fn backlog(&self) -> u64 {
        // Remaining outputs of a value count as one waiting value.
        self.input.backlog() + u64::from(self.work.values.is_some())
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output).saying(&self.holds)
    }
}

impl<E: ExpandKernel<In: RingLayout>> RenumberStage<E> {
    fn move_batch(&mut self, most: usize) -> Progress {
        let mut left = most;
        while left > 0 {
            let part = match self.go_on(left) {
                Part::Nothing => self.take(left),
                part => part,
            };
            match part {
                Part::Moved(moved) => left -= moved.min(left),
                Part::Full | Part::Nothing => break,
            }
        }
        if left < most {
            return Progress::moved(most - left);
        }
        self.output.sweep();
        if self.work.values.is_some() {
            return Progress::NONE;
        }
        match self.take_end() {
            Part::Moved(moved) => Progress::moved(moved),
            Part::Nothing if self.input.ended() => self.end(),
            Part::Full | Part::Nothing => Progress::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, At, Expanding, RenumberStage};
    use crate::keeper::Keeper;
    use crate::tasklet::{AtMarks, Tasklet};
    use millstream_core::pipe::{ExpandKernel, Renumber, Then};
    use millstream_core::{ClockExt, Dense, Val, pipeline};
    use millstream_ring::{MarkKind, Producer, Reader, RingLayout, ring};

    fn stage<P, E: ExpandKernel<In: RingLayout>>(
        pipeline: &Then<P, Renumber<E>>,
        input: Reader<E::In>,
        slots: usize,
    ) -> (RenumberStage<E>, Reader<Val<E::Item>>) {
        let (output, reader) = ring::<E::Item, Dense>(slots).unwrap();
        let (expand, at) = (pipeline.second.expand.clone(), At { number: 0, busy: false });
        let (work, input) = (Expanding::from(expand.start()), input.stops_at_marks());
        let (keeper, holds) = (Keeper::none(), Arc::default());
        (RenumberStage { input, output, expand, keeper, work, at, batch: 3, holds }, reader)
    }

    /// Publishes the values below `upto`, with the marks 10 and 11 before 2, 40 before 4, and so on, as far as there is
    /// room for them. Returns true at the end.
    fn feed(producer: &mut Producer<u64>, upto: u64) -> bool {
        let n = producer.next().0;
        if n < upto {
            if producer.free() > 0 {
                let marks = if n == 2 { vec![10, 11] } else { vec![10 * n; usize::from(n.is_multiple_of(4))] };
                marks.into_iter().for_each(|id| _ = producer.mark(id, MarkKind::Snapshot));
                let mut claim = producer.try_claim(1).unwrap().unwrap();
                claim.write(n);
                claim.publish();
            }
            return false;
        }
        if !producer.ended() {
            producer.mark(99, MarkKind::Snapshot);
            producer.try_end(None).unwrap();
        }
        true
    }

    #[test]
    fn marks_come_before_the_outputs_of_later_values() {
        for slots in [1, 2, 8, 64] {
            let (mut producer, input) = ring::<u64, Dense>(slots).unwrap();
            let thrice_the_odd = pipeline::<u64>().flat_map(|x| vec![*x; if x % 2 == 1 { 3 } else { 0 }]);
            let (mut stage, mut output) = stage(&thrice_the_odd, input, slots);
            let (mut marks, mut values, mut ended) = (Vec::new(), Vec::new(), false);
            while !output.ended() {
                feed(&mut producer, 8);
                ended = ended || stage.step(usize::MAX).done;
                while stage.pass().is_some() {}
                // A reader sees one of the marks at a number, although the ring has all of them.
                marks.extend(output.mark().filter(|mark| Some(mark) != marks.last()));
                if let Some(batch) = output.batch(1) {
                    values.extend(batch.iter().flatten().copied());
                    continue;
                }
                drop(output.end());
            }
            assert_eq!(values, [1, 1, 1, 3, 3, 3, 5, 5, 5, 7, 7, 7]);
            let seen: Vec<_> = marks.iter().map(|mark| (mark.at.0, mark.id)).collect();
            // 0 has no outputs: its mark comes before the outputs of 1. The second of two marks is not seen.
            assert_eq!(seen, [(0, 0), (3, 10), (6, 40), (12, 99)], "rings of {slots}");
        }
    }

    #[test]
    fn a_step_is_bounded_by_the_batch() {
        let (mut producer, input) = ring::<u64, Dense>(64).unwrap();
        let (mut stage, _output) = stage(&pipeline::<u64>().flat_map(|_| 0..), input, 64);
        feed(&mut producer, 1);
        assert!(stage.pass().is_some());
        for written in [3, 6, 9] {
            assert_eq!(stage.step(usize::MAX).moved, 3);
            assert_eq!(stage.output.next().0, written);
        }
    }
}
