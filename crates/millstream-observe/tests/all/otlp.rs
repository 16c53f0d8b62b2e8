//! The data that a collector of OpenTelemetry receives, decoded as a collector would.

use millstream_core::{Arrow, TryMapExt, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, source};
use millstream_observe::{Otlp, Watch};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A collector, and a receiver of the requests that were sent to it.
fn collector() -> (String, Receiver<ExportMetricsServiceRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, sent) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (send, mut writer) = (send.clone(), stream.try_clone().unwrap());
            let mut reader = BufReader::new(stream);
            std::thread::spawn(move || {
                while let Some(body) = request(&mut reader) {
                    let _ = send.send(ExportMetricsServiceRequest::decode(&*body).expect("metrics"));
                    writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    (address, sent)
}

/// The body of a request.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    assert!(line.starts_with("POST /v1/metrics HTTP/1.1"), "{line}");
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        match line.trim().to_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("content-type", kind)) => assert_eq!(kind, "application/x-protobuf"),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Some(body)
}

fn text(attributes: &[KeyValue]) -> String {
    let mut all: Vec<String> = attributes
        .iter()
        .map(|attribute| match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
            Some(Value::StringValue(value)) => format!("{}={value}", attribute.key),
            Some(Value::IntValue(value)) => format!("{}={value}", attribute.key),
            other => panic!("{other:?}"),
        })
        .collect();
    all.sort();
    all.join(" ")
}

/// All points: the metric's name and labels, and the value.
fn points(request: &ExportMetricsServiceRequest) -> BTreeMap<String, f64> {
    let metrics = request.resource_metrics.iter().flat_map(|all| &all.scope_metrics).flat_map(|all| &all.metrics);
    let mut found = BTreeMap::new();
    for metric in metrics {
        let points = match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic);
                &sum.data_points
            }
            Data::Gauge(gauge) => &gauge.data_points,
            other => panic!("{other:?}"),
        };
        for point in points {
            let value = match point.value.unwrap() {
                number_data_point::Value::AsInt(value) => value as f64,
                number_data_point::Value::AsDouble(value) => value,
            };
            found.insert(format!("{} {}", metric.name, text(&point.attributes)).trim().to_owned(), value);
        }
    }
    found
}

#[test]
fn a_collector_gets_the_numbers_of_the_run() {
    let (address, sent) = collector();
    let judge = |x: &u64| if x.is_multiple_of(4) { Err("no") } else { Ok(*x) };
    let p = pipeline::<u64>().map(|x| x + 1).named("more").try_map_or_empty(judge).named("judge");
    let run = Rings::new().start((&p).from(source::ready(0..1000)).to_each(|_, _| ())).unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let export = Otlp::start(watch.clone(), "orders", &address, Duration::from_secs(3600)).unwrap();
    run.wait().unwrap();
    let all = watch.finish();
    // The end sends the remaining metrics.
    export.finish().unwrap();
    let request = sent.recv_timeout(Duration::from_secs(60)).expect("it is sent");
    let resource = request.resource_metrics[0].resource.as_ref().unwrap();
    assert!(text(&resource.attributes).contains("service.name=orders"));
    let points = points(&request);
    for (name, value) in [
        ("millstream.running", 0.0),
        ("millstream.stage.numbers stage=more", 1001.0),
        ("millstream.stage.numbers stage=sink", 1001.0),
        ("millstream.stage.failures stage=judge", 250.0),
        ("millstream.ring.produced ring=0 writer=source", 1001.0),
        ("millstream.ring.consumed reader=judge ring=1", 1001.0),
    ] {
        assert_eq!(points.get(name), Some(&value), "{name} in {points:#?}");
    }
    assert!(points.contains_key("millstream.ring.occupancy ring=1 writer=more"), "{points:#?}");
    let shares = ["working", "starved", "blocked"]
        .map(|state| points[&format!("millstream.stage.state stage=more state={state}")]);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    assert_eq!(points.contains_key("millstream.latency quantile=1"), all.latency.is_some());
}
