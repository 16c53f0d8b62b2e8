//! A frame for Prometheus.

mod family;
pub(super) mod format;
mod process;

use crate::frame::{Frame, Latency};
use crate::graph::Graph;
use family::{Family, Labels};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

/// The most stages, side outputs, rings and workers that have series of their own. Further ones have none.
const MOST: usize = 200;

type Counts = Family<Counter>;
type Levels = Family<Gauge<f64, AtomicU64>>;

/// OpenMetrics text about the program, and about a run if there is one. The samples of a metric are in the order of the
/// pipeline.
pub(super) fn text(program: &str, bytes: Option<u64>, seen: Option<(&Graph, &Frame)>) -> String {
    let mut registry = Registry::default();
    process::register(&mut registry);
    let ours = registry.sub_registry_with_prefix("millstream");
    let build = Family::<Gauge>::default();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    build.with(vec![("program", program.to_owned()), ("version", version)]).set(1);
    ours.register("build_info", "The program, and the version of Millstream in it", build);
    if let Some(bytes) = bytes {
        let read = Counter::<u64>::default();
        read.inc_by(bytes);
        ours.register_with_unit("read", "Input that the program has read", Unit::Bytes, read);
    }
    if let Some((graph, frame)) = seen {
        register(ours, graph, frame);
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("writing to a string does not fail");
    text
}

fn register(registry: &mut Registry, graph: &Graph, frame: &Frame) {
    let running = Gauge::<i64>::default();
    running.set(i64::from(frame.running));
    registry.register("running", "Whether the run goes on", running);
    let version = Gauge::<i64>::default();
    version.set(i64::from(frame.version));
    registry.register("pipeline_version", "Version of the pipeline: 1, or one more for each change", version);
    let at = Gauge::<i64>::default();
    at.set(frame.change.as_ref().map_or(0, |change| i64::try_from(change.at).unwrap_or(i64::MAX)));
    registry.register("pipeline_version_from", "First number of the present version of the pipeline", at);
    let help = "Time for which a stage took nothing at the last change of the pipeline";
    let pauses = levels(registry, "change_pause", help, Some(Unit::Seconds));
    for (stage, pause) in frame.change.iter().flat_map(|change| &change.pauses).take(MOST) {
        set(&pauses, vec![("stage", stage.clone())], *pause);
    }
    let [names, side_outputs] = frame.labels();
    stages(registry, frame, [&names, &side_outputs]);
    rings(registry, graph, frame, &names);
    let workers = levels(registry, "worker_state", "Share of the time in each state", Some(ratio()));
    for (index, worker) in frame.workers.iter().enumerate().take(MOST) {
        for (state, share) in [("busy", worker.busy), ("idle", worker.idle), ("parked", worker.parked)] {
            set(&workers, vec![("worker", index.to_string()), ("state", state.to_owned())], share);
        }
    }
    let latency = levels(registry, "latency", "Latency from source to sink, by percentile", Some(Unit::Seconds));
    percentiles(&latency, &[], frame.latency.as_ref());
}

/// The counters are those of the present version of the pipeline, except the source's.
fn stages(registry: &mut Registry, frame: &Frame, [names, of_side_outputs]: [&[String]; 2]) {
    let help = "Numbers moved, empty slots and END among them; from 0 again at a change, except the source's";
    let numbers = counts(registry, "stage_numbers", help);
    let rows = counts(registry, "stage_rows", "Rows that have come to the stage, where its values hold several each");
    let batches = counts(registry, "stage_batches", "Steps in which they were moved");
    let failures = counts(registry, "stage_failures", "Calls of the stage's function that ended with an error");
    let retries = counts(registry, "stage_retries", "Failed calls that were tried again");
    let parked = counts(registry, "stage_parked", "Values parked because an earlier value of their key had failed");
    let help = "Bytes of the states of the stage's keys, without what they own elsewhere";
    let state_bytes = levels(registry, "stage_keyed_state", help, Some(Unit::Bytes));
    let help = "Recent share of empty slots in the stage's output, by sampled batches";
    let empties = levels(registry, "stage_empties", help, Some(ratio()));
    let states = levels(registry, "stage_state", "Share of the time in each state", Some(ratio()));
    let service = levels(registry, "stage_service", "Recent mean time for a number", Some(Unit::Seconds));
    let help = "Time from when a number was ready until the stage had published it, by percentile";
    let latency = levels(registry, "stage_latency", help, Some(Unit::Seconds));
    let side_outputs = frame.side_outputs.iter().zip(of_side_outputs).take(MOST);
    for (stage, name) in frame.stages.iter().zip(names).take(MOST).chain(side_outputs) {
        let labels = || vec![("stage", name.clone())];
        numbers.with(labels()).inc_by(stage.moved);
        if let Some(count) = stage.rows {
            rows.with(labels()).inc_by(count);
        }
        batches.with(labels()).inc_by(stage.batches);
        failures.with(labels()).inc_by(stage.failures);
        retries.with(labels()).inc_by(stage.retries);
        parked.with(labels()).inc_by(stage.parked);
        for (state, share) in [("working", stage.working), ("starved", stage.starved), ("blocked", stage.blocked)] {
            set(&states, vec![("stage", name.clone()), ("state", state.to_owned())], share);
        }
        if let Some(bytes) = stage.state_bytes {
            set(&state_bytes, labels(), bytes as f64);
        }
        if let Some(share) = stage.empties {
            set(&empties, labels(), share);
        }
        if let Some(ns) = stage.service_ns {
            set(&service, labels(), ns / 1e9);
        }
        percentiles(&latency, &labels(), stage.latency.as_ref());
    }
}

fn rings(registry: &mut Registry, graph: &Graph, frame: &Frame, names: &[String]) {
    let produced = counts(registry, "ring_produced", "Numbers published");
    let consumed = counts(registry, "ring_consumed", "Numbers released, by each reader");
    let slots = levels(registry, "ring_slots", "Number of slots", None);
    let occupancy = levels(registry, "ring_occupancy", "Share of the slots in use, on average", Some(ratio()));
    for (index, (ring, wire)) in frame.rings.iter().zip(&graph.wires).enumerate().take(MOST) {
        let labels = || vec![("ring", index.to_string()), ("writer", names[wire.from].clone())];
        produced.with(labels()).inc_by(ring.produced);
        set(&slots, labels(), ring.capacity as f64);
        set(&occupancy, labels(), ring.occupancy);
        for (count, reader) in ring.consumed.iter().zip(&wire.to).take(MOST) {
            let of_reader = vec![("ring", index.to_string()), ("reader", names[*reader].clone())];
            consumed.with(of_reader).inc_by(*count);
        }
    }
}

fn ratio() -> Unit {
    Unit::Other("ratio".to_owned())
}

fn counts(registry: &mut Registry, name: &str, help: &str) -> Counts {
    let family = Counts::default();
    registry.register(name, help, family.clone());
    family
}

fn levels(registry: &mut Registry, name: &str, help: &str, unit: Option<Unit>) -> Levels {
    let family = Levels::default();
    match unit {
        Some(unit) => registry.register_with_unit(name, help, unit, family.clone()),
        None => registry.register(name, help, family.clone()),
    }
    family
}

fn set(family: &Levels, labels: Labels, value: f64) {
    family.with(labels).set(value);
}

fn percentiles(family: &Levels, labels: &[(&'static str, String)], latency: Option<&Latency>) {
    let Some(latency) = latency else { return };
    let of =
        [("50", latency.p50), ("90", latency.p90), ("99", latency.p99), ("99.9", latency.p999), ("100", latency.max)];
    for (percentile, seconds) in of {
        set(family, [labels, &[("percentile", percentile.to_owned())]].concat(), seconds);
    }
}
