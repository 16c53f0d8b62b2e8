//! A stage that one tasklet runs.

use crate::tasklet::{Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::{Density, Event, Val};
use millstream_ring::{Producer, Reader, Wire, ring};
use std::marker::PhantomData;

/// Adds a stage to the wiring: `f` of every slot, and of END with `true`, in order. END has a slot where `end` can hold
/// a value: for all stages but a mask's, that is their own density.
pub(crate) fn stage<A: Wire, B: Event, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    home: Home,
    f: impl for<'a> FnMut(Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
) -> Reader<Val<B, D>> {
    let (output, reader) = ring::<B, D>(wiring.slots).expect("the options were checked");
    let (batch, density) = (wiring.batch_at(home), PhantomData::<fn() -> (B, D)>);
    let stage = Stage { input, output, f, batch, end, marks: 0, at_end: None, density };
    wiring.stage(home, [Box::new(stage) as Box<dyn Tasklet>]);
    reader
}

/// Whether a stage writes a slot for END.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndSlot {
    Written,
    Absent,
}

impl EndSlot {
    /// Written where an edge of density `D` can hold a value at END.
    pub(crate) fn of<D: Density>() -> Self {
        if D::FULL { EndSlot::Absent } else { EndSlot::Written }
    }

    pub(crate) fn then<S>(self, slot: impl FnOnce() -> S) -> Option<S> {
        (self == EndSlot::Written).then(slot)
    }
}

struct Stage<A: Wire, B: Event, D: Density, F> {
    input: Reader<A>,
    output: Producer<D::Slot<B>>,
    f: F,
    batch: usize,
    end: EndSlot,
    marks: u64,
    at_end: Option<u64>,
    density: PhantomData<fn() -> (B, D)>,
}

impl<A: Wire, B: Event, D: Density, F> Stage<A, B, D, F>
where
    F: for<'a> FnMut(Option<A::Ref<'a>>, bool) -> Option<B> + Send,
{
    /// Moves what lies side by side on both sides, at most `max`; returns how much that was.
    #[inline]
    fn move_batch(&mut self, max: usize) -> usize {
        let Some(mut batch) = self.input.batch(max) else { return 0 };
        let output = &mut self.output;
        let copied = batch.copy_marks(&mut self.marks, |mark| output.copy_mark(mark).is_ok());
        let claim = if copied { output.try_claim(batch.len()) } else { Ok(None) };
        let Ok(Some(mut claim)) = claim else {
            batch.truncate(0);
            return 0;
        };
        batch.truncate(claim.len());
        let f = &mut self.f;
        batch.map_into(&mut claim, |value| D::pack(f(value, false)));
        claim.publish();
        batch.len()
    }

    /// Publishes END once the input's is there.
    fn try_end(&mut self) -> Progress {
        // What user code says of END must not be asked twice.
        if self.end == EndSlot::Written && self.output.free() == 0 {
            return Progress::NONE;
        }
        let Some(end) = self.input.end() else { return Progress::NONE };
        let output = &mut self.output;
        if !end.copy_marks(&mut self.marks, |mark| output.copy_mark(mark).is_ok()) {
            end.keep();
            return Progress::NONE;
        }
        self.at_end = Some(end.number().0);
        let last = self.end.then(|| D::pack((self.f)(end.value(), true)));
        self.at_end = None;
        match self.output.try_end(last) {
            Ok(()) => Progress::ENDED,
            Err(_) => unreachable!("there was room for END"),
        }
    }
}

impl<A: Wire, B: Event, D: Density, F> Tasklet for Stage<A, B, D, F>
where
    F: for<'a> FnMut(Option<A::Ref<'a>>, bool) -> Option<B> + Send,
{
    fn step(&mut self) -> Progress {
        let mut left = self.batch;
        while left > 0 {
            match self.move_batch(left) {
                0 => break,
                moved => left -= moved,
            }
        }
        if left < self.batch {
            return Progress::moved(self.batch - left);
        }
        self.output.sweep();
        self.try_end()
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.output.abandoned_at().map(|number| number.0))
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }
}
