//! Tasklets that have been in the middle of one step for long.

use crate::frame::{StageFrame, Stuck};
use crate::graph::Graph;
use crate::tally::TaskletsByNode;
use millstream_exec::{Counters, Observer};
use std::time::Duration;

/// A shorter time is slow, and not yet stuck.
const LONG: Duration = Duration::from_secs(2);

/// For each node, and then for each side output, the time since which it has moved nothing.
#[derive(Default)]
pub(crate) struct Stills(Vec<Still>);

#[derive(Clone, Copy, Default)]
struct Still {
    moved: u64,
    since: Duration,
}

impl Stills {
    /// Takes a sample of the nodes and side outputs.
    pub(crate) fn look<'a>(&mut self, now: Duration, seen: impl Iterator<Item = &'a StageFrame>) {
        for (index, stage) in seen.enumerate() {
            if self.0.len() == index {
                self.0.push(Still { moved: stage.moved, since: now });
            }
            // A stage that had nothing to do in a sample is not within a step.
            if self.0[index].moved != stage.moved || stage.working < 1.0 {
                self.0[index] = Still { moved: stage.moved, since: now };
            }
        }
    }

    /// The stages that are stuck. A source is not among them, since it may wait for its own input.
    pub(crate) fn stuck(
        &self,
        graph: &Graph,
        tasklets: &TaskletsByNode,
        observer: &Observer,
        now: &Counters,
    ) -> Vec<Stuck> {
        let long = |still: &Still| now.at.saturating_sub(still.since) >= LONG;
        let nodes = self.0.iter().enumerate().skip(1).filter(|(_, still)| now.running && long(still));
        // A tasklet on the worker of a stuck one has moved nothing either, but it is in no step.
        let stuck = nodes.filter(|(node, _)| tasklets.of(*node).any(|tasklet| observer.in_step(tasklet)));
        stuck
            .map(|(node, still)| {
                let name = graph.nodes.get(node).map(|node| &*node.name);
                let name = name.or_else(|| {
                    tasklets.side_outputs().find(|(side_output, _)| *side_output == node).map(|(_, name)| name)
                });
                let name = name.unwrap_or_default();
                let fused = tasklets.has_fused(name);
                let reached = reached(graph, node, now).filter(|_| !fused);
                let seconds = now.at.saturating_sub(still.since).as_secs_f64();
                report(name, fused, reached.unwrap_or(still.moved), seconds)
            })
            .collect()
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
