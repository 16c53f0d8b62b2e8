//! The counters of a tasklet that other threads read while it works; the tasklet writes them anyway.

use crate::signal::Condition;
use millstream_core::Item;
use millstream_ring::{InputProbe, Occupancy, Producer, Reader, RingLayout, RingProbe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of a tasklet, or of a writer or reader of a ring, at a moment. It is derived from the cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum State {
    /// It has input and room: it is at work, or waits for its worker's turn. A source with room counts as working,
    /// whatever it waits for outside the run.
    Working,
    /// It waits for input, or it has ended.
    #[default]
    Starved,
    /// It waits for room.
    Blocked,
}

/// The probes of a tasklet's input and output.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskProbe {
    input: Option<InputProbe>,
    output: Option<RingProbe>,
    holds: Holds,
    filled: Filled,
    /// The bytes of its keyed state.
    state_bytes: Option<Arc<AtomicU64>>,
}

/// Which slots of a stage's output are filled, if the probe's output is another stage's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Filled {
    /// The output is its own, or is filled at the same numbers.
    #[default]
    Alike,
    /// All of them.
    All,
    Unknown,
}

/// Whether a tasklet holds work that its input no longer shows.
#[derive(Clone, Debug, Default)]
enum Holds {
    #[default]
    Nothing,
    /// It has read numbers that it has not published. Its output has the numbers of its input.
    Numbers,
    /// The tasklet stores this flag at the end of every step.
    Says(Arc<AtomicBool>),
}

impl TaskProbe {
    pub(crate) fn of(input: InputProbe, output: RingProbe) -> Self {
        TaskProbe { input: Some(input), output: Some(output), ..TaskProbe::default() }
    }

    /// The probe of a tasklet that reads this input and writes this output. Stages that differ in nothing but their
    /// functions share its code.
    pub(crate) fn between<A: RingLayout, S: Item>(input: &Reader<A>, output: &Producer<S>) -> Self {
        TaskProbe::of(input.probe(), output.probe())
    }

    pub(crate) fn of_both((input, output): (InputProbe, RingProbe)) -> Self {
        TaskProbe::of(input, output)
    }

    pub(crate) fn of_source(output: RingProbe) -> Self {
        TaskProbe { output: Some(output), ..TaskProbe::default() }
    }

    pub(crate) fn of_sink(input: InputProbe) -> Self {
        TaskProbe { input: Some(input), ..TaskProbe::default() }
    }

    /// Makes the probe of a loop that of a stage before the last one in the loop.
    pub(crate) fn of_onlooker(self, filled: Filled) -> Self {
        TaskProbe { filled, ..self }
    }

    /// Adds the bytes of the states of keys, where the stage counts them.
    pub(crate) fn with_state(self, state_bytes: Option<Arc<AtomicU64>>) -> Self {
        TaskProbe { state_bytes, ..self }
    }

    /// The bytes of its keyed state; none if it has no keys.
    pub(crate) fn state_bytes(&self) -> Option<u64> {
        self.state_bytes.as_ref().map(|bytes| bytes.load(Ordering::Relaxed))
    }

    /// For a stage that reads a number's value long before it publishes the number.
    pub(crate) fn holding_numbers(self) -> Self {
        TaskProbe { holds: Holds::Numbers, ..self }
    }

    /// For a stage whose output has another clock: it stores in `holds` whether its last input still makes work.
    pub(crate) fn saying(self, holds: &Arc<AtomicBool>) -> Self {
        TaskProbe { holds: Holds::Says(holds.clone()), ..self }
    }

    /// The tasklet's state now. A source with room counts as working, even if it waits for something outside the run.
    pub(crate) fn state(&self) -> State {
        let next = match &self.input {
            None => 0,
            Some(input) => match input.next() {
                None => return State::Starved,
                Some(next) if input.published() <= next && !self.holds(next) => return State::Starved,
                Some(next) => next,
            },
        };
        match &self.output {
            Some(output) if !output.has_room(next) => State::Blocked,
            _ => State::Working,
        }
    }

    /// Whether a sink has something to read: on a thread of its own it waits for this. Also true once another reader
    /// has replaced its own. `None` for a stage that writes, which waits for room as well.
    pub(crate) fn reads(&self) -> Option<Condition> {
        let input = self.input.clone().filter(|_| self.output.is_none())?;
        Some(Arc::new(move || input.next().is_none_or(|next| input.published() > next)))
    }

    fn holds(&self, next: u64) -> bool {
        match &self.holds {
            Holds::Nothing => false,
            Holds::Numbers => self.output.as_ref().is_some_and(|output| output.published() < next),
            Holds::Says(holds) => holds.load(Ordering::Relaxed),
        }
    }

    /// The number that it publishes next; for a sink, the one that it reads next.
    pub(crate) fn at(&self) -> Option<u64> {
        self.output.as_ref().map(RingProbe::published).or_else(|| self.input.as_ref()?.next())
    }

    /// Whether it waits for other tasklets: for room, or for futures that it has started.
    pub(crate) fn waits(&self) -> bool {
        let next = self.input.as_ref().and_then(InputProbe::next);
        next.is_some_and(|next| self.holds(next)) || self.state() == State::Blocked
    }

    /// Whether it has reached this number, of its output, or of its input if it has no output.
    pub(crate) fn is_at(&self, number: u64) -> bool {
        match (&self.output, &self.input) {
            (Some(output), _) => output.published() >= number,
            (None, Some(input)) => input.released().is_none_or(|released| released >= number),
            (None, None) => true,
        }
    }

    /// The number up to which it has read; none without an input, or once the input is gone.
    pub(crate) fn consumed(&self) -> Option<u64> {
        self.input.as_ref()?.released()
    }

    /// Starts or stops counting the empty slots it writes.
    pub(crate) fn look(&self, wanted: bool) {
        if let Some(output) = &self.output {
            output.look(wanted);
        }
    }

    /// The share of its slots that are empty, from the slots that were counted.
    pub(crate) fn empties(&self) -> Occupancy {
        match (&self.output, self.filled) {
            (Some(output), Filled::Alike) => output.empties(),
            (Some(output), Filled::All) => Occupancy { looked_at: output.published(), empty: 0 },
            _ => Occupancy::default(),
        }
    }

    pub(crate) fn output(&self) -> Option<&RingProbe> {
        self.output.as_ref()
    }

    /// Whether its output for all input numbers below `bound` is published; for a sink, whether it has read them.
    /// `same` says whether its output has the numbers of its input.
    pub(crate) fn has_passed(&self, bound: u64, same: bool) -> bool {
        match (&self.output, &self.input) {
            (Some(output), _) if same => output.published() >= bound,
            (_, Some(input)) => input.released().is_none_or(|released| released >= bound) && !self.holds(bound),
            _ => false,
        }
    }
}
