use millstream_core::{Arrow, Item, SequenceNumber, Shape, ToOwnedItem, Val};
use millstream_exec::{Deployable, FanIn, Report, Rings, Run, RunError, Sender, source};
use proptest::prelude::*;
use std::fmt;

/// One way to run a pipeline on rings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    /// The capacity of every ring: a power of two.
    pub ring: usize,
    /// The most values that one step moves.
    pub batch: usize,
    /// How many workers run the stages.
    pub workers: usize,
    /// How the values are fed.
    pub feeding: Feeding,
}

/// How the values are fed, and where the stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeding {
    /// One value at a time, everything on the calling thread.
    Inline,
    /// On demand, everything on the calling thread, the stages' steps in an order that the seed determines. The same
    /// seed replays the same schedule.
    Stepped(u64),
    /// From a source that is always ready, in batches.
    Ready,
    /// From a source that may wait, on a thread of its own, one value at a time.
    Waiting,
}

/// The slots of an output by number, END last.
pub(crate) type Slots<T> = Vec<Option<T>>;

/// The slots of a pipeline's output, and the result of starting its producers.
pub(crate) type Fed<P, S> = (Slots<Owned<P>>, S);

impl Deployment {
    /// Every slot of the output of the pipeline after many producers, whose senders `start` gets; and the result of
    /// `start`.
    pub(crate) fn collect_fan_in<T: Item, P, S>(
        &self,
        pipeline: &P,
        fan_in: FanIn<T>,
        start: impl FnOnce(Vec<Sender<T>>) -> S,
    ) -> Result<Fed<P, S>, RunError>
    where
        P: Deployable + Arrow<In = Val<T>, Out: millstream_exec::RingShape + ToOwnedItem>,
    {
        if !self.has_workers() {
            let (senders, poller) = fan_in.open(&self.rings())?;
            let started = start(senders);
            return Ok((self.collect_from(pipeline, poller)?, started));
        }
        let put: Put<P> = put::<P>;
        let (senders, run) = pipeline.start_fan_in(&self.rings(), fan_in, Slots::new(), put)?;
        let started = start(senders);
        let (slots, report) = run.wait()?;
        Ok((padded(slots, &report), started))
    }

    /// Whether threads other than the caller's run the stages.
    pub(crate) fn has_workers(&self) -> bool {
        matches!(self.feeding, Feeding::Ready | Feeding::Waiting)
    }

    /// The options of this deployment.
    #[must_use]
    pub fn rings(&self) -> Rings {
        Rings::new().ring(self.ring).batch(self.batch).workers(self.workers)
    }

    /// Every slot of the pipeline's output by number, empty ones and END included.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn collect_slots<T: Item, P>(
        &self,
        pipeline: &P,
        inputs: Vec<T>,
    ) -> Result<Vec<Option<<P::Out as ToOwnedItem>::Owned>>, RunError>
    where
        P: Deployable + Arrow<In = Val<T>, Out: millstream_exec::RingShape + ToOwnedItem>,
    {
        self.collect_from(pipeline, inputs)
    }

    /// As [`collect_slots`](Deployment::collect_slots), from any iterator.
    pub(crate) fn collect_from<T: Item, P>(
        &self,
        pipeline: &P,
        inputs: impl IntoIterator<Item = T, IntoIter: Send + 'static>,
    ) -> Result<Slots<<P::Out as ToOwnedItem>::Owned>, RunError>
    where
        P: Deployable + Arrow<In = Val<T>, Out: millstream_exec::RingShape + ToOwnedItem>,
    {
        match self.feeding {
            Feeding::Inline => slots_of::<P>(|put| pipeline.run_inline(&self.rings(), inputs, Vec::new(), put)),
            Feeding::Stepped(seed) => {
                slots_of::<P>(|put| pipeline.run_stepped(&self.rings(), source::ready(inputs), seed, Vec::new(), put))
            }
            Feeding::Ready => pipeline.collect_slots(&self.rings(), source::ready(inputs)),
            Feeding::Waiting => pipeline.collect_slots(&self.rings(), inputs),
        }
    }
}

/// The sink's function: it stores a value at its number.
type Put<P> = for<'a> fn(&mut Slots<Owned<P>>, SequenceNumber, <<P as Arrow>::Out as Shape>::Ref<'a>);
type Owned<P> = <<P as Arrow>::Out as ToOwnedItem>::Owned;

/// The slots that a run stores in its state.
fn slots_of<P: Arrow<Out: ToOwnedItem>>(
    run: impl FnOnce(Put<P>) -> Result<(Slots<Owned<P>>, Report), RunError>,
) -> Result<Slots<Owned<P>>, RunError> {
    let (slots, report) = run(put::<P>)?;
    Ok(padded(slots, &report))
}

fn put<P: Arrow<Out: ToOwnedItem>>(
    slots: &mut Slots<Owned<P>>,
    SequenceNumber(number): SequenceNumber,
    value: <P::Out as Shape>::Ref<'_>,
) {
    slots.resize_with(number as usize, || None);
    slots.push(Some(P::Out::to_owned_item(value)));
}

/// All slots up to END.
fn padded<T>(mut slots: Slots<T>, report: &Report) -> Slots<T> {
    slots.resize_with(report.numbers.0 as usize + 1, || None);
    slots
}

impl fmt::Debug for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deployment { ring, batch, workers, feeding } = self;
        write!(f, "ring {ring}, batch {batch}, workers {workers}, {feeding:?}")
    }
}

/// Deployments with rings of 1 to 64 slots, batches of 1 to 100 and 1 to 4 workers, fed in every way.
pub fn deployments() -> impl Strategy<Value = Deployment> {
    let stepped = any::<u64>().prop_map(Feeding::Stepped);
    let feeding = prop_oneof![Just(Feeding::Inline), stepped, Just(Feeding::Ready), Just(Feeding::Waiting)];
    let batch = prop_oneof![1..=8_usize, 9..=100_usize];
    (0..=6_u32, batch, 1..=4_usize, feeding).prop_map(|(log, batch, workers, feeding)| Deployment {
        ring: 1 << log,
        batch,
        workers,
        feeding,
    })
}
