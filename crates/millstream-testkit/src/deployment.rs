use millstream_core::{Arrow, Event, Own, SequenceNumber, Val};
use millstream_exec::{Pipeline, Rings, Run, RunError, source};
use proptest::prelude::*;
use std::fmt;

/// One way to run a pipeline on rings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    /// Slots of every ring: a power of two.
    pub ring: usize,
    /// The most that one step moves.
    pub batch: usize,
    /// How many workers run the stages.
    pub workers: usize,
    /// How the values come in.
    pub feeding: Feeding,
}

/// How the values come in, and where the stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeding {
    /// One value at a time, everything on the calling thread.
    Inline,
    /// From a source that is always ready, in batches.
    Ready,
    /// From a source that may wait, on a thread of its own, one value at a time.
    Waiting,
}

/// The slots of an output, by number, END's the last.
pub(crate) type Slots<T> = Vec<Option<T>>;

impl Deployment {
    /// The options of this deployment.
    #[must_use]
    pub fn rings(&self) -> Rings {
        Rings::new().ring(self.ring).batch(self.batch).workers(self.workers)
    }

    /// Every slot of the pipeline's output, by number, empty ones and END among them.
    ///
    /// # Errors
    ///
    /// If the run fails.
    #[expect(clippy::type_complexity, reason = "a list of slots")]
    pub fn collect_slots<T: Event, P>(
        &self,
        pipeline: &P,
        inputs: Vec<T>,
    ) -> Result<Vec<Option<<P::Out as Own>::Owned>>, RunError>
    where
        P: Pipeline + Arrow<In = Val<T>, Out: millstream_exec::Carried + Own>,
    {
        match self.feeding {
            Feeding::Inline => inline_slots(pipeline, &self.rings(), inputs),
            Feeding::Ready => pipeline.collect_slots(&self.rings(), source::ready(inputs)),
            Feeding::Waiting => pipeline.collect_slots(&self.rings(), inputs),
        }
    }
}

fn inline_slots<T: Event, P>(
    pipeline: &P,
    rings: &Rings,
    inputs: Vec<T>,
) -> Result<Slots<<P::Out as Own>::Owned>, RunError>
where
    P: Pipeline + Arrow<In = Val<T>, Out: millstream_exec::Carried + Own>,
{
    let put = |slots: &mut Vec<_>, SequenceNumber(number), value: <P::Out as millstream_core::Flow>::Ref<'_>| {
        slots.resize_with(number as usize, || None);
        slots.push(Some(P::Out::own(value)));
    };
    let (mut slots, report) = pipeline.run_inline(rings, inputs, Vec::new(), put)?;
    slots.resize_with(report.numbers.0 as usize + 1, || None);
    Ok(slots)
}

impl fmt::Debug for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deployment { ring, batch, workers, feeding } = self;
        write!(f, "ring {ring}, batch {batch}, workers {workers}, {feeding:?}")
    }
}

/// Deployments with rings of 1 to 64 slots, batches of 1 to 100 and 1 to 4 workers, fed in every way.
pub fn deployments() -> impl Strategy<Value = Deployment> {
    let feeding = prop_oneof![Just(Feeding::Inline), Just(Feeding::Ready), Just(Feeding::Waiting)];
    let batch = prop_oneof![1..=8_usize, 9..=100_usize];
    (0..=6_u32, batch, 1..=4_usize, feeding).prop_map(|(log, batch, workers, feeding)| Deployment {
        ring: 1 << log,
        batch,
        workers,
        feeding,
    })
}
