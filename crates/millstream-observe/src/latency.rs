//! Latencies, from the latency markers.

use crate::frame::Latency;
use crate::graph::Graph;
use hdrhistogram::Histogram;
use millstream_exec::Observer;
use std::time::Duration;

/// The most markers that a run keeps.
const KEPT: u64 = 256;

/// The latencies until now.
pub(crate) struct Latencies {
    /// For each node, the time from when a number was ready for it.
    through: Vec<Histogram<u32>>,
    /// The time from the source to the sink.
    whole: Histogram<u32>,
    /// For each node, the next marker to read.
    next: Vec<u64>,
    /// For each node, the nodes that write its input.
    before: Vec<Vec<usize>>,
    /// When the next marker is requested.
    due: Duration,
}

fn histogram() -> Histogram<u32> {
    Histogram::new(2).expect("two digits are allowed")
}

impl Latencies {
    pub(crate) fn of(graph: &Graph, observer: &Observer) -> Self {
        let mut before = vec![Vec::new(); graph.nodes.len()];
        for wire in &graph.wires {
            // A loop's states come from a later node.
            wire.to.iter().filter(|to| wire.from < **to).for_each(|to| before[*to].push(wire.from));
        }
        // Markers of an earlier watch are skipped.
        let next = (0..before.len()).map(|node| if node == 0 { 0 } else { observer.passed(node - 1) }).collect();
        let through = before.iter().map(|_| histogram()).collect();
        Latencies { through, whole: histogram(), next, before, due: Duration::ZERO }
    }

    /// Reads the markers that have passed, and requests a new one if it is time.
    pub(crate) fn look(&mut self, observer: &Observer, now: Duration, spacing: Duration) {
        let noted = observer.noted();
        let mut slowest = noted;
        for node in 1..self.next.len() {
            let passed = observer.passed(node - 1);
            slowest = slowest.min(passed);
            self.next[node] = self.next[node].max(passed.saturating_sub(KEPT));
            while self.next[node] < passed {
                self.take(observer, node, self.next[node]);
                self.next[node] += 1;
            }
        }
        // The more markers are under way, the fewer are added: an overwritten marker is one with a high latency.
        if now >= self.due {
            observer.note();
            let times = 1 << ((noted - slowest) / (KEPT / 8)).min(10);
            self.due = now.saturating_add(spacing.saturating_mul(times));
        }
    }

    fn take(&mut self, observer: &Observer, node: usize, note: u64) {
        let Some(passed) = observer.passed_at(node - 1, note) else { return };
        let start = passed.at.saturating_sub(passed.since_source);
        let there = self.before[node].iter().map(|before| match before {
            0 => Some(start),
            stage => observer.passed_at(stage - 1, note).map(|passed| passed.at),
        });
        if let Some(there) = there.max().flatten() {
            record(&mut self.through[node], passed.at.saturating_sub(there));
        }
        if node == self.next.len() - 1 {
            record(&mut self.whole, passed.since_source);
        }
    }

    /// The latency of a node.
    pub(crate) fn through(&self, node: usize) -> Option<Latency> {
        summary(&self.through[node])
    }

    /// The latency from the source to the sink.
    pub(crate) fn whole(&self) -> Option<Latency> {
        summary(&self.whole)
    }
}

fn record(histogram: &mut Histogram<u32>, took: Duration) {
    histogram.record(took.as_nanos() as u64).expect("a growing histogram takes any time");
}

fn summary(histogram: &Histogram<u32>) -> Option<Latency> {
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e9;
    (!histogram.is_empty()).then(|| Latency {
        count: histogram.len(),
        mean: histogram.mean() / 1e9,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max() as f64 / 1e9,
    })
}
