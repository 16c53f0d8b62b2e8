//! How a pipeline describes itself: every combinator adds its nodes, in pipeline order.

use super::node::{Node, Planned, Unjoined, named_stages};
use super::{
    Body, Branch, Filled, NodeId, Plan, PlanFormat, Port, Ring, Scoped, SideSink, Stage, StageKind, StageLookup, Walk,
    Warning,
};
use crate::{Arrow, Density, Shape};

/// Collects the nodes of a pipeline. Combinators call it; users call [`Arrow::plan`](crate::Arrow::plan).
///
/// Every node has the [id](NodeId) at which it is described. A body is described at an id of its own: the methods that
/// take a body do that, and a combinator that runs a pipeline after another calls [`advance`](Describe::advance)
/// between the two.
pub struct Describe {
    pub(super) nodes: Vec<Node>,
    rings: Vec<Ring>,
    clocks: usize,
    pub(super) scope: DescribeScope,
    pub(super) last: Option<usize>,
    side_sinks: Vec<SideSink>,
    warnings: Vec<Warning>,
}

/// The properties that the nodes of a body share.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct DescribeScope {
    pub(super) id: NodeId,
    pub(super) parent: Option<usize>,
    pub(super) branch: Branch,
    tasklets: usize,
    /// The number of keys of a stage with a state, inside `shard_by`.
    keys: Option<usize>,
    serial: bool,
    /// Whether the nodes are parts of the enclosing combinator, and not of a body.
    part: bool,
}

impl DescribeScope {
    fn with_keys(mut self, most: usize) -> Self {
        self.keys = Some(self.keys.unwrap_or(1).saturating_mul(most));
        self
    }
}

impl Walk for Describe {
    type Scope = DescribeScope;

    fn scope(&mut self) -> &mut DescribeScope {
        &mut self.scope
    }
}

impl std::fmt::Debug for Describe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Describe").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl Describe {
    /// Of a pipeline with this input.
    pub(crate) fn of_input<A: Shape>() -> (Self, Port) {
        Describe::new(A::BYTES, A::Density::DENSE)
    }

    pub(crate) fn new(slot_bytes: usize, dense: bool) -> (Self, Port) {
        let source = Ring { writer: None, slot_bytes, dense, least: 1, capacity: None, clock: 0 };
        let id = NodeId::default();
        let scope = DescribeScope {
            id,
            parent: None,
            branch: Branch::Only,
            tasklets: 1,
            keys: None,
            serial: false,
            part: false,
        };
        let (nodes, rings, side_sinks, warnings) = (Vec::new(), vec![source], Vec::new(), Vec::new());
        let plan = Describe { nodes, rings, clocks: 1, scope, last: None, side_sinks, warnings };
        (plan, Port::edge(vec![0], Filled::NUMBERS, 0))
    }

    /// Goes on to the pipeline that reads `between`, the output of the one described last, in the same body. Returns
    /// `between`, so that the caller has nothing to drop on a panic here: every `then` has this call in its code.
    #[must_use]
    pub fn advance(&mut self, between: Port) -> Port {
        self.scope.id.advance();
        between
    }

    pub(super) fn node(&mut self, kind: &'static str) -> usize {
        let DescribeScope { parent, branch, .. } = self.scope;
        let (user_name, wire, stage, version) = (None, None, None, None);
        self.nodes.push(Node { parent, branch, kind, user_name, wire, stage, unjoined: None, version });
        self.nodes.len() - 1
    }

    /// Adds the node of a stage, which writes the ring `writes`.
    fn stage_node(&mut self, reads: Vec<usize>, writes: usize, kind: &StageKind, blocking: bool) -> usize {
        let node = self.node(kind.name);
        let DescribeScope { tasklets, keys, serial, part, .. } = self.scope;
        let stateful = kind.state.is_some();
        let stage = Stage {
            name: String::new(),
            named_by_user: false,
            path: String::new(),
            kind: kind.name.into(),
            reads,
            writes,
            tasklets,
            stateful,
            state: None,
            keys: keys.filter(|_| stateful),
            blocking,
            serial,
            ends: false,
        };
        self.nodes[node].stage = Some(Planned { stage, id: self.scope.id.clone(), state: kind.state, part });
        node
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
        if !self.scope.id.is_outer() {
            return self.stage(input, kind);
        }
        let port = self.new_clock(input, kind);
        if let Some(made) = self.nodes.last_mut().and_then(|node| node.stage.as_mut()) {
            made.stage.ends = true;
        }
        port
    }

    fn any_stage(&mut self, input: &Port, kind: StageKind, blocking: bool, clock: usize) -> Port {
        let ring = self.rings.len();
        let node = self.stage_node(input.rings.clone(), ring, &kind, blocking);
        let StageKind { slot_bytes, dense, .. } = kind;
        self.rings.push(Ring { writer: Some(node), slot_bytes, dense, least: 1, capacity: None, clock });
        self.last = Some(node);
        Port::edge(vec![ring], kind.fills, clock)
    }

    /// As [`stage`](Describe::stage), for a stage that one tasklet runs even inside `shard`.
    pub fn single_stage(&mut self, input: &Port, kind: StageKind) -> Port {
        let mut single = Scoped::new(self);
        single.scope.tasklets = 1;
        single.stage(input, kind)
    }

    /// As [`stage`](Describe::stage), for one that keeps something for each of at most `most` keys.
    pub fn keyed_stage(&mut self, input: &Port, kind: StageKind, most: usize) -> Port {
        let mut keyed = Scoped::new(self);
        keyed.scope = keyed.scope.clone().with_keys(most);
        keyed.stage(input, kind)
    }

    /// The output of a filter on this edge: the edge's rings and the mask's.
    pub fn masked(&mut self, input: &Port, mask: &Port) -> Port {
        Port::edge([&input.rings[..], &mask.rings[..]].concat(), input.filled, mask.clock)
    }

    /// Two edges side by side, filled where the first one is.
    pub fn beside(&mut self, first: &Port, second: &Port) -> Port {
        Port::edge([&first.rings[..], &second.rings[..]].concat(), first.filled, first.clock)
    }

    /// Adds a combinator with two bodies, joined by number: the [first](Branch::First) and the
    /// [second](Branch::Second).
    pub fn join(
        &mut self,
        kind: &'static str,
        first: impl FnOnce(&mut Self) -> Port,
        second: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        self.join_all(kind, vec![Box::new(first), Box::new(second)])
    }

    /// Adds a combinator with two to eight bodies, joined by number. They are deployed as fan-outs in fan-outs: all
    /// bodies but the last are in the [first](Branch::First) body of the combinator.
    pub fn join_all(&mut self, kind: &'static str, bodies: Vec<Body<'_>>) -> Port {
        let mut around = self.scope.id.clone();
        let mut ids = Vec::with_capacity(bodies.len());
        for _ in 1..bodies.len() {
            ids.push(around.body(Branch::Second));
            around = around.body(Branch::First);
        }
        ids.push(around);
        ids.reverse();
        self.joined(kind, bodies, ids)
    }

    /// Bodies with these ids, joined by number.
    pub(super) fn joined(&mut self, kind: &'static str, bodies: Vec<Body<'_>>, ids: Vec<NodeId>) -> Port {
        let node = self.node(kind);
        let bodies = Branch::FANOUT.into_iter().zip(bodies).zip(ids);
        let port = |((branch, body), id): ((Branch, Body<'_>), NodeId)| {
            let mut inside = self.inside(node, branch);
            inside.scope.id = id;
            body(&mut inside)
        };
        let ports: Vec<Port> = bodies.map(port).collect();
        self.last = Some(node);
        let filled = ports.iter().map(|port| port.filled).reduce(Filled::and).expect("a join has bodies");
        let of = |fills: fn(&Port) -> bool| {
            let of: Vec<_> = ports.iter().filter(|port| fills(port)).map(|port| self.writer(port)).collect();
            (!of.is_empty()).then_some(of)
        };
        self.nodes[node].unjoined = match filled {
            Filled { numbers: false, end: false } => Some(Unjoined::All),
            Filled { numbers: true, end: false } => of(|port| port.filled.end).map(|of| Unjoined::End { of }),
            Filled { numbers: false, end: true } => of(|port| port.filled.numbers).map(|of| Unjoined::Numbers { of }),
            Filled { numbers: true, end: true } => None,
        };
        let clock = ports[0].clock;
        Port::edge(ports.into_iter().flat_map(|port| port.rings).collect(), filled, clock)
    }

    /// The last stage that writes a ring of this edge.
    pub(super) fn writer(&self, port: &Port) -> Option<usize> {
        port.rings.iter().rev().find_map(|ring| self.rings[*ring].writer)
    }

    /// Adds a combinator with two bodies; each value goes through one of them: the [left](Branch::Left) one or the
    /// [right](Branch::Right) one.
    pub fn lanes(
        &mut self,
        kind: &'static str,
        left: impl FnOnce(&mut Self) -> Port,
        right: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        let node = self.node(kind);
        let a = left(&mut self.inside(node, Branch::Left));
        let b = right(&mut self.inside(node, Branch::Right));
        self.last = Some(node);
        a.merged(b)
    }

    /// Adds a loop: a ring of states beside the input, the body that reads both, and the stage that writes the ring
    /// from the body's output. That stage has the id of the combinator, and `states` describes it.
    pub fn feedback(&mut self, input: &Port, states: StageKind, body: impl FnOnce(&mut Self, Port) -> Port) -> Port {
        let node = self.node("feedback");
        let ring = self.rings.len();
        let StageKind { slot_bytes, dense, .. } = states;
        self.rings.push(Ring { writer: None, slot_bytes, dense, least: 2, capacity: None, clock: input.clock });
        let looped = Port { rings: [&input.rings[..], &[ring]].concat(), ..input.clone() };
        let mut inside = self.inside(node, Branch::Only);
        inside.scope.serial = true;
        let output = body(&mut inside, looped);
        drop(inside);
        let mut closing = self.part_of(node);
        closing.scope.serial = true;
        let reads = [&input.rings[..], &output.rings[..]].concat();
        let writer = closing.stage_node(reads, ring, &states, false);
        drop(closing);
        self.rings[ring].writer = Some(writer);
        self.last = Some(node);
        output
    }

    /// Adds a body whose output is not read.
    pub fn side_output(&mut self, kind: &'static str, body: impl FnOnce(&mut Self) -> Port) {
        let node = self.node(kind);
        body(&mut self.inside(node, Branch::Only));
        self.last = Some(node);
    }

    /// Adds a sink with a name, beside the pipeline.
    pub(crate) fn side_sink(&mut self, kind: &'static str, name: &str, reads: &Port) {
        let node = self.node(kind);
        self.nodes[node].user_name = Some(name.to_owned());
        self.side_sinks.push(SideSink { name: name.to_owned(), reads: reads.rings.clone() });
        // It has its name, and the pipeline goes on from the stage before it.
    }

    /// Adds `shard(k, body)`: k times as many tasklets run every stage of the body.
    pub fn shard(&mut self, k: usize, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let node = self.node("shard");
        let mut inside = self.inside(node, Branch::Only);
        inside.scope.tasklets *= k;
        let port = body(&mut inside);
        drop(inside);
        self.last = Some(node);
        port
    }

    /// Adds `shard_by(key, k, body)`: one stage that assigns every number its key's slot, and the stages of the body,
    /// each run by k times as many tasklets, with a state for each of `most` keys. The one stage has the id of the
    /// combinator, and `keys` describes it.
    pub fn shard_by(
        &mut self,
        input: &Port,
        keys: StageKind,
        k: usize,
        most: usize,
        body: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        let node = self.node("shard_by");
        self.part_of(node).keyed_stage(input, keys, most);
        let mut inside = self.inside(node, Branch::Only);
        inside.scope.tasklets *= k;
        inside.scope = inside.scope.clone().with_keys(most);
        let port = body(&mut inside);
        drop(inside);
        self.last = Some(node);
        port
    }

    /// The scope of a stage that a combinator with a body adds itself. One tasklet runs it.
    fn part_of(&mut self, node: usize) -> Scoped<'_, Self> {
        let mut part = Scoped::new(self);
        part.scope.parent = Some(node);
        part.scope.branch = Branch::Only;
        part.scope.tasklets = 1;
        part.scope.part = true;
        part
    }

    /// The scope of a body.
    pub(super) fn inside(&mut self, node: usize, branch: Branch) -> Scoped<'_, Self> {
        let mut inside = Scoped::new(self);
        inside.scope.parent = Some(node);
        inside.scope.branch = branch;
        inside.scope.id = inside.scope.id.body(branch);
        inside.scope.part = false;
        inside
    }

    /// Describes `body`, and names the last stage or combinator in it. An empty name is none.
    pub fn named(&mut self, name: &str, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let before = self.last.take();
        let port = body(self);
        match self.last {
            Some(_) if name.is_empty() => {}
            Some(last) => self.nodes[last].user_name = Some(name.to_owned()),
            None => {
                self.warnings.push(Warning::NamesNothing { name: name.to_owned() });
                self.last = before;
            }
        }
        port
    }

    /// Sets the version of the state of the stage or combinator that was described last.
    pub(crate) fn state_version(&mut self, version: u32) {
        if let Some(last) = self.last {
            self.nodes[last].version = Some(version);
        }
    }

    /// The bytes of the states of a pipeline, if it is the body of one key.
    pub(crate) fn bytes_of_states<P: Arrow>(body: &P) -> usize {
        let (mut plan, input) = Describe::of_input::<P::In>();
        let _ = body.describe(input, &mut plan);
        let stages = plan.nodes.iter().filter_map(|node| node.stage.as_ref());
        let bytes = stages.filter_map(|Planned { stage, state, .. }| {
            Some(state.as_ref()?.bytes_of_key().saturating_mul(stage.keys.unwrap_or(1)))
        });
        bytes.fold(0, usize::saturating_add)
    }

    pub(crate) fn finish(self, output: Port) -> (Plan, StageLookup) {
        let Describe { nodes, mut rings, side_sinks, mut warnings, .. } = self;
        let (stages, index) = named_stages(nodes, &mut warnings);
        let (stages, ids) = stages.into_iter().unzip();
        for ring in &mut rings {
            ring.writer = ring.writer.map(|node| index[&node]);
        }
        let plan = Plan { format: PlanFormat, stages, rings, output: output.rings, side_sinks, warnings };
        let lookup = StageLookup::new(&plan, ids);
        (plan, lookup)
    }
}
