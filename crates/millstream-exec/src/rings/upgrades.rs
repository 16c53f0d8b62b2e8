//! Upgrades that are asked for before a run starts.

use super::Rings;
use crate::keeps::RingBackend;
use crate::planned::Planned;
use crate::upgrade::Next;
use crate::{IntoUpgrade, RingShape};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Val};
use std::sync::Arc;

impl Rings {
    /// Replaces the run's pipeline by `next` at number `at` of the source, as
    /// [`Handle::upgrade`](crate::Handle::upgrade) does in a run that goes on: the same numbers go through the same
    /// pipeline in every run. Of two upgrades at one number, the second replaces the first before that number. If a
    /// snapshot or another upgrade is under way, the source waits for it at the number.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (old, new) = (pipeline::<u64>().map(|x| x + 1), pipeline::<u64>().map(|x| x * 10));
    /// let rings = Rings::new().upgrade_at(SequenceNumber(3), new);
    /// assert_eq!(rings.collect(old.from(1..=5))?, [2, 3, 4, 40, 50]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// The run fails with [`RunError::Upgrade`](crate::RunError::Upgrade) if the pipeline cannot be replaced, unless
    /// `next` is [tried](crate::Upgrade::tried). An upgrade after END does not take place.
    #[must_use]
    pub fn upgrade_at<T: Item, U: IntoUpgrade>(mut self, at: SequenceNumber, next: U) -> Self
    where
        U::Next: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape> + Send + Sync,
    {
        self.plan_upgrade(at, Next::new::<Rings, _, _>(next.into_upgrade()));
        self
    }

    pub(crate) fn plan_upgrade(&mut self, at: SequenceNumber, next: Next) {
        self.upgrades.push(Planned { at, what: Arc::new(next) });
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
