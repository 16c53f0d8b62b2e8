//! Upgrades that are asked for before a run starts.

use super::Rings;
use crate::RingShape;
use crate::planned::Planned;
use crate::upgrade::Next;
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Val};
use std::sync::Arc;

impl Rings {
    /// Replaces the run's pipeline by `next` at number `at` of the source, as
    /// [`Handle::upgrade`](crate::Handle::upgrade) does in a run that goes on: the same numbers go through the same
    /// pipeline in every run. If a mark for a snapshot is under way at that number, `next` begins as soon as every
    /// stage has passed that one.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (old, new) = (pipeline::<u64>().map(|x| x + 1), pipeline::<u64>().map(|x| x * 10));
    /// let rings = Rings::new().upgrade_at(SequenceNumber(3), new);
    /// assert_eq!(rings.collect(old.from(1..=5))?, [2, 3, 4, 40, 50]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// The run fails with [`RunError::Upgrade`](crate::RunError::Upgrade) if the pipeline cannot be replaced. An
    /// upgrade behind END does not take place.
    #[must_use]
    pub fn upgrade_at<T: Item, P>(mut self, at: SequenceNumber, next: P) -> Self
    where
        P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape> + Send + Sync,
    {
        self.upgrades.push(Planned { at, what: Arc::new(Next::new(next)) });
        self
    }

    /// The upgrades, by their numbers.
    pub(crate) fn upgrades(&self) -> impl Iterator<Item = (SequenceNumber, &Next)> {
        self.upgrades.iter().filter_map(|planned| Some((planned.at, planned.what.downcast_ref()?)))
    }

    /// The same options without upgrades.
    pub(crate) fn without_upgrades(&self) -> Self {
        Rings { upgrades: Vec::new(), ..self.clone() }
    }
}
