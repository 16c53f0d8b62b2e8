use super::{HiddenGate, HiddenMarks, View, Wire, sealed::Sealed};
use millstream_core::{Flow, Pair};

/// Two views side by side: a number is there when both have it.
#[derive(Debug)]
pub struct ZipView<A: Wire, B: Wire> {
    first: A::View,
    second: B::View,
}

impl<A: Wire, B: Wire> ZipView<A, B> {
    pub(crate) fn new(first: A::View, second: B::View) -> Self {
        ZipView { first, second }
    }
}

impl<A: Wire, B: Wire> Sealed for ZipView<A, B> {}

impl<A: Wire, B: Wire> Sealed for Pair<A, B> {}

impl<A: Wire, B: Wire> Wire for Pair<A, B> {
    type View = ZipView<A, B>;
    type Chunk<'a> = (A::Chunk<'a>, B::Chunk<'a>);

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>> {
        // SAFETY: the caller's contract.
        let first = unsafe { A::at(&chunk.0, i) }?;
        // SAFETY: the caller's contract.
        let second = unsafe { B::at(&chunk.1, i) }?;
        Some((first, second))
    }
}

impl<A: Wire, B: Wire> View<Pair<A, B>> for ZipView<A, B> {
    #[inline(always)]
    fn cursor(&self) -> u64 {
        self.first.cursor().min(self.second.cursor())
    }

    #[inline(always)]
    fn end(&self) -> u64 {
        self.first.end().min(self.second.end())
    }

    #[inline(always)]
    fn contiguous(&self, from: u64, max: u64) -> u64 {
        self.second.contiguous(from, self.first.contiguous(from, max))
    }

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> (A::Chunk<'a>, B::Chunk<'a>) {
        // SAFETY: the caller's contract, which `cursor` makes true of both halves.
        let first = unsafe { self.first.chunk(from) };
        // SAFETY: as above.
        let second = unsafe { self.second.chunk(from) };
        (first, second)
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<<Pair<A, B> as Flow>::Ref<'a>> {
        // SAFETY: the caller's contract, which `cursor` makes true of both halves.
        let first = unsafe { self.first.at_end(end) }?;
        // SAFETY: as above.
        let second = unsafe { self.second.at_end(end) }?;
        Some((first, second))
    }

    #[inline(always)]
    unsafe fn release(&self, upto: u64) {
        // SAFETY: the caller's contract.
        unsafe { self.first.release(upto) };
        // SAFETY: the caller's contract.
        unsafe { self.second.release(upto) };
    }

    fn fork(&self, position: u64) -> Self {
        ZipView::new(self.first.fork(position), self.second.fork(position))
    }

    fn regate(&mut self, gate: &HiddenGate) {
        self.first.regate(gate);
        self.second.regate(gate);
    }

    fn marks(&self) -> &HiddenMarks {
        self.first.marks()
    }
}
