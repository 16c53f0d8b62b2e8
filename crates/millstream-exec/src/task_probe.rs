//! What of a tasklet is read from outside while it works: counters that it writes anyway.

use crate::observer::State;
use millstream_ring::{InputProbe, Occupancy, RingProbe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a tasklet's ends are.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskProbe {
    input: Option<InputProbe>,
    output: Option<RingProbe>,
    holds: Holds,
}

/// Whether a tasklet has something to do that its input does not show any more.
#[derive(Clone, Debug, Default)]
enum Holds {
    #[default]
    Nothing,
    /// Numbers that it has taken and not published: its output has the numbers of its input.
    Numbers,
    /// It says so, at the end of every step.
    Says(Arc<AtomicBool>),
}

impl TaskProbe {
    pub(crate) fn of(input: InputProbe, output: RingProbe) -> Self {
        TaskProbe { input: Some(input), output: Some(output), holds: Holds::Nothing }
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

    /// Of a stage that takes a number's value long before it publishes the number.
    pub(crate) fn holding_numbers(self) -> Self {
        TaskProbe { holds: Holds::Numbers, ..self }
    }

    /// Of a stage that starts a clock, and says whether it still has something of what it has taken.
    pub(crate) fn saying(self, holds: &Arc<AtomicBool>) -> Self {
        TaskProbe { holds: Holds::Says(holds.clone()), ..self }
    }

    /// What it could do now. A source that has room is at work, or waits for what is outside.
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

    fn holds(&self, next: u64) -> bool {
        match &self.holds {
            Holds::Nothing => false,
            Holds::Numbers => self.output.as_ref().is_some_and(|output| output.published() < next),
            Holds::Says(holds) => holds.load(Ordering::Relaxed),
        }
    }

    /// Whether it waits for others to go on: for room, or for futures that it has started.
    pub(crate) fn waits(&self) -> bool {
        let next = self.input.as_ref().and_then(InputProbe::next);
        next.is_some_and(|next| self.holds(next)) || self.state() == State::Blocked
    }

    /// Whether it has come to this number, of its output, or of its input if it has no output.
    pub(crate) fn is_at(&self, number: u64) -> bool {
        match (&self.output, &self.input) {
            (Some(output), _) => output.published() >= number,
            (None, Some(input)) => input.released().is_none_or(|released| released >= number),
            (None, None) => true,
        }
    }

    /// How far it has read; none without an input, or once it is gone.
    pub(crate) fn consumed(&self) -> Option<u64> {
        self.input.as_ref()?.released()
    }

    /// Whether the empty slots that it writes are counted from now on.
    pub(crate) fn look(&self, wanted: bool) {
        if let Some(output) = &self.output {
            output.look(wanted);
        }
    }

    /// How many slots it leaves empty, by those that were looked at.
    pub(crate) fn empties(&self) -> Occupancy {
        self.output.as_ref().map_or_else(Occupancy::default, RingProbe::empties)
    }

    pub(crate) fn output(&self) -> Option<&RingProbe> {
        self.output.as_ref()
    }

    /// Whether all that it makes of the numbers below `bound` of its input is published, or was seen if it is a sink.
    /// `same` says whether its output has the numbers of its input.
    pub(crate) fn has_passed(&self, bound: u64, same: bool) -> bool {
        match (&self.output, &self.input) {
            (Some(output), _) if same => output.published() >= bound,
            (_, Some(input)) => input.released().is_none_or(|released| released >= bound) && !self.holds(bound),
            _ => false,
        }
    }
}
