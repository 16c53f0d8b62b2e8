//! The metrics of every process in Prometheus's client libraries, under the same names. Those that the system does not
//! report are missing; Linux reports all.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::fs;
use std::sync::atomic::AtomicU64;

/// The ticks of `/proc` in a second. The kernel's own tick may differ; this constant does not.
const TICKS: f64 = 100.0;

pub(super) fn register(registry: &mut Registry) {
    let registry = registry.sub_registry_with_prefix("process");
    if let Some(seconds) = cpu_seconds() {
        let cpu = Counter::<f64, AtomicU64>::default();
        cpu.inc_by(seconds);
        registry.register_with_unit("cpu", "Processor time, of user and system", Unit::Seconds, cpu);
    }
    if let Some(bytes) = resident_bytes() {
        let memory = Gauge::<f64, AtomicU64>::default();
        memory.set(bytes as f64);
        registry.register_with_unit("resident_memory", "Resident memory", Unit::Bytes, memory);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let count = Gauge::<i64>::default();
        count.set(open.count() as i64);
        registry.register("open_fds", "Open file descriptors", count);
    }
}

fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name may contain any character. The last `)` ends it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}
