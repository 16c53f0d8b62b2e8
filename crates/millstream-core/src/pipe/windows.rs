use super::map_windows::last_values;
use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::{KeepsClock, Quiet, SequenceNumber, Sparse, ToOwnedItem};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// The last `n` values at every value.
pub struct Windows<A> {
    /// The number of values in a window.
    pub n: usize,
    shape: PhantomData<fn() -> A>,
}

impl<A> Windows<A> {
    pub(crate) fn new(n: usize) -> Self {
        assert!(n >= 1, "windows(0): a window needs at least one value");
        Windows { n, shape: PhantomData }
    }
}

impl<A> KeepsClock for Windows<A> {}
impl<A> Quiet for Windows<A> {}

impl<A: ToOwnedItem<Owned: Clone>> ScanKernel for Windows<A> {
    type In = A;
    type Out = Vec<A::Owned>;
    type Density = Sparse;
    /// The last values, the oldest first.
    type State = VecDeque<A::Owned>;
    const NAME: &'static str = "windows";

    fn start(&self) -> VecDeque<A::Owned> {
        VecDeque::new()
    }

    #[inline]
    fn step(
        &self,
        last: &mut VecDeque<A::Owned>,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        _: bool,
    ) -> Option<Vec<A::Owned>> {
        last_values(last, self.n, A::to_owned_item(slot?)).map(<[_]>::to_vec)
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Vec<A::Owned>>> {
        let mut all = Vec::new();
        slots.map(|a, _| {
            all.push(A::to_owned_item(a?));
            all.len().checked_sub(self.n).map(|first| all[first..].to_vec())
        })
    }
}
super::debug!(Windows<A>);
