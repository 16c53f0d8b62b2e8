//! A change of a run at a number, and the states that its tasklets leave there.

use crate::kept::Kept;
use crate::upgrade::shadow_state::ShadowState;
use crate::watched::Role;
use millstream_core::SequenceNumber;
use millstream_ring::MarkKind;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A change of a run at a number, while its stages take nothing from that number on.
pub(crate) trait Change: Send {
    /// The request of its mark to the stages.
    fn kind(&self) -> MarkKind {
        MarkKind::Retire
    }

    /// Whether it takes the reader that the source's end leaves at its number.
    fn forks(&self) -> bool {
        true
    }

    /// Whether it concerns the version that runs beside the run's. While there is one, others are refused.
    fn of_shadow(&self) -> bool {
        false
    }

    /// Called when its mark is laid at this number: what the source's end leaves there is for this change. Returns the
    /// change that follows it, with its number.
    fn laid(&mut self, _at: SequenceNumber) -> Option<(SequenceNumber, Box<dyn Change>)> {
        None
    }

    /// Whether there is nothing to carry out any more, so that its number need not come.
    fn is_moot(&self) -> bool {
        false
    }

    /// Called when it is moot and no longer planned. The caller holds no lock.
    fn withdraw(self: Box<Self>) {}

    /// Carries it out, and lets the run go on. The caller is a thread of the run, and holds no lock. Returns how many
    /// tasklets pass marks from now on; none if that is as before.
    fn carry_out(self: Box<Self>, retired: Retired) -> Option<usize>;
}

/// A tasklet that has passed a mark.
pub(super) struct PassedMark {
    pub(super) task: usize,
    pub(super) stage: String,
    /// The mark's number on its clock.
    pub(super) at: SequenceNumber,
    /// At a snapshot its state.
    pub(super) state: Option<Kept>,
    /// The next number of its output, if it starts a clock.
    pub(super) clock: Option<SequenceNumber>,
    /// Since when it takes nothing.
    pub(super) since: Option<Instant>,
    /// How long it took to leave its state.
    pub(super) stop: Duration,
}

/// A run at a number, while its stages take nothing from that number on, or when all have passed it.
pub(crate) struct Retired {
    /// The mark's id.
    pub(crate) mark: u64,
    pub(crate) at: SequenceNumber,
    /// The number that the sink gets next; none if the run has no sink.
    pub(crate) output: Option<SequenceNumber>,
    /// The next numbers of the outputs of stages that start a clock.
    pub(crate) clocks: BTreeMap<String, SequenceNumber>,
    /// Since when each stage takes nothing, in pipeline order; of several tasklets, the first.
    pub(crate) since: Vec<(String, Instant)>,
    /// Copies of the states, if the stages go on.
    pub(crate) states: Vec<(String, Kept)>,
    /// The number that each tasklet takes next, in pipeline order.
    pub(crate) numbers: Vec<(String, SequenceNumber)>,
    /// The longest time that a stage took to leave its state.
    pub(crate) stop: Duration,
}

impl Retired {
    pub(super) fn new(mark: u64, at: SequenceNumber, output: Option<SequenceNumber>, passed: Vec<PassedMark>) -> Self {
        let mut retired = Retired {
            mark,
            at,
            output,
            clocks: BTreeMap::new(),
            since: Vec::new(),
            states: Vec::new(),
            numbers: Vec::new(),
            stop: passed.iter().map(|passed| passed.stop).max().unwrap_or_default(),
        };
        for PassedMark { stage, at, clock, since, state, .. } in passed {
            retired.numbers.push((stage.clone(), at));
            if let Some(next) = clock {
                retired.clocks.insert(stage.clone(), next);
            }
            retired.states.extend(state.map(|state| (stage.clone(), state)));
            let Some(since) = since else { continue };
            match retired.since.iter_mut().find(|(known, _)| *known == stage) {
                Some((_, first)) => *first = since.min(*first),
                None => retired.since.push((stage, since)),
            }
        }
        retired
    }
}

/// A tasklet, as a mark knows it.
#[derive(Clone, Copy)]
pub(crate) struct Passer<'a> {
    pub(crate) task: usize,
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    /// The version that it belongs to, if that runs beside the run's: its state is not the run's.
    pub(crate) beside: Option<&'a Arc<ShadowState>>,
}

/// The marks that a tasklet has passed in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Whether there were any.
    pub(crate) any: bool,
    /// Whether it takes nothing after them.
    pub(crate) retires: bool,
}
