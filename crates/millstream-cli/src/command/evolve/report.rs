//! The activity of master and workers, as plain data.

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

/// The page's data in the format of Prometheus. Values that are not known yet are left out.
#[cfg(feature = "page")]
pub(super) fn metrics(shown: &Value) -> String {
    let (population, mut text) = (&shown["population"], String::new());
    let mut one = |name: &str, kind: &str, help: &str, values: &[(String, &Value)]| {
        let values: Vec<_> = values.iter().filter(|(_, value)| value.is_number()).collect();
        if !values.is_empty() {
            text.push_str(&format!("# HELP millstream_evolve_{name} {help}\n# TYPE millstream_evolve_{name} {kind}\n"));
            values
                .iter()
                .for_each(|(label, value)| text.push_str(&format!("millstream_evolve_{name}{label} {value}\n")));
        }
    };
    let alone = |value| [(String::new(), value)];
    one("round", "gauge", "Rounds completed.", &alone(&shown["round"]));
    one("rounds", "gauge", "Rounds of the run.", &alone(&shown["rounds"]));
    let counts = &population["counts"];
    for (count, help) in [
        ("evolved", "States evolved."),
        ("batches", "Requests to evolve states."),
        ("stolen", "States moved to a worker that had none."),
        ("again", "States evolved again."),
        ("lost", "Workers lost."),
        ("sent", "Bytes sent to workers."),
        ("received", "Bytes received from workers."),
    ] {
        one(&format!("{count}_total"), "counter", help, &alone(&counts[count]));
    }
    let empty = Vec::new();
    let workers = population["workers"].as_array().unwrap_or(&empty);
    for (what, help) in
        [("working", "Seconds that a worker has worked."), ("waiting", "Seconds that a worker has waited.")]
    {
        let each: Vec<_> =
            workers.iter().map(|one| (format!("{{worker=\"{}\"}}", one["worker"]), &one[what])).collect();
        one(&format!("{what}_seconds_total"), "counter", help, &each);
    }
    text
}
