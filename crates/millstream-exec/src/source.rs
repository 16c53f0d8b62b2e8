//! Sources of values: an iterator, several joined by a determinate rule, or one that looks at a clock.
//!
//! Any iterator is a source. A worker takes whole batches from a range and from the values of a vector, which never
//! wait. Any other iterator may wait for its next value, so it gets a thread of its own, and each value is published at
//! once; where more than a million come a second, that thread may run the stages itself
//! ([`StagesOn`](crate::StagesOn)). [`ready`] marks an iterator that never waits. A [`Sender`](crate::Sender) feeds a
//! [`channel`](fn@channel), and many of them feed a [`fan_in`](crate::fan_in).
//!
//! Several streams are joined at the source: by number ([`zip`](fn@zip)), by key within a distance of numbers or of
//! time ([`join_by_number`], [`join_by_time`]), in turn ([`round_robin`](fn@round_robin)), by time
//! ([`by_timestamp`](fn@by_timestamp)), one after another ([`chain`](fn@chain)). A join pulls: it asks a source for a
//! value only if its rule cannot go on without one. So it is the same iterator on every deployment, its output does not
//! depend on which source is faster, it keeps no more than its rule says, and back-pressure reaches each source, which
//! is simply not asked. The price is that a join waits for a silent source. Joined streams have one clock. The
//! functions of [`model::sources`](millstream_core::model::sources) say, on lists, what each join means.
//!
//! A stage knows no time, so what looks at a clock is a source: [`throttle`](fn@throttle) limits the rate,
//! [`debounce`](fn@debounce) passes a value that nothing newer follows soon, and [`timeout`](fn@timeout) says where
//! none comes. They take any source and run on every deployment. Which values pass may depend on the clock; it can be
//! recorded in a journal. What the stages make of them does not.

mod again;
mod ahead;
mod by_timestamp;
mod chain;
mod channel;
mod debounce;
mod few;
#[cfg(feature = "stream")]
mod from_stream;
mod join;
mod matches;
mod never_waits;
mod round_robin;
mod throttle;
mod timeout;
mod waits;
mod zip;

pub use again::{Again, again};
pub use by_timestamp::{ByTimestamp, InTime, by_timestamp};
pub use chain::{Chain, chain};
pub(crate) use channel::StopOnDrop;
pub use channel::{Received, Receiver, channel};
pub use debounce::{Debounce, Debounced, debounce};
pub use few::{Few, few};
#[cfg(feature = "stream")]
pub use from_stream::{FromStream, Streamed, from_stream};
pub use join::{Join, OuterJoin, join_by_number, join_by_time};
pub use matches::Matches;
pub use round_robin::{InTurn, RoundRobin, round_robin};
pub use throttle::{Throttle, Throttled, throttle};
pub use timeout::{Elapsed, Timed, Timeout, timeout};
#[doc(hidden)]
pub use waits::Channel;
pub(crate) use waits::{EndsWithRun, InSource, Waits};
pub use zip::{Zip, zip};

use self::never_waits::never_waits;
use crate::Wiring;
use crate::explain::Feed;
use crate::external_source::StopSource;
use crate::moves::SeenMoves;
use crate::shared::Shared;
use crate::source_ring::SourceRing;
use crate::stage::Shows;
use crate::task_probe::TaskProbe;
use crate::tasklet::{Progress, Tasklet};
use millstream_core::Item;
use millstream_core::text::Block;
use millstream_ring::Producer;
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

/// A source of a run's values. Any iterator is one. Ranges, and the values of a `Vec`, `VecDeque`, `BinaryHeap` or
/// `Option`, never wait; [`ready`] marks another iterator that never does.
///
/// **Memory**: a source's ring or queue keeps as many values as it has slots. A source of [`Block`]s of text has at
/// most 16 slots, however many slots the run's rings have; reading a file therefore takes a megabyte rather than
/// hundreds. So has what [`zip`](fn@zip), a join or [`timeout`](fn@timeout) makes of it. For other values that own much
/// memory, use [`few`].
pub trait Source<T: Item> {
    /// The iterator over the values.
    type Values: Iterator<Item = T> + Send + 'static;

    /// Whether an iterator of this type may wait for its next value. If so, it gets a thread of its own and every value
    /// is published at once; otherwise a worker takes values from it in batches. See also [`waits`](Source::waits).
    const WAITS: bool;

    /// The most slots that its ring should have. See [`few`].
    const SLOTS: usize = usize::MAX;

    /// Whether a run on one thread whose stages are one loop is compiled a second time, as a loop that takes its values
    /// from the source itself: on `Inline`, and on a worker if the source never [waits](Source::WAITS). That pays if a
    /// value costs little compared with a slot of a ring.
    const IN_LOOP: bool = true;

    /// As [`IN_LOOP`](Source::IN_LOOP), for a loop after the source's ring, if the first stage cuts text.
    const LOOP_BEHIND: bool = true;

    /// How many threads it has besides the workers.
    #[doc(hidden)]
    const THREADS: usize = Self::WAITS as usize;

    /// The most slots that its ring has. Blocks of text count also if they are parts of its values.
    #[doc(hidden)]
    #[must_use]
    fn most_slots() -> usize {
        if TypeId::of::<T>() == TypeId::of::<Block>() { Self::SLOTS.min(BLOCKS) } else { Self::SLOTS }
    }

    /// Returns the iterator.
    fn into_values(self) -> Self::Values;

    /// Whether this iterator may wait. By default its type decides, and the iterators of ranges and vectors never wait.
    /// A source can know better, as a source of files does if all of them are on a disk.
    fn waits(&self) -> bool {
        may_wait::<T, Self>()
    }

    /// The part that fills the ring of a run on rings by itself, if this source needs no iterator there.
    #[doc(hidden)]
    fn external(self) -> Result<External<T>, Self>
    where
        Self: Sized,
    {
        Err(self)
    }

    /// How a run on rings gets its values, if it fills the ring there by itself.
    #[doc(hidden)]
    fn external_feed(&self) -> Option<Feed> {
        None
    }

    /// Makes the senders of this source send no more, while the iterator still yields the values that were sent.
    #[doc(hidden)]
    fn closer(&self) -> Option<Closer> {
        None
    }

    /// The channels whose values it takes, also if it takes others besides.
    #[doc(hidden)]
    fn channels(&self) -> Vec<Channel> {
        self.closer().map(|closer| Channel(closer.shared)).into_iter().collect()
    }
}

/// Makes senders send no more. See [`Source::closer`].
#[doc(hidden)]
pub struct Closer {
    pub(crate) senders: StopSource,
    /// Where the iterator waits.
    pub(crate) shared: Arc<Shared>,
}

impl Closer {
    /// Makes the senders send no more, and returns at once. Values that were sent before still come.
    pub fn close(&self) {
        self.senders.end();
        self.shared.wake();
    }
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closer").finish_non_exhaustive()
    }
}

/// A source that fills the ring of a run by itself.
#[doc(hidden)]
pub struct External<T: Item>(pub(crate) Box<dyn Connect<T>>);

impl<T: Item> fmt::Debug for External<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").finish_non_exhaustive()
    }
}

/// How a source fills the ring of a run by itself.
pub(crate) trait Connect<T: Item> {
    /// The state that it shares with its senders, and later with all threads of the run.
    fn shared(&self) -> Arc<Shared>;
    /// How the run gets its values.
    fn feed(&self) -> Feed;
    /// Fills this ring, which has as many slots as its feed says. Returns the handle that ends it.
    fn connect(self: Box<Self>, ring: SourceRing<T>, wiring: &mut Wiring) -> std::io::Result<StopSource>;
}

impl<T: Item, I: IntoIterator<Item = T, IntoIter: Send + 'static>> Source<T> for I {
    type Values = I::IntoIter;
    const WAITS: bool = true;

    fn into_values(self) -> I::IntoIter {
        self.into_iter()
    }
}

/// Whether a source of this type may wait, as far as the type says.
pub(crate) fn may_wait<T: Item, X: Source<T> + ?Sized>() -> bool {
    X::WAITS && !never_waits::<X::Values>()
}

/// The most slots of a source's ring of blocks of text. A block owns many kilobytes: a ring of the usual size would
/// keep a quarter of a gigabyte, whereas this many fit a core's cache.
const BLOCKS: usize = 16;

/// The most slots that the ring of such a source has.
pub(crate) fn most_slots<T: Item, X: Source<T>>() -> usize {
    X::most_slots()
}

const fn least(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

/// The channels of a source that asks these two.
fn channels_of_both<A: Item, B: Item>(first: &impl Source<A>, second: &impl Source<B>) -> Vec<Channel> {
    let mut channels = first.channels();
    channels.extend(second.channels());
    channels
}

/// The threads of a source that asks two others: its own, if it waits, and those that these have besides.
const fn threads_of_both(waits: bool, first: usize, second: usize) -> usize {
    waits as usize + first.saturating_sub(1) + second.saturating_sub(1)
}

/// An iterator that never waits. See [`ready`].
#[derive(Clone, Debug)]
pub struct Ready<I>(I);

/// Marks an iterator whose next value is always available: an adapter of a range or a vector, an array, a map. A worker
/// takes whole batches from it, without a thread of its own, and a run with one worker goes past the source's ring. If
/// the iterator does wait, the stages of that worker wait with it.
///
/// ```
/// use millstream::prelude::*;
/// let squares = source::ready((0..1000_u64).map(|x| x * x));
/// let (sum, _) = pipeline().from(squares).to_fold(0, |sum, _, x| *sum += x).run()?;
/// assert_eq!(sum, 332_833_500);
/// # Ok::<(), RunError>(())
/// ```
pub fn ready<I: IntoIterator>(values: I) -> Ready<I::IntoIter> {
    Ready(values.into_iter())
}

impl<T: Item, I: Iterator<Item = T> + Send + 'static> Source<T> for Ready<I> {
    type Values = I;
    const WAITS: bool = false;

    fn into_values(self) -> I {
        self.0
    }
}

/// A source that a worker runs.
pub(crate) struct SourceTasklet<T: Item, I> {
    values: I,
    output: SourceRing<T>,
    batch: usize,
    /// No further value comes; END may have to wait.
    exhausted: bool,
    /// Whether the iterator is asked for the value after those published.
    asks: bool,
    shared: Arc<Shared>,
    rest: Rest,
}

/// Whether rounds without a new value are due, until the other tasklets have nothing to do: they process the value,
/// drop what is released, and the sink pauses.
enum Rest {
    Never,
    Due(SeenMoves),
    Over,
}

impl<T: Item, I> SourceTasklet<T, I> {
    /// The tasklet of an iterator that never waits.
    pub(crate) fn ready(values: I, output: SourceRing<T>, batch: usize, shared: Arc<Shared>) -> Self {
        SourceTasklet { values, output, batch, exhausted: false, asks: false, shared, rest: Rest::Never }
    }

    /// The tasklet of an iterator that may wait, and with it all tasklets: it takes one value at a time and keeps none
    /// alive while it waits.
    pub(crate) fn waiting(values: I, output: SourceRing<T>, shared: Arc<Shared>) -> Self {
        shared.moves.want();
        SourceTasklet { values, output, batch: 1, exhausted: false, asks: false, shared, rest: Rest::Over }
    }
}

impl<T: Item, I> SourceTasklet<T, I> {
    /// Whether there will be no further value.
    pub(crate) fn ends(&self) -> bool {
        self.exhausted || self.shared.draining()
    }

    /// Lays a mark that is due at the next number. Returns whether it has.
    pub(crate) fn lay(&mut self) -> bool {
        self.output.lay(&self.shared.marks)
    }

    /// The iterator from which a loop takes values, and the ring that they go past.
    pub(crate) fn for_loop(&mut self) -> (&mut I, &mut Producer<T>) {
        (&mut self.values, &mut self.output.producer)
    }

    /// Notes that the values have ended.
    pub(crate) fn exhaust(&mut self) {
        self.exhausted = true;
    }

    /// Ends the stream after the `moved` last numbers, or as soon as the next one need not wait. `laid` says whether
    /// this step has laid a mark: the other workers are woken for it, also where END waits.
    fn end(&mut self, moved: usize, mut laid: bool) -> Progress {
        self.exhausted = true;
        laid |= self.lay();
        if self.output.try_end(&self.shared.marks) {
            self.shared.end_source();
            Progress { moved: moved + 1, ..Progress::DONE }
        } else {
            Progress { worked: laid, ..Progress::moved(moved) }
        }
    }
}

impl<T: Item, I: Iterator<Item = T> + Send> Tasklet for SourceTasklet<T, I> {
    fn step(&mut self, most: usize) -> Progress {
        if let Rest::Due(seen) = &mut self.rest {
            if seen.changed(&self.shared.moves) {
                self.output.producer.sweep();
                return Progress::WORKED;
            }
            self.rest = Rest::Over;
        }
        if self.ends() {
            return self.end(0, false);
        }
        let laid = self.lay();
        // Numbers follow it, or END.
        let (moved, exhausted) = match self.output.try_claim(&self.shared.marks, self.batch.min(most)) {
            Err(_) => return Progress::DONE,
            Ok(None) => return Progress { worked: laid, ..Progress::NONE },
            Ok(Some(claim)) => {
                let mut shows = Shows::new(claim);
                self.asks = true;
                let moved = shows.claim().extend(&mut self.values);
                self.asks = false;
                let exhausted = moved < shows.claim().len();
                shows.publish();
                (moved, exhausted)
            }
        };
        if exhausted {
            return self.end(moved, laid);
        }
        if matches!(self.rest, Rest::Over) {
            self.rest = Rest::Due(SeenMoves::new());
        }
        Progress { worked: laid, ..Progress::moved(moved) }
    }

    fn failed_at(&self) -> Option<u64> {
        self.asks.then(|| self.output.producer.next().0)
    }

    fn backlog(&self) -> u64 {
        0
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_source(self.output.producer.probe())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::SourceTasklet;
    use crate::marks::AtEnd;
    use crate::shared::Shared;
    use crate::source_ring::{SourceFork, SourceRing};
    use crate::tasklet::Tasklet;
    use millstream_core::Dense;
    use std::sync::Arc;

    #[test]
    fn a_mark_before_the_last_look_for_a_value_is_work() {
        let (shared, (producer, _stage)) = (Arc::new(Shared::early()), millstream_ring::ring::<u64, Dense>(4).unwrap());
        shared.marks.begin(0.into(), 1, (None, Some(AtEnd(Arc::new(|_| ())))), None);
        shared.marks.ask(true);
        let ring = SourceRing::new(producer, SourceFork::new());
        let mut source = SourceTasklet::ready(std::iter::empty(), ring, 4, shared);
        let [first, second] = [source.step(4), source.step(4)];
        assert!(first.worked && !first.done, "it lays the mark, and END waits");
        assert!(!second.worked && !second.done);
    }
}
