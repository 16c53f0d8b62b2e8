//! Random deployments on rings, and queues.

use crate::deployment::{Deployment, Fed, Slots, deployments};
use millstream_core::{Arrow, Item, ToOwnedItem, Val};
use millstream_exec::{Everywhere, FanIn, QueueShape, Queues, RingShape, Rings, RunError, Runner, Sender, source};
use proptest::prelude::*;
use std::fmt;

/// One way to run a pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Rings(Deployment),
    /// With a source that is always ready, or that may wait.
    Queues {
        queues: Queues,
        ready: bool,
    },
}

/// Ways on rings, which are the simplest; if `queues`, every fourth is on queues.
pub(crate) fn ways(queues: bool) -> BoxedStrategy<Way> {
    let rings = deployments().prop_map(Way::Rings);
    if !queues {
        return rings.boxed();
    }
    let queues = (1..=64_usize, any::<bool>())
        .prop_map(|(capacity, ready)| Way::Queues { queues: Queues::new().capacity(capacity), ready });
    prop_oneof![3 => rings, 1 => queues].boxed()
}

/// Every slot of a pipeline's output on queues.
pub(crate) fn collect_on_queues<T: Item + Clone, P>(
    pipeline: &P,
    inputs: Vec<T>,
    queues: Queues,
    ready: bool,
) -> Result<Slots<<P::Out as ToOwnedItem>::Owned>, RunError>
where
    P: Everywhere + Arrow<In = Val<T>, Out: RingShape + QueueShape + ToOwnedItem>,
{
    if ready { queues.collect_slots(pipeline, source::ready(inputs)) } else { queues.collect_slots(pipeline, inputs) }
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
    Ok((queues.collect_slots(pipeline, poller)?, started))
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Rings(deployment) => deployment.fmt(f),
            Way::Queues { queues, ready } => {
                write!(f, "{queues:?}, {}", if *ready { "Ready" } else { "Waiting" })
            }
        }
    }
}
