use millstream_core::{Arrow, Item, ToOwnedItem, Val};
use millstream_exec::{
    BatchSender, Deployable, FanIn, Inline, JobRefExt, Rings, RunEnd, RunError, Runner, Sender, Sink, StagesOn,
    Stepped, sink, source,
};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

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

/// How the values are fed, and on which threads the stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeding {
    /// One value at a time, everything on the calling thread.
    Inline,
    /// From a vector, in batches, everything on the calling thread.
    InlineVector,
    /// On demand, everything on the calling thread, the stages' steps in an order that the seed determines. The same
    /// seed replays the same schedule.
    Stepped(u64),
    /// From a vector, in batches.
    Vector,
    /// From a source that is always ready, in batches, also past its ring.
    Ready,
    /// From a source that may wait, on a thread of its own, one value at a time.
    Waiting,
    /// From such a source, whose thread gathers values and then runs the stages.
    Gathered,
    /// From a channel, which a thread feeds before the run starts and while it goes on.
    Channel,
    /// In batches with marks at their ends, by a thread that runs the stages.
    Batches,
}

impl Feeding {
    /// One of each way that differs by more than batches.
    #[must_use]
    pub fn each(seed: u64) -> [Self; 7] {
        use Feeding::{Batches, Channel, Gathered, Inline, Ready, Stepped, Waiting};
        [Inline, Stepped(seed), Ready, Waiting, Gathered, Channel, Batches]
    }

    /// Those, with a number of workers for a few numbers, and this many schedules.
    pub fn with_workers(schedules: u64) -> impl Iterator<Item = (usize, Self)> {
        use Feeding::{Batches, Channel, Gathered, Inline, Ready, Stepped, Waiting};
        let feedings = [(1, Inline), (2, Ready), (2, Waiting), (2, Gathered), (2, Channel), (2, Batches)];
        feedings.into_iter().chain((0..schedules).map(|seed| (1, Stepped(seed))))
    }
}

/// The slots of an output by number, END last.
pub(crate) type Slots<T> = Vec<Option<T>>;

/// The slots of a pipeline's output, and the result of starting its producers.
pub(crate) type Fed<P, S> = (Slots<Owned<P>>, S);

impl Deployment {
    /// Every slot of the pipeline's output after many producers, which get their senders by `start`; and the result of
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
        let (senders, poller) = fan_in.open(&self.rings())?;
        if !self.has_workers() {
            let started = start(senders);
            return Ok((Inline::new(self.rings()).collect_slots(pipeline.from(poller))?, started));
        }
        let run = self.rings().start(pipeline.from(poller).to(sink::collect_slots()))?;
        let started = start(senders);
        Ok((slots_of(run.join())?, started))
    }

    /// Whether threads other than the caller's run the stages.
    pub(crate) fn has_workers(&self) -> bool {
        !matches!(self.feeding, Feeding::Inline | Feeding::InlineVector | Feeding::Stepped(_))
    }

    /// The options of this deployment.
    #[must_use]
    pub fn rings(&self) -> Rings {
        let threads = match self.feeding {
            Feeding::Gathered | Feeding::Batches => StagesOn::Source,
            _ => StagesOn::default(),
        };
        Rings::new().ring(self.ring).batch(self.batch).workers(self.workers).stages_on(threads)
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
        slots_of(self.run_into(pipeline, inputs, sink::collect_slots())?)
    }

    /// The run of a job with this sink, once it has ended or failed.
    pub(crate) fn run_into<T: Item, P, K>(
        &self,
        pipeline: &P,
        inputs: impl IntoIterator<Item = T, IntoIter: Send + 'static>,
        sink: K,
    ) -> Result<RunEnd<K::Output>, RunError>
    where
        P: Deployable + Arrow<In = Val<T>, Out: millstream_exec::RingShape + ToOwnedItem>,
        K: Sink<P::Out>,
    {
        self.run_with(self.rings(), pipeline, inputs, sink)
    }

    /// As [`run_into`](Deployment::run_into), with these options of rings.
    pub(crate) fn run_with<T: Item, P, K>(
        &self,
        rings: Rings,
        pipeline: &P,
        inputs: impl IntoIterator<Item = T, IntoIter: Send + 'static>,
        sink: K,
    ) -> Result<RunEnd<K::Output>, RunError>
    where
        P: Deployable + Arrow<In = Val<T>, Out: millstream_exec::RingShape + ToOwnedItem>,
        K: Sink<P::Out>,
    {
        Ok(match self.feeding {
            Feeding::Inline => Inline::new(rings).start(pipeline.from(waiting(inputs)).to(sink))?.join(),
            Feeding::InlineVector => Inline::new(rings).start(pipeline.from(inputs).to(sink))?.join(),
            Feeding::Stepped(seed) => {
                Stepped::new(rings, seed).start(pipeline.from(source::ready(inputs)).to(sink))?.join()
            }
            Feeding::Ready => rings.start(pipeline.from(source::ready(inputs)).to(sink))?.join(),
            Feeding::Vector => rings.start(pipeline.from(inputs).to(sink))?.join(),
            Feeding::Waiting | Feeding::Gathered => rings.start(pipeline.from(waiting(inputs)).to(sink))?.join(),
            Feeding::Channel => {
                let (receiver, feeding) = sent(self.ring, inputs);
                let ended = rings.start(pipeline.from(receiver).to(sink))?.join();
                joined(feeding);
                ended
            }
            Feeding::Batches => {
                let (sender, receiver) = source::channel(self.ring);
                let run = rings.start(pipeline.from(receiver).to(sink))?;
                let feeding = in_batches(run.batches(sender), inputs);
                let ended = run.join();
                joined(feeding);
                ended
            }
        })
    }
}

/// These values, by an iterator that may wait, as far as its type says.
pub(crate) fn waiting<T: Item>(
    inputs: impl IntoIterator<Item = T, IntoIter: Send + 'static>,
) -> impl Iterator<Item = T> + Send + 'static {
    let mut inputs = inputs.into_iter();
    std::iter::from_fn(move || inputs.next())
}

/// A channel that a thread feeds, which begins before the run does.
pub(crate) fn sent<T: Item>(
    slots: usize,
    inputs: impl IntoIterator<Item = T, IntoIter: Send + 'static>,
) -> (source::Receiver<T>, JoinHandle<()>) {
    let ((sender, receiver), inputs) = (source::channel(slots), inputs.into_iter());
    let feed = move || {
        // A run that takes no more returns the values that it did not take. If their drop panics, that is a panic of
        // this thread, not a failure of the run.
        let returned = sender.send_all(inputs);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(returned)));
    };
    (receiver, std::thread::spawn(feed))
}

/// How many batches are under way.
const UNDER_WAY: usize = 2;

/// A thread that sends batches of no, one, two, .. values.
pub(crate) fn in_batches<T: Item>(
    mut batches: BatchSender<T>,
    inputs: impl IntoIterator<Item = T, IntoIter: Send + 'static>,
) -> JoinHandle<()> {
    let mut inputs = inputs.into_iter().fuse();
    let feed = move || {
        let mut laid = VecDeque::new();
        for size in (0..7).cycle() {
            let batch: Vec<T> = inputs.by_ref().take(size).collect();
            let ends = batch.len() < size;
            // As of a channel, what is not taken is dropped here.
            let mark = catch_unwind(AssertUnwindSafe(|| batches.send(batch))).ok().flatten();
            let goes_on = mark.is_some();
            laid.extend(mark);
            while laid.len() > UNDER_WAY || !goes_on {
                let Some(mark) = laid.pop_front() else { break };
                let _ = batches.passed(mark);
            }
            if ends || !goes_on {
                break;
            }
        }
        // So is the rest of the input. A panic of its drop is one of this thread, not a failure of the run.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(inputs)));
    };
    std::thread::spawn(feed)
}

/// Joins the thread that feeds a run.
pub(crate) fn joined(feeding: JoinHandle<()>) {
    if let Err(payload) = feeding.join() {
        std::panic::resume_unwind(payload);
    }
}

type Owned<P> = <<P as Arrow>::Out as ToOwnedItem>::Owned;

/// All slots up to END.
pub(crate) fn slots_of<T>(ended: RunEnd<Slots<T>>) -> Result<Slots<T>, RunError> {
    let (mut slots, report) = ended.ok()?;
    // It cuts nothing off: a value behind END is a difference.
    slots.resize_with(slots.len().max(report.numbers.0 as usize + 1), || None);
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
    let stepped = any::<u64>().prop_map(Feeding::Stepped);
    let feeding = prop_oneof![
        Just(Feeding::Inline),
        stepped,
        Just(Feeding::Ready),
        Just(Feeding::InlineVector),
        Just(Feeding::Vector),
        Just(Feeding::Waiting),
        Just(Feeding::Gathered),
        Just(Feeding::Channel),
        Just(Feeding::Batches)
    ];
    let batch = prop_oneof![1..=8_usize, 9..=100_usize];
    (0..=6_u32, batch, 1..=4_usize, feeding).prop_map(|(log, batch, workers, feeding)| Deployment {
        ring: 1 << log,
        batch,
        workers,
        feeding,
    })
}
