use crate::Rings;

/// The deployment on the calling thread alone. It has the stages, rings and batches of [`Rings`], and every step runs
/// on the thread that runs the pipeline.
///
/// A source may wait for its next value, as any iterator may. It is therefore asked for one value at a time: all stages
/// process that value, and the sink [pauses](crate::sink::Sink::pause), before the source is asked again, so that no
/// accepted value waits for a silent source. Stages on one clock are one loop from the source to the sink, in which
/// that costs some 20 ns a value. Where a stage needs its ring, such as one that renumbers, or a `shard`, each value
/// costs a round of all stages, some 300 ns. The values of a range or a vector are available at once, so they pass
/// through the stages in batches, as on workers. For other iterators of which that holds, say so with
/// [`source::ready`](crate::source::ready).
///
/// ```
/// use millstream::prelude::*;
/// let here = std::thread::current().id();
/// let p = pipeline::<u64>().map(move |x| (x * x, std::thread::current().id() == here));
/// assert_eq!(
///     Inline::new(Rings::new().ring(64)).collect(p.from(1..=3))?,
///     [(1, true), (4, true), (9, true)]
/// );
/// # Ok::<(), RunError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inline {
    rings: Rings,
}

impl Inline {
    /// With the ring and batch sizes of these options; the options for workers and waiting have no effect.
    #[must_use]
    pub fn new(rings: Rings) -> Self {
        Inline { rings }
    }

    pub(crate) fn rings(&self) -> &Rings {
        &self.rings
    }
}
