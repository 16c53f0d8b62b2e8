//! Which slots of a stream the lists hold.

use super::NamedSinks;
use crate::SequenceNumber;
use std::sync::Arc;

/// Which slots of a stream the lists hold, and whether END is the last one.
///
/// They are all slots, or those that a combinator needs for a part of its answer: the slots of one key, which
/// [`shard_by`](crate::KeysExt::shard_by) picks, or those up to some number, which a
/// [`feedback`](crate::FeedbackExt::feedback) computes a state from. User code that is called once for a value, such
/// as the receiver of dead letters, is called where END is among the slots.
#[derive(Clone, Debug)]
pub struct Extent {
    has_end: bool,
    /// The number of each slot, if they are not 0, 1, 2, ...
    numbers: Option<Arc<[SequenceNumber]>>,
    /// The sinks with names of the whole pipeline.
    sinks: NamedSinks,
}

impl Extent {
    /// All slots of a stream.
    #[must_use]
    pub fn whole() -> Self {
        Extent::with(NamedSinks::default())
    }

    /// All slots of a stream. The sinks that get their values are added to these.
    pub(super) fn with(sinks: NamedSinks) -> Self {
        Extent { has_end: true, numbers: None, sinks }
    }

    pub(super) fn sinks(&self) -> &NamedSinks {
        &self.sinks
    }

    /// Whether the last slot is END.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.has_end
    }

    /// The number of a slot.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    #[must_use]
    pub fn number(&self, slot: usize) -> SequenceNumber {
        self.numbers.as_ref().map_or(SequenceNumber(slot as u64), |numbers| numbers[slot])
    }

    /// The extent of lists of these slots: the last one is END if END is the last one here.
    pub(super) fn picked(&self, slots: impl IntoIterator<Item = usize>) -> Self {
        let numbers = slots.into_iter().map(|slot| self.number(slot)).collect();
        Extent { has_end: self.has_end, numbers: Some(numbers), sinks: self.sinks.clone() }
    }

    /// The extent of lists of these slots, without END.
    pub(super) fn part(&self, slots: impl IntoIterator<Item = usize>) -> Self {
        Extent { has_end: false, ..self.picked(slots) }
    }

    /// Begins a new clock.
    pub(super) fn renumber(&mut self) {
        self.numbers = None;
    }
}
