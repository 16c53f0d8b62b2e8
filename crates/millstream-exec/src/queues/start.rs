//! A job on queues.

use super::control::Control;
use super::handle::RunStopper;
use super::message::Outlet;
use super::sink::SinkThread;
use super::source::{Ready, Tap};
use crate::external_source::StopSource;
use crate::sink_tasklet::{Finish, Left};
use crate::source::most_slots;
use crate::{OptionsError, Queue, QueueShape, Queues, QueuesHandle, QueuesWiring, RunError, Source};
use millstream_core::plan::StageLookup;
use millstream_core::{Arrow, Deploy, Item, On, Plan, Val};
use std::sync::Arc;

impl Queues {
    /// Starts a job: [`Runner::start`](crate::Runner::start).
    pub(crate) fn start_job<T, P, K>(
        &self,
        pipeline: &P,
        source: impl Source<T>,
        sink: K,
    ) -> Result<QueuesHandle<K::Output>, RunError>
    where
        T: Item + Clone,
        P: Deploy<Queues> + Arrow<In = Val<T>, Out: QueueShape>,
        K: crate::Sink<P::Out>,
    {
        if self.slots == 0 {
            return Err(OptionsError::Queue.into());
        }
        let (mut start, input) = Start::of(self.slots, Plan::with_lookup(pipeline), source);
        let output = pipeline.deploy_outer(source_edge(input), &mut start.wiring);
        start.wiring.check()?;
        let left = Left::nothing();
        start.wiring.thread("sink", SinkThread::<P::Out, K>::new(output, sink, left.clone()));
        start.into(left)
    }
}

/// A run that is being wired. It does not know the pipeline's type, so that it is compiled once.
struct Start {
    wiring: QueuesWiring,
    control: Arc<Control>,
    feed: Option<Feed>,
    renumbered: bool,
}

impl Start {
    /// A run with its source, whose queue no stage reads yet.
    fn of<T: Item, X: Source<T>>(slots: usize, (plan, lookup): (Plan, StageLookup), source: X) -> (Self, Queue<T>) {
        let (control, renumbered) = (Arc::new(Control::default()), plan.renumbers());
        let mut wiring = QueuesWiring::new(slots, (plan, lookup), control.clone());
        let (outlet, input) = wiring.queue_of::<T>(most_slots::<T, X>());
        let feed = feed(source, outlet, &control, &mut wiring);
        (Start { wiring, control, feed, renumbered }, input)
    }

    /// Starts all threads, the source's last.
    fn into<O>(self, left: Arc<dyn Finish<O>>) -> Result<QueuesHandle<O>, RunError> {
        let Start { wiring, control, feed, renumbered } = self;
        let source = feed.as_ref().map(|feed| feed.source.clone());
        let QueuesWiring { threads, side_sinks, bytes, .. } = wiring;
        let ends = RunStopper { control, source };
        let handle = QueuesHandle::start(ends, threads, (bytes, renumbered), (side_sinks, left))?;
        if let Some(feed) = feed {
            feed.start().map_err(|error| RunError::Spawn(error.to_string()))?;
        }
        Ok(handle)
    }
}

/// A source that may wait, not yet started.
struct Feed {
    start: Box<dyn FnOnce() -> std::io::Result<()>>,
    source: StopSource,
}

impl Feed {
    fn start(self) -> std::io::Result<()> {
        (self.start)()
    }
}

/// Adds the thread of a source that is always ready; a source that may wait gets a thread outside the run.
fn feed<T: Item, X: Source<T>>(
    source: X,
    outlet: Outlet<T>,
    control: &Arc<Control>,
    wiring: &mut QueuesWiring,
) -> Option<Feed> {
    let (channels, waits) = ((source.closer(), source.channels()), source.waits());
    let values = source.into_values();
    if !waits {
        wiring.thread("source", Ready { values, outlet, control: control.clone() });
        return None;
    }
    let tap = Tap::new(outlet, control.clone(), channels);
    let source: StopSource = tap.clone();
    control.ends(Arc::downgrade(&source));
    Some(Feed { start: Box::new(move || tap.feed(values)), source })
}

/// The edge of a source.
fn source_edge<T: Item + Clone>(input: Queue<T>) -> <Val<T> as On<Queues>>::Edge {
    input
}
