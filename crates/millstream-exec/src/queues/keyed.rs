//! Keys on queues: a thread deals each value to the copy of the body that has its key, and one gathers in the order of
//! the numbers. The copies' stages keep a state for each key.
//!
//! A copy gets the values of its keys only. Each of its stages with a state is sent the key slot of a number on a
//! channel beside the data, before the value is sent. That channel has no bound. A stage takes from it up to each
//! number that it gets, so it usually holds no more than is between the dealer and the stage. It grows with the input
//! where a stage gets no numbers: in a lane of a choice that no value of its copy takes.

use super::control::Desk;
use super::message::{At, Queue};
use super::shape::Queued;
use super::stage::{owning_stage, stage};
use super::wiring::QueuesWiring;
use crossbeam_channel::{Receiver, Sender, unbounded};
use millstream_core::Event;
use millstream_core::keys::Seat;
use millstream_core::pipe::States;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who is told which key a number has: the stages with a state of one copy of a body.
#[derive(Default)]
pub(crate) struct SeatTellers(Mutex<Vec<Sender<(u64, Seat)>>>);

impl SeatTellers {
    fn lock(&self) -> MutexGuard<'_, Vec<Sender<(u64, Seat)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is told from now on.
    pub(crate) fn listen(&self) -> Told {
        let (sender, receiver) = unbounded();
        self.lock().push(sender);
        Told { receiver, next: None }
    }

    fn tell(&self, number: u64, seat: Seat) {
        for stage in self.lock().iter() {
            // A stage that has ended need not know.
            let _ = stage.send((number, seat));
        }
    }
}

/// The seats of a copy's numbers, in order.
pub(crate) struct Told {
    receiver: Receiver<(u64, Seat)>,
    next: Option<(u64, Seat)>,
}

impl Told {
    /// Gives `f` every seat up to a number's, those of numbers that did not come this far among them; and returns the
    /// number's own, if it has one.
    pub(crate) fn upto(&mut self, number: u64, mut f: impl FnMut(Seat)) -> Option<Seat> {
        loop {
            let (at, seat) = match self.next.take() {
                Some(next) => next,
                None => self.receiver.try_recv().ok()?,
            };
            if at > number {
                self.next = Some((at, seat));
                return None;
            }
            f(seat);
            if at == number {
                return Some(seat);
            }
        }
    }
}

/// A state, or one for every key.
pub(crate) enum Kept<S> {
    One(S),
    Keyed(Told, States<S>),
}

impl<S: Clone> Kept<S> {
    pub(crate) fn new(start: S, wiring: &QueuesWiring) -> Self {
        match &wiring.seats {
            None => Kept::One(start),
            Some(tellers) => Kept::Keyed(tellers.listen(), States::new(start)),
        }
    }

    /// The state for a number's value; none for a number without a key.
    pub(crate) fn at(&mut self, at: At) -> Option<&mut S> {
        match self {
            Kept::One(state) => Some(state),
            Kept::Keyed(told, states) => {
                let seat = told.upto(at.number, |seat| {
                    states.of(seat);
                })?;
                Some(states.of(Seat { fresh: false, ..seat }))
            }
        }
    }
}

/// Adds a stage with a state: `f` of the state and every slot, and of END, in order; inside `shard_by`, of the state of the
/// number's key.
pub(crate) fn stateful_stage<A: Queued, S: Clone + Send + 'static, B: Event>(
    input: Queue<A::Owned>,
    wiring: &mut QueuesWiring,
    start: S,
    f: impl for<'a> Fn(&mut S, Option<A::Ref<'a>>, At) -> Option<B> + Send + 'static,
) -> Queue<B> {
    let mut kept = Kept::new(start, wiring);
    stage::<A, B>(input, wiring, move |value, at| f(kept.at(at)?, value, at))
}

/// As [`stateful_stage`], of a function that gets the value itself.
pub(crate) fn owning_stateful_stage<T: Event, S: Clone + Send + 'static, U: Event>(
    input: Queue<T>,
    wiring: &mut QueuesWiring,
    start: S,
    f: impl Fn(&mut S, Option<T>, At) -> Option<U> + Send + 'static,
) -> Queue<U> {
    let mut kept = Kept::new(start, wiring);
    owning_stage(input, wiring, move |value, at| f(kept.at(at)?, value, at))
}

/// The copies of a body.
pub(crate) struct Hands<T> {
    /// For each the queue that it reads, and who of it is told of seats.
    pub(crate) hands: Vec<(Queue<T>, Arc<SeatTellers>)>,
    /// Which of them has each number's value.
    pub(crate) lanes: Queue<u16>,
}

/// Adds a thread that gives each value to the copy of its key, and END to all. `seat` says of every number which that is.
pub(crate) fn dealt<A: Queued>(
    input: Queue<A::Owned>,
    k: usize,
    wiring: &mut QueuesWiring,
    mut seat: impl for<'a> FnMut(At, Option<A::Ref<'a>>) -> Option<Seat> + Send + 'static,
) -> Hands<A::Owned> {
    let (outlets, queues): (Vec<_>, Vec<_>) = (0..k).map(|_| wiring.queue::<A::Owned>()).unzip();
    let tellers: Vec<Arc<SeatTellers>> = (0..k).map(|_| Arc::default()).collect();
    let (note, lanes) = wiring.queue();
    let told = tellers.clone();
    wiring.stage(input, move |input, desk| {
        while let Some(message) = input.take(desk) {
            let at = message.at();
            let value = message.into_value();
            let seat = seat(at, value.as_ref().map(A::lend));
            let lane = seat.map(|seat| seat.lane);
            if let Some(seat) = seat {
                told[usize::from(seat.lane)].tell(at.number, seat);
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
    Hands { hands: queues.into_iter().zip(tellers).collect(), lanes }
}

/// Adds a thread that takes what the copies give in the order of the numbers.
pub(crate) fn gathered<T: Event>(mut copies: Vec<Queue<T>>, lanes: Queue<u16>, wiring: &mut QueuesWiring) -> Queue<T> {
    let (outlet, output) = wiring.queue();
    wiring.helper("gatherer", lanes, move |lanes: &mut Queue<u16>, desk: &Desk| {
        while let Some(message) = lanes.take(desk) {
            let at = message.at();
            let lane = message.into_value().map(usize::from);
            let mut value = None;
            for (hand, copy) in copies.iter_mut().enumerate().filter(|(hand, _)| at.end || lane == Some(*hand)) {
                let Some(message) = copy.take(desk) else { return };
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
