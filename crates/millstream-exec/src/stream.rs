//! Outputs as streams, for async tasks on any executor.

use crate::shared::Shared;
use crate::signal::WakerSlot;
use crate::{RingShape, RunError, Through};
use futures_core::Stream;
use millstream_core::ToOwnedItem;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The outputs of a pipeline, as a
/// [`Stream`](https://docs.rs/futures-core/latest/futures_core/stream/trait.Stream.html) of results: see
/// [`Through::stream`].
pub struct ThroughStream<A: RingShape + ToOwnedItem> {
    through: Through<A>,
    place: WakerSlot,
    /// The run, while its signal may hold this task's waker.
    shared: Option<Arc<Shared>>,
}

impl<A: RingShape + ToOwnedItem> Through<A> {
    /// These values as a stream, on any executor. Each item is `Ok`. If a stage fails, its error comes once, as the
    /// last item, after the values before it: see [`try_next`](Through::try_next).
    ///
    /// Nothing runs before the first poll, unless the run has started already.
    ///
    /// Dropping the stream stops the run without waiting. A closure that is running ends after the drop, on its own
    /// thread, and the run's values are dropped there. [`close`](ThroughStream::close) stops the run and waits.
    ///
    /// The end of the stream, and an error, come once every thread of the run has left its last step. Meanwhile the
    /// task is pending, and no thread of the executor is blocked.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use millstream::prelude::*;
    ///
    /// # futures_executor::block_on(async {
    /// let squares = (1..4).through(pipeline::<u64>().map(|x| x * x)).stream();
    /// assert_eq!(squares.try_collect::<Vec<u64>>().await?, [1, 4, 9]);
    /// # Ok::<(), RunError>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn stream(self) -> ThroughStream<A> {
        ThroughStream { through: self, place: WakerSlot::default(), shared: None }
    }
}

impl<A: RingShape + ToOwnedItem> ThroughStream<A> {
    /// Stops the run, and waits until every thread has left its current step. Afterwards no closure of the pipeline
    /// runs, and every value of the run has been dropped.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use millstream::prelude::*;
    ///
    /// # futures_executor::block_on(async {
    /// let mut squares = (0..).through(pipeline::<u64>().map(|x| x * x)).stream();
    /// assert_eq!(squares.next().await, Some(Ok(0)));
    /// squares.close().await?;
    /// # Ok::<(), RunError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// If a stage or the source had failed.
    pub async fn close(mut self) -> Result<(), RunError> {
        let ThroughStream { through, place, shared } = &mut self;
        let closed = poll_fn(|cx| {
            let closed = through.close_by(&mut |run, ready| run.signal.poll(place, cx, ready));
            if closed.is_pending() && shared.is_none() {
                *shared = through.shared();
            }
            closed
        });
        closed.await.map_or(Ok(()), Err)
    }
}

// The stream does not pin its values.
impl<A: RingShape + ToOwnedItem> Unpin for ThroughStream<A> {}

impl<A: RingShape + ToOwnedItem> Stream for ThroughStream<A> {
    type Item = Result<A::Owned, RunError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let ThroughStream { through, place, shared } = self.get_mut();
        let next = through.next_by(&mut |run, ready| run.signal.poll(place, cx, ready));
        if next.is_pending() && shared.is_none() {
            *shared = through.shared();
        }
        next.map(Result::transpose)
    }
}

impl<A: RingShape + ToOwnedItem> Drop for ThroughStream<A> {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.signal.leave(&mut self.place);
        }
        self.through.abandon();
    }
}

impl<A: RingShape + ToOwnedItem> fmt::Debug for ThroughStream<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThroughStream").finish_non_exhaustive()
    }
}
