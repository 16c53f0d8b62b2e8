//! Failures that leave a slot empty and are delivered, in the order of their numbers.

use super::{Extent, Listed, Model, Slots, column};
use crate::pipe::{DeadLetter, Judged, TryMapOrDeadLetter};
use crate::{Cause, Deploy, Event, Own};

impl<A: Listed + Own, F, B: Event, E: Cause + Event, G> Deploy<Model> for TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Judged<A, B, E>> {
        let judged = column::<A, Judged<A, B, E>>(&input, *extent, |a, _| Some(self.judge(a?)));
        self.tell(&judged, *extent);
        judged
    }
}

impl<A: Own, F, B: Event, E: Cause + Event, G> TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E>,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>),
{
    /// Tells of the failures.
    pub(super) fn tell(&self, judged: &Slots<Judged<A, B, E>>, extent: Extent) {
        // A loop asks for a prefix anew at every number; the dead are told of once.
        if extent == Extent::Prefix {
            return;
        }
        for (number, slot) in (0_u64..).zip(judged.iter()) {
            if let Some(dead) = slot.as_deref().and_then(|judged| judged.as_ref().left()) {
                self.deliver(number.into(), dead);
            }
        }
    }
}
