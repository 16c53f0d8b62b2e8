use super::{BasePtr, HiddenGate, HiddenMarks, RingLayout, STAYS_FILLED, View, sealed::Sealed, slot_of_both};
use crate::gate::GateId;
use crate::probe::RingProbe;
use millstream_core::Either::{Left, Right};
use millstream_core::{Choice, Otherwise, Pair, SameItem, Shape, SideBySide};

/// Two views side by side: a number is published when both have it. The shape combines the two slots.
#[derive(Debug)]
pub struct ZipView<A: RingLayout, B: RingLayout> {
    first: A::View,
    second: B::View,
}

impl<A: RingLayout, B: RingLayout> ZipView<A, B> {
    pub(crate) fn new(first: A::View, second: B::View) -> Self {
        ZipView { first, second }
    }

    /// The values of END on both edges.
    ///
    /// # Safety
    ///
    /// As [`View::at_end`].
    pub(crate) unsafe fn halves_at_end<'a>(&self, end: u64) -> (Option<A::Ref<'a>>, Option<B::Ref<'a>>) {
        // SAFETY: the caller's contract, which `cursor` makes true of both edges.
        let first = unsafe { self.first.at_end(end) };
        // SAFETY: as above.
        let second = unsafe { self.second.at_end(end) };
        (first, second)
    }

    #[inline(always)]
    pub(super) fn cursor_of_both(&self) -> u64 {
        self.first.cursor().min(self.second.cursor())
    }

    #[inline(always)]
    pub(super) fn end_of_both(&self) -> u64 {
        self.first.end().min(self.second.end())
    }

    #[inline(always)]
    pub(super) fn contiguous_in_both(&self, from: u64, max: u64) -> u64 {
        self.second.contiguous(from, self.first.contiguous(from, max))
    }

    /// # Safety
    ///
    /// As [`View::chunk`].
    #[inline(always)]
    pub(super) unsafe fn chunks<'a>(&self, from: u64) -> (A::Chunk<'a>, B::Chunk<'a>) {
        // SAFETY: the caller's contract, which `cursor` makes true of both edges.
        let first = unsafe { self.first.chunk(from) };
        // SAFETY: as above.
        let second = unsafe { self.second.chunk(from) };
        (first, second)
    }

    /// # Safety
    ///
    /// As [`View::release`].
    #[inline(always)]
    pub(super) unsafe fn release_both(&self, upto: u64) {
        // SAFETY: the caller's contract.
        unsafe { self.first.release(upto) };
        // SAFETY: the caller's contract.
        unsafe { self.second.release(upto) };
    }

    pub(super) fn fork_both(&self, position: u64) -> Self {
        ZipView::new(self.first.fork(position), self.second.fork(position))
    }

    pub(super) fn regate_both(&mut self, gate: &HiddenGate) {
        self.first.regate(gate);
        self.second.regate(gate);
    }

    pub(super) fn marks_of_first(&self) -> &HiddenMarks {
        self.first.marks()
    }

    pub(super) fn watch_both(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
        self.second.watch(rings);
        self.first.watch(rings)
    }

    pub(super) fn gates_of_both(&self, see: &mut dyn FnMut(GateId)) -> bool {
        self.first.gates(see) && self.second.gates(see)
    }
}

impl<A: RingLayout, B: RingLayout> Sealed for ZipView<A, B> {}

macro_rules! side_by_side {
    (
        $shape:ident<A, $second:ident: $bound:path>,
        filled: |$first:ident, $other:ident| $filled:expr,
        value: |$in_first:ident, $one:ident, $two:ident, $or_two:ident| $value:expr
    ) => {
        impl<A: RingLayout, $second: RingLayout + $bound> Sealed for $shape<A, $second> {}

        impl<A: RingLayout, $second: RingLayout + $bound> RingLayout for $shape<A, $second> {
            type View = ZipView<A, $second>;
            type Chunk<'a> = (A::Chunk<'a>, $second::Chunk<'a>);

            #[inline(always)]
            unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
                // SAFETY: the caller's contract.
                let $first = unsafe { A::is_filled(&chunk.0, i) };
                // SAFETY: the caller's contract.
                let $other = unsafe { $second::is_filled(&chunk.1, i) };
                $filled
            }

            #[inline(always)]
            unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Self::Ref<'a> {
                // SAFETY: the caller's contract.
                let $in_first = unsafe { A::is_filled(&chunk.0, i) };
                // SAFETY: called only if `is_filled` has returned true for this half.
                let $one = || unsafe { A::value_at(&chunk.0, i) };
                // SAFETY: as above.
                let $two = || unsafe { $second::value_at(&chunk.1, i) };
                // SAFETY: the caller's contract; `at` asks whether this half is filled.
                let $or_two = || unsafe { $second::at(&chunk.1, i) }.expect(STAYS_FILLED);
                $value
            }

            #[inline(always)]
            unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>> {
                // SAFETY: the caller's contract.
                let first = unsafe { A::at(&chunk.0, i) };
                // SAFETY: the caller's contract.
                let second = unsafe { $second::at(&chunk.1, i) };
                Self::join(first, second)
            }

            type Whole = Self;
            const RINGS: usize = A::RINGS + $second::RINGS;
            const SLOT: Option<usize> = slot_of_both(A::SLOT, $second::SLOT);

            #[inline(always)]
            fn place(chunk: &Self::Chunk<'_>) -> BasePtr {
                A::place(&chunk.0)
            }

            #[inline(always)]
            fn is_at(chunk: &Self::Chunk<'_>, place: BasePtr) -> bool {
                A::is_at(&chunk.0, place) && $second::is_at(&chunk.1, place)
            }

            #[inline(always)]
            unsafe fn by_way_of<'a>(chunk: &Self::Chunk<'a>, place: BasePtr) -> Self::Chunk<'a> {
                // SAFETY: the caller's contract.
                let first = unsafe { A::by_way_of(&chunk.0, place) };
                // SAFETY: the caller's contract.
                let second = unsafe { $second::by_way_of(&chunk.1, place) };
                (first, second)
            }
        }

        impl<A: RingLayout, $second: RingLayout + $bound> View<$shape<A, $second>> for ZipView<A, $second> {
            #[inline(always)]
            fn cursor(&self) -> u64 {
                self.cursor_of_both()
            }

            #[inline(always)]
            fn end(&self) -> u64 {
                self.end_of_both()
            }

            #[inline(always)]
            fn contiguous(&self, from: u64, max: u64) -> u64 {
                self.contiguous_in_both(from, max)
            }

            #[inline(always)]
            unsafe fn chunk<'a>(&self, from: u64) -> (A::Chunk<'a>, $second::Chunk<'a>) {
                // SAFETY: the caller's contract.
                unsafe { self.chunks(from) }
            }

            unsafe fn at_end<'a>(&self, end: u64) -> Option<<$shape<A, $second> as Shape>::Ref<'a>> {
                // SAFETY: the caller's contract.
                let (first, second) = unsafe { self.halves_at_end(end) };
                <$shape<A, $second>>::join(first, second)
            }

            #[inline(always)]
            unsafe fn release(&self, upto: u64) {
                // SAFETY: the caller's contract.
                unsafe { self.release_both(upto) };
            }

            fn fork(&self, position: u64) -> Self {
                self.fork_both(position)
            }

            fn regate(&mut self, gate: &HiddenGate) {
                self.regate_both(gate);
            }

            fn marks(&self) -> &HiddenMarks {
                self.marks_of_first()
            }

            fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
                self.watch_both(rings)
            }

            fn gates(&self, see: &mut dyn FnMut(GateId)) -> bool {
                self.gates_of_both(see)
            }
        }
    };
}
side_by_side!(
    Pair<A, B: Shape>,
    filled: |first, second| first & second,
    value: |_first, one, two, _or_two| (one(), two())
);
side_by_side!(
    Choice<A, B: Shape>,
    filled: |first, second| one_of(first, second),
    value: |first, one, _two, or_two| if first { Left(one()) } else { Right(or_two()) }
);
side_by_side!(
    Otherwise<A, B: SameItem<A>>,
    filled: |first, second| first | second,
    value: |first, one, _two, or_two| if first { one() } else { or_two() }
);

#[inline(always)]
pub(super) fn one_of(first: bool, second: bool) -> bool {
    debug_assert!(!(first & second), "both lanes of a choice are filled at one number");
    first | second
}
