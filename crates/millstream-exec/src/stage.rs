//! The stage loop: one virtual call per batch, and inside it a loop that the compiler can vectorise.
//!
//! A step borrows a batch of the input, claims as many slots of the output, and maps the one into the other. The loop
//! is compiled twice, once for any machine and once for AVX2 (`ring/vectorised.rs`). What the function changes is
//! passed as an argument of its own, so the compiler knows that no slot is part of it.

use crate::in_place::InPlace;
use crate::keeper::{Keeper, StateBytes};
use crate::kept::Kept;
use crate::onlooker::Failing;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Parts, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::{Density, Item, SequenceNumber, Val};
use millstream_ring::{Batch, Claim, End, Last, Mark, Producer, Reader, RingLayout, ring_from};
use std::marker::PhantomData;

/// Adds a stage to the wiring. `f` is called with the state, once for every slot and its number, and for END with
/// `true`, in order.
/// `end` says whether END has a slot; except for a filter's mask, that follows from the density of the output.
pub(crate) fn stage<A: RingLayout, S: Item + Clone, B: Item, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    home: Home,
    (start, keeper): (S, Keeper<S>),
    f: impl for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
) -> Reader<Val<B, D>> {
    let (output, reader) = ring_from::<B, D>(input.position(), wiring.slots).expect("the options were checked");
    let (batch, density) = (wiring.batch_of::<B>(home), PhantomData::<fn() -> (B, D)>);
    let keeper = wiring.keeper(keeper);
    let (input, work) = (input.stops_at_marks(), Work { state: wiring.state_or(start, keeper), f });
    let failing = wiring.onlookers(&TaskProbe::between(&input, &output));
    let bytes = keeper.counter();
    let stage = Stage { input, output, work, keeper, bytes, batch, end, busy: false, at_end: None, failing, density };
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
        if D::DENSE { EndSlot::Absent } else { EndSlot::Written }
    }

    pub(crate) fn then<S>(self, slot: impl FnOnce() -> S) -> Option<S> {
        (self == EndSlot::Written).then(slot)
    }
}

/// The slots available on both sides, at most `max`. None if either side has none.
#[inline(always)]
pub(crate) fn claimed<'s, A: RingLayout, S: Item>(
    input: &'s mut Reader<A>,
    output: &'s mut Producer<S>,
    max: usize,
) -> Option<(Batch<'s, A>, Claim<'s, S>)> {
    let mut batch = input.batch(max)?;
    let Ok(Some(claim)) = output.try_claim(batch.len()) else {
        batch.truncate(0);
        return None;
    };
    batch.truncate(claim.len());
    Some((batch, claim))
}

/// Moves at most `max` numbers, batch by batch, until a batch moves none. Returns how many moved.
#[inline(always)]
pub(crate) fn moved(max: usize, mut move_batch: impl FnMut(usize) -> usize) -> usize {
    let mut left = max;
    while left > 0 {
        match move_batch(left) {
            0 => break,
            moved => left -= moved,
        }
    }
    max - left
}

/// Publishes END once the input's END is there and the output has room for the slot it may hold. `slot` maps the value
/// of the input's END to the output's. While it runs, `at_end` is END's number.
pub(crate) fn take_end<A: RingLayout, S: Item>(
    input: &mut Reader<A>,
    output: &mut Producer<S>,
    at_end: &mut Option<u64>,
    end_slot: EndSlot,
    slot: impl FnOnce(SequenceNumber, Option<A::Ref<'_>>) -> Last<S>,
) -> Progress {
    let Some(end) = end_if_room(input, output, end_slot) else { return Progress::NONE };
    *at_end = Some(end.number().0);
    let last = end_slot.then(|| slot(end.number(), end.value()));
    *at_end = None;
    publish_end(output, last)
}

/// The user's code runs only once at END: room is checked before it is called.
fn end_if_room<'r, A: RingLayout, S: Item>(
    input: &'r mut Reader<A>,
    output: &mut Producer<S>,
    end_slot: EndSlot,
) -> Option<End<'r, A>> {
    if end_slot == EndSlot::Written && output.free() == 0 {
        return None;
    }
    input.end()
}

fn publish_end<S: Item>(output: &mut Producer<S>, last: Option<Last<S>>) -> Progress {
    match output.try_end_with(last) {
        Ok(()) => Progress::ENDED,
        Err(_) => unreachable!("there was room for END"),
    }
}

/// A claim that publishes its written part, also if user code panics: values before a failure come out.
pub(crate) struct Shows<'p, S: Item>(Option<Claim<'p, S>>);

impl<'p, S: Item> Shows<'p, S> {
    pub(crate) fn new(claim: Claim<'p, S>) -> Self {
        Shows(Some(claim))
    }

    #[inline(always)]
    pub(crate) fn claim(&mut self) -> &mut Claim<'p, S> {
        self.0.as_mut().expect("it goes with this")
    }

    #[inline(always)]
    pub(crate) fn publish(self) {
        drop(self);
    }
}

impl<S: Item> Drop for Shows<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(claim) = self.0.take() {
            claim.publish();
        }
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F: Send> AtMarks for Stage<A, S, B, D, F> {
    fn state(&mut self) -> Option<Kept> {
        self.keeper.keep(&mut self.work.state)
    }

    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        self.keeper.in_place(&mut self.work.state)
    }

    fn pass(&mut self) -> Option<Mark> {
        self.input.pass_mark_to(&mut self.output)
    }
}

/// A stage that is one tasklet.
struct Stage<A: RingLayout, S, B: Item, D: Density, F> {
    input: Reader<A>,
    output: Producer<D::Slot<B>>,
    work: Work<S, F>,
    keeper: Keeper<S>,
    bytes: StateBytes<S>,
    batch: usize,
    end: EndSlot,
    /// Whether the function is at the number after those published.
    busy: bool,
    at_end: Option<u64>,
    failing: Failing,
    density: PhantomData<fn() -> (B, D)>,
}

/// The part that changes with every slot.
pub(crate) struct Work<S, F> {
    pub(crate) state: S,
    pub(crate) f: F,
}

impl<A: RingLayout, S, B: Item, D: Density, F> Stage<A, S, B, D, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send,
{
    /// Moves the slots available on both sides, at most `max`. Returns how many moved.
    #[inline]
    fn move_batch(&mut self, max: usize) -> usize {
        let claimed = claimed(&mut self.input, &mut self.output, max);
        let Some((batch, claim)) = claimed else { return 0 };
        self.busy = true;
        let mut shows = Shows::new(claim);
        batch.map_into(shows.claim(), &mut self.work, |work, number, value| {
            D::pack((work.f)(&mut work.state, number, value, false))
        });
        shows.publish();
        self.busy = false;
        batch.len()
    }
}

impl<A: RingLayout, S: Item + Clone, B: Item, D: Density, F> Tasklet for Stage<A, S, B, D, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send,
{
    fn step(&mut self, most: usize) -> Progress {
        let most = self.batch.min(most);
        let mut left = most;
        while left > 0 {
            match self.move_batch(left) {
                0 => break,
                moved => left -= moved,
            }
            // The usual batch is all that there was. In a loop it is one number, and to look again would cost as much.
            if !self.input.has_seen_more() {
                break;
            }
        }
        if left < most {
            self.bytes.say(&self.work.state);
            return Progress::moved(most - left);
        }
        self.output.sweep();
        let Work { state, f } = &mut self.work;
        take_end(&mut self.input, &mut self.output, &mut self.at_end, self.end, |number, value| {
            Last::of::<B, D>(f(state, number, value, true))
        })
    }

    fn in_loop(&mut self) -> Option<Parts<'_>> {
        let Stage { input, output, work, .. } = self;
        Some(Parts { input, output, state: &mut work.state, renumbers: false })
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.busy.then(|| self.output.next().0))
    }

    fn failed_in(&self) -> Option<&str> {
        self.failing.stage()
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::between(&self.input, &self.output).with_state(self.bytes.bytes())
    }
}
