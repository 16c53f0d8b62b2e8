//! The pipeline between two edges.

use crate::Batch;
use millstream_core::{Arrow, SequenceNumber, ToOwnedItem};
use millstream_exec::source::{Receiver, channel};
use millstream_exec::{
    BatchSender, Durable, Handle, JobRefExt, LaidCut, RingRunner, Rings, RunError, RunOutcome, Runner, RunsOn, Sender,
    Sink, Snapshot, SourceShape,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// How many values can wait before a segment's pipeline: those of several batches.
const SLOTS: usize = 1 << 14;
/// How many batches are behind the one whose output is taken next.
const BEHIND: usize = 2;

/// The pipeline between two edges, as a value: it can be started at any number of batches, on any machine.
pub trait Segment {
    /// The values of the input edge.
    type In: DeserializeOwned + 'static;
    /// The values of the output edge.
    type Out: Serialize + 'static;
    /// This segment, running.
    type Run: SegmentRun<In = Self::In, Out = Self::Out>;

    /// Starts it: at the first batch, or with the [state](SegmentRun::state) after a batch.
    ///
    /// # Errors
    ///
    /// If it cannot start, or the state is not its own.
    fn start(&self, state: Option<&[u8]>) -> Result<Self::Run, SegmentError>;
}

/// A [`Segment`] that runs.
pub trait SegmentRun {
    /// The values of the input edge.
    type In;
    /// The values of the output edge.
    type Out;

    /// The output batch of the next input batch. It depends on the batches up to this one and on nothing else. No batch
    /// follows the one with `end` set.
    ///
    /// # Errors
    ///
    /// If the segment fails at this batch.
    fn batch(&mut self, values: Vec<Self::In>, end: bool) -> Result<Batch<Self::Out>, SegmentError>;

    /// The same with the number of every value on the input edge, for a segment whose messages name them: text is
    /// numbered by its bytes. Unless it is implemented, it calls [`batch`](SegmentRun::batch) with the values alone.
    ///
    /// # Errors
    ///
    /// As of [`batch`](SegmentRun::batch).
    fn numbered_batch(&mut self, values: Vec<(u64, Self::In)>, end: bool) -> Result<Batch<Self::Out>, SegmentError> {
        self.batch(values.into_iter().map(|(_, value)| value).collect(), end)
    }

    /// Takes the next batch as [`numbered_batch`](SegmentRun::numbered_batch) does, and need not wait for its output,
    /// so that stages work at several batches. Returns the output of the first batch whose output was not returned, if
    /// the segment takes no further batch before that one. A [`Replica`](crate::Replica) calls this one. Unless it is
    /// implemented, it returns the output of this batch.
    ///
    /// # Errors
    ///
    /// If the segment fails, at this batch or at one whose output was not returned.
    fn begin_batch(
        &mut self,
        values: Vec<(u64, Self::In)>,
        end: bool,
    ) -> Result<Option<Batch<Self::Out>>, SegmentError> {
        self.numbered_batch(values, end).map(Some)
    }

    /// Waits for the output of the first batch that was [begun](SegmentRun::begin_batch) and whose output was not
    /// returned. `None` if there is none.
    ///
    /// # Errors
    ///
    /// As of [`begin_batch`](SegmentRun::begin_batch).
    fn finish_batch(&mut self) -> Result<Option<Batch<Self::Out>>, SegmentError> {
        Ok(None)
    }

    /// The state after the last batch, as bytes. It is asked for when the output of every batch was returned. `None` if
    /// the segment has no state that can be written: then there are no snapshots, a replica begins at the first batch,
    /// and the input edge is kept.
    ///
    /// # Errors
    ///
    /// If a state cannot be written.
    fn state(&mut self) -> Result<Option<Vec<u8>>, SegmentError>;
}

/// Why a segment stops.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// Its pipeline failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It cannot go on as a segment.
    #[error("{0}")]
    Unfit(String),
}

/// A pipeline as a segment: on [`Durable`] rings, if the states of its stages have names and can be written, or on
/// [`Rings`], without snapshots.
///
/// The pipeline is the same value that runs on a single machine. A batch ends at a mark: its output is what comes out
/// before that mark, so stages that drop values or start a clock make batches of other sizes, but never other batches.
/// The values of the input edge are numbered as they come, without its empty slots. A pipeline that ends before its
/// input, by a `take` at the outer level, is not a segment.
///
/// A state is cloned when it is asked for, and not at each batch.
///
/// ```
/// use millstream::cluster::{OnRings, Segment, SegmentRun};
/// use millstream::prelude::*;
///
/// let sums = pipeline::<u64>().filter(|x| x % 2 == 1).scan(0, |sum, x| { *sum += x; *sum }).named("sum");
/// let segment = OnRings::new(sums, Rings::new());
/// let mut run = segment.start(None)?;
/// assert_eq!(run.batch(vec![1, 2, 3], false)?.values, [(0, 1), (2, 4)]);
/// let mut again = segment.start(run.state()?.as_deref())?;
/// assert_eq!(again.batch(vec![4, 5], true)?.values, [(4, 9)]);
/// # Ok::<(), millstream::cluster::SegmentError>(())
/// ```
///
/// The values of both edges travel, so their types are `Serialize` and `Deserialize`. A pipeline of others is no
/// segment:
///
/// ```compile_fail
/// use millstream::cluster::{OnRings, Segment, SegmentRun};
/// use millstream::prelude::*;
///
/// #[derive(Clone)] // and not `serde::Serialize`
/// struct Reading(u64);
/// let readings = pipeline::<u64>().map(|x| Reading(*x));
/// let mut run = OnRings::new(readings, Rings::new()).start(None)?;
/// # Ok::<(), millstream::cluster::SegmentError>(())
/// ```
#[derive(Debug)]
pub struct OnRings<P, R = Durable> {
    pipeline: Arc<P>,
    rings: Rings,
    runner: PhantomData<fn() -> R>,
}

/// Rings on which a segment can run: [`Durable`] ones and [`Rings`]. Nothing to implement.
pub trait SegmentRunner: RingRunner + Runner<Handle<()> = Handle<(), Self>> {
    #[doc(hidden)]
    const WRITES_STATES: bool;

    #[doc(hidden)]
    fn with(rings: Rings) -> Self;
}

impl SegmentRunner for Durable {
    const WRITES_STATES: bool = true;

    fn with(rings: Rings) -> Self {
        Durable::new(rings)
    }
}

impl SegmentRunner for Rings {
    const WRITES_STATES: bool = false;

    fn with(rings: Rings) -> Self {
        rings
    }
}

impl<P> OnRings<P> {
    /// A segment of this pipeline, with these options of rings.
    pub fn new(pipeline: P, rings: Rings) -> Self {
        OnRings { pipeline: Arc::new(pipeline), rings, runner: PhantomData }
    }
}

impl<P> OnRings<P, Rings> {
    /// A segment of a pipeline whose states cannot be written, with these options of rings. A replica that starts
    /// computes everything again.
    pub fn without_snapshots(pipeline: P, rings: Rings) -> Self {
        OnRings { pipeline: Arc::new(pipeline), rings, runner: PhantomData }
    }
}

/// A clone has the same pipeline.
impl<P, R> Clone for OnRings<P, R> {
    fn clone(&self) -> Self {
        OnRings { pipeline: self.pipeline.clone(), rings: self.rings.clone(), runner: PhantomData }
    }
}

/// The values of a pipeline's output.
type OutOf<P> = <<P as Arrow>::Out as ToOwnedItem>::Owned;

impl<P, R> OnRings<P, R>
where
    R: SegmentRunner,
    P: RunsOn<R> + Arrow<In: SourceShape<Item = <P as RunsOn<R>>::Item>>,
    P::Out: ToOwnedItem,
{
    /// Starts it as [`Segment::start`] does, even if its values cannot be written as bytes: for a segment of your own
    /// around this one.
    ///
    /// # Errors
    ///
    /// If it cannot start, or the state is not its own.
    pub fn run(&self, state: Option<&[u8]>) -> Result<RingsRun<P::Item, OutOf<P>, R>, SegmentError> {
        let begins = state.map(Snapshot::from_bytes).transpose();
        let begins = begins.map_err(|corrupt| SegmentError::Unfit(corrupt.to_string()))?;
        let first = begins.as_ref().and_then(Snapshot::output_at).unwrap_or_default();
        let rings = match begins {
            Some(snapshot) => self.rings.clone().resume(snapshot),
            None => self.rings.clone(),
        };
        let gathered = Arc::new(Mutex::new(Vec::new()));
        let (sender, receiver): (Sender<P::Item>, Receiver<P::Item>) = channel(SLOTS);
        let sink = Gather { own: Vec::new(), shared: gathered.clone() };
        let handle = R::with(rings).start((&*self.pipeline).from(receiver).to(sink))?;
        let sender = handle.batches(sender);
        Ok(RingsRun { running: Some((sender, handle)), under_way: VecDeque::new(), gathered, first })
    }
}

impl<P, R> Segment for OnRings<P, R>
where
    R: SegmentRunner,
    P: RunsOn<R, Item: DeserializeOwned> + Arrow<In: SourceShape<Item = <P as RunsOn<R>>::Item>>,
    P::Out: ToOwnedItem<Owned: Serialize + 'static>,
{
    type In = P::Item;
    type Out = OutOf<P>;
    type Run = RingsRun<P::Item, OutOf<P>, R>;

    fn start(&self, state: Option<&[u8]>) -> Result<Self::Run, SegmentError> {
        self.run(state)
    }
}

/// A pipeline that runs as a segment.
pub struct RingsRun<T: millstream_core::Item, U, R: RingRunner = Durable> {
    /// `None` after the last batch.
    running: Option<(BatchSender<T>, Handle<(), R>)>,
    /// The ends of the batches whose output was not taken, and whether each is the last batch.
    under_way: VecDeque<(LaidCut, bool)>,
    gathered: Gathered<U>,
    /// The first number of the next output batch.
    first: SequenceNumber,
}

type Gathered<U> = Arc<Mutex<Vec<(u64, U)>>>;

impl<T: millstream_core::Item, U, R: RingRunner> fmt::Debug for RingsRun<T, U, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingsRun").field("first", &self.first).finish_non_exhaustive()
    }
}

impl<T: millstream_core::Item, U, R: SegmentRunner> RingsRun<T, U, R> {
    /// Gives a batch to the pipeline, and lays the mark at its end.
    fn give(&mut self, values: Vec<T>, end: bool) -> Result<(), SegmentError> {
        let after_last = self.under_way.back().is_some_and(|(_, end)| *end);
        let Some((mut sender, handle)) = self.running.take().filter(|_| !after_last) else {
            return Err(SegmentError::Unfit("a batch came after the last one".to_owned()));
        };
        let Some(cut) = sender.send(values) else { return Err(Self::ended(handle)) };
        self.under_way.push_back((cut, end));
        self.running = Some((sender, handle));
        Ok(())
    }

    /// Waits for the output of the first batch under way.
    fn take(&mut self) -> Result<Batch<U>, SegmentError> {
        let (Some((cut, end)), Some((mut sender, handle))) = (self.under_way.pop_front(), self.running.take()) else {
            return Err(SegmentError::Unfit("no batch is under way".to_owned()));
        };
        let Some((_, next)) = sender.passed(cut) else { return Err(Self::ended(handle)) };
        if end {
            drop(sender);
            handle.wait()?;
        } else {
            self.running = Some((sender, handle));
        }
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        // What is behind the mark belongs to batches after this one, and END's value has its number.
        let values = if end { gathered.len() } else { gathered.partition_point(|(number, _)| *number < next.0) };
        // The sink gets a buffer in any case: its thread would wait at the allocator for this one, and this one for it.
        let values = if values == gathered.len() {
            let room = Vec::with_capacity(values);
            std::mem::replace(&mut *gathered, room)
        } else {
            gathered.drain(..values).collect()
        };
        let first = std::mem::replace(&mut self.first, next);
        Ok(Batch { first: first.0, next: next.0, end, generation: 0, values })
    }

    /// An error if the output of a batch was not taken.
    fn settled(&self) -> Result<(), SegmentError> {
        let unfit = || SegmentError::Unfit("the output of an earlier batch was not taken".to_owned());
        if self.under_way.is_empty() { Ok(()) } else { Err(unfit()) }
    }

    /// The reason for which the run takes nothing more.
    fn ended(handle: Handle<(), R>) -> SegmentError {
        match handle.join().failure {
            Some(failure) => failure.into(),
            None => SegmentError::Unfit(
                "the pipeline ended before its input: a segment cannot have a `take` at the outer level".to_owned(),
            ),
        }
    }
}

impl<T: millstream_core::Item, U, R: SegmentRunner> SegmentRun for RingsRun<T, U, R> {
    type In = T;
    type Out = U;

    fn batch(&mut self, values: Vec<T>, end: bool) -> Result<Batch<U>, SegmentError> {
        self.settled()?;
        self.give(values, end)?;
        self.take()
    }

    fn begin_batch(&mut self, values: Vec<(u64, T)>, end: bool) -> Result<Option<Batch<U>>, SegmentError> {
        self.give(values.into_iter().map(|(_, value)| value).collect(), end)?;
        let is_there = self.under_way.front().is_some_and(|(cut, _)| cut.has_passed());
        if is_there || self.under_way.len() > BEHIND { self.take().map(Some) } else { Ok(None) }
    }

    fn finish_batch(&mut self) -> Result<Option<Batch<U>>, SegmentError> {
        if self.under_way.is_empty() { Ok(None) } else { self.take().map(Some) }
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, SegmentError> {
        if !R::WRITES_STATES {
            return Ok(None);
        }
        self.settled()?;
        let Some((sender, handle)) = self.running.take() else {
            return Err(SegmentError::Unfit("there is no state after the last batch".to_owned()));
        };
        let Some(snapshot) = handle.snapshot() else { return Err(Self::ended(handle)) };
        self.running = Some((sender, handle));
        snapshot.to_bytes().map(Some).map_err(|lacks| SegmentError::Unfit(lacks.to_string()))
    }
}

/// The sink of a segment: shows what it has at each mark, since a lock for each value takes longer than a stage.
struct Gather<U> {
    own: Vec<(u64, U)>,
    shared: Gathered<U>,
}

impl<U> Gather<U> {
    fn show(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.is_empty() {
            // The buffers change places, and stay allocated.
            std::mem::swap(&mut *shared, &mut self.own);
        } else {
            shared.append(&mut self.own);
        }
    }
}

impl<A: ToOwnedItem> Sink<A> for Gather<A::Owned> {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), Infallible> {
        self.own.push((number.0, A::to_owned_item(value)));
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Infallible> {
        self.show();
        Ok(())
    }

    fn finish(mut self, _: RunOutcome) -> Result<(), Infallible> {
        self.show();
        Ok(())
    }
}
