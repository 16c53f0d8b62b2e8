//! What runs between two edges.

use crate::Batch;
use millstream_core::{Arrow, SequenceNumber, ToOwnedItem};
use millstream_exec::source::{Receiver, channel};
use millstream_exec::{
    Durable, Handle, JobRefExt, Rings, RunError, RunOutcome, Runner, RunsOn, Sender, Sink, Snapshot, SourceShape,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How many values wait in front of a segment's pipeline, while a batch is brought in.
const SLOTS: usize = 1 << 12;

/// What runs between two edges, as a value: it can be started at any number of batches, on any machine.
pub trait Segment {
    /// The values of the input edge.
    type In: DeserializeOwned;
    /// The values of the output edge.
    type Out: Serialize;
    /// This segment, running.
    type Run: SegmentRun<In = Self::In, Out = Self::Out>;

    /// Starts it: at the first batch, or with the [state](SegmentRun::state) behind one.
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

    /// The output batch of the next input batch. It depends on the batches up to this one and on nothing else. After
    /// the batch that is the `end` there is no further one.
    ///
    /// # Errors
    ///
    /// If the segment fails at this batch.
    fn batch(&mut self, values: Vec<Self::In>, end: bool) -> Result<Batch<Self::Out>, SegmentError>;

    /// The state behind the last batch, as bytes.
    ///
    /// # Errors
    ///
    /// If a state cannot be written.
    fn state(&self) -> Result<Vec<u8>, SegmentError>;
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

/// A pipeline as a segment, on [`Durable`] rings: the states of its stages have names and can be written.
///
/// The value is the one that runs on a single machine. A batch ends at a mark: its output is what is in front of the
/// mark's image behind the last stage, so stages that drop values or start a clock of their own make batches of other
/// sizes, and never other batches. The values of the input edge are numbered as they come, without its empty slots. A
/// pipeline that ends before its input, by a `take` at the outer level, is not a segment.
///
/// At each batch every state is cloned, as for a snapshot.
///
/// ```
/// use millstream::cluster::{OnRings, Segment, SegmentRun};
/// use millstream::prelude::*;
///
/// let sums = pipeline::<u64>().filter(|x| x % 2 == 1).scan(0, |sum, x| { *sum += x; *sum }).named("sum");
/// let segment = OnRings::new(sums, Rings::new());
/// let mut run = segment.start(None)?;
/// assert_eq!(run.batch(vec![1, 2, 3], false)?.values, [(0, 1), (2, 4)]);
/// let mut again = segment.start(Some(&run.state()?))?;
/// assert_eq!(again.batch(vec![4, 5], true)?.values, [(4, 9)]);
/// # Ok::<(), millstream::cluster::SegmentError>(())
/// ```
#[derive(Debug)]
pub struct OnRings<P> {
    pipeline: Arc<P>,
    rings: Rings,
}

impl<P> OnRings<P> {
    /// With these options of rings.
    pub fn new(pipeline: P, rings: Rings) -> Self {
        OnRings { pipeline: Arc::new(pipeline), rings }
    }
}

/// A clone has the same pipeline.
impl<P> Clone for OnRings<P> {
    fn clone(&self) -> Self {
        OnRings { pipeline: self.pipeline.clone(), rings: self.rings.clone() }
    }
}

impl<P> Segment for OnRings<P>
where
    P: RunsOn<Durable, Item: DeserializeOwned> + Arrow<In: SourceShape<Item = <P as RunsOn<Durable>>::Item>>,
    P::Out: ToOwnedItem<Owned: Serialize>,
{
    type In = P::Item;
    type Out = <P::Out as ToOwnedItem>::Owned;
    type Run = RingsRun<P::Item, Self::Out>;

    fn start(&self, state: Option<&[u8]>) -> Result<Self::Run, SegmentError> {
        let begins = state.map(Snapshot::from_bytes).transpose();
        let begins = begins.map_err(|corrupt| SegmentError::Unfit(corrupt.to_string()))?;
        let first = begins.as_ref().and_then(Snapshot::output_at).unwrap_or_default();
        let rings = match begins.clone() {
            Some(snapshot) => self.rings.clone().resume(snapshot),
            None => self.rings.clone(),
        };
        let gathered = Arc::new(Mutex::new(Vec::new()));
        let (sender, receiver): (Sender<P::Item>, Receiver<P::Item>) = channel(SLOTS);
        let handle = Durable::new(rings).start((&*self.pipeline).from(receiver).to(Gather(gathered.clone())))?;
        Ok(RingsRun { running: Some((sender, handle)), gathered, first, behind: begins })
    }
}

/// A pipeline that runs as a segment.
pub struct RingsRun<T: millstream_core::Item, U> {
    /// None behind the last batch.
    running: Option<(Sender<T>, Handle<(), Durable>)>,
    gathered: Gathered<U>,
    /// The first number of the next output batch.
    first: SequenceNumber,
    /// The states behind the last batch.
    behind: Option<Snapshot>,
}

type Gathered<U> = Arc<Mutex<Vec<(u64, U)>>>;

impl<T: millstream_core::Item, U> fmt::Debug for RingsRun<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingsRun").field("first", &self.first).finish_non_exhaustive()
    }
}

impl<T: millstream_core::Item, U> RingsRun<T, U> {
    /// Why the run takes nothing more.
    fn ended(handle: Handle<(), Durable>) -> SegmentError {
        match handle.join().failure {
            Some(failure) => failure.into(),
            None => SegmentError::Unfit(
                "the pipeline ended before its input: a `take` at the outer level has no place in a segment".to_owned(),
            ),
        }
    }
}

impl<T: millstream_core::Item, U> SegmentRun for RingsRun<T, U> {
    type In = T;
    type Out = U;

    fn batch(&mut self, values: Vec<T>, end: bool) -> Result<Batch<U>, SegmentError> {
        let Some((sender, handle)) = self.running.take() else {
            return Err(SegmentError::Unfit("a batch came behind the one that is the end".to_owned()));
        };
        if sender.send_all(values).is_err() {
            return Err(Self::ended(handle));
        }
        let Some(snapshot) = handle.snapshot() else { return Err(Self::ended(handle)) };
        let next = snapshot.output_at().unwrap_or_default();
        self.behind = Some(snapshot);
        if end {
            drop(sender);
            handle.wait()?;
        } else {
            self.running = Some((sender, handle));
        }
        let values = std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner));
        let first = std::mem::replace(&mut self.first, next);
        Ok(Batch { first: first.0, next: next.0, end, generation: 0, values })
    }

    fn state(&self) -> Result<Vec<u8>, SegmentError> {
        let Some(behind) = &self.behind else {
            return Err(SegmentError::Unfit("there is no state in front of the first batch".to_owned()));
        };
        behind.to_bytes().map_err(|lacks| SegmentError::Unfit(lacks.to_string()))
    }
}

/// The sink of a segment.
struct Gather<U>(Gathered<U>);

impl<A: ToOwnedItem> Sink<A> for Gather<A::Owned> {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), Infallible> {
        let value = A::to_owned_item(value);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((number.0, value));
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        Ok(())
    }
}
