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

/// Who is told which key a number has: the stages with a state of one copy of a body.
#[derive(Default)]
pub(crate) struct KeySlotSenders(Mutex<Vec<Sender<(u64, KeySlot)>>>);

impl KeySlotSenders {
    fn lock(&self) -> MutexGuard<'_, Vec<Sender<(u64, KeySlot)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is told from now on.
    pub(crate) fn listen(&self) -> KeySlotReceiver {
        let (sender, receiver) = unbounded();
        self.lock().push(sender);
        KeySlotReceiver { receiver, next: None }
    }

    fn tell(&self, number: u64, key_slot: KeySlot) {
        for stage in self.lock().iter() {
            // A stage that has ended need not know.
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
    /// Gives `f` every key slot up to a number's, those of numbers that did not come this far among them; and returns the
    /// number's own, if it has one.
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

/// A state, or one for every key.
pub(crate) enum Kept<S> {
    One(S),
    Keyed(KeySlotReceiver, States<S>),
}

impl<S: Clone> Kept<S> {
    pub(crate) fn new(start: S, wiring: &QueuesWiring) -> Self {
        match &wiring.key_slots {
            None => Kept::One(start),
            Some(tellers) => Kept::Keyed(tellers.listen(), States::new(start)),
        }
    }

    /// The state for a number's value; none for a number without a key.
    pub(crate) fn at(&mut self, at: At) -> Option<&mut S> {
        match self {
            Kept::One(state) => Some(state),
            Kept::Keyed(told, states) => {
                let key_slot = told.upto(at.number, |key_slot| {
                    states.of(key_slot);
                })?;
                Some(states.of(KeySlot { fresh: false, ..key_slot }))
            }
        }
    }
}

/// Adds a stage with a state: `f` of the state and every slot, and of END, in order; inside `shard_by`, of the state of the
/// number's key.
pub(crate) fn stateful_stage<A: QueueShape, S: Clone + Send + 'static, B: Item>(
    input: Queue<A::Owned>,
    wiring: &mut QueuesWiring,
    start: S,
    f: impl for<'a> Fn(&mut S, Option<A::Ref<'a>>, At) -> Option<B> + Send + 'static,
) -> Queue<B> {
    let mut kept = Kept::new(start, wiring);
    stage::<A, B>(input, wiring, move |value, at| f(kept.at(at)?, value, at))
}

/// As [`stateful_stage`], of a function that gets the value itself.
pub(crate) fn owning_stateful_stage<T: Item, S: Clone + Send + 'static, U: Item>(
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
    /// For each the queue that it reads, and who of it is told of key slots.
    pub(crate) hands: Vec<(Queue<T>, Arc<KeySlotSenders>)>,
    /// Which of them has each number's value.
    pub(crate) lanes: Queue<u16>,
}

/// Adds a thread that gives each value to the copy of its key, and END to all. `key_slot` says of every number which that is.
pub(crate) fn dealt<A: QueueShape>(
    input: Queue<A::Owned>,
    k: usize,
    wiring: &mut QueuesWiring,
    mut key_slot: impl for<'a> FnMut(At, Option<A::Ref<'a>>) -> Option<KeySlot> + Send + 'static,
) -> BodyCopies<A::Owned> {
    let (outlets, queues): (Vec<_>, Vec<_>) = (0..k).map(|_| wiring.queue::<A::Owned>()).unzip();
    let tellers: Vec<Arc<KeySlotSenders>> = (0..k).map(|_| Arc::default()).collect();
    let (note, lanes) = wiring.queue();
    let told = tellers.clone();
    wiring.stage(input, move |input, activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            let value = message.into_value();
            let key_slot = key_slot(at, value.as_ref().map(A::lend));
            let lane = key_slot.map(|key_slot| key_slot.lane);
            if let Some(key_slot) = key_slot {
                told[usize::from(key_slot.lane)].tell(at.number, key_slot);
            }
            let mut value = value;
            for (hand, outlet) in outlets.iter().enumerate() {
                let is_its = lane.is_some_and(|lane| usize::from(lane) == hand);
                if (is_its || at.end) && !outlet.put(at, if is_its { value.take() } else { None }) {
                    return;
                }
            }
            if !note.put(at, lane) {
                return;
            }
        }
    });
    BodyCopies { hands: queues.into_iter().zip(tellers).collect(), lanes }
}

/// Adds a thread that takes what the copies give in the order of the numbers.
pub(crate) fn gathered<T: Item>(mut copies: Vec<Queue<T>>, lanes: Queue<u16>, wiring: &mut QueuesWiring) -> Queue<T> {
    let (outlet, output) = wiring.queue();
    wiring.helper("gatherer", lanes, move |lanes: &mut Queue<u16>, activity: &Activity| {
        while let Some(message) = lanes.take(activity) {
            let at = message.at();
            let lane = message.into_value().map(usize::from);
            let mut value = None;
            for (hand, copy) in copies.iter_mut().enumerate().filter(|(hand, _)| at.end || lane == Some(*hand)) {
                let Some(message) = copy.take(activity) else { return };
                let given = message.into_value();
                if lane == Some(hand) {
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
