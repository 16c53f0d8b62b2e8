//! A stage inside `shard`: k tasklets claim runs of one input and fill one output ring (`ring/run_writers.rs`).

use crate::keeper::Keeper;
use crate::shared::Shared;
use crate::stage::{EndSlot, stage};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::{Density, Item, Val};
use millstream_ring::{Last, Mark, Reader, RingLayout, RunWriter, run_writers};
use std::marker::PhantomData;
use std::sync::Arc;

/// Adds a stateless stage to the wiring, with as many tasklets as the shards around it demand.
pub(crate) fn stateless_stage<A: RingLayout, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    home: Home,
    f: impl for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Clone + Send + 'static,
) -> Reader<Val<B, D>> {
    if wiring.scope.width == 1 {
        return stage::<A, (), B, D>(input, wiring, end, home, ((), Keeper::none()), move |(), _, value, _| f(value));
    }
    let (writers, reader) = run_writers::<A, B, D>(input.stops_at_marks(), wiring.scope.width, wiring.slots)
        .expect("the options were checked");
    let batch = wiring.batch_of::<B>(home);
    let (shared, density) = (wiring.shared.clone(), PhantomData::<fn() -> (B, D)>);
    let mut tasklets: Vec<Box<dyn Tasklet>> = Vec::with_capacity(writers.len());
    for writer in writers {
        let (shared, f) = (shared.clone(), f.clone());
        tasklets.push(Box::new(GroupStage { writer, f, batch, end, shared, density }));
    }
    wiring.stage(home, tasklets);
    reader
}

struct GroupStage<A: RingLayout, B: Item, D: Density, F> {
    writer: RunWriter<A, D::Slot<B>>,
    f: F,
    batch: usize,
    end: EndSlot,
    shared: Arc<Shared>,
    density: PhantomData<fn() -> (B, D)>,
}

impl<A: RingLayout, B: Item, D: Density, F: Send> AtMarks for GroupStage<A, B, D, F> {
    fn pass(&mut self) -> Option<Mark> {
        self.writer.pass_mark()
    }

    fn resume(&mut self) {
        self.writer.resume();
    }
}

impl<A: RingLayout, B: Item, D: Density, F> Tasklet for GroupStage<A, B, D, F>
where
    F: for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Send,
{
    fn step(&mut self, most: usize) -> Progress {
        let f = &self.f;
        let shared = &self.shared;
        // A reader that saw too few numbers, and has parked, must look again.
        let moved =
            self.writer.fill_or_tell(self.batch.min(most), || shared.signal.notify(), |value| D::pack(f(value)));
        if moved > 0 {
            return Progress::moved(moved);
        }
        self.writer.sweep();
        let end = self.end;
        let ended = self.writer.end_with(|value| end.then(|| Last::of::<B, D>(f(value))));
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
