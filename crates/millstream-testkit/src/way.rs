//! Random deployments on rings, and queues.

use crate::deployment::{Deployment, Fed, Slots, deployments, joined, sent, slots_of, waiting};
use millstream_core::{Arrow, Item, ToOwnedItem, Val};
use millstream_exec::{
    Everywhere, FanIn, JobRefExt, QueueShape, Queues, RingShape, Rings, RunEnd, RunError, Runner, Sender, Sink, sink,
    source,
};
use proptest::prelude::*;
use std::fmt;

/// One way to run a pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Model,
    Rings(Deployment),
    Queues { queues: Queues, feeding: QueueFeeding },
}

/// How values come to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueFeeding {
    /// From a source that is always ready.
    Ready,
    /// From one that may wait.
    Waiting,
    /// From a channel, which a thread feeds.
    Channel,
}

/// Ways on rings, which are the simplest; if `queues`, every fourth is on queues.
pub(crate) fn ways(queues: bool) -> BoxedStrategy<Way> {
    let rings = deployments().prop_map(Way::Rings);
    if !queues {
        return rings.boxed();
    }
    let feeding = prop_oneof![Just(QueueFeeding::Ready), Just(QueueFeeding::Waiting), Just(QueueFeeding::Channel)];
    let queues = (1..=64_usize, feeding)
        .prop_map(|(capacity, feeding)| Way::Queues { queues: Queues::new().capacity(capacity), feeding });
    prop_oneof![3 => rings, 1 => queues].boxed()
}

/// Every slot of a pipeline's output on queues.
pub(crate) fn collect_on_queues<T: Item + Clone, P>(
    pipeline: &P,
    inputs: Vec<T>,
    queues: Queues,
    feeding: QueueFeeding,
) -> Result<Slots<<P::Out as ToOwnedItem>::Owned>, RunError>
where
    P: Everywhere + Arrow<In = Val<T>, Out: RingShape + QueueShape + ToOwnedItem>,
{
    slots_of(run_into_on_queues(pipeline, inputs, queues, feeding, sink::collect_slots())?)
}

/// As [`Deployment::run_into`], on queues.
pub(crate) fn run_into_on_queues<T: Item + Clone, P, K>(
    pipeline: &P,
    inputs: Vec<T>,
    queues: Queues,
    feeding: QueueFeeding,
    sink: K,
) -> Result<RunEnd<K::Output>, RunError>
where
    P: Everywhere + Arrow<In = Val<T>, Out: RingShape + QueueShape + ToOwnedItem>,
    K: Sink<P::Out>,
{
    Ok(match feeding {
        QueueFeeding::Ready => queues.start(pipeline.from(source::ready(inputs)).to(sink))?.join(),
        QueueFeeding::Waiting => queues.start(pipeline.from(waiting(inputs)).to(sink))?.join(),
        QueueFeeding::Channel => {
            let (receiver, feeding) = sent(8, inputs);
            let ended = queues.start(pipeline.from(receiver).to(sink))?.join();
            joined(feeding);
            ended
        }
    })
}

/// As [`Deployment::collect_fan_in`], on queues.
pub(crate) fn collect_fan_in_on_queues<T: Item + Clone, P, S>(
    pipeline: &P,
    fan_in: FanIn<T>,
    queues: Queues,
    start: impl FnOnce(Vec<Sender<T>>) -> S,
) -> Result<Fed<P, S>, RunError>
where
    P: Everywhere + Arrow<In = Val<T>, Out: RingShape + QueueShape + ToOwnedItem>,
{
    let (senders, poller) = fan_in.open(&Rings::new())?;
    let started = start(senders);
    Ok((queues.collect_slots(pipeline.from(poller))?, started))
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Model => f.write_str("the model"),
            Way::Rings(deployment) => deployment.fmt(f),
            Way::Queues { queues, feeding } => write!(f, "{queues:?}, {feeding:?}"),
        }
    }
}
