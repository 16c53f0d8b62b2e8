//! Tasklets that have been in the middle of one step for long.

use crate::frame::{StageFrame, Stuck};
use crate::graph::Graph;
use crate::tally::TaskletsByNode;
use millstream_exec::{Counters, Observer};
use std::time::Duration;

/// Shorter is slow, and not yet stuck.
const LONG: Duration = Duration::from_secs(2);

/// For each node, and behind those for what stands aside, since when nothing has moved.
#[derive(Default)]
pub(crate) struct Stills(Vec<Still>);

#[derive(Clone, Copy, Default)]
struct Still {
    moved: u64,
    since: Duration,
}

impl Stills {
    /// Looks at what was seen up to now: of the nodes and what stands aside.
    pub(crate) fn look<'a>(&mut self, now: Duration, seen: impl Iterator<Item = &'a StageFrame>) {
        for (index, stage) in seen.enumerate() {
            if self.0.len() == index {
                self.0.push(Still { moved: stage.moved, since: now });
            }
            // Whoever had nothing to do at some look is not in the middle of anything.
            if self.0[index].moved != stage.moved || stage.working < 1.0 {
                self.0[index] = Still { moved: stage.moved, since: now };
            }
        }
    }

    /// Who is stuck. A source waits for what is outside, which nobody sees.
    pub(crate) fn stuck(
        &self,
        graph: &Graph,
        tasklets: &TaskletsByNode,
        observer: &Observer,
        now: &Counters,
    ) -> Vec<Stuck> {
        let long = |still: &Still| now.at.saturating_sub(still.since) >= LONG;
        let nodes = self.0.iter().enumerate().skip(1).filter(|(_, still)| now.running && long(still));
        // What shares a worker with one that is stuck has moved nothing either.
        let stuck = nodes.filter(|(node, _)| tasklets.of(*node).any(|tasklet| observer.in_step(tasklet)));
        stuck
            .map(|(node, still)| {
                let name = graph.nodes.get(node).map(|node| &*node.name);
                let name = name.or_else(|| {
                    tasklets.side_outputs().find(|(side_output, _)| *side_output == node).map(|(_, name)| name)
                });
                let number = reached(graph, node, now).unwrap_or(still.moved);
                told(name.unwrap_or_default(), number, now.at.saturating_sub(still.since).as_secs_f64())
            })
            .collect()
    }
}

/// The least number that a node has not released of what it reads.
fn reached(graph: &Graph, node: usize, now: &Counters) -> Option<u64> {
    let read = graph.wires.iter().zip(&now.rings).filter_map(|(wire, ring)| {
        let reader = wire.to.iter().position(|to| *to == node)?;
        ring.consumed.get(reader).copied()
    });
    read.min()
}

fn told(stage: &str, number: u64, seconds: f64) -> Stuck {
    let sentence = format!(
        "`{stage}` has come as far as number {number} and moved nothing for {seconds:.0} s: its function has not come back."
    );
    Stuck { stage: stage.to_owned(), number, seconds, sentence }
}
