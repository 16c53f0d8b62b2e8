use super::rule::Choice;
use super::{ItemFormat, Merge, Polled};
use crate::shared::Shared;
use millstream_core::{Item, SequenceNumber};

/// One poll: the merge, and the most values it may take.
pub(super) struct Batch<'b, T: Item> {
    pub(super) merge: &'b mut Merge<T>,
    pub(super) shared: &'b Shared,
    /// The number of the next value.
    pub(super) next: &'b mut u64,
    pub(super) most: usize,
}

impl<T: Item> Batch<'_, T> {
    /// Calls `f` with the available values, each with its number. Returns an error if the rule cannot go on.
    #[inline]
    pub(super) fn take<O: ItemFormat<T>, S>(
        self,
        state: &mut S,
        mut f: impl FnMut(&mut S, SequenceNumber, O::Item),
    ) -> Result<Polled, String> {
        let Batch { merge, shared, next, most } = self;
        let mut moved = 0;
        merge.begin();
        while moved < most && !shared.stopped() {
            match merge.choose(most - moved)? {
                Choice::Take { lane, most } => {
                    let run = merge.take(lane, most);
                    let (producer, first, len) = (run.producer, run.first, run.values.len());
                    let number = *next;
                    run.values.each(state, |state, i, value| {
                        let i = i as u64;
                        f(state, SequenceNumber(number + i), O::item(producer, first + i, value));
                    });
                    *next = number + len as u64;
                    moved += len;
                }
                Choice::Nothing => break,
                Choice::Ended => {
                    merge.end();
                    if moved == 0 {
                        return Ok(Polled::Ended);
                    }
                    break;
                }
            }
        }
        Ok(if moved == 0 { Polled::Nothing } else { Polled::Values(moved) })
    }
}
