//! Pipelines on iterators: in one line, lazily, in bounded memory.

use crate::fusion::NoEnds;
use crate::handle;
use crate::keeps::RingBackend;
use crate::shared::{FailedAt, Shared};
use crate::start::{Threads, Wired, wire};
use crate::{Job, NoSink, RingShape, Rings, RunError, Source};
use millstream_core::failure::caught;
use millstream_core::{Arrow, Deploy, Item, ToOwnedItem, Val, pipeline};
use millstream_ring::Reader;
use std::borrow::Borrow;
use std::collections::VecDeque;
#[cfg(feature = "stream")]
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

/// `iter.through(pipeline)`.
pub trait ThroughExt: Iterator + Sized {
    /// Runs a pipeline on rings over this iterator's values and returns the outputs as an iterator, with the default
    /// options.
    ///
    /// Nothing runs before the first [`next`](Iterator::next). Afterwards the workers run ahead as far as the rings
    /// allow. Dropping the iterator stops them.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let odd: Vec<_> = (1..6).through(pipeline::<u64>().filter(|x| x % 2 == 1)).collect();
    /// assert_eq!(odd, [1, 3, 5]);
    /// ```
    ///
    /// # Panics
    ///
    /// `next` panics if a stage failed; [`Through::try_next`] returns the error instead.
    fn through<P>(self, pipeline: P) -> Through<P::Out>
    where
        Self: Send + 'static,
        Self::Item: Item,
        P: Deploy<RingBackend> + Arrow<In = Val<Self::Item>, Out: RingShape + ToOwnedItem>,
    {
        self.through_on(Rings::new(), pipeline)
    }

    /// As [`through`](ThroughExt::through), with these options.
    fn through_on<P>(self, rings: Rings, pipeline: P) -> Through<P::Out>
    where
        Self: Send + 'static,
        Self::Item: Item,
        P: Deploy<RingBackend> + Arrow<In = Val<Self::Item>, Out: RingShape + ToOwnedItem>,
    {
        Through(State::New(Box::new(move || start(&rings, self, &pipeline))))
    }
}

impl<I: Iterator> ThroughExt for I {}

/// The outputs of a pipeline, as an iterator. See [`ThroughExt::through`].
pub struct Through<A: RingShape + ToOwnedItem>(State<A>);

#[expect(clippy::large_enum_variant, reason = "there is one, and it is read for every value")]
enum State<A: RingShape + ToOwnedItem> {
    New(Box<dyn FnOnce() -> Result<Started<A>, RunError> + Send>),
    Started(Started<A>),
    Ended,
}

struct Started<A: RingShape + ToOwnedItem> {
    /// Dropped first: the run stops before its output's gate opens, so that no output is computed in vain.
    running: handle::Started,
    output: Reader<A>,
    /// The most values taken at once.
    batch: usize,
    ready: VecDeque<A::Owned>,
    /// A value could not be cloned; no later value is taken.
    broken: bool,
}

impl Rings {
    /// Runs a job that has no sink, and returns its outputs as an iterator; with the feature `stream` also as a stream.
    /// The caller is the sink. The workers run ahead as far as the rings reach; dropping the iterator stops the run.
    /// With a [`source::channel`](crate::source::channel) both ends are the program's, in any two threads or async
    /// tasks.
    ///
    /// A pipeline's rings are bounded. A thread that both sends and reads uses [`try_send`](crate::Sender::try_send),
    /// or waits for ever once they are full.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let (sender, receiver) = source::channel(64);
    /// let squares = Rings::new().iter(pipeline::<u64>().map(|x| x * x).from(receiver))?;
    /// let feeding = std::thread::spawn(move || (1..4).try_for_each(|x| sender.send(x)));
    /// assert_eq!(squares.collect::<Vec<_>>(), [1, 4, 9]);
    /// assert!(feeding.join().unwrap().is_ok());
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](crate::Runner::start).
    pub fn iter<T: Item, P, X, B>(&self, job: Job<P, X, NoSink, B>) -> Result<Through<P::Out>, RunError>
    where
        P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape + ToOwnedItem>,
        X: Source<T>,
        B: Borrow<P>,
    {
        Ok(Through(State::Started(start(self, job.source, job.pipeline.borrow())?)))
    }
}

fn start<T: Item, P>(rings: &Rings, source: impl Source<T>, pipeline: &P) -> Result<Started<P::Out>, RunError>
where
    P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape + ToOwnedItem>,
{
    Started::begin(wire::<Rings, NoEnds, _, _, _, false>(pipeline, rings, source, Threads::Workers)?, rings)
}

impl<A: RingShape + ToOwnedItem> Started<A> {
    fn begin(wired: Wired<Reader<A>>, rings: &Rings) -> Result<Self, RunError> {
        let batch = wired.batch();
        wired.deliver_rest();
        let (output, running) = wired.start(rings)?;
        Ok(Started { running, output, batch, ready: VecDeque::new(), broken: false })
    }

    /// Takes published values; none if there are none now. Cloning a value runs user code: if that panics, the run
    /// fails at that value's number, and earlier values remain available.
    fn take(&mut self) -> Option<()> {
        let mut number = self.output.position().0;
        let Started { output, ready, batch, .. } = self;
        let taken = caught(|| {
            if let Some(batch) = output.batch(*batch) {
                for value in batch.iter() {
                    ready.extend(value.map(A::to_owned_item));
                    number += 1;
                }
                return Some(());
            }
            let end = output.end()?;
            number = end.number().0;
            ready.extend(end.value().map(A::to_owned_item));
            Some(())
        });
        taken.unwrap_or_else(|payload| {
            self.broken = true;
            self.running.pool.shared.fail_at(FailedAt::sink(Some(number)), "sink", Some(number), payload);
            Some(())
        })
    }

    /// The next value, or none at the end. While there is neither, `wait` is called with a function that tries again.
    fn next(&mut self, wait: &mut Waiting<'_>) -> Poll<Result<Option<A::Owned>, RunError>> {
        let shared = self.running.pool.shared.clone();
        loop {
            if let Some(value) = self.ready.pop_front() {
                return Poll::Ready(Ok(Some(value)));
            }
            // Loaded before the output is read: everything published by then is taken.
            let over = shared.rest_is_over();
            if self.output.ended() || self.broken || over && self.take().is_none() {
                let pool = &self.running.pool;
                if wait(&shared, &mut || pool.has_left().then_some(())).is_pending() {
                    return Poll::Pending;
                }
                return Poll::Ready(self.running.join().1.map_or(Ok(None), Err));
            }
            if over {
                continue;
            }
            if wait(&shared, &mut || self.take().or_else(|| shared.rest_is_over().then_some(()))).is_pending() {
                return Poll::Pending;
            }
            shared.signal.notify();
        }
    }
}

/// Waits until the function returns a value, or returns `Pending` for a future.
type Waiting<'a> = dyn FnMut(&Shared, &mut dyn FnMut() -> Option<()>) -> Poll<()> + 'a;

impl<A: RingShape + ToOwnedItem> Through<A> {
    /// The next value, none at the end, or the run's failure.
    ///
    /// After a failure, the results of the numbers before it come first, then the error. No stage processes the failing
    /// number or a later one. Stages after the failing one finish their input, on one of the run's threads. Values that
    /// only the end of the stream brings, such as the result of a fold, do not come. If the function failed inside a
    /// `shard`, the values of its run of numbers may be missing, at most a batch; so may those of the batch in which a
    /// stage that yields text failed. A stage that waits before a retry gives up.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let mut shares = (0..9).through(pipeline::<u64>().map(|x| 12 / (3 - x)).map(|x| x + 1));
    /// assert_eq!(
    ///     (shares.try_next()?, shares.try_next()?, shares.try_next()?),
    ///     (Some(5), Some(7), Some(13))
    /// );
    /// let failure = shares.try_next().unwrap_err().to_string();
    /// assert!(failure.starts_with("stage \"map-1\", number 3: panicked"));
    /// assert_eq!(shares.try_next()?, None);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a stage failed, or the source, or if a value could not be cloned. It is returned once; the iterator has then
    /// ended.
    pub fn try_next(&mut self) -> Result<Option<A::Owned>, RunError> {
        let next = self.next_by(&mut |shared, ready| {
            shared.wait_until(ready);
            Poll::Ready(())
        });
        match next {
            Poll::Ready(next) => next,
            Poll::Pending => unreachable!("a thread waits"),
        }
    }

    /// The run that produces this output, once it has started.
    #[cfg(feature = "stream")]
    pub(crate) fn shared(&self) -> Option<Arc<Shared>> {
        let State::Started(started) = &self.0 else { return None };
        Some(started.running.pool.shared.clone())
    }

    /// Stops the run, if it has started, without waiting for its threads.
    #[cfg(feature = "stream")]
    pub(crate) fn abandon(&mut self) {
        if let State::Started(started) = std::mem::replace(&mut self.0, State::Ended) {
            started.running.abandon();
        }
    }

    /// Stops the run and waits with `wait` until its threads have exited.
    #[cfg(feature = "stream")]
    pub(crate) fn close_by(&mut self, wait: &mut Waiting<'_>) -> Poll<Option<RunError>> {
        let State::Started(started) = &mut self.0 else { return Poll::Ready(None) };
        let shared = started.running.pool.shared.clone();
        shared.deliver_rest(false);
        shared.stop();
        let pool = &started.running.pool;
        if wait(&shared, &mut || pool.has_left().then_some(())).is_pending() {
            return Poll::Pending;
        }
        let failure = started.running.join().1;
        self.0 = State::Ended;
        Poll::Ready(failure)
    }

    pub(crate) fn next_by(&mut self, wait: &mut Waiting<'_>) -> Poll<Result<Option<A::Owned>, RunError>> {
        if let State::New(_) = self.0 {
            let State::New(start) = std::mem::replace(&mut self.0, State::Ended) else {
                unreachable!("it was new just before")
            };
            self.0 = State::Started(start()?);
        }
        let State::Started(started) = &mut self.0 else { return Poll::Ready(Ok(None)) };
        let next = started.next(wait);
        if !matches!(next, Poll::Ready(Ok(Some(_))) | Poll::Pending) {
            self.0 = State::Ended;
        }
        next
    }
}

impl<A: RingShape + ToOwnedItem> Iterator for Through<A> {
    type Item = A::Owned;

    fn next(&mut self) -> Option<A::Owned> {
        match self.try_next() {
            Ok(next) => next,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<A: RingShape + ToOwnedItem> std::fmt::Debug for Through<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Through").finish_non_exhaustive()
    }
}

/// A value in a ring that the first reader takes out. It lets values through that are neither `Sync` nor `Clone`.
struct Handoff<T>(Mutex<Option<T>>);

impl<T> Handoff<T> {
    fn new(value: T) -> Self {
        Handoff(Mutex::new(Some(value)))
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T: Send + 'static> Clone for Handoff<T> {
    /// Moves the value into the clone.
    fn clone(&self) -> Self {
        Handoff(Mutex::new(self.take()))
    }
}

/// `iter.ordered_par_map(n, f)`.
pub trait ParMapExt: Iterator + Sized {
    /// Maps every value with `f` in order, with `n` tasklets on at most `n` workers. It is lazy and bounds memory: at
    /// most three rings of values are in progress. Values need not be `Sync` or `Clone`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let squares: Vec<u64> = (1..5).ordered_par_map(2, |x| x * x).collect();
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is 0. `next` panics if `f` has panicked.
    fn ordered_par_map<B, F>(self, n: usize, f: F) -> OrderedParMap<B>
    where
        Self: Send + 'static,
        Self::Item: Send + 'static,
        B: Send + 'static,
        F: Fn(Self::Item) -> B + Send + Sync + 'static,
    {
        let work = move |value: &Handoff<Self::Item>| {
            let value = value.take().expect("a value is mapped once");
            Handoff::new(f(value))
        };
        let mapped = pipeline::<Handoff<Self::Item>>().shard(n, |p| p.map(work)).named("ordered_par_map");
        let rings = Rings::new().workers(n).ring(PAR_MAP_SLOTS);
        OrderedParMap(self.map(Handoff::new as fn(Self::Item) -> _).through_on(rings, mapped))
    }
}

/// Enough slots for uneven items to balance, and few enough to keep memory small.
const PAR_MAP_SLOTS: usize = 256;

impl<I: Iterator> ParMapExt for I {}

/// The values of [`ParMapExt::ordered_par_map`].
#[derive(Debug)]
pub struct OrderedParMap<B: Send + 'static>(Through<Val<Handoff<B>>>);

impl<B: Send + 'static> OrderedParMap<B> {
    /// The next value, none at the end, or the run's failure.
    ///
    /// # Errors
    ///
    /// If `f` panicked. It is returned once; the iterator has then ended.
    pub fn try_next(&mut self) -> Result<Option<B>, RunError> {
        self.0.try_next().map(|next| next.and_then(|value| value.take()))
    }
}

impl<B: Send + 'static> Iterator for OrderedParMap<B> {
    type Item = B;

    fn next(&mut self) -> Option<B> {
        self.0.next().and_then(|value| value.take())
    }
}
