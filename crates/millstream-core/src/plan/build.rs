//! How a pipeline describes itself: every combinator adds its nodes, in the order in which it deploys them.

use super::{Plan, Ring, Stage, Warning};
use std::collections::BTreeMap;

/// At which numbers an edge can hold values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Below END.
    pub numbers: bool,
    /// At END.
    pub end: bool,
}

impl Filled {
    /// The slots that a source fills.
    pub const NUMBERS: Filled = Filled { numbers: true, end: false };
    /// The slots that a fold fills.
    pub const END: Filled = Filled { numbers: false, end: true };

    fn and(self, other: Filled) -> Filled {
        Filled { numbers: self.numbers && other.numbers, end: self.end && other.end }
    }

    fn or(self, other: Filled) -> Filled {
        Filled { numbers: self.numbers || other.numbers, end: self.end || other.end }
    }
}

/// The reading end of an edge while a plan is built: the rings that the edge reads.
#[derive(Clone, Debug)]
pub struct Port {
    rings: Vec<usize>,
    filled: Filled,
    clock: usize,
}

impl Port {
    /// At which numbers this edge can hold values.
    #[must_use]
    pub fn filled(&self) -> Filled {
        self.filled
    }
}

/// The properties of a stage that a combinator adds.
#[derive(Clone, Copy, Debug)]
pub struct StageKind {
    /// The combinator's name.
    pub name: &'static str,
    /// Whether the stage keeps state from one number to the next.
    pub stateful: bool,
    /// Bytes of one slot of its output ring.
    pub slot_bytes: usize,
    /// Whether its output is dense.
    pub dense: bool,
    /// At which numbers its output can hold values.
    pub fills: Filled,
}

/// A body that describes itself.
pub type Body<'a> = Box<dyn FnOnce(&mut Describe) -> Port + 'a>;

struct Node {
    parent: Option<usize>,
    branch: &'static str,
    kind: &'static str,
    user_name: Option<String>,
    stage: Option<Stage>,
    never_joins: bool,
}

/// Collects the nodes of a pipeline. Combinators call it; users call [`Arrow::plan`](crate::Arrow::plan).
pub struct Describe {
    nodes: Vec<Node>,
    rings: Vec<Ring>,
    clocks: usize,
    parent: Option<usize>,
    branch: &'static str,
    tasklets: usize,
    /// The number of keys of a stage with a state at this place, inside `shard_by`.
    keys: Option<usize>,
    serial: bool,
    last: Option<usize>,
    warnings: Vec<Warning>,
}

impl std::fmt::Debug for Describe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Describe").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl Describe {
    pub(crate) fn new(slot_bytes: usize, dense: bool) -> (Self, Port) {
        let source = Ring { writer: None, slot_bytes, dense, least: 1, capacity: None, clock: 0 };
        let plan = Describe {
            nodes: Vec::new(),
            rings: vec![source],
            clocks: 1,
            parent: None,
            branch: "",
            tasklets: 1,
            keys: None,
            serial: false,
            last: None,
            warnings: Vec::new(),
        };
        (plan, Port { rings: vec![0], filled: Filled::NUMBERS, clock: 0 })
    }

    fn node(&mut self, kind: &'static str, stage: Option<Stage>) -> usize {
        let (parent, branch) = (self.parent, self.branch);
        self.nodes.push(Node { parent, branch, kind, user_name: None, stage, never_joins: false });
        self.nodes.len() - 1
    }

    /// Adds a stage that reads `input`; returns its output.
    pub fn stage(&mut self, input: &Port, kind: StageKind) -> Port {
        self.any_stage(input, kind, false, input.clock)
    }

    /// As [`stage`](Describe::stage), for one whose closure may wait.
    pub fn blocking_stage(&mut self, input: &Port, kind: StageKind) -> Port {
        self.any_stage(input, kind, true, input.clock)
    }

    /// As [`stage`](Describe::stage), for one that starts a new clock.
    pub fn new_clock(&mut self, input: &Port, kind: StageKind) -> Port {
        let clock = self.clocks;
        self.clocks += 1;
        self.any_stage(input, kind, false, clock)
    }

    /// As [`stage`](Describe::stage), for one that ends the stream if it is at the outer level: its output is then a
    /// new clock, the part of the input before that end.
    pub fn ending_stage(&mut self, input: &Port, kind: StageKind) -> Port {
        if self.parent.is_none() { self.new_clock(input, kind) } else { self.stage(input, kind) }
    }

    fn any_stage(&mut self, input: &Port, kind: StageKind, blocking: bool, clock: usize) -> Port {
        let ring = self.rings.len();
        let (reads, tasklets) = (input.rings.clone(), self.tasklets);
        let StageKind { name: kind_name, stateful, slot_bytes, dense, .. } = kind;
        let (name, serial) = (String::new(), self.serial);
        let keys = self.keys.filter(|_| stateful);
        let stage = Stage { name, kind: kind_name, reads, writes: ring, tasklets, stateful, keys, blocking, serial };
        let node = self.node(kind.name, Some(stage));
        self.rings.push(Ring { writer: Some(node), slot_bytes, dense, least: 1, capacity: None, clock });
        self.last = Some(node);
        Port { rings: vec![ring], filled: kind.fills, clock }
    }

    /// As [`stage`](Describe::stage), for a stage that one tasklet runs even inside `shard`.
    pub fn single_stage(&mut self, input: &Port, kind: StageKind) -> Port {
        let outside = std::mem::replace(&mut self.tasklets, 1);
        let port = self.stage(input, kind);
        self.tasklets = outside;
        port
    }

    /// As [`stage`](Describe::stage), for one that keeps something for each of at most `most` keys.
    pub fn keyed_stage(&mut self, input: &Port, kind: StageKind, most: usize) -> Port {
        let outside = self.more_keys(most);
        let port = self.stage(input, kind);
        self.keys = outside;
        port
    }

    fn more_keys(&mut self, most: usize) -> Option<usize> {
        let outside = self.keys;
        self.keys = Some(outside.unwrap_or(1).saturating_mul(most));
        outside
    }

    /// The output of a filter on this edge: the edge's rings and the mask's.
    pub fn masked(&mut self, input: &Port, mask: &Port) -> Port {
        Port { rings: [&input.rings[..], &mask.rings[..]].concat(), filled: input.filled, clock: mask.clock }
    }

    /// Two edges side by side, filled where the first one is.
    pub fn beside(&mut self, first: &Port, second: &Port) -> Port {
        Port { rings: [&first.rings[..], &second.rings[..]].concat(), ..*first }
    }

    /// Adds a combinator with two bodies, joined by number.
    pub fn join(
        &mut self,
        kind: &'static str,
        first: impl FnOnce(&mut Self) -> Port,
        second: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        self.join_all(kind, vec![Box::new(first), Box::new(second)])
    }

    /// Adds a combinator with two to eight bodies, joined by number.
    pub fn join_all(&mut self, kind: &'static str, bodies: Vec<Body<'_>>) -> Port {
        const BRANCHES: [&str; 8] = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
        let node = self.node(kind, None);
        let bodies = BRANCHES.into_iter().zip(bodies);
        let ports: Vec<Port> = bodies.map(|(branch, body)| self.within(node, branch, body)).collect();
        self.last = Some(node);
        let joined = ports.into_iter().reduce(|a, b| Port {
            rings: [a.rings, b.rings].concat(),
            filled: a.filled.and(b.filled),
            clock: a.clock,
        });
        let joined = joined.expect("a join has bodies");
        self.nodes[node].never_joins = joined.filled == Filled { numbers: false, end: false };
        joined
    }

    /// Adds a combinator with two bodies; each value goes through one of them.
    pub fn lanes(
        &mut self,
        kind: &'static str,
        left: impl FnOnce(&mut Self) -> Port,
        right: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        let node = self.node(kind, None);
        let a = self.within(node, "left", left);
        let b = self.within(node, "right", right);
        self.last = Some(node);
        Port { filled: a.filled.or(b.filled), rings: [a.rings, b.rings].concat(), clock: a.clock }
    }

    /// Adds a loop: a ring of states beside the input, the body that reads both, and the stage that writes the ring
    /// from the body's output.
    pub fn feedback(
        &mut self,
        input: &Port,
        slot_bytes: usize,
        dense: bool,
        body: impl FnOnce(&mut Self, Port) -> Port,
    ) -> Port {
        let node = self.node("feedback", None);
        let states = self.rings.len();
        self.rings.push(Ring { writer: None, slot_bytes, dense, least: 2, capacity: None, clock: input.clock });
        let looped = Port { rings: [&input.rings[..], &[states]].concat(), ..input.clone() };
        let outside = std::mem::replace(&mut self.serial, true);
        let output = self.within(node, "", |plan| {
            let output = body(plan, looped);
            let reads = [&input.rings[..], &output.rings[..]].concat();
            let (name, kind, keys) = (String::new(), "state", plan.keys);
            let (tasklets, stateful, blocking, serial) = (1, true, false, true);
            let stage = Stage { name, kind, reads, writes: states, tasklets, stateful, keys, blocking, serial };
            let closing = plan.node("state", Some(stage));
            plan.rings[states].writer = Some(closing);
            output
        });
        self.serial = outside;
        self.last = Some(node);
        output
    }

    /// Adds a body whose output is not read.
    pub fn side_output(&mut self, kind: &'static str, body: impl FnOnce(&mut Self) -> Port) {
        let node = self.node(kind, None);
        self.within(node, "", body);
        self.last = Some(node);
    }

    /// Adds `shard(k, body)`: k times as many tasklets run every stage of the body.
    pub fn shard(&mut self, k: usize, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let node = self.node("shard", None);
        self.tasklets *= k;
        let port = self.within(node, "", body);
        self.tasklets /= k;
        self.last = Some(node);
        port
    }

    /// Adds `shard_by(key, k, body)`: one stage that assigns every number its key's slot, and the stages of the body,
    /// each run by k times as many tasklets, with a state for each of `most` keys.
    pub fn shard_by(
        &mut self,
        input: &Port,
        k: usize,
        most: usize,
        slot_bytes: usize,
        body: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        let node = self.node("shard_by", None);
        let outside = self.more_keys(most);
        let port = self.within(node, "", |plan| {
            let (name, stateful, dense, fills) = ("key", true, false, input.filled());
            let before = std::mem::replace(&mut plan.tasklets, 1);
            plan.stage(input, StageKind { name, stateful, slot_bytes, dense, fills });
            plan.tasklets = before * k;
            let port = body(plan);
            plan.tasklets = before;
            port
        });
        self.keys = outside;
        self.last = Some(node);
        port
    }

    fn within(&mut self, node: usize, branch: &'static str, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let outside = (self.parent.replace(node), std::mem::replace(&mut self.branch, branch));
        let port = body(self);
        (self.parent, self.branch) = outside;
        port
    }

    /// Describes `body`, and names the last stage or combinator in it.
    pub fn named(&mut self, name: &str, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let before = self.last.take();
        let port = body(self);
        match self.last {
            Some(last) => self.nodes[last].user_name = Some(name.to_owned()),
            None => {
                self.warnings.push(Warning::NamesNothing { name: name.to_owned() });
                self.last = before;
            }
        }
        port
    }

    pub(crate) fn finish(mut self, output: Port) -> Plan {
        let names = self.names();
        let mut index = BTreeMap::new();
        let mut stages = Vec::new();
        for (n, node) in self.nodes.into_iter().enumerate() {
            if node.never_joins {
                self.warnings.push(Warning::NeverJoins { at: names[n].clone() });
            }
            if let Some(stage) = node.stage {
                index.insert(n, stages.len());
                stages.push(Stage { name: names[n].clone(), ..stage });
            }
        }
        for ring in &mut self.rings {
            ring.writer = ring.writer.map(|node| index[&node]);
        }
        Plan { stages, rings: self.rings, output: output.rings, warnings: self.warnings }
    }

    /// A user's name is taken as it is. A derived name is the place in the enclosing combinator, and the ordinal among
    /// the unnamed nodes of the same kind there.
    fn names(&mut self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut ordinals = BTreeMap::new();
        let mut taken = BTreeMap::new();
        for node in &self.nodes {
            let name = node.user_name.clone().unwrap_or_else(|| {
                let ordinal = ordinals.entry((node.parent, node.branch, node.kind)).or_insert(0);
                *ordinal += 1;
                let own = format!("{}-{ordinal}", node.kind);
                let path = node.parent.map(|parent| names[parent].as_str());
                [path, Some(node.branch), Some(&own)]
                    .into_iter()
                    .flatten()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(".")
            });
            let times = taken.entry(name.clone()).or_insert(0_usize);
            *times += 1;
            if *times == 2 {
                self.warnings.push(Warning::SameName { name: name.clone() });
            }
            names.push(if *times == 1 { name } else { format!("{name}-{times}") });
        }
        names
    }
}
