//! A frame for Prometheus.

use crate::frame::{Frame, Latency};
use crate::graph::Graph;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

/// At most so many stages, rings and workers have series of their own; the others have none.
const MOST: usize = 200;

type Labels = Vec<(&'static str, String)>;
type Counts = Family<Labels, Counter>;
type Levels = Family<Labels, Gauge<f64, AtomicU64>>;

/// OpenMetrics text; of no run but the end.
pub(super) fn text(seen: Option<(&Graph, &Frame)>) -> String {
    let mut registry = Registry::with_prefix("millstream");
    if let Some((graph, frame)) = seen {
        register(&mut registry, graph, frame);
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes everything");
    text
}

fn register(registry: &mut Registry, graph: &Graph, frame: &Frame) {
    let running = Gauge::<i64>::default();
    running.set(i64::from(frame.running));
    registry.register("running", "Whether the run goes on", running);
    stages(registry, frame);
    rings(registry, graph, frame);
    let workers = levels(registry, "worker_state", "Share of the time in each state", Some(ratio()));
    for (index, worker) in frame.workers.iter().enumerate().take(MOST) {
        for (state, share) in [("busy", worker.busy), ("idle", worker.idle), ("parked", worker.parked)] {
            set(&workers, vec![("worker", index.to_string()), ("state", state.to_owned())], share);
        }
    }
    let latency = levels(registry, "latency", "From the source to the sink, by quantile", Some(Unit::Seconds));
    quantiles(&latency, &[], frame.latency.as_ref());
}

fn stages(registry: &mut Registry, frame: &Frame) {
    let numbers = counts(registry, "stage_numbers", "Numbers moved, empty slots and END among them");
    let batches = counts(registry, "stage_batches", "Steps in which they were moved");
    let failures = counts(registry, "stage_failures", "Calls of the stage's function that came to an error");
    let retries = counts(registry, "stage_retries", "Failed calls that were tried again");
    let parked = counts(registry, "stage_parked", "Values put aside because one of their key had failed");
    let help = "Share of the stage's slots without a value lately, by those of some batches";
    let empties = levels(registry, "stage_empties", help, Some(ratio()));
    let states = levels(registry, "stage_state", "Share of the time in each state", Some(ratio()));
    let service = levels(registry, "stage_service", "What a number cost lately", Some(Unit::Seconds));
    let help = "From when a number was there until the stage had published it, by quantile";
    let latency = levels(registry, "stage_latency", help, Some(Unit::Seconds));
    for stage in frame.stages.iter().chain(&frame.asides).take(MOST) {
        let labels = || vec![("stage", stage.name.clone())];
        numbers.get_or_create(&labels()).inc_by(stage.moved);
        batches.get_or_create(&labels()).inc_by(stage.batches);
        failures.get_or_create(&labels()).inc_by(stage.failures);
        retries.get_or_create(&labels()).inc_by(stage.retries);
        parked.get_or_create(&labels()).inc_by(stage.parked);
        for (state, share) in [("working", stage.working), ("starved", stage.starved), ("blocked", stage.blocked)] {
            set(&states, vec![("stage", stage.name.clone()), ("state", state.to_owned())], share);
        }
        if let Some(share) = stage.empties {
            set(&empties, labels(), share);
        }
        if let Some(ns) = stage.service_ns {
            set(&service, labels(), ns / 1e9);
        }
        quantiles(&latency, &labels(), stage.latency.as_ref());
    }
}

fn rings(registry: &mut Registry, graph: &Graph, frame: &Frame) {
    let produced = counts(registry, "ring_produced", "Numbers published");
    let consumed = counts(registry, "ring_consumed", "Numbers released, by each reader");
    let slots = levels(registry, "ring_slots", "How many slots there are", None);
    let occupancy = levels(registry, "ring_occupancy", "Share of the slots in use, on average", Some(ratio()));
    for (index, (ring, wire)) in frame.rings.iter().zip(&graph.wires).enumerate().take(MOST) {
        let labels = || vec![("ring", index.to_string()), ("writer", graph.nodes[wire.from].name.clone())];
        produced.get_or_create(&labels()).inc_by(ring.produced);
        set(&slots, labels(), ring.capacity as f64);
        set(&occupancy, labels(), ring.occupancy);
        for (count, reader) in ring.consumed.iter().zip(&wire.to).take(MOST) {
            let of_reader = vec![("ring", index.to_string()), ("reader", graph.nodes[*reader].name.clone())];
            consumed.get_or_create(&of_reader).inc_by(*count);
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
    family.get_or_create(&labels).set(value);
}

fn quantiles(family: &Levels, labels: &[(&'static str, String)], latency: Option<&Latency>) {
    let Some(latency) = latency else { return };
    let of = [
        ("0.5", latency.p50),
        ("0.9", latency.p90),
        ("0.99", latency.p99),
        ("0.999", latency.p999),
        ("1", latency.max),
    ];
    for (quantile, seconds) in of {
        set(family, [labels, &[("quantile", quantile.to_owned())]].concat(), seconds);
    }
}
