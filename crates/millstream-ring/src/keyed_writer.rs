use crate::keyed_writers::KeyedWriters;
use crate::last::Last;
use crate::mark::Mark;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::Shared;
use crate::sync::Arc;
use crate::view::RingLayout;
use crate::writer_core::WriterCore;
use millstream_core::keys::KeySlot;
use millstream_core::{Item, Pair, SequenceNumber, Sparse, Val};

/// The key slots of an edge's numbers.
type KeyedInput<F> = Pair<F, Val<KeySlot, Sparse>>;

/// One of k tasklets that share an input and an output ring. Each fills the numbers of its lane.
///
/// Every writer passes all numbers, in order, and readers of the output see a number when all writers have passed it.
pub struct KeyedWriter<F: RingLayout, S: Item> {
    writers: usize,
    core: WriterCore<KeyedInput<F>, S>,
}

impl<F: RingLayout, S: Item> KeyedWriter<F, S> {
    pub(crate) fn new(
        index: usize,
        writers: usize,
        input: Reader<KeyedInput<F>>,
        output: Arc<Shared<S>>,
        keyed_writers: Arc<KeyedWriters>,
    ) -> Self {
        KeyedWriter { writers, core: WriterCore::new(index, input, output, keyed_writers) }
    }

    /// Passes at most `max` numbers, and fills those that are this writer's: with `f` of the number, its slot, and its
    /// key slot. Returns how many it passed: 0 if nothing is published or the output has no room.
    ///
    /// If `f` panics, this writer is broken: it stops for good, and no reader sees this number or a later one.
    pub fn fill(&mut self, max: usize, mut f: impl FnMut(u64, Option<F::Ref<'_>>, Option<KeySlot>) -> S) -> usize {
        let (index, writers) = (self.core.index, self.writers);
        let work = |n, chunk: &<KeyedInput<F> as RingLayout>::Chunk<'_>, i| {
            // SAFETY: less than the length of the batch that the chunk was made for.
            let key_slot = unsafe { <Val<KeySlot, Sparse> as RingLayout>::at(&chunk.1, i) }.copied();
            (owner(key_slot, writers) == index).then(|| {
                // SAFETY: as above.
                f(n, unsafe { F::at(&chunk.0, i) }, key_slot)
            })
        };
        let mine = |chunk: &<KeyedInput<F> as RingLayout>::Chunk<'_>, i| {
            // SAFETY: as above.
            owner(unsafe { <Val<KeySlot, Sparse> as RingLayout>::at(&chunk.1, i) }.copied(), writers) == index
        };
        // SAFETY: all writers compute the same owner of a number, since its key slot is published and plain.
        unsafe { self.core.fill(max, work, mine) }
    }

    /// Passes END, once it is published on the input. Returns whether it has. If END is this writer's, `f` of the
    /// number, the value and the key slot of the input's END returns its slot.
    ///
    /// If `f` panics, END is never published.
    pub fn end(&mut self, f: impl FnOnce(u64, Option<F::Ref<'_>>, Option<KeySlot>) -> Option<S>) -> bool {
        self.end_with(|n, value, key_slot| f(n, value, key_slot).map(Last::from))
    }

    /// As [`end`](KeyedWriter::end), of an output of any density.
    ///
    /// If `f` panics, END is never published.
    pub fn end_with(&mut self, f: impl FnOnce(u64, Option<F::Ref<'_>>, Option<KeySlot>) -> Option<Last<S>>) -> bool {
        let (index, writers) = (self.core.index, self.writers);
        // SAFETY: as in `fill`.
        unsafe {
            self.core.end(|n, end| {
                let (slot, key_slot) = end.halves();
                let key_slot = key_slot.copied();
                (owner(key_slot, writers) == index).then(|| f(n, slot, key_slot))
            })
        }
    }

    /// Passes the mark at the next number, if there is one, once it is copied to the output, and returns it.
    pub fn pass_mark(&mut self) -> Option<Mark> {
        self.core.pass_mark()
    }

    /// Drops what every reader of the output has released.
    pub fn sweep(&mut self) {
        self.core.sweep();
    }

    /// The number at which a panic broke this writer.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.core.abandoned_at()
    }

    /// The counters of its input and of its output ring, for observers.
    #[must_use]
    pub fn probes(&self) -> (InputProbe, RingProbe) {
        self.core.probes()
    }

    /// The number of published slots that this writer has not passed, END included.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.core.backlog()
    }
}

/// The index of the writer that owns a number.
#[inline(always)]
fn owner(key_slot: Option<KeySlot>, writers: usize) -> usize {
    key_slot.map_or(0, |key_slot| usize::from(key_slot.lane).min(writers - 1))
}

impl<F: RingLayout, S: Item> std::fmt::Debug for KeyedWriter<F, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyedWriter")
            .field("index", &self.core.index)
            .field("input", &self.core.input)
            .finish_non_exhaustive()
    }
}
