//! Many producers, joined into one stream.
//!
//! Each producer has a ring of its own, from which values are moved and not cloned (`ring/spsc.rs`), so a type with
//! `Drop` costs no sweep. A worker's tasklet takes from the rings by a rule, and fills the source's ring in batches. A
//! [`Poller`] does the same for a closure, without the second move. Producers come and go in the `Registry`; no value
//! takes its lock. All rings wake their consumer through the run's one event count.

mod batch;
mod cuts;
#[cfg_attr(not(loom), expect(unreachable_pub, reason = "loom tests it"))]
mod gate;
mod lane;
mod merge;
mod merge_log;
mod panics;
mod poller;
mod producer;
mod registry;
mod rule;
mod table;
mod tasklet;
mod values;

pub(crate) use cuts::WantedCut;
#[cfg(loom)]
pub use gate::{Gate, Shown};
pub(crate) use merge::Merge;
pub use merge_log::{CorruptMergeLog, MergeLog};
pub use panics::{ProducerPanic, ProducerPanics};
pub use poller::{Polled, Poller};
pub(crate) use producer::ProducerEnd;
pub(crate) use tasklet::{MergeTasklet, Ticks};
pub use values::PolledValues;

use crate::OptionsError;
use crate::explain::Feed;
use crate::{Rings, RunError, Sender};
use millstream_core::Item;
use rule::Rule;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// The default of [`FanIn::turn`].
const DEFAULT_TURN: usize = 1024;

/// Joins the values of `producers` [`Sender`]s into one stream; each sender has a ring of its own.
/// [`open`](FanIn::open) returns the senders and a [`Poller`], which is the [source](crate::Source) of a job, or is
/// polled by hand.
///
/// Every ring has one producer, so producers do not contend: sending is a claim on the producer's own ring, without
/// compare-and-swap. The price is memory, `producers` rings of [`ring`](FanIn::ring) slots; [`shared`](FanIn::shared)
/// uses one ring for all. Values are moved into the stream, not cloned. The stream has numbers of its own, 0, 1, 2,
/// ..., and keeps the order of each producer's values. It ends when all senders are dropped.
///
/// A rule decides how the producers' values interleave: by [arrival](FanIn::by_arrival), unless you choose another.
/// Arrival depends on timing; it can be [recorded](FanIn::record) and [replayed](FanIn::replay).
///
/// ```
/// use millstream::prelude::*;
///
/// let sum = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
/// let (senders, poller) = fan_in(3).open(&Rings::new())?;
/// let run = sum.from(poller).to_fold(0, |last, _, x| *last = *x).start()?;
/// for (sender, first) in senders.into_iter().zip([1, 10, 100]) {
///     std::thread::spawn(move || sender.send_all([first, first]));
/// }
/// assert_eq!(run.wait()?.0, 222);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// This is "one consumer, many single-producer rings" of the LMAX Disruptor's authors, in which the consumer polls the
/// rings in turn.
pub fn fan_in<T: Item>(producers: usize) -> FanIn<T> {
    FanIn {
        producers,
        at_most: producers,
        slots: None,
        turn: DEFAULT_TURN,
        shared: false,
        isolated: false,
        rule: Rule::Arrival,
        idle: None,
        record: None,
        format: PhantomData,
    }
}

/// The senders of a fan-in, and its poller.
pub type Opened<T, O> = (Vec<Sender<T>>, Poller<T, O>);

/// Receives every choice of the merge: a producer, and how many of its values come next.
type Record = Box<dyn FnMut(u32, u64) + Send>;

/// Several producers, and the rule that joins their values. See [`fan_in`].
#[must_use]
pub struct FanIn<T: Item, O = Plain> {
    producers: usize,
    at_most: usize,
    slots: Option<usize>,
    turn: usize,
    shared: bool,
    isolated: bool,
    rule: Rule<T>,
    /// For how long a producer may be silent, if the rule is by time.
    idle: Option<Duration>,
    record: Option<Record>,
    format: PhantomData<O>,
}

/// A value with its producer and its number there. See [`FanIn::with_producer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FromProducer<T> {
    /// The producer: 0, 1, ... in the order in which they began.
    pub producer: u32,
    /// The value's number among those of this producer.
    pub number: u64,
    /// The value.
    pub value: T,
}

/// The items in the stream of a [`FanIn`]: values, [`Plain`] or [`WithProducer`].
pub trait ItemFormat<T>: sealed::Sealed {
    /// The type of an item.
    type Item: Item;

    /// The item of a value, which is this producer's `number`-th.
    fn item(producer: u32, number: u64, value: T) -> Self::Item;
}

mod sealed {
    pub trait Sealed: Send + 'static {}
}

/// Values as they were sent.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// Every value as a [`FromProducer`].
#[derive(Clone, Copy, Debug)]
pub struct WithProducer;

impl sealed::Sealed for Plain {}
impl<T: Item> ItemFormat<T> for Plain {
    type Item = T;

    #[inline(always)]
    fn item(_: u32, _: u64, value: T) -> T {
        value
    }
}

impl sealed::Sealed for WithProducer {}
impl<T: Item> ItemFormat<T> for WithProducer {
    type Item = FromProducer<T>;

    #[inline(always)]
    fn item(producer: u32, number: u64, value: T) -> FromProducer<T> {
        FromProducer { producer, number, value }
    }
}

impl<T: Item> FanIn<T, Plain> {
    /// Makes the stream carry every value with its producer and its number there.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (senders, mut poller) = fan_in(2).with_producer().open(&Rings::new())?;
    /// senders[1].send("x")?;
    /// senders[1].send("y")?;
    /// let mut last = None;
    /// assert_eq!(poller.poll(|number, value| last = Some((number.0, value)))?, Polled::Values(2));
    /// assert_eq!(last, Some((1, FromProducer { producer: 1, number: 1, value: "y" })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_producer(self) -> FanIn<T, WithProducer> {
        let FanIn { producers, at_most, slots, turn, shared, isolated, rule, idle, record, .. } = self;
        FanIn { producers, at_most, slots, turn, shared, isolated, rule, idle, record, format: PhantomData }
    }
}

impl<T: Item, O: ItemFormat<T>> FanIn<T, O> {
    /// Sets the slots of each producer's ring, or of the shared one: a power of two. By default as many as
    /// the rings have that [`open`](FanIn::open) is given.
    pub fn ring(mut self, slots: usize) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Sets the most values taken from one ring before the other rings' turn, at least 1; by default 1024. A producer
    /// that floods its ring delays the others by no more than that.
    pub fn turn(mut self, most: usize) -> Self {
        self.turn = most;
        self
    }

    /// Allows up to `most` producers at a time, beyond the initial ones: see [`Sender::add_producer`]. The memory of
    /// that many rings is part of the plan, and each ring is allocated when its producer is added.
    pub fn at_most(mut self, most: usize) -> Self {
        self.at_most = most.max(self.producers);
        self
    }

    /// Uses one ring for all producers. Memory does not grow with their number, but they contend, and values come in
    /// the order in which their room was claimed. The only rule is arrival.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (senders, mut poller) = fan_in(2).shared().ring(8).open(&Rings::new())?;
    /// senders[1].send('a')?;
    /// senders[0].send('b')?;
    /// drop(senders);
    /// let mut all = String::new();
    /// poller.for_each(|_, x| all.push(x))?;
    /// assert_eq!(all, "ab");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Makes a thread that panics while it owns a sender end that producer alone, as if it had dropped the sender. This
    /// is for services, where each producer belongs to a client. The values it had sent are in the stream; the
    /// [report](crate::Report::producer_panics) and [`Poller::producer_panics`] list such producers. By default the run
    /// fails, since part of the input would pass for the whole.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let clients = fan_in(2).isolate_panics();
    /// let (mut senders, poller) = clients.open(&Rings::new())?;
    /// let run = Rings::new().start(pipeline().from(poller).to_fold(0, |sum, _, x| *sum += x))?;
    /// let (healthy, dying) = (senders.remove(0), senders.remove(0));
    /// let client = std::thread::spawn(move || {
    ///     dying.send(1).unwrap();
    ///     panic!("a bug in this client");
    /// });
    /// assert!(client.join().is_err());
    /// healthy.send(10)?;
    /// drop(healthy);
    /// let (sum, report) = run.wait()?;
    /// assert_eq!((sum, report.producer_panics.count), (11, 1));
    /// assert_eq!(
    ///     (report.producer_panics.last[0].producer, report.producer_panics.last[0].sent),
    ///     (1, 1)
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn isolate_panics(mut self) -> Self {
        self.isolated = true;
        self
    }

    /// Takes values as they arrive, a [`turn`](FanIn::turn) of each ring in turn, without waiting for a silent
    /// producer. The stream then depends on timing. This is the default.
    pub fn by_arrival(mut self) -> Self {
        self.rule = Rule::Arrival;
        self
    }

    /// Takes one value of every producer in turn, as [`source::round_robin`](crate::source::round_robin) does, skipping
    /// producers that have ended. A silent producer holds up the others. The stream is determinate, unless producers
    /// are added during the run: they take their turn after the existing ones.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (senders, poller) = fan_in(2).round_robin().open(&Rings::new())?;
    /// let run = pipeline().from(poller).to_fold(String::new(), |all, _, x| all.push(*x)).start()?;
    /// for (sender, word) in senders.into_iter().zip(["ace", "bd"]) {
    ///     std::thread::spawn(move || sender.send_all(word.chars()));
    /// }
    /// assert_eq!(run.wait()?.0, "abcde");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn round_robin(mut self) -> Self {
        self.rule = Rule::round_robin();
        self
    }

    /// Takes the earliest value first; of equal times, the one of the producer that began earlier. Each producer must
    /// send in the order of its times: a value earlier than the one before it fails the run, and the error names the
    /// producer, the number and the times.
    ///
    /// Every producer has a watermark, before which it sends nothing more: the time of its last value, or the time
    /// passed to [`Sender::advance`]. A value waits until all watermarks are beyond it. The stream is determinate,
    /// unless producers are added during the run: how far it was then depends on timing. A silent producer holds up the
    /// others, unless [`idle`](FanIn::idle) bounds that.
    pub fn by_timestamp(mut self, time: impl Fn(&T) -> u64 + Send + 'static) -> Self {
        self.rule = Rule::by_time(Box::new(time));
        self
    }

    /// With [`by_timestamp`](FanIn::by_timestamp), does not wait for a producer that has been silent for `bound`, until
    /// it sends again. Its values may then come after values of later times. The stream depends on the clock; a
    /// [record](FanIn::record) replays it. Other rules do not look at the bound.
    pub fn idle(mut self, bound: Duration) -> Self {
        self.idle = Some(bound);
        self
    }

    /// Calls `record` with every choice before its values come out: a producer, and how many of its values come next.
    /// [`MergeLog`] stores most choices in two bytes.
    pub fn record(mut self, record: impl FnMut(u32, u64) + Send + 'static) -> Self {
        self.record = Some(Box::new(record));
        self
    }

    /// Repeats the recorded choices of another run. If every producer sends the same values as then, the stream is the
    /// same, whatever the timing. It ends with the record. A producer that ends before it has sent the recorded number
    /// of values fails the run.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let choices: MergeLog = [(1, 2), (0, 1)].into_iter().collect();
    /// let (senders, mut poller) = fan_in(2).replay(choices).open(&Rings::new())?;
    /// senders[0].send_all(["c", "never asked for"])?;
    /// senders[1].send_all(["a", "b"])?;
    /// let mut all = String::new();
    /// poller.for_each(|_, x| all.push_str(x))?;
    /// assert_eq!(all, "abc");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replay(mut self, choices: MergeLog) -> Self {
        self.rule = Rule::replay(choices);
        self
    }

    /// Returns the senders and a poller. The poller is the source of a job, or it is polled on a thread of the program.
    /// `rings` sets the slots (unless [`ring`](FanIn::ring) is set), the most values of one poll, how the poller waits,
    /// and the memory limit.
    ///
    /// # Errors
    ///
    /// If the options contradict each other, or the rings exceed the memory limit.
    pub fn open(self, rings: &Rings) -> Result<Opened<T, O>, RunError> {
        Poller::open(self, rings)
    }

    /// How a run gets its values, for [`Rings::explain`].
    #[must_use]
    pub fn feed(&self) -> Feed {
        self.feed_with(self.slots)
    }

    /// As [`feed`](FanIn::feed), opened with rings of `slots` slots.
    pub(crate) fn feed_of(&self, slots: usize) -> Feed {
        self.feed_with(self.slots.or(Some(slots)))
    }

    fn feed_with(&self, slots: Option<usize>) -> Feed {
        let (count, slot_bytes) = match self.shared {
            true => (1, std::mem::size_of::<T>() + std::mem::size_of::<u64>()),
            false => (self.at_most, std::mem::size_of::<T>()),
        };
        Feed::fan_in(self.producers, count, slot_bytes, slots)
    }

    /// The time for which a producer may be silent, if it is bounded.
    pub(crate) fn idle_bound(&self) -> Option<Duration> {
        self.idle.filter(|_| matches!(self.rule, Rule::ByTime { .. }))
    }

    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        match self {
            FanIn { producers: 0, .. } => Err(OptionsError::Producers),
            FanIn { turn: 0, .. } => Err(OptionsError::Batch),
            FanIn { slots: Some(slots), .. } if !slots.is_power_of_two() => Err(OptionsError::Ring(*slots)),
            FanIn { shared: true, rule, .. } if !matches!(rule, Rule::Arrival) => Err(OptionsError::SharedOrder),
            _ => Ok(()),
        }
    }
}

impl<T: Item, O> fmt::Debug for FanIn<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FanIn { producers, slots, shared, .. } = self;
        f.debug_struct("FanIn")
            .field("producers", producers)
            .field("slots", slots)
            .field("shared", shared)
            .finish_non_exhaustive()
    }
}
