//! A real Prometheus at the metrics.

use super::{got, send, shown};
use millstream_observe::Page;
use millstream_testkit::programs::is_here;
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ends a program that a test has started.
pub(super) struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A real Prometheus that reads the metrics of this page, and its address.
pub(super) fn prometheus(page: &Page, dir: &Path) -> (Started, SocketAddr) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = dir.join("prometheus.yml");
    let text = format!(
        "global:\n  scrape_interval: 200ms\nscrape_configs:\n- job_name: millstream\n  static_configs:\n  \
         - targets: ['{}']\n",
        page.address()
    );
    std::fs::write(&config, text).unwrap();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", dir.join("data").display()))
        .arg(format!("--web.listen-address={port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (Started(child), port)
}

/// The answer of Prometheus to a query, if there is one already.
pub(super) fn asked(address: SocketAddr, query: &str) -> Option<Value> {
    TcpStream::connect(address).ok()?;
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer: Value = serde_json::from_str(&got(address, &format!("/api/v1/query?query={escaped}"))).ok()?;
    assert_eq!(answer["status"], "success", "{query}: {answer}");
    Some(answer["data"]["result"].clone())
}

#[test]
fn a_real_prometheus_reads_the_metrics() {
    if !is_here("prometheus", "a_real_prometheus_reads_the_metrics") {
        return;
    }
    let (sender, run, page) = shown();
    send(&sender, &page, 1000, 1000);
    let dir = tempfile::tempdir().unwrap();
    let (_prometheus, address) = prometheus(&page, dir.path());
    let asked = |query: &str| asked(address, query);
    let wanted = "millstream_stage_numbers_total{stage=\"more\"}";
    let begun = Instant::now();
    while asked(wanted).is_none_or(|result| result[0]["value"][1] != "1000") {
        assert!(begun.elapsed() < Duration::from_secs(60), "never read: {:?}", asked(wanted));
        sleep(Duration::from_millis(100));
    }
    for (query, value) in [
        ("millstream_ring_consumed_total{reader=\"sink\",ring=\"1\"}", "1000"),
        ("millstream_running", "1"),
        ("sum(millstream_stage_state_ratio{stage=\"even\"})", "1"),
        ("count(millstream_ring_occupancy_ratio)", "3"),
        ("count(millstream_latency_seconds)", "5"),
    ] {
        let result = asked(query).unwrap();
        assert_eq!(result[0]["value"][1], value, "{query}: {result}");
    }
    drop(sender);
    run.wait().unwrap();
}
