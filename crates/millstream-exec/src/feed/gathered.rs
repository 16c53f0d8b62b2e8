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
