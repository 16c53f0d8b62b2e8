use super::run::{Passed, Passing, Run};
use super::span::{Kind, Span};
use millstream_core::Density;
use millstream_core::text::{Block, BlockPool, Draft, Writer};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// The means of one tasklet to fill slots of text, with a count of the memory that readers still need.
///
/// It writes into blocks of about [`BLOCK`](Pen::BLOCK) bytes, which it uses again. It has room while the blocks of its
/// unreleased slots keep less than [`LIMIT`](Pen::LIMIT) bytes of memory. A ring of text therefore keeps alive at most
/// that much for each of its writers, and what each writes in one go: one longer value, or, for a run writer, a run of
/// some values.
pub struct Pen<T: ?Sized = [u8]> {
    pool: BlockPool,
    held: Held,
    /// The mean number of bytes of a value in the last run.
    weight: usize,
    kind: PhantomData<fn() -> Box<T>>,
}

/// Runs that some reader has not released.
#[derive(Debug, Default)]
struct Held {
    /// The number after each run, and the memory of its blocks.
    runs: VecDeque<(u64, usize)>,
    bytes: usize,
    /// The block that the last of these runs ends with.
    last: Option<usize>,
}

impl Held {
    fn release(&mut self, upto: u64) {
        while let Some((_, bytes)) = self.runs.pop_front_if(|(end, _)| *end <= upto) {
            self.bytes -= bytes;
        }
        if self.runs.is_empty() {
            self.last = None;
        }
    }

    /// Adds a run that ends before number `end`, with the memory of its blocks. A block that it shares with the last
    /// run is not counted again, so a large block is not counted once for each of its runs.
    fn hold(&mut self, end: u64, bytes: usize, last: Option<usize>) {
        match self.runs.back_mut() {
            Some(run) if bytes == 0 => run.0 = end,
            _ if bytes == 0 => {}
            _ => {
                self.bytes += bytes;
                self.runs.push_back((end, bytes));
                self.last = last;
            }
        }
    }
}

impl<T: Kind + ?Sized> Pen<T> {
    /// A block is finished at this many bytes.
    pub const BLOCK: usize = 64 * 1024;
    /// Readers may need this many bytes before a pen waits.
    pub const LIMIT: usize = 4 * 1024 * 1024;
    /// This many bytes are written in one go, if values are no longer than before.
    const RUN: usize = 256 * 1024;

    /// A pen that has not written.
    #[must_use]
    pub fn new() -> Self {
        Pen { pool: BlockPool::new(2 * Self::BLOCK), held: Held::default(), weight: Self::RUN, kind: PhantomData }
    }

    /// The greatest number of slots of a run writer's run.
    const WHOLE: usize = 64;

    /// As [`room`](Pen::room), if every claimed slot has to be written, however many bytes it needs.
    pub(crate) fn room_for_all(&mut self, released: u64, max: usize) -> usize {
        self.room(released, max.min(Self::WHOLE))
    }

    /// As [`room`](Pen::room), for pieces of existing blocks. It also returns slots if only the block that the last run
    /// ended with has room.
    pub(crate) fn room_for_pieces(&mut self, released: u64, max: usize) -> usize {
        self.held.release(released);
        if self.held.last.is_some() { self.share(max) } else { self.room(released, max) }
    }

    /// How many of `max` slots are written in one go.
    fn share(&self, max: usize) -> usize {
        max.min((Self::RUN / self.weight.max(1)).max(1))
    }

    /// How many slots may be written now, at most `max`, if every number below `released` is released by all readers.
    pub(crate) fn room(&mut self, released: u64, max: usize) -> usize {
        self.held.release(released);
        if self.held.bytes >= Self::LIMIT { 0 } else { self.share(max) }
    }

    /// Writes `n` slots: with what `f` writes for 0, 1, ..., and empty if it returns false. Returns how many were
    /// written. Unless the run must be `whole`, it ends early when a block is full.
    #[inline(always)]
    pub(crate) fn write<D: Density>(
        &mut self,
        mut run: Run<'_, T, D>,
        n: usize,
        whole: bool,
        mut f: impl FnMut(usize, &mut Writer<'_, T>) -> bool,
    ) -> u64 {
        let (first, mut text, mut memory, mut i) = (run.next(), 0, 0, 0);
        let mut draft = self.draft();
        let mut bytes = std::mem::take(&mut draft.bytes);
        while i < n {
            let start = bytes.len();
            if f(i, &mut Writer::new(&mut bytes)) {
                let len = bytes.len() - start;
                assert!(
                    bytes.len() <= Block::MOST,
                    "a block has at most 2 GiB, and a value was written of {len} bytes"
                );
                // SAFETY: `f` only appends, text of kind `T`, and the draft is finished with all of it and then kept,
                // before another one is begun and before the run is finished. If `f` panics, or this does, the run is
                // dropped.
                unsafe { run.put(draft.block(), start, len) };
            } else {
                bytes.truncate(start);
                run.skip();
            }
            i += 1;
            if bytes.len() >= Self::BLOCK {
                if !whole {
                    break;
                }
                text += bytes.len();
                memory += self.keep(&mut run, draft, bytes);
                draft = self.draft();
                bytes = std::mem::take(&mut draft.bytes);
            }
        }
        text += bytes.len();
        memory += self.keep(&mut run, draft, bytes);
        self.weigh(i, text);
        let written = run.finish();
        self.held.hold(first + written, memory, None);
        written
    }

    fn draft(&mut self) -> Draft {
        let mut draft = self.pool.draft();
        draft.bytes.clear();
        draft
    }

    /// Finishes a draft, and makes the run keep its block. Returns the memory of that block.
    #[inline(always)]
    fn keep<D: Density>(&mut self, run: &mut Run<'_, T, D>, mut draft: Draft, bytes: Vec<u8>) -> usize {
        let len = bytes.len();
        draft.bytes = bytes;
        let block = self.pool.finish(draft, len);
        run.keep(&block);
        if len == 0 { 0 } else { block.memory() }
    }

    fn weigh(&mut self, slots: usize, bytes: usize) {
        if slots > 0 {
            self.weight = bytes.div_ceil(slots);
        }
    }

    /// Calls `fill` to write slots with pieces that are stored in blocks already, at most `n`. Unless the run must be
    /// `whole`, it ends early when the blocks reach [`LIMIT`](Pen::LIMIT) bytes.
    #[inline(always)]
    pub(crate) fn pass_on<'b, D: Density>(
        &mut self,
        run: Run<'_, T, D>,
        n: usize,
        whole: bool,
        fill: impl FnOnce(&mut Passing<'_, 'b, T, D>),
    ) -> u64
    where
        T: 'b,
    {
        let first = run.next();
        let most = if whole { usize::MAX } else { Self::LIMIT.saturating_sub(self.held.bytes) };
        let mut passing = Passing::new(run, n, most, self.held.last);
        fill(&mut passing);
        let Passed { slots, text, memory, last } = passing.finish();
        self.weigh(slots as usize, text);
        self.held.hold(first + slots, memory, last);
        slots
    }

    /// The text that `f` writes, in a block of its own; none if `f` returns false. For END.
    pub fn one(&mut self, f: impl FnOnce(&mut Writer<'_, T>) -> bool) -> Option<Span<T>> {
        let mut draft = self.draft();
        let filled = f(&mut Writer::new(&mut draft.bytes));
        let len = draft.bytes.len();
        let block = self.pool.finish(draft, len);
        // SAFETY: `f` has appended these bytes, of kind `T`, and nothing else is in the block.
        filled.then(|| unsafe { Span::owning(block, 0, len) })
    }
}

impl<T: Kind + ?Sized> Default for Pen<T> {
    fn default() -> Self {
        Pen::new()
    }
}

impl<T: ?Sized> std::fmt::Debug for Pen<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pen").field("held", &self.held.bytes).finish_non_exhaustive()
    }
}
