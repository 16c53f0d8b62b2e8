//! What master and workers do, as plain data.

use millstream_evolve::Glance;
use serde_json::{Value, json};

/// Times are in seconds.
pub(super) fn population(glance: &Glance<'_>) -> Value {
    let workers: Vec<_> = glance
        .spent()
        .map(|(worker, working, waiting, evolved)| {
            let [working, waiting] = [working, waiting].map(|time| time.as_secs_f64());
            json!({ "worker": worker, "evolved": evolved, "working": working, "waiting": waiting })
        })
        .collect();
    let (counts, (sent, received), latency) = (glance.counts(), glance.traffic(), glance.latency());
    let quantile = |of| latency.quantile(of).as_secs_f64();
    let steps: Vec<_> = latency.steps().map(|(until, count)| json!([until.as_secs_f64(), count])).collect();
    json!({
        "evolved": glance.evolved(),
        "states": glance.states(),
        "workers": workers,
        "counts": {
            "evolved": counts.evolved, "batches": counts.batches, "steals": counts.steals, "stolen": counts.stolen,
            "again": counts.again, "lost": counts.lost, "sent": sent, "received": received,
        },
        "latency": {
            "count": latency.total(), "p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99),
            "max": quantile(1.0), "steps": steps,
        },
    })
}
