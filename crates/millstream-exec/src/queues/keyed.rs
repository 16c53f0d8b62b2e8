//! Keys on queues: a thread deals each value to the copy of the body that has its key, and one gathers in the order of
//! the numbers. The copies' stages keep a state for each key.
//!
//! A copy gets the values of its keys only. Each of its stages with a state is sent the key slot of a number on a
//! channel beside the data, before the value is sent. That channel has no bound. A stage takes from it up to each
//! number that it gets, so it usually holds no more than is between the dealer and the stage. It grows with the input
//! where a stage gets no numbers: in a lane of a choice that no value of its copy takes.

use super::control::Activity;
use super::message::{At, Queue};
use super::queue_shape::QueueShape;
use super::stage::{owning_stage, stage};
use super::wiring::QueuesWiring;
use crossbeam_channel::{Receiver, Sender, unbounded};
use millstream_core::Item;
use millstream_core::keys::KeySlot;
use millstream_core::pipe::States;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sends the key slots of its values to one copy of a body: to each of the copy's stages with a state.
#[derive(Default)]
pub(crate) struct KeySlotSenders(Mutex<Vec<Sender<(u64, KeySlot)>>>);

impl KeySlotSenders {
    fn lock(&self) -> MutexGuard<'_, Vec<Sender<(u64, KeySlot)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives the key slots sent from now on.
    pub(crate) fn subscribe(&self) -> KeySlotReceiver {
        let (sender, receiver) = unbounded();
        self.lock().push(sender);
        KeySlotReceiver { receiver, next: None }
    }

    fn send(&self, number: u64, key_slot: KeySlot) {
        for stage in self.lock().iter() {
            // A stage that has ended needs no key slots.
            let _ = stage.send((number, key_slot));
        }
    }
}

/// The key slots of a copy's numbers, in order.
pub(crate) struct KeySlotReceiver {
    receiver: Receiver<(u64, KeySlot)>,
    next: Option<(u64, KeySlot)>,
}

impl KeySlotReceiver {
    /// Calls `f` with every key slot up to this number's, including those of numbers that did not reach this stage.
    /// Returns the number's own, if it has one.
    pub(crate) fn upto(&mut self, number: u64, mut f: impl FnMut(KeySlot)) -> Option<KeySlot> {
        loop {
            let (at, key_slot) = match self.next.take() {
                Some(next) => next,
                None => self.receiver.try_recv().ok()?,
            };
            if at > number {
                self.next = Some((at, key_slot));
                return None;
            }
            f(key_slot);
            if at == number {
                return Some(key_slot);
            }
        }
    }
}

/// One state, or one for every key.
pub(crate) enum Kept<S> {
    One(S),
    Keyed(KeySlotReceiver, States<S>),
}

impl<S: Clone> Kept<S> {
    pub(crate) fn new(start: S, wiring: &QueuesWiring) -> Self {
        match &wiring.scope.key_slots {
            None => Kept::One(start),
            Some(senders) => Kept::Keyed(senders.subscribe(), States::new(start)),
        }
    }

    /// The state for a number's value; none for a number without a key.
    pub(crate) fn at(&mut self, at: At) -> Option<&mut S> {
        match self {
            Kept::One(state) => Some(state),
            Kept::Keyed(receiver, states) => {
                let key_slot = receiver.upto(at.number, |key_slot| {
                    states.of(key_slot);
                })?;
                Some(states.of(KeySlot { fresh: false, ..key_slot }))
            }
        }
    }
}

/// Adds a stage with a state. `f` is called with the state and every slot, END included, in order; inside `shard_by`,
/// with the state of the number's key.
pub(crate) fn stateful_stage<A: QueueShape, S: Clone + Item, B: Item>(
    input: Queue<A::Owned>,
    wiring: &mut QueuesWiring,
    start: S,
    f: impl for<'a> Fn(&mut S, Option<A::Ref<'a>>, At) -> Option<B> + Send + 'static,
) -> Queue<B> {
    let mut kept = Kept::new(start, wiring);
    stage::<A, B>(input, wiring, move |value, at| f(kept.at(at)?, value, at))
}

/// As [`stateful_stage`], for a function that takes the value itself.
pub(crate) fn owning_stateful_stage<T: Item, S: Clone + Item, U: Item>(
    input: Queue<T>,
    wiring: &mut QueuesWiring,
    start: S,
    f: impl Fn(&mut S, Option<T>, At) -> Option<U> + Send + 'static,
) -> Queue<U> {
    let mut kept = Kept::new(start, wiring);
    owning_stage(input, wiring, move |value, at| f(kept.at(at)?, value, at))
}

/// The copies of a body.
pub(crate) struct BodyCopies<T> {
    /// For each copy its input queue, and the senders of its key slots.
    pub(crate) inputs: Vec<(Queue<T>, Arc<KeySlotSenders>)>,
    /// The copy that has each number's value.
    pub(crate) lanes: Queue<u16>,
}

/// Adds a thread that sends each value to the copy of its key, and END to all copies. `key_slot` returns every number's
/// key slot.
pub(crate) fn dealt<A: QueueShape>(
    input: Queue<A::Owned>,
    k: usize,
    wiring: &mut QueuesWiring,
    mut key_slot: impl for<'a> FnMut(At, Option<A::Ref<'a>>) -> Option<KeySlot> + Send + 'static,
) -> BodyCopies<A::Owned> {
    let (outlets, queues): (Vec<_>, Vec<_>) = (0..k).map(|_| wiring.queue::<A::Owned>()).unzip();
    let senders: Vec<Arc<KeySlotSenders>> = (0..k).map(|_| Arc::default()).collect();
    let (lane_outlet, lanes) = wiring.queue();
    let by_lane = senders.clone();
    wiring.stage(input, move |input, activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            let value = message.into_value();
            let key_slot = key_slot(at, value.as_ref().map(A::lend));
            let lane = key_slot.map(|key_slot| key_slot.lane);
            if let Some(key_slot) = key_slot {
                by_lane[usize::from(key_slot.lane)].send(at.number, key_slot);
            }
            let mut value = value;
            for (copy, outlet) in outlets.iter().enumerate() {
                let is_its = lane.is_some_and(|lane| usize::from(lane) == copy);
                if (is_its || at.end) && !outlet.put(at, if is_its { value.take() } else { None }) {
                    return;
                }
            }
            if !lane_outlet.put(at, lane) {
                return;
            }
        }
    });
    BodyCopies { inputs: queues.into_iter().zip(senders).collect(), lanes }
}

/// Adds a thread that merges the copies' outputs in the order of the numbers.
pub(crate) fn gathered<T: Item>(mut copies: Vec<Queue<T>>, lanes: Queue<u16>, wiring: &mut QueuesWiring) -> Queue<T> {
    let (outlet, output) = wiring.queue();
    wiring.helper("gatherer", lanes, move |lanes: &mut Queue<u16>, activity: &Activity| {
        while let Some(message) = lanes.take(activity) {
            let at = message.at();
            let lane = message.into_value().map(usize::from);
            let mut value = None;
            for (index, copy) in copies.iter_mut().enumerate().filter(|(index, _)| at.end || lane == Some(*index)) {
                let Some(message) = copy.take(activity) else { return };
                let given = message.into_value();
                if lane == Some(index) {
                    value = given;
                }
            }
            if !outlet.put(at, value) {
                return;
            }
        }
    });
    output
}
