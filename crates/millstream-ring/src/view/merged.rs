use super::zip::{ZipView, one_of};
use super::{HiddenGate, HiddenMarks, RingLayout, STAYS_FILLED, View, sealed::Sealed};
use crate::gate::GateId;
use crate::probe::RingProbe;
use millstream_core::{Merged, SameItem, SideBySide};

/// A view of two lanes with values of one type: side by side, or in the one ring that both fill.
pub struct MergedView<A: RingLayout, B: RingLayout>(Lanes<ZipView<A, B>, <A::Whole as RingLayout>::View>);

/// Published slots of two lanes.
pub struct MergedChunk<'a, A: RingLayout, B: RingLayout>(Lanes<Apart<'a, A, B>, Whole<'a, A>>);

type Apart<'a, A, B> = (<A as RingLayout>::Chunk<'a>, <B as RingLayout>::Chunk<'a>);
type Whole<'a, A> = <<A as RingLayout>::Whole as RingLayout>::Chunk<'a>;

#[derive(Clone, Copy)]
enum Lanes<P, J> {
    Apart(P),
    Joined(J),
}

impl<A: RingLayout, B: RingLayout> MergedView<A, B> {
    pub(crate) fn apart(lanes: ZipView<A, B>) -> Self {
        MergedView(Lanes::Apart(lanes))
    }

    pub(crate) fn joined(whole: <A::Whole as RingLayout>::View) -> Self {
        MergedView(Lanes::Joined(whole))
    }
}

impl<A: RingLayout, B: RingLayout> Clone for MergedChunk<'_, A, B> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: RingLayout, B: RingLayout> Copy for MergedChunk<'_, A, B> {}

impl<A: RingLayout, B: RingLayout> Sealed for MergedView<A, B> {}

impl<A: RingLayout, B: RingLayout + SameItem<A>> Sealed for Merged<A, B> {}

impl<A: RingLayout, B: RingLayout + SameItem<A>> RingLayout for Merged<A, B> {
    type View = MergedView<A, B>;
    type Chunk<'a> = MergedChunk<'a, A, B>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        match &chunk.0 {
            Lanes::Apart((a, b)) => {
                // SAFETY: the caller's contract.
                let first = unsafe { A::is_filled(a, i) };
                // SAFETY: the caller's contract.
                let second = unsafe { B::is_filled(b, i) };
                one_of(first, second)
            }
            // SAFETY: the caller's contract.
            Lanes::Joined(whole) => unsafe { A::Whole::is_filled(whole, i) },
        }
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> A::Ref<'a> {
        match &chunk.0 {
            Lanes::Apart((a, b)) => {
                // SAFETY: the caller's contract.
                let in_first = unsafe { A::is_filled(a, i) };
                if in_first {
                    // SAFETY: `is_filled` has just returned true for it.
                    unsafe { A::value_at(a, i) }
                } else {
                    // SAFETY: the caller's contract; `at` asks whether the slot is filled.
                    unsafe { B::at(b, i) }.expect(STAYS_FILLED)
                }
            }
            // SAFETY: the caller's contract.
            Lanes::Joined(whole) => unsafe { A::Whole::value_at(whole, i) },
        }
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<A::Ref<'a>> {
        match &chunk.0 {
            Lanes::Apart((a, b)) => {
                // SAFETY: the caller's contract.
                let first = unsafe { A::at(a, i) };
                // SAFETY: the caller's contract.
                let second = unsafe { B::at(b, i) };
                Self::join(first, second)
            }
            // SAFETY: the caller's contract.
            Lanes::Joined(whole) => unsafe { A::Whole::at(whole, i) },
        }
    }

    type Whole = Self;
    const RINGS: usize = A::RINGS + B::RINGS;
}

impl<A: RingLayout, B: RingLayout + SameItem<A>> View<Merged<A, B>> for MergedView<A, B> {
    #[inline(always)]
    fn cursor(&self) -> u64 {
        match &self.0 {
            Lanes::Apart(lanes) => lanes.cursor_of_both(),
            Lanes::Joined(whole) => whole.cursor(),
        }
    }

    #[inline(always)]
    fn end(&self) -> u64 {
        match &self.0 {
            Lanes::Apart(lanes) => lanes.end_of_both(),
            Lanes::Joined(whole) => whole.end(),
        }
    }

    #[inline(always)]
    fn contiguous(&self, from: u64, max: u64) -> u64 {
        match &self.0 {
            Lanes::Apart(lanes) => lanes.contiguous_in_both(from, max),
            Lanes::Joined(whole) => whole.contiguous(from, max),
        }
    }

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> MergedChunk<'a, A, B> {
        MergedChunk(match &self.0 {
            // SAFETY: the caller's contract.
            Lanes::Apart(lanes) => Lanes::Apart(unsafe { lanes.chunks(from) }),
            // SAFETY: the caller's contract.
            Lanes::Joined(whole) => Lanes::Joined(unsafe { whole.chunk(from) }),
        })
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<A::Ref<'a>> {
        match &self.0 {
            Lanes::Apart(lanes) => {
                // SAFETY: the caller's contract.
                let (first, second) = unsafe { lanes.halves_at_end(end) };
                <Merged<A, B>>::join(first, second)
            }
            // SAFETY: the caller's contract.
            Lanes::Joined(whole) => unsafe { whole.at_end(end) },
        }
    }

    #[inline(always)]
    unsafe fn release(&self, upto: u64) {
        match &self.0 {
            // SAFETY: the caller's contract.
            Lanes::Apart(lanes) => unsafe { lanes.release_both(upto) },
            // SAFETY: the caller's contract.
            Lanes::Joined(whole) => unsafe { whole.release(upto) },
        }
    }

    fn fork(&self, position: u64) -> Self {
        MergedView(match &self.0 {
            Lanes::Apart(lanes) => Lanes::Apart(lanes.fork_both(position)),
            Lanes::Joined(whole) => Lanes::Joined(whole.fork(position)),
        })
    }

    fn regate(&mut self, gate: &HiddenGate) {
        match &mut self.0 {
            Lanes::Apart(lanes) => lanes.regate_both(gate),
            Lanes::Joined(whole) => whole.regate(gate),
        }
    }

    fn marks(&self) -> &HiddenMarks {
        match &self.0 {
            Lanes::Apart(lanes) => lanes.marks_of_first(),
            Lanes::Joined(whole) => whole.marks(),
        }
    }

    fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
        match &self.0 {
            Lanes::Apart(lanes) => lanes.watch_both(rings),
            Lanes::Joined(whole) => whole.watch(rings),
        }
    }

    fn gates(&self, see: &mut dyn FnMut(GateId)) -> bool {
        match &self.0 {
            Lanes::Apart(lanes) => lanes.gates_of_both(see),
            Lanes::Joined(whole) => whole.gates(see),
        }
    }
}

impl<A: RingLayout, B: RingLayout> std::fmt::Debug for MergedView<A, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Lanes::Apart(_) => "MergedView::Apart",
            Lanes::Joined(_) => "MergedView::Joined",
        })
    }
}

impl<A: RingLayout, B: RingLayout> std::fmt::Debug for MergedChunk<'_, A, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergedChunk").finish_non_exhaustive()
    }
}
