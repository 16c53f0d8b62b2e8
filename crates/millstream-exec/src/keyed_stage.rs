//! Stages with a state: one tasklet and one state; inside `shard_by` one tasklet a lane, and a state for every key.

use crate::in_place::InPlace;
use crate::keeper::{Keeper, StateBytes, StateKeepers};
use crate::kept::Kept;
use crate::stage::{EndSlot, moved, stage};
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::keys::KeySlot;
use millstream_core::pipe::States;
use millstream_core::{Density, Item, SequenceNumber, Sparse, Val};
use millstream_ring::{KeyedWriter, Last, Mark, Reader, RingLayout, keyed_writers};
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
pub(crate) fn stateful_stage<A: RingLayout, S: Item + Clone, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    (start, keepers): (S, StateKeepers<S>),
    f: impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static,
) -> Reader<Val<B, D>> {
    stateful_stage_or::<A, S, B, D>(input, wiring, end, Home::Workers, (start, keepers), f, || None)
}

/// As [`stateful_stage`], for a stage that may wait.
pub(crate) fn waiting_stage<A: RingLayout, S: Item + Clone, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    (start, keepers): (S, StateKeepers<S>),
    f: impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static,
) -> Reader<Val<B, D>> {
    stateful_stage_or::<A, S, B, D>(input, wiring, EndSlot::of::<D>(), Home::Thread, (start, keepers), f, || None)
}

/// As [`stateful_stage`], for a stage that writes `blank` where there is no value, and has its tasklets at `home`.
pub(crate) fn stateful_stage_or<A: RingLayout, S: Item + Clone, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    home: Home,
    (start, keepers): (S, StateKeepers<S>),
    f: impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static,
    blank: fn() -> Option<B>,
) -> Reader<Val<B, D>> {
    let Some(Keyed { key_slots, lanes }) = wiring.scope.keyed.as_deref() else {
        let start = (start, keepers.alone);
        return stage::<A, S, B, D>(input, wiring, end, home, start, f);
    };
    let (key_slots, lanes) = (key_slots.fork(), *lanes);
    let states = (vec![States::new(start); lanes], keepers.by_key);
    let f = move |states: &mut States<S>, number, value: Option<A::Ref<'_>>, key_slot: Option<KeySlot>, end| {
        // A key can begin at a number at which this stage has no value.
        match (key_slot.map(|key_slot| states.of(key_slot)), value) {
            (Some(state), Some(value)) => f(state, number, Some(value), end),
            _ => blank(),
        }
    };
    keyed_stage::<A, States<S>, B, D>(input, key_slots, wiring, (end, home), states, f)
}

/// Adds a stage that receives every number's key slot: a tasklet for each lane, with a state of its own.
pub(crate) fn keyed_stage<A: RingLayout, S: Item + Clone, B: Item, D: Density>(
    input: Reader<A>,
    key_slots: Reader<Val<KeySlot, Sparse>>,
    wiring: &mut Wiring,
    (end, home): (EndSlot, Home),
    (states, keeper): (Vec<S>, Keeper<S>),
    f: impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, Option<KeySlot>, bool) -> Option<B>
    + Clone
    + Send
    + 'static,
) -> Reader<Val<B, D>> {
    let keeper = wiring.keeper(keeper);
    let states = wiring.states_or(states, keeper);
    let (writers, reader) =
        keyed_writers::<A, B, D>(input.stops_at_marks(), key_slots.stops_at_marks(), states.len(), wiring.slots)
            .expect("the options were checked");
    let (batch, density) = (wiring.batch_of::<B>(home), PhantomData::<fn() -> (B, D)>);
    let mut tasklets: Vec<Box<dyn Tasklet>> = Vec::with_capacity(writers.len());
    let mut states = states.into_iter();
    for writer in writers {
        let (bytes, f) = (keeper.counter(), f.clone());
        let state = states.next().expect("there is a state for every writer");
        tasklets.push(Box::new(KeyedStage { writer, state, keeper, bytes, f, batch, end, density }));
    }
    wiring.stage(home, tasklets);
    reader
}

struct KeyedStage<A: RingLayout, S, B: Item, D: Density, F> {
    writer: KeyedWriter<A, D::Slot<B>>,
    state: S,
    keeper: Keeper<S>,
    bytes: StateBytes<S>,
    f: F,
    batch: usize,
    end: EndSlot,
    density: PhantomData<fn() -> (B, D)>,
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F: Send> AtMarks for KeyedStage<A, S, B, D, F> {
    fn state(&mut self) -> Option<Kept> {
        self.keeper.keep(&mut self.state)
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.keeper.in_place(&mut self.state)
    }

    fn pass(&mut self) -> Option<Mark> {
        self.writer.pass_mark()
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F> Tasklet for KeyedStage<A, S, B, D, F>
where
    F: for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, Option<KeySlot>, bool) -> Option<B> + Send,
{
    fn step(&mut self, most: usize) -> Progress {
        let (f, state) = (&self.f, &mut self.state);
        let moved = moved(self.batch.min(most), |max| {
            self.writer.fill(max, |n, value, key_slot| D::pack(f(state, SequenceNumber(n), value, key_slot, false)))
        });
        if moved > 0 {
            self.bytes.say(&self.state);
            return Progress::moved(moved);
        }
        self.writer.sweep();
        let end = self.end;
        let ended = self.writer.end_with(|n, value, key_slot| {
            end.then(|| Last::of::<B, D>(f(state, SequenceNumber(n), value, key_slot, true)))
        });
        if ended { Progress::ENDED } else { Progress::NONE }
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
        TaskProbe::of_both(self.writer.probes()).with_state(self.bytes.bytes())
    }
}
