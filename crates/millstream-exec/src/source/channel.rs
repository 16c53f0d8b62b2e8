use super::{Closer, Connect, EndsWithRun, External, Source};
use crate::explain::Feed;
use crate::external_source::StopSource;
use crate::feed::{Ended, Output};
use crate::shared::Shared;
use crate::source_ring::SourceRing;
use crate::start::sweeps;
use crate::{Sender, Wiring};
use millstream_core::Item;
use millstream_core::failure::fail;
use std::fmt;
use std::sync::Arc;

/// A sender, and the source that it feeds: values from any thread or async task, into a run that is started before,
/// meanwhile or afterwards. Dropping the [`Sender`] ends the stream.
///
/// On [`Rings`](crate::Rings) the sender writes straight into the source's ring, which has `slots` slots, rounded up to
/// a power of two, whatever the other rings have. Before the run starts, as many values fit; then `send` waits for it.
/// On every other deployment the channel is a queue of that many values.
///
/// If the run takes no more, because it was drained or stopped, has failed, or was never started and the [`Receiver`]
/// is gone, the sender's methods return the value in an error. A drain lets the stages finish the values that were
/// sent.
///
/// ```
/// use millstream::prelude::*;
///
/// let (sender, receiver) = source::channel(64);
/// let run = pipeline::<u64>()
///     .map(|x| x * x)
///     .from(receiver)
///     .to_fold(0, |sum, _, x| *sum += x)
///     .start()?;
/// sender.send(3)?;
/// sender.send(4)?;
/// drop(sender);
/// assert_eq!(run.wait()?.0, 25);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If `slots` is 0, or beyond the largest power of two.
pub fn channel<T: Item>(slots: usize) -> (Sender<T>, Receiver<T>) {
    assert!(slots > 0, "a channel has at least one slot");
    let slots = slots.next_power_of_two();
    let shared = Arc::new(Shared::early());
    let output = Output::early(slots, shared.clone());
    (Sender::new(output.clone(), shared.clone()), Receiver { stop: StopOnDrop(Some(shared)), output, slots })
}

/// The source of a [`channel`].
pub struct Receiver<T: Item> {
    /// Dropped first: values are dropped when nothing more is sent.
    stop: StopOnDrop,
    output: Output<T>,
    slots: usize,
}

/// Reports to the senders that nothing is taken any more, unless a run does that.
pub(crate) struct StopOnDrop(pub(crate) Option<Arc<Shared>>);

impl StopOnDrop {
    pub(crate) fn leave_to_run(&mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.stop();
        }
    }
}

impl<T: Item> Source<T> for Receiver<T> {
    type Values = Received<T>;
    const WAITS: bool = true;

    fn into_values(self) -> Received<T> {
        Received { receiver: self, ends: EndsWithRun::default() }
    }

    fn external(self) -> Result<External<T>, Self> {
        Ok(External(Box::new(self)))
    }

    fn external_feed(&self) -> Option<Feed> {
        Some(Connect::feed(self))
    }

    fn closer(&self) -> Option<Closer> {
        Some(Closer { senders: Arc::new(self.output.clone()), shared: self.output.shared().clone() })
    }
}

impl<T: Item> Connect<T> for Receiver<T> {
    fn shared(&self) -> Arc<Shared> {
        self.output.shared().clone()
    }

    fn feed(&self) -> Feed {
        Feed::channel::<T>(self.slots)
    }

    fn connect(mut self: Box<Self>, ring: SourceRing<T>, wiring: &mut Wiring) -> std::io::Result<StopSource> {
        self.stop.leave_to_run();
        self.output.connect(ring);
        sweeps(&self.output, wiring);
        Ok(Arc::new(self.output.clone()))
    }
}

/// The values of a [`channel`], on deployments without rings and in a source that joins several. Once the run takes no
/// more values, it ends, although senders may still send.
pub struct Received<T: Item> {
    receiver: Receiver<T>,
    ends: EndsWithRun,
}

impl<T: Item> Iterator for Received<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let Receiver { output, .. } = &self.receiver;
        let shared = output.shared();
        let take = || match output.take_early() {
            Ok(Some(value)) => Some(Ok(Some(value))),
            Ok(None) => shared.failure().map(Err),
            Err(Ended) => Some(Ok(None)),
        };
        let next = take().unwrap_or_else(|| {
            let run = self.ends.of_thread(shared);
            shared.wait_until(|| take().or_else(|| run.ended().then_some(Ok(None))))
        });
        // There is room again.
        shared.signal.notify();
        next.unwrap_or_else(|failure| fail(failure))
    }
}

impl<T: Item> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl<T: Item> fmt::Debug for Received<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received").finish_non_exhaustive()
    }
}
