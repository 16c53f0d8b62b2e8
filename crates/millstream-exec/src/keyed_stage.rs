//! Stages with a state: one tasklet and one state; inside `shard_by` one tasklet a lane, and a state for every key.

use crate::stage::{EndSlot, moved, stage};
use crate::task_probe::TaskProbe;
use crate::tasklet::{Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::keys::KeySlot;
use millstream_core::pipe::States;
use millstream_core::{Density, Item, SequenceNumber, Sparse, Val};
use millstream_ring::{KeyedWriter, Last, Reader, RingLayout, keyed_writers};
use std::marker::PhantomData;

/// The context in which the body of a `shard_by` is deployed.
pub(crate) struct Keyed {
    /// The key slot of every number's key. Stages fork it.
    pub(crate) key_slots: Reader<Val<KeySlot, Sparse>>,
    /// The number of lanes.
    pub(crate) lanes: usize,
}

/// Adds a stage to the wiring. `f` is called with the state and every slot with its number, and for END with `true`, in
/// order. Inside a `shard_by` it is called with the state of the number's key, and for values only.
pub(crate) fn stateful_stage<A: RingLayout, S: Clone + Send + 'static, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    start: S,
    f: impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static,
) -> Reader<Val<B, D>> {
    stateful_stage_or::<A, S, B, D>(input, wiring, end, start, f, || None)
}

/// As [`stateful_stage`], for a stage that writes `blank` where there is no value.
pub(crate) fn stateful_stage_or<A: RingLayout, S: Clone + Send + 'static, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    start: S,
    f: impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static,
    blank: fn() -> Option<B>,
) -> Reader<Val<B, D>> {
    let Some(Keyed { key_slots, lanes }) = wiring.scope.keyed.as_deref() else {
        let (mut state, mut next) = (start, input.position().0);
        return stage::<A, B, D>(input, wiring, end, Home::Workers, move |value, end| {
            let number = SequenceNumber(next);
            next += 1;
            f(&mut state, number, value, end)
        });
    };
    let (key_slots, lanes) = (key_slots.fork(), *lanes);
    let states = States::new(start);
    keyed_stage::<A, B, D, _>(input, key_slots, lanes, wiring, end, || {
        let (f, mut states) = (f.clone(), states.clone());
        move |number, value: Option<A::Ref<'_>>, key_slot, end| {
            // A key can begin at a number at which this stage has no value.
            match (key_slot.map(|key_slot| states.of(key_slot)), value) {
                (Some(state), Some(value)) => f(state, number, Some(value), end),
                _ => blank(),
            }
        }
    })
}

/// Adds a stage that receives every number's key slot: a tasklet for each lane, whose function `work` returns.
pub(crate) fn keyed_stage<A: RingLayout, B: Item, D: Density, F>(
    input: Reader<A>,
    key_slots: Reader<Val<KeySlot, Sparse>>,
    lanes: usize,
    wiring: &mut Wiring,
    end: EndSlot,
    mut work: impl FnMut() -> F,
) -> Reader<Val<B, D>>
where
    F: for<'a> FnMut(SequenceNumber, Option<A::Ref<'a>>, Option<KeySlot>, bool) -> Option<B> + Send + 'static,
{
    let (writers, reader) =
        keyed_writers::<A, B, D>(input, key_slots, lanes, wiring.slots).expect("the options were checked");
    let (batch, density) = (wiring.batch, PhantomData::<fn() -> (B, D)>);
    let tasklet = |writer| Box::new(KeyedStage { writer, f: work(), batch, end, density }) as Box<dyn Tasklet>;
    let tasklets: Vec<_> = writers.into_iter().map(tasklet).collect();
    wiring.stage(Home::Workers, tasklets);
    reader
}

struct KeyedStage<A: RingLayout, B: Item, D: Density, F> {
    writer: KeyedWriter<A, D::Slot<B>>,
    f: F,
    batch: usize,
    end: EndSlot,
    density: PhantomData<fn() -> (B, D)>,
}

impl<A: RingLayout, B: Item, D: Density, F> Tasklet for KeyedStage<A, B, D, F>
where
    F: for<'a> FnMut(SequenceNumber, Option<A::Ref<'a>>, Option<KeySlot>, bool) -> Option<B> + Send,
{
    fn step(&mut self) -> Progress {
        let f = &mut self.f;
        let moved = moved(self.batch, |max| {
            self.writer.fill(max, |n, value, key_slot| D::pack(f(SequenceNumber(n), value, key_slot, false)))
        });
        if moved > 0 {
            return Progress::moved(moved);
        }
        self.writer.sweep();
        let end = self.end;
        let ended = self
            .writer
            .end_with(|n, value, key_slot| end.then(|| Last::of::<B, D>(f(SequenceNumber(n), value, key_slot, true))));
        if ended { Progress::ENDED } else { Progress::NONE }
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
