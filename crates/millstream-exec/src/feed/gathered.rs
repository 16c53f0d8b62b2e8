use super::early::Early;
use crate::marks::Marks;
use crate::source_ring::SourceRing;
use millstream_core::Item;
use millstream_ring::spsc::Receiver;

/// The values that the source's thread has [gathered](super::quick) and that are not in the source's ring yet.
pub(super) struct Gathered<T: Item>(Option<Receiver<T>>);

impl<T: Item> Default for Gathered<T> {
    fn default() -> Self {
        Gathered(None)
    }
}

impl<T: Item> Gathered<T> {
    pub(super) fn of(receiver: Receiver<T>) -> Self {
        Gathered(Some(receiver))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|values| values.backlog() == 0)
    }

    /// Moves values into the ring, as far as there is room, and up to the next mark. Returns whether anything was
    /// published.
    #[inline]
    pub(super) fn leave_to(&mut self, ring: &mut SourceRing<T>, marks: &Marks) -> bool {
        let Some(values) = &mut self.0 else { return false };
        let ready = usize::try_from(values.ready()).unwrap_or(usize::MAX);
        if ready == 0 {
            return false;
        }
        let Ok(Some(mut claim)) = ring.try_claim(marks, ready) else { return false };
        let len = claim.len();
        let moved = claim.extend(&mut values.take(len));
        claim.publish();
        moved > 0
    }

    /// Moves all of them to the values that wait aside.
    pub(super) fn put_aside(&mut self, aside: &mut Early<T>) {
        aside.extend(self.rest());
    }

    /// The values that are left. Dropping them runs the user's code.
    pub(super) fn give_up(&mut self) -> Vec<T> {
        self.rest().collect()
    }

    fn rest(&mut self) -> impl Iterator<Item = T> {
        let values = &mut self.0;
        std::iter::from_fn(move || values.as_mut()?.take(1).next())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::external_source::ExternalSource;
    use crate::feed::Output;
    use crate::shared::Shared;
    use crate::source_ring::{SourceFork, SourceRing};
    use crate::wait::{IdleStrategy, Wait};
    use millstream_core::Dense;
    use millstream_ring::ring;
    use millstream_testkit::within;
    use std::sync::Arc;
    use std::time::Duration;

    /// Between the end of the thread's lead and the publication a worker may look and park. What is behind the mark of
    /// a change waits for it, so nothing else would wake the worker.
    #[test]
    fn a_worker_that_has_parked_is_woken_for_what_was_gathered() {
        let shared = Arc::new(Shared::new(IdleStrategy::of(Wait::Phased, 1)));
        let (producer, mut input) = ring::<u64, Dense>(8).unwrap();
        let output = Output::new(SourceRing::new(producer, SourceFork::new()), shared.clone());
        output.begin();
        let mut gathered = output.gathers(8).unwrap();
        gathered.give(&mut (0..3), 3);
        shared.end_together();
        let parked = shared.signal.announce();
        assert_eq!(output.publish_gathered(), Some(true));
        within(Duration::from_secs(60), move || shared.signal.park(parked)).unwrap();
        let values = input.batch(8).map(|batch| batch.iter().flatten().copied().collect());
        assert_eq!(values, Some(vec![0, 1, 2]));
    }
}
