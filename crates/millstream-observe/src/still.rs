//! Tasklets that have been in the middle of one step for long.

use crate::frame::Stuck;
use crate::graph::Graph;
use crate::tally::TaskletsByNode;
use millstream_exec::{Counters, Observer};
use std::time::Duration;

/// A shorter time is slow, and not yet stuck.
const LONG: Duration = Duration::from_secs(2);

/// For each tasklet, the time since which it has been in the same step at every look. Each for itself: while one of a
/// stage is stuck, the others go on, or wait for input or for room.
#[derive(Default)]
pub(crate) struct Stills(Vec<Still>);

#[derive(Clone, Copy)]
struct Still {
    /// The numbers it has moved, and the steps that moved them: both are counted when a step ends.
    counted: (u64, u64),
    since: Duration,
}

impl Stills {
    /// Looks at the tasklets.
    pub(crate) fn look(&mut self, observer: &Observer, now: &Counters) {
        self.0.resize(now.tasklets.len(), Still { counted: (0, 0), since: now.at });
        for (index, (still, tasklet)) in self.0.iter_mut().zip(&now.tasklets).enumerate() {
            let counted = (tasklet.moved, tasklet.steps);
            // A tasklet on the worker of a stuck one has moved nothing either, but it is in no step.
            if still.counted != counted || !observer.in_step(index) {
                *still = Still { counted, since: now.at };
            }
        }
    }

    /// The stages and side outputs that are stuck: one of their tasklets is. A source is not among them, since it may
    /// wait for its own input.
    pub(crate) fn stuck(&self, graph: &Graph, tasklets: &TaskletsByNode, now: &Counters) -> Vec<Stuck> {
        let nodes = graph.nodes.iter().map(|node| &*node.name).enumerate().skip(1);
        let stuck = |(node, name): (usize, &str)| {
            let since = self.0.get(tasklets.of(node))?.iter().map(|still| still.since).min()?;
            let long = now.at.saturating_sub(since);
            let fused = tasklets.has_fused(name);
            let reached = reached(graph, node, now).filter(|_| !fused);
            let number = reached.unwrap_or_else(|| tasklets.moved(node, now));
            (long >= LONG).then(|| report(name, fused, number, long.as_secs_f64()))
        };
        nodes.chain(tasklets.side_outputs()).filter_map(stuck).collect()
    }
}

/// The least number of a node's input that it has not released.
fn reached(graph: &Graph, node: usize, now: &Counters) -> Option<u64> {
    let read = graph.wires.iter().zip(&now.rings).filter_map(|(wire, ring)| {
        let reader = wire.to.iter().position(|to| *to == node)?;
        ring.consumed.get(reader).copied()
    });
    read.min()
}

fn report(stage: &str, fused: bool, number: u64, seconds: f64) -> Stuck {
    // A loop does not say in which of its stages it is.
    let or = if fused { ", or a stage that is fused into it," } else { "" };
    let sentence = format!(
        "`{stage}`{or} has reached number {number} and moved nothing for {seconds:.0} s: its function has not returned."
    );
    Stuck { stage: stage.to_owned(), number, seconds, sentence }
}
