//! The graph of a run, which its frames refer to.

mod dot;
mod layout;
mod svg;

pub use layout::{Layout, Spot};
pub(crate) use svg::{Size, pictures};

use millstream_core::Plan;
use serde::{Deserialize, Serialize};

/// A plan as nodes and wires, in the order of a [`Frame`](crate::Frame)'s stages and rings.
///
/// ```
/// use millstream::{observe::Graph, prelude::*};
/// let p = pipeline::<u64>().map(|x| x + 1).named("more");
/// let graph = Graph::of(&p.plan());
/// assert_eq!(
///     graph.nodes.iter().map(|node| &*node.name).collect::<Vec<_>>(),
///     ["source", "more", "sink"]
/// );
/// assert_eq!((graph.wires[1].from, &graph.wires[1].to[..]), (1, &[2][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Graph {
    /// The source, the stages as in the plan, the sink.
    pub nodes: Vec<Node>,
    /// The rings as in the plan.
    pub wires: Vec<Wire>,
}

/// A stage, or an end of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Node {
    /// Its name in the plan.
    pub name: String,
    /// The combinator that made it.
    pub kind: String,
    /// The number of its tasklets.
    pub tasklets: usize,
    /// Whether each of them has a thread of its own.
    pub own_thread: bool,
}

/// A ring: from its writer to all of its readers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Wire {
    /// The node that writes it.
    pub from: usize,
    /// The nodes that read it, in the order of a frame's `consumed`.
    pub to: Vec<usize>,
    /// The number of slots, once a deployment has chosen it.
    pub capacity: Option<usize>,
    /// The bytes of one slot, without heap memory that its value owns.
    pub slot_bytes: usize,
    /// The index of its clock.
    pub clock: usize,
}

impl Node {
    /// A description in a few words.
    #[must_use]
    pub fn described(&self) -> String {
        let many = if self.tasklets > 1 { format!(" x{}", self.tasklets) } else { String::new() };
        let waits = if self.own_thread { ", own thread" } else { "" };
        format!("{}{many}{waits}", self.kind)
    }
}

impl Node {
    /// The name, shortened to at most `most` characters. The end is kept, since neighbours often begin alike.
    #[must_use]
    pub fn shortened(&self, most: usize) -> String {
        match self.name.chars().count() {
            length if length > most => format!("…{}", self.name.chars().skip(length - most + 1).collect::<String>()),
            _ => self.name.clone(),
        }
    }
}

impl Wire {
    /// A description in a few words.
    #[must_use]
    pub fn described(&self) -> String {
        let slots = self.capacity.map_or_else(|| "slots".to_owned(), |slots| format!("{slots} slots"));
        format!("{slots} of {} bytes", self.slot_bytes)
    }
}

impl Graph {
    /// The graph of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let end = |kind: &str| Node { name: kind.to_owned(), kind: kind.to_owned(), tasklets: 1, own_thread: false };
        let stages = plan.stages.iter().map(|stage| Node {
            name: stage.name.clone(),
            kind: stage.kind.to_string(),
            tasklets: stage.tasklets,
            own_thread: stage.blocking,
        });
        let nodes: Vec<Node> = [end("source")].into_iter().chain(stages).chain([end("sink")]).collect();
        let sink = nodes.len() - 1;
        let mut wires: Vec<Wire> = plan
            .rings
            .iter()
            .map(|ring| Wire {
                from: ring.writer.map_or(0, |stage| stage + 1),
                to: Vec::new(),
                capacity: ring.capacity,
                slot_bytes: ring.slot_bytes,
                clock: ring.clock,
            })
            .collect();
        let reads = plan.stages.iter().enumerate().map(|(stage, described)| (stage + 1, &described.reads));
        for (node, reads) in reads.chain([(sink, &plan.output)]) {
            for ring in reads {
                if wires[*ring].to.last() != Some(&node) {
                    wires[*ring].to.push(node);
                }
            }
        }
        Graph { nodes, wires }
    }

    /// The nodes that read the output of a node.
    pub fn readers(&self, node: usize) -> impl Iterator<Item = usize> {
        self.wires.iter().filter(move |wire| wire.from == node).flat_map(|wire| wire.to.iter().copied())
    }
}
