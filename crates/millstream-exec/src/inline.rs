use crate::Rings;

/// The deployment on the caller's thread, and no other: the stages, rings and batches of [`Rings`], every step taken by
/// whoever runs the pipeline.
///
/// A source that may wait for its next value, as any iterator may, is asked for one value at a time, and each is worked off
/// through all stages before the source is asked again: nothing that was accepted waits behind a source that says nothing.
/// That costs a round of all stages a value, and twenty to thirty times what whole batches cost. Where the values are there
/// at once, say so with [`source::ready`](crate::source::ready): then batches go through the stages as they do on workers.
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Inline, Rings, Runner};
/// let here = std::thread::current().id();
/// let p = pipeline::<u64>().map(move |x| (x * x, std::thread::current().id() == here));
/// assert_eq!(Inline::new(Rings::new().ring(64)).collect(&p, 1..=3)?, [(1, true), (4, true), (9, true)]);
/// # Ok::<(), millstream_exec::RunError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inline {
    rings: Rings,
}

impl Inline {
    /// With the ring and batch sizes of these options; how many workers they say, and how these wait, does not matter.
    #[must_use]
    pub fn new(rings: Rings) -> Self {
        Inline { rings }
    }

    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }
}
