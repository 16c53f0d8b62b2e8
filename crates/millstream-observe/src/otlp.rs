//! A run for OpenTelemetry: the data of a watch, sent to a collector.

use crate::frame::{Frame, StageFrame};
use crate::watch::Watch;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The most stages, and the most rings, that have series of their own. Further ones have none.
const MOST: usize = 200;

/// Sends the metrics of a run to an OpenTelemetry collector, by OTLP over HTTP, from threads of its own.
///
/// The metrics are the main ones of `/metrics` of the feature `page`, of the stages and the two ends, under other
/// names: `millstream.running`, `millstream.stage.numbers`, `millstream.stage.rows`, `millstream.stage.failures`,
/// `millstream.stage.keyed_state`, `millstream.stage.state`, `millstream.stage.service`, `millstream.ring.produced`,
/// `millstream.ring.consumed`, `millstream.ring.occupancy` and `millstream.latency`. For spans and events of runs, use
/// the feature `tracing` of `millstream-exec` with a subscriber such as the crate `tracing-opentelemetry`.
///
/// A collector that does not answer costs the run nothing. Metrics that could not be sent are dropped.
///
/// ```no_run
/// use millstream::{observe::{Otlp, Watch}, prelude::*};
/// use std::{sync::Arc, time::Duration};
/// let run = Rings::new()
///     .start(pipeline().map(|x: &u64| x + 1).from(0..1 << 40).to_each(|_, _| ()))?;
/// let watch = Arc::new(Watch::attach(run.observer())?);
/// let export =
///     Otlp::start(watch, "orders", "http://localhost:4318", Duration::from_secs(10))?;
/// run.wait()?;
/// export.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Otlp {
    provider: SdkMeterProvider,
}

impl Otlp {
    /// Sends the metrics of this watch under this service name, once in each interval of `every`. The collector's
    /// address is `http://HOST:PORT`, to which `/v1/metrics` is added.
    ///
    /// # Errors
    ///
    /// If the address is invalid.
    pub fn start(watch: Arc<Watch>, service: &str, collector: &str, every: Duration) -> io::Result<Self> {
        let exporter = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/metrics", collector.trim_end_matches('/')))
            .build()
            .map_err(io::Error::other)?;
        let reader = PeriodicReader::builder(exporter).with_interval(every).build();
        let resource = Resource::builder().with_service_name(service.to_owned()).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let meter = provider.meter("millstream");
        let metrics = Metrics { meter: &meter, watch: &watch };
        metrics.run();
        metrics.stages();
        metrics.rings();
        Ok(Otlp { provider })
    }

    /// Sends the remaining metrics, and ends.
    ///
    /// # Errors
    ///
    /// If the collector did not accept them.
    pub fn finish(self) -> io::Result<()> {
        self.provider.shutdown().map_err(io::Error::other)
    }
}

/// The metrics of a watch.
struct Metrics<'a> {
    meter: &'a Meter,
    watch: &'a Arc<Watch>,
}

/// Emits a value with its labels.
type Emit<'a, T> = &'a dyn Fn(T, &[KeyValue]);

impl Metrics<'_> {
    /// A counter, whose values `read` emits from the newest frame.
    fn counter(&self, name: &'static str, help: &'static str, read: fn(&Watch, &Frame, Emit<'_, u64>)) {
        let watch = self.watch.clone();
        let counter = self.meter.u64_observable_counter(name).with_description(help);
        let _ = counter
            .with_callback(move |to| {
                if let Some(frame) = watch.frame() {
                    read(&watch, &frame, &|value, labels| to.observe(value, labels));
                }
            })
            .build();
    }

    /// A gauge in this unit.
    fn gauge(
        &self,
        name: &'static str,
        unit: &'static str,
        help: &'static str,
        read: fn(&Watch, &Frame, Emit<'_, f64>),
    ) {
        let watch = self.watch.clone();
        let gauge = self.meter.f64_observable_gauge(name).with_unit(unit).with_description(help);
        let _ = gauge
            .with_callback(move |to| {
                if let Some(frame) = watch.frame() {
                    read(&watch, &frame, &|value, labels| to.observe(value, labels));
                }
            })
            .build();
    }

    fn run(&self) {
        self.gauge("millstream.running", "1", "Whether the run goes on", |_, frame, emit| {
            emit(f64::from(u8::from(frame.running)), &[]);
        });
        self.gauge("millstream.latency", "s", "Latency from source to sink, by quantile", |_, frame, emit| {
            let Some(latency) = &frame.latency else { return };
            let quantiles = [("0.5", latency.p50), ("0.9", latency.p90), ("0.99", latency.p99), ("1", latency.max)];
            quantiles.iter().for_each(|(quantile, seconds)| emit(*seconds, &[KeyValue::new("quantile", *quantile)]));
        });
    }

    fn stages(&self) {
        let help = "Numbers moved, empty slots and END among them; from 0 again at a change, except the source's";
        self.counter("millstream.stage.numbers", help, |_, frame, emit| {
            named(frame).for_each(|(stage, name)| emit(stage.moved, &[name]));
        });
        self.counter(
            "millstream.stage.rows",
            "Rows that have come to it, where its values hold several",
            |_, frame, emit| {
                let stages = named(frame).filter_map(|(stage, name)| Some((stage.rows?, name)));
                stages.for_each(|(rows, name)| emit(rows, &[name]));
            },
        );
        self.counter("millstream.stage.failures", "Calls that ended with an error", |_, frame, emit| {
            named(frame).for_each(|(stage, name)| emit(stage.failures, &[name]));
        });
        self.gauge("millstream.stage.keyed_state", "By", "Bytes of the states of its keys", |_, frame, emit| {
            let stages = named(frame).filter_map(|(stage, name)| Some((stage.state_bytes?, name)));
            stages.for_each(|(bytes, name)| emit(bytes as f64, &[name]));
        });
        self.gauge("millstream.stage.state", "1", "Share of the time in each state", |_, frame, emit| {
            for (stage, name) in named(frame) {
                for (state, share) in
                    [("working", stage.working), ("starved", stage.starved), ("blocked", stage.blocked)]
                {
                    emit(share, &[name.clone(), KeyValue::new("state", state)]);
                }
            }
        });
        self.gauge("millstream.stage.service", "s", "Recent mean time for a number", |_, frame, emit| {
            let stages = named(frame).filter_map(|(stage, name)| Some((stage.service_ns?, name)));
            stages.for_each(|(ns, name)| emit(ns / 1e9, &[name]));
        });
    }

    fn rings(&self) {
        self.counter("millstream.ring.produced", "Numbers published", |watch, frame, emit| {
            let [names, _] = frame.labels();
            for (ring, seen) in frame.rings.iter().enumerate().take(MOST) {
                emit(seen.produced, &of_ring(watch, &names, ring));
            }
        });
        self.counter("millstream.ring.consumed", "Numbers released, by each reader", |watch, frame, emit| {
            let (graph, [names, _]) = (watch.graph(), frame.labels());
            for (ring, seen) in frame.rings.iter().enumerate().take(MOST) {
                let readers = graph.wires.get(ring).map_or(&[][..], |wire| &wire.to);
                for (count, reader) in seen.consumed.iter().zip(readers).take(MOST) {
                    let reader = KeyValue::new("reader", name_of(&names, *reader));
                    emit(*count, &[KeyValue::new("ring", ring as i64), reader]);
                }
            }
        });
        self.gauge("millstream.ring.occupancy", "1", "Share of the slots in use, on average", |watch, frame, emit| {
            let [names, _] = frame.labels();
            for (ring, seen) in frame.rings.iter().enumerate().take(MOST) {
                emit(seen.occupancy, &of_ring(watch, &names, ring));
            }
        });
    }
}

/// The stages, each with its label.
fn named(frame: &Frame) -> impl Iterator<Item = (&StageFrame, KeyValue)> {
    let [names, _] = frame.labels();
    let names = names.into_iter().map(|name| KeyValue::new("stage", name));
    frame.stages.iter().zip(names).take(MOST)
}

/// A ring's number, and its writer's name.
fn of_ring(watch: &Watch, names: &[String], ring: usize) -> [KeyValue; 2] {
    let graph = watch.graph();
    let writer = graph.wires.get(ring).map_or_else(String::new, |wire| name_of(names, wire.from));
    [KeyValue::new("ring", ring as i64), KeyValue::new("writer", writer)]
}

/// The name of a node. The pipeline may have been replaced since the frame was made, and have more of them.
fn name_of(names: &[String], node: usize) -> String {
    names.get(node).cloned().unwrap_or_default()
}
