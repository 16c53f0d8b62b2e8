//! The dashboard for Grafana: a real Prometheus answers its queries, and the files that start all of it fit together.

use super::prometheus::{asked, prometheus};
use millstream_core::{Arrow, TryMapExt, pipeline};
use millstream_exec::{JobExt, Rings, Runner, source};
use millstream_observe::{Options, Page, Watch};
use millstream_testkit::programs::is_here;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(dir().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The title of each panel, and its queries with the variables filled in as Grafana would.
fn queries() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(&read("millstream.json")).unwrap();
    let filled = |query: &str| query.replace("$__rate_interval", "5s").replace("$instance", ".*");
    let of_panel = |panel: &Value| -> Vec<(String, String)> {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().unwrap().iter();
        targets.map(|target| (title.clone(), filled(target["expr"].as_str().unwrap()))).collect()
    };
    dashboard["panels"].as_array().unwrap().iter().flat_map(of_panel).collect()
}

#[test]
fn every_query_of_the_dashboard_returns_data() {
    let queries = queries();
    for wanted in [
        "Sent",
        "Processed",
        "Processed a second, by consumer",
        "Occupancy of the rings",
        "Latency from source to sink",
    ] {
        assert!(queries.iter().any(|(title, _)| title == wanted), "no panel {wanted:?}");
    }
    assert!(queries.iter().all(|(_, query)| !query.contains('$')), "a variable is left: {queries:?}");
    if !is_here("prometheus", "every_query_of_the_dashboard_returns_data") {
        return;
    }
    let p = pipeline::<u64>()
        .fanout(|p| p.map(|x| x + 1).named("one"), |p| p.shard(2, |p| p.map(|x| x * 2).named("two")))
        .try_map_or_empty(|(a, b)| if a < b { Ok(*a) } else { Err("no") })
        .named("judge");
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().ring(64).start(p.from(receiver).to_each(|_, _| ())).unwrap();
    let watch = Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(50))).unwrap();
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(Arc::new(watch));
    let dir = tempfile::tempdir().unwrap();
    let (_prometheus, address) = prometheus(&page, dir.path());
    let begun = Instant::now();
    let query = |title: &str| queries.iter().find(|(of, _)| of == title).unwrap().1.clone();
    let totals = ["Sent", "Processed"].map(query);
    // Each consumer's count, of which the panel shows the rate.
    let consumed = query("Processed a second, by consumer").replace("rate(", "(").replace("[5s]", "");
    let mut left = queries;
    let mut sent = 0_u64;
    loop {
        sender.send(sent).unwrap();
        sent += 1;
        // A number that is not NaN.
        let answered = |(_, query): &(String, String)| {
            let samples = asked(address, query).and_then(|answer| answer.as_array().cloned()).unwrap_or_default();
            samples.iter().any(|sample| {
                sample["value"][1].as_str().and_then(|value| value.parse::<f64>().ok()).is_some_and(f64::is_finite)
            })
        };
        left.retain(|query| !answered(query));
        if left.is_empty() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no data for {left:?}");
        sleep(Duration::from_millis(20));
    }
    // All that was sent is processed, and both totals say how much that is.
    let shown =
        |query: &String| asked(address, query).and_then(|answer| answer[0]["value"][1].as_str()?.parse::<u64>().ok());
    let begun = Instant::now();
    while totals.iter().any(|query| shown(query) != Some(sent)) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "not {sent}: {:?}",
            totals.iter().map(shown).collect::<Vec<_>>()
        );
        sleep(Duration::from_millis(100));
    }
    // A consumer of several rings, as `judge` is, counts once.
    let consumed = asked(address, &consumed).unwrap();
    let count = |of: &Value| (of["metric"]["reader"].clone(), of["value"][1].as_str().unwrap().parse::<u64>().unwrap());
    let consumed: Vec<_> = consumed.as_array().unwrap().iter().map(count).collect();
    assert!(consumed.iter().any(|(reader, _)| reader == "judge"), "{consumed:?}");
    assert!(consumed.iter().all(|(_, count)| *count == sent), "not {sent}: {consumed:?}");
    drop(sender);
    run.wait().unwrap();
}

/// Counters of stages begin at 0 when the pipeline is replaced, so their sums look as if something was lost.
#[test]
fn no_panel_shows_counts_of_one_version_as_counts_of_the_run() {
    for (title, query) in queries() {
        let of_stages = query.contains("millstream_stage_") && query.contains("_total");
        assert!(!of_stages || query.contains("rate(") || title == "Failures", "{title}: {query}");
    }
    let dashboard = read("millstream.json");
    assert!(dashboard.contains("that ended with an error, in the present version of the pipeline"));
}

#[test]
fn the_composed_services_fit_together() {
    let compose = yaml("compose.yaml");
    let services = &compose["services"];
    for (name, service) in services.as_object().expect("services") {
        assert!(service["image"].is_string() || service["build"].is_object(), "{name}: {service}");
        for volume in service["volumes"].as_array().into_iter().flatten() {
            let (from, to) = volume.as_str().unwrap().split_once(':').expect("FROM:TO");
            assert!(dir().join(from).exists() && to.starts_with('/'), "{name}: {volume}");
        }
        for other in service["depends_on"].as_array().into_iter().flatten() {
            assert!(services[other.as_str().unwrap()].is_object(), "{name} depends on {other}");
        }
    }
    // Prometheus reads the page at the address that the program is started with.
    let target = yaml("prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"][0].clone();
    let (service, port) = target.as_str().unwrap().split_once(':').unwrap();
    let command = services[service]["command"].as_array().expect("a command");
    assert_eq!(command[2], format!("0.0.0.0:{port}"));
    let example = command[0].as_str().unwrap().rsplit('/').next().unwrap();
    let root = dir().join("../../crates/millstream");
    let source = std::fs::read_to_string(root.join(format!("examples/{example}.rs"))).expect("the program");
    assert!(source.contains(&format!("{:?} => {{", command[1].as_str().unwrap())), "no such scene: {command:?}");
    let recipe = services[service]["build"]["dockerfile_inline"].as_str().unwrap();
    assert!(recipe.contains(&format!("--example {example}")), "{recipe}");
    // Grafana reads Prometheus, and finds the dashboard at its path.
    let datasource = yaml("provisioning/datasources/prometheus.yml")["datasources"][0].clone();
    assert!(services["prometheus"].is_object() && datasource["url"] == "http://prometheus:9090", "{datasource}");
    let provider = yaml("provisioning/dashboards/millstream.yml")["providers"][0].clone();
    let path = provider["options"]["path"].as_str().unwrap().to_owned();
    let mounted = services["grafana"]["volumes"].as_array().unwrap().iter();
    assert!(mounted.clone().any(|volume| volume.as_str().unwrap().contains(&format!(":{path}/"))), "{path}");
}
