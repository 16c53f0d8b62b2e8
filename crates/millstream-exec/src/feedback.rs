//! Loops are serial: one number is in a loop at a time, however many workers there are.
//!
//! `feedback` deploys its body after a pair of its input and a ring of states. One more tasklet, after the body, closes
//! the loop: it writes the state of number n + 1 when the body has published number n. Only the input knows whether n
//! is END, so this tasklet reads the input too; in a `shard_by` it reads the key slots instead. The ring of states has
//! at least two slots, since the next state is written while the one before is still held.
//!
//! The tasklets of a loop are never divided between workers. One worker steps them round and round in its turn
//! (`Pool::turns`), and the plan says `serial`.

use crate::RingShape;
use crate::in_place::InPlace;
use crate::keeper::{Keeper, StateBytes};
use crate::keeps::{Keeps, RingBackend, RingRunner};
use crate::kept::Kept;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::keys::KeySlot;
use millstream_core::pipe::{Fed, Feedback, Looped, States};
use millstream_core::plan::Branch;
use millstream_core::{Arrow, Density, Deploy, Item, Lens, On, Projected, Sparse, Val, lens};
use millstream_ring::{Last, Mark, Producer, Reader, RingLayout, ring_from};

impl<R: Keeps<S>, A: RingShape<R>, S: Item + Clone, P> Deploy<RingBackend<R>> for Feedback<A, S, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Looped<A, S>, Out: RingShape<R> + Fed<S>>,
    lens::First: Lens<P::Out>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Projected<P::Out, lens::First>> {
        // The state for a number is written while the one before it is still being read.
        let (states, reader) =
            ring_from::<S, A::Density>(input.position(), wiring.slots.max(2)).expect("the options were checked");
        let (numbers, lanes) = match wiring.scope.keyed.as_deref() {
            None => (Numbers::Input(input.fork().stops_at_marks()), 1),
            Some(keyed) => (Numbers::Keyed(keyed.key_slots.fork().stops_at_marks()), keyed.lanes),
        };
        let kept = vec![States::new(self.state.clone()); lanes];
        let mut inside = wiring.in_loop();
        let output = self.body.deploy_body(looped::<R, A, S>(input, reader), &mut inside.body(Branch::Only));
        let back = output.fork();
        let keeper = inside.keeper(R::states_in_a_loop());
        let kept = inside.state_or(kept, keeper);
        let closing = Closing {
            clock: Clock::new(numbers),
            back,
            states,
            kept,
            keeper,
            bytes: keeper.counter(),
            key_slot: None,
            known: true,
            done: false,
        };
        inside.stage(Home::Workers, [Box::new(closing) as Box<dyn Tasklet>]);
        output.seen::<lens::First>()
    }
}

fn looped<R: RingRunner, A: RingShape<R>, S: Item>(
    input: Reader<A>,
    states: Reader<Val<S, A::Density>>,
) -> <Looped<A, S> as On<RingBackend<R>>>::Edge {
    input.zip(states)
}

/// The numbers that wait for their state.
enum Numbers<A: RingLayout> {
    Input(Reader<A>),
    /// Inside `shard_by` the key slots, which select the state of the number's key.
    Keyed(Reader<Val<KeySlot, Sparse>>),
}

/// Those numbers, of which some are read ahead: a key slot is plain data, and to read one number costs as much as to
/// read many.
struct Clock<A: RingLayout> {
    numbers: Numbers<A>,
    /// The key slots of the next numbers, the last one first. No mark is among them: the reader stops there.
    ahead: Vec<Option<KeySlot>>,
}

/// How many numbers are read ahead.
const AHEAD: usize = 64;

/// The key slot of the only state, if there are no keys.
const ALONE: KeySlot = KeySlot { place: 0, lane: 0, fresh: false };

impl<A: RingLayout> Clock<A> {
    fn new(numbers: Numbers<A>) -> Self {
        Clock { numbers, ahead: Vec::with_capacity(AHEAD) }
    }

    /// The next number's key slot, if it is there, and whether the number is END. The key slot is none for a number
    /// without a key.
    #[inline]
    fn next(&mut self) -> Option<(Option<KeySlot>, bool)> {
        if let Some(key_slot) = self.ahead.pop() {
            return Some((key_slot, false));
        }
        self.read_ahead();
        match self.ahead.pop() {
            Some(key_slot) => Some((key_slot, false)),
            None => self.end().map(|key_slot| (key_slot, true)),
        }
    }

    fn read_ahead(&mut self) {
        match &mut self.numbers {
            Numbers::Input(input) => {
                let read = input.batch(AHEAD).map_or(0, |batch| batch.len());
                self.ahead.resize(read, Some(ALONE));
            }
            Numbers::Keyed(key_slots) => {
                if let Some(batch) = key_slots.batch(AHEAD) {
                    self.ahead.extend(batch.iter().map(Option::<&KeySlot>::copied));
                    self.ahead.reverse();
                }
            }
        }
    }

    fn end(&mut self) -> Option<Option<KeySlot>> {
        match &mut self.numbers {
            Numbers::Input(input) => input.end().map(|_| Some(ALONE)),
            Numbers::Keyed(key_slots) => key_slots.end().map(|end| end.value().copied()),
        }
    }

    /// Passes the mark at the next number.
    fn pass_mark_to<S: Item>(&mut self, states: &mut Producer<S>) -> Option<Mark> {
        if !self.ahead.is_empty() {
            return None;
        }
        match &mut self.numbers {
            Numbers::Input(input) => input.pass_mark_to(states),
            Numbers::Keyed(key_slots) => key_slots.pass_mark_to(states),
        }
    }

    /// How many numbers wait.
    fn backlog(&self) -> u64 {
        let unread = match &self.numbers {
            Numbers::Input(input) => input.backlog(),
            Numbers::Keyed(key_slots) => key_slots.backlog(),
        };
        unread + self.ahead.len() as u64
    }
}

/// The state for number n is known once the body has processed number n - 1. Only the input knows whether n is END.
struct Closing<A: RingLayout, B: RingLayout, S: Item> {
    clock: Clock<A>,
    back: Reader<B>,
    states: Producer<<A::Density as Density>::Slot<S>>,
    /// The latest known state of each key, by lane.
    kept: Vec<States<S>>,
    keeper: Keeper<Vec<States<S>>>,
    bytes: StateBytes<Vec<States<S>>>,
    /// The key slot of the last state sent to the body.
    key_slot: Option<KeySlot>,
    /// Whether the state for the next number is known.
    known: bool,
    /// Whether the state for END is published.
    done: bool,
}

impl<A: RingLayout, B: RingLayout + Fed<S>, S: Item + Clone> Closing<A, B, S> {
    /// Takes the next state from the body's output, if it is there.
    fn learn(&mut self) -> bool {
        let Some(batch) = self.back.batch(1) else { return false };
        if let (Some(next), Some(key_slot)) = (batch.get(0).and_then(B::state), self.key_slot) {
            *self.kept[usize::from(key_slot.lane)].of(KeySlot { fresh: false, ..key_slot }) = next;
        }
        self.known = true;
        true
    }

    /// Publishes the state for the next number, or for END, once the input has reached it.
    fn publish_state(&mut self) -> bool {
        if !self.states.has_room() {
            return false;
        }
        let Some((key_slot, end)) = self.clock.next() else { return false };
        self.key_slot = key_slot;
        // A number without a key has no value; any state will do.
        let key_slot = key_slot.unwrap_or(ALONE);
        let state = self.kept[usize::from(key_slot.lane)].of(key_slot).clone();
        if end {
            let last = if A::Density::DENSE { None } else { Some(Last::of::<S, A::Density>(Some(state))) };
            let Ok(()) = self.states.try_end_with(last) else { unreachable!("there was room") };
            self.done = true;
            return true;
        }
        let Ok(Some(mut claim)) = self.states.try_claim(1) else { unreachable!("there was room") };
        // If the input has a value only at END, the states of other numbers are not read.
        claim.write(A::Density::pack((!A::Density::AT_END).then_some(state)));
        claim.publish();
        self.known = false;
        true
    }
}

/// When the state for the mark's number is known.
impl<A: RingLayout, B: RingLayout + Fed<S>, S: Item + Clone> AtMarks for Closing<A, B, S> {
    fn state(&mut self) -> Option<Kept> {
        self.keeper.keep(&mut self.kept)
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.keeper.in_place(&mut self.kept)
    }

    fn pass(&mut self) -> Option<Mark> {
        if self.known && !self.done { self.clock.pass_mark_to(&mut self.states) } else { None }
    }
}

impl<A: RingLayout, B: RingLayout + Fed<S>, S: Item + Clone> Tasklet for Closing<A, B, S> {
    fn step(&mut self, _: usize) -> Progress {
        if self.done {
            self.states.sweep();
            return if self.back.end().is_some() { Progress::DONE } else { Progress::NONE };
        }
        if self.clock.ahead.is_empty() {
            self.bytes.say(&self.kept);
        }
        let learned = !self.known && self.learn();
        let published = self.known && self.publish_state();
        if learned || published { Progress::moved(1) } else { Progress::NONE }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        Some(self.back.position().0)
    }

    fn backlog(&self) -> u64 {
        self.clock.backlog() + self.back.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.back, &self.states).with_state(self.bytes.bytes())
    }
}
