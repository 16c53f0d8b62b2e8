//! Stages with text as output: they format it, or pass on slices of their input.

use crate::shared::Shared;
use crate::stage::{EndSlot, take_end};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::pipe::{FormatKernel, SliceKernel};
use millstream_core::{Density, Shape, Text};
use millstream_ring::{
    Batch, Claim, Kind, Last, Mark, Pen, Producer, Reader, RingLayout, RunWriter, Span, text_ring, text_run_writers,
};
use std::sync::Arc;

/// Fills slots of text: one instance for each tasklet.
pub(crate) trait Fill: Send + 'static {
    type In: RingLayout;
    type Kind: Kind + ?Sized;
    type Density: Density;
    /// Fills the claim's next slots from the batch's. Returns how many.
    fn fill(&mut self, batch: &Batch<'_, Self::In>, claim: &mut Claim<'_, Slot<Self>>) -> usize;
    /// Fills a run that the writer claims. Returns its length.
    fn fill_run(&mut self, writer: &mut RunWriter<Self::In, Slot<Self>>, max: usize, hid: impl FnOnce()) -> usize;
    /// The value of END's slot.
    fn end(&mut self, value: Option<<Self::In as Shape>::Ref<'_>>) -> Option<Span<Self::Kind>>;
}

/// The slot of its output ring.
type Slot<F> = <<F as Fill>::Density as Density>::Slot<Span<<F as Fill>::Kind>>;

/// Writes text for every value.
pub(crate) struct Writes<W: FormatKernel<Kind: Kind>> {
    kernel: Arc<W>,
    pen: Pen<W::Kind>,
}

/// Passes on a slice of every value.
pub(crate) struct PassesOn<K: SliceKernel<Kind: Kind>> {
    kernel: Arc<K>,
    pen: Pen<K::Kind>,
}

impl<W: FormatKernel<In: RingLayout, Kind: Kind>> Fill for Writes<W> {
    type In = W::In;
    type Kind = W::Kind;
    type Density = W::Density;

    fn fill(&mut self, batch: &Batch<'_, W::In>, claim: &mut Claim<'_, Slot<Self>>) -> usize {
        let kernel = &*self.kernel;
        claim.write_text::<W::In, W::Kind, W::Density>(batch, &mut self.pen, |value, out| {
            value.is_some_and(|value| kernel.write(value, out))
        })
    }

    fn fill_run(&mut self, writer: &mut RunWriter<W::In, Slot<Self>>, max: usize, hid: impl FnOnce()) -> usize {
        let kernel = &*self.kernel;
        writer.write_text::<W::Kind, W::Density>(max, &mut self.pen, hid, |value, out| {
            value.is_some_and(|value| kernel.write(value, out))
        })
    }

    fn end(&mut self, value: Option<<W::In as Shape>::Ref<'_>>) -> Option<Span<W::Kind>> {
        let value = value?;
        self.pen.one(|out| self.kernel.write(value, out))
    }
}

impl<K: SliceKernel<In: RingLayout, Kind: Kind>> Fill for PassesOn<K> {
    type In = K::In;
    type Kind = K::Kind;
    type Density = K::Density;

    fn fill(&mut self, batch: &Batch<'_, K::In>, claim: &mut Claim<'_, Slot<Self>>) -> usize {
        claim.pass_on_parts::<K::In, K::Kind, K::Density>(batch, &mut self.pen, &*self.kernel)
    }

    fn fill_run(&mut self, writer: &mut RunWriter<K::In, Slot<Self>>, max: usize, hid: impl FnOnce()) -> usize {
        writer.pass_on::<K::Kind, K::Density>(max, &mut self.pen, hid, &*self.kernel)
    }

    fn end(&mut self, value: Option<<K::In as Shape>::Ref<'_>>) -> Option<Span<K::Kind>> {
        self.kernel.part(value?).map(Span::of)
    }
}

/// Adds a stage that writes text to the wiring.
pub(crate) fn write_stage<W: FormatKernel<In: RingLayout, Kind: Kind>>(
    input: Reader<W::In>,
    wiring: &mut Wiring,
    kernel: &Arc<W>,
) -> Reader<Text<W::Kind, W::Density>> {
    text_stage(input, wiring, || Writes { kernel: kernel.clone(), pen: Pen::new() })
}

/// Adds a stage that passes on slices of text to the wiring.
pub(crate) fn part_stage<K: SliceKernel<In: RingLayout, Kind: Kind>>(
    input: Reader<K::In>,
    wiring: &mut Wiring,
    kernel: &Arc<K>,
) -> Reader<Text<K::Kind, K::Density>> {
    text_stage(input, wiring, || PassesOn { kernel: kernel.clone(), pen: Pen::new() })
}

fn text_stage<F: Fill>(
    input: Reader<F::In>,
    wiring: &mut Wiring,
    fill: impl Fn() -> F,
) -> Reader<Text<F::Kind, F::Density>> {
    let batch = wiring.batch;
    if wiring.scope.width == 1 {
        let (output, reader) =
            text_ring::<F::Kind, F::Density>(input.position(), wiring.slots).expect("the options were checked");
        let input = input.stops_at_marks();
        let stage = TextStage { input, output, fill: fill(), batch, at_end: None, nothing: () };
        wiring.stage(Home::Workers, [Box::new(stage) as Box<dyn Tasklet>]);
        return reader;
    }
    let (writers, reader) =
        text_run_writers::<F::In, F::Kind, F::Density>(input.stops_at_marks(), wiring.scope.width, wiring.slots)
            .expect("the options were checked");
    let mut tasklets: Vec<Box<dyn Tasklet>> = Vec::with_capacity(writers.len());
    for writer in writers {
        tasklets.push(Box::new(GroupTextStage { writer, fill: fill(), batch, shared: wiring.shared.clone() }));
    }
    wiring.stage(Home::Workers, tasklets);
    reader
}

struct TextStage<F: Fill> {
    input: Reader<F::In>,
    output: Producer<Slot<F>>,
    fill: F,
    batch: usize,
    at_end: Option<u64>,
    /// Its state: it keeps none.
    nothing: (),
}

impl<F: Fill> TextStage<F> {
    /// Moves the slots available on both sides, at most `max`. Returns how many moved.
    fn move_batch(&mut self, max: usize) -> usize {
        let Some(mut batch) = self.input.batch(max) else { return 0 };
        let output = &mut self.output;
        let moved = match output.try_claim(batch.len()) {
            Ok(Some(mut claim)) => {
                let moved = self.fill.fill(&batch, &mut claim);
                claim.publish();
                moved
            }
            _ => 0,
        };
        batch.truncate(moved);
        moved
    }
}

impl<F: Fill> AtMarks for TextStage<F> {
    fn pass(&mut self) -> Option<Mark> {
        self.input.pass_mark_to(&mut self.output)
    }
}

impl<F: Fill> Tasklet for TextStage<F> {
    fn step(&mut self, most: usize) -> Progress {
        let most = self.batch.min(most);
        let mut left = most;
        while left > 0 {
            match self.move_batch(left) {
                0 => break,
                moved => left -= moved,
            }
        }
        if left < most {
            return Progress::moved(most - left);
        }
        self.output.sweep();
        let (fill, end) = (&mut self.fill, EndSlot::of::<F::Density>());
        take_end(&mut self.input, &mut self.output, &mut self.at_end, end, |_, value| {
            Last::of::<Span<F::Kind>, F::Density>(fill.end(value))
        })
    }

    fn in_loop(&mut self) -> Option<Parts<'_>> {
        let TextStage { input, output, nothing, .. } = self;
        Some(Parts { input, output, state: nothing, renumbers: false })
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.output.abandoned_at().map(|number| number.0))
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output)
    }
}

/// As [`TextStage`], for one of k tasklets in a shard.
struct GroupTextStage<F: Fill> {
    writer: RunWriter<F::In, Slot<F>>,
    fill: F,
    batch: usize,
    shared: Arc<Shared>,
}

impl<F: Fill> AtMarks for GroupTextStage<F> {
    fn pass(&mut self) -> Option<Mark> {
        self.writer.pass_mark()
    }

    fn resume(&mut self) {
        self.writer.resume();
    }
}

impl<F: Fill> Tasklet for GroupTextStage<F> {
    fn step(&mut self, most: usize) -> Progress {
        let shared = &self.shared;
        let moved = self.fill.fill_run(&mut self.writer, self.batch.min(most), || shared.signal.notify());
        if moved > 0 {
            return Progress::moved(moved);
        }
        self.writer.sweep();
        let (fill, end) = (&mut self.fill, EndSlot::of::<F::Density>());
        let ended = self.writer.end_with(|value| end.then(|| Last::of::<Span<F::Kind>, F::Density>(fill.end(value))));
        if ended { Progress::DONE } else { Progress::NONE }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.writer.abandoned_at().map(|number| number.0)
    }

    fn backlog(&self) -> u64 {
        self.writer.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_both(self.writer.probes())
    }
}
