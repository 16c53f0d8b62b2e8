//! Failures that leave a slot empty, and are delivered in the order of their numbers.

use super::{Extent, Model, ModelShape, Slots, column};
use crate::pipe::{DeadLetter, Outcome, TryMapOrDeadLetter};
use crate::{Cause, Deploy, Item, ToOwnedItem};

impl<A: ModelShape + ToOwnedItem, F, B: Item, E: Cause + Item, G> Deploy<Model> for TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Outcome<A, B, E>> {
        let judged = column::<A, Outcome<A, B, E>>(&input, extent, |a, _| Some(self.judge(a?)));
        self.deliver_all(&judged, extent);
        judged
    }
}

impl<A: ToOwnedItem, F, B: Item, E: Cause + Item, G> TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E>,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>),
{
    /// Delivers every failure.
    pub(super) fn deliver_all(&self, judged: &Slots<Outcome<A, B, E>>, extent: &Extent) {
        // A loop computes a part at every number, but each failure is delivered once.
        if !extent.has_end() {
            return;
        }
        for (n, slot) in judged.iter().enumerate() {
            if let Some(dead) = slot.as_deref().and_then(|judged| judged.as_ref().left()) {
                self.deliver(extent.number(n), dead);
            }
        }
    }
}
