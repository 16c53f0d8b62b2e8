//! Sums over many samples.

use crate::frame::{RingFrame, StageFrame, WorkerFrame};
use crate::graph::Graph;
use millstream_exec::{Activity, Counters, Observer, PipelineEnd, RingCounters, State, TaskletCounters};
use std::ops::Range;

/// The tasklets of each node.
pub(crate) struct TaskletsByNode {
    /// For each node; empty if no tasklet of the run is the node: a source with a thread of its own, or a program that
    /// reads the output itself. After the nodes, for each side output.
    of: Vec<Range<usize>>,
    /// The names of the side outputs.
    side_outputs: Vec<String>,
    /// For each node the stage in whose loop it is.
    fused_into: Vec<Option<String>>,
}

impl TaskletsByNode {
    pub(crate) fn new(graph: &Graph, observer: &Observer) -> Self {
        let mut of = vec![0..0; graph.nodes.len()];
        let sink = graph.nodes.len() - 1;
        let mut side_outputs = Vec::new();
        let mut fused_into = vec![None; graph.nodes.len()];
        for (seat, tasklet) in observer.tasklets().enumerate() {
            if tasklet.side_output {
                side_outputs.push(tasklet.name.to_owned());
                of.push(seat..seat + 1);
                continue;
            }
            let node = match (tasklet.stage, tasklet.end) {
                (Some(stage), _) => stage + 1,
                (None, Some(PipelineEnd::Source)) => 0,
                (None, Some(PipelineEnd::Sink)) => sink,
                (None, None) => continue,
            };
            fused_into[node] = tasklet.fused_into.map(str::to_owned);
            of[node] = if of[node].is_empty() { seat..seat + 1 } else { of[node].start..seat + 1 };
        }
        TaskletsByNode { of, side_outputs, fused_into }
    }

    /// The side outputs, numbered after the last node, and their names.
    pub(crate) fn side_outputs(&self) -> impl Iterator<Item = (usize, &str)> {
        let first = self.of.len() - self.side_outputs.len();
        self.side_outputs.iter().enumerate().map(move |(side_output, name)| (first + side_output, &**name))
    }

    /// Whether other stages are in the loop of this one.
    pub(crate) fn has_fused(&self, stage: &str) -> bool {
        self.fused_into.iter().flatten().any(|into| into == stage)
    }

    /// The tasklets of a node.
    pub(crate) fn of(&self, node: usize) -> Range<usize> {
        self.of[node].clone()
    }

    /// How many numbers a node has moved: a source without a tasklet those of its ring.
    pub(crate) fn moved(&self, node: usize, counters: &Counters) -> u64 {
        match self.at(node, counters) {
            [] if node == 0 => counters.rings.first().map_or(0, |ring| ring.produced),
            tasklets => tasklets.iter().map(|tasklet| tasklet.moved).sum(),
        }
    }

    fn at<'a>(&self, node: usize, counters: &'a Counters) -> &'a [TaskletCounters] {
        counters.tasklets.get(self.of[node].clone()).unwrap_or(&[])
    }
}

/// The sums of the samples.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) looks: u64,
    /// For each node: working, starved, blocked.
    states: Vec<[u64; 3]>,
    /// For each ring: the sum of slots in use, and the number of samples in which it was full.
    rings: Vec<[u64; 2]>,
    /// For each worker: busy, idle, parked.
    workers: Vec<[u64; 3]>,
}

impl Tally {
    fn clear(&mut self) {
        self.looks = 0;
        self.states.clear();
        self.rings.clear();
        self.workers.clear();
    }

    /// Moves the sums of another tally into this one.
    pub(crate) fn take(&mut self, other: &mut Tally) {
        fn add<const N: usize>(sums: &mut Vec<[u64; N]>, more: &[[u64; N]]) {
            sums.resize(sums.len().max(more.len()), [0; N]);
            sums.iter_mut()
                .zip(more)
                .for_each(|(sum, more)| sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more));
        }
        self.looks += other.looks;
        add(&mut self.states, &other.states);
        add(&mut self.rings, &other.rings);
        add(&mut self.workers, &other.workers);
        other.clear();
    }

    pub(crate) fn look(&mut self, counters: &Counters, tasklets: &TaskletsByNode) {
        self.looks += 1;
        self.states.resize(tasklets.of.len(), [0; 3]);
        self.rings.resize(counters.rings.len(), [0; 2]);
        self.workers.resize(counters.workers.len(), [0; 3]);
        for (node, seen) in self.states.iter_mut().enumerate() {
            let mut count = |state| {
                seen[match state {
                    State::Working => 0,
                    State::Starved => 1,
                    State::Blocked => 2,
                }] += 1
            };
            match (tasklets.at(node, counters), node) {
                // The source is judged by its ring, whether it is a tasklet or not.
                (_, 0) => count(counters.source),
                ([], _) => count(outside(counters)),
                (tasklets, _) => tasklets.iter().for_each(|tasklet| count(tasklet.state)),
            }
        }
        for ([sum, full], ring) in self.rings.iter_mut().zip(&counters.rings) {
            *sum += ring.occupied();
            *full += u64::from(ring.occupied() == ring.capacity);
        }
        for (seen, activity) in self.workers.iter_mut().zip(&counters.workers) {
            seen[match activity {
                Activity::Busy => 0,
                Activity::Idle => 1,
                Activity::Parked => 2,
            }] += 1;
        }
    }

    /// The share of samples in which the source's ring had room and the source had not ended.
    pub(crate) fn open(&self) -> f64 {
        self.states.first().map_or(0.0, |seen| shares(*seen)[0])
    }

    pub(crate) fn rings(&self, before: &Counters, now: &Counters, span: f64) -> Vec<RingFrame> {
        let ring = |(index, ring): (usize, &RingCounters)| {
            let [sum, full] = self.rings.get(index).copied().unwrap_or_default();
            let looks = self.looks.max(1) as f64;
            let published = ring.produced - before.rings.get(index).map_or(0, |ring| ring.produced).min(ring.produced);
            RingFrame {
                produced: ring.produced,
                consumed: ring.consumed.clone(),
                capacity: ring.capacity,
                occupied: ring.occupied(),
                occupancy: sum as f64 / looks / ring.capacity.max(1) as f64,
                full: full as f64 / looks,
                rate: per_second(published, span),
            }
        };
        now.rings.iter().enumerate().map(ring).collect()
    }

    /// A node's frame, without its latency.
    pub(crate) fn stage(
        &self,
        node: usize,
        name: &str,
        by_node: &TaskletsByNode,
        before: &Counters,
        now: &Counters,
    ) -> StageFrame {
        let span = now.at.saturating_sub(before.at).as_secs_f64();
        let [working, starved, blocked] = shares(self.states.get(node).copied().unwrap_or_default());
        let (then, tasklets) = (by_node.at(node, before), by_node.at(node, now));
        let sum = |of: fn(&TaskletCounters) -> u64, all: &[TaskletCounters]| all.iter().map(of).sum::<u64>();
        let since = |of: fn(&TaskletCounters) -> u64| sum(of, tasklets).saturating_sub(sum(of, then));
        let moved = by_node.moved(node, now);
        let moved_since = moved.saturating_sub(by_node.moved(node, before));
        // The steps of a source with a thread of its own are not counted: every value counts as one.
        let batches = if node == 0 && tasklets.is_empty() { moved } else { sum(|t| t.steps, tasklets) };
        let (timed, ns) = match (since(|t| t.timed_numbers), since(|t| t.timed_ns)) {
            (0, _) => (sum(|t| t.timed_numbers, tasklets), sum(|t| t.timed_ns, tasklets)),
            timed => timed,
        };
        // Each tasklet reports the counters of its whole stage.
        let whole = |tasklets: &[TaskletCounters]| tasklets.first().map_or((0, 0), |t| (t.looked_at, t.empties));
        let (looked_at, empties) = match (whole(then), whole(tasklets)) {
            ((before, _), (now, empties)) if before >= now => (now, empties),
            ((looked_before, before), (looked_at, now)) => (looked_at - looked_before, now.saturating_sub(before)),
        };
        let fused_into = by_node.fused_into.get(node).cloned().flatten();
        let service_ns = (timed > 0 && fused_into.is_none()).then(|| ns as f64 / timed as f64);
        let busy = |ns: f64| moved_since as f64 * ns / 1e9 / span / tasklets.len().max(1) as f64;
        let mut batch_sizes: Vec<u64> = tasklets.iter().fold(Vec::new(), |mut sizes, tasklet| {
            sizes.resize(tasklet.batches.len(), 0);
            sizes.iter_mut().zip(tasklet.batches).for_each(|(size, count)| *size += count);
            sizes
        });
        batch_sizes.truncate(batch_sizes.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
        StageFrame {
            name: name.to_owned(),
            moved,
            rate: per_second(moved_since, span),
            recent_rate: Some(per_second(moved_since, span)),
            rows: None,
            row_rate: None,
            recent_row_rate: None,
            batches,
            batch_sizes,
            service_ns,
            utilisation: service_ns.filter(|_| span > 0.0).map(busy),
            working,
            starved,
            blocked,
            done: now.over || !tasklets.is_empty() && tasklets.iter().all(|tasklet| tasklet.done),
            state_bytes: tasklets.iter().filter_map(|tasklet| tasklet.state_bytes).reduce(|all, one| all + one),
            failures: tasklets.iter().map(|tasklet| tasklet.failures).max().unwrap_or(0),
            retries: tasklets.iter().map(|tasklet| tasklet.retries).max().unwrap_or(0),
            parked: tasklets.iter().map(|tasklet| tasklet.parked).max().unwrap_or(0),
            fused_into,
            empties: (looked_at > 0).then(|| empties as f64 / looked_at as f64),
            latency: None,
        }
    }

    pub(crate) fn workers(&self) -> Vec<WorkerFrame> {
        let shares = self.workers.iter().map(|seen| shares(*seen));
        shares.map(|[busy, idle, parked]| WorkerFrame { busy, idle, parked }).collect()
    }
}

/// The state of a program that reads the output itself: whether there is something to read.
fn outside(counters: &Counters) -> State {
    match counters.rings.last() {
        Some(ring) if ring.occupied() > 0 => State::Working,
        _ => State::Starved,
    }
}

/// Shares of a sum. Without samples the state counts as starved, so that the shares sum to 1.
fn shares(seen: [u64; 3]) -> [f64; 3] {
    match seen.iter().sum::<u64>() {
        0 => [0.0, 1.0, 0.0],
        all => seen.map(|count| count as f64 / all as f64),
    }
}

pub(crate) fn per_second(count: u64, span: f64) -> f64 {
    if span > 0.0 { count as f64 / span } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn a_source_that_has_ended_has_no_room_left_to_fill() {
        let seen = |states: [u64; 3]| Tally { states: vec![states, [9, 0, 0]], ..Tally::default() }.open();
        assert_eq!(seen([3, 0, 1]), 0.75);
        assert_eq!(seen([0, 8, 0]), 0.0, "it ended long ago");
        assert_eq!((seen([1, 6, 1]), Tally::default().open()), (0.125, 0.0));
    }
}
