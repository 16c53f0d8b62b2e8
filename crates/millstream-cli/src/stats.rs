//! The report of a run, as JSON.

mod table;

pub(crate) use table::table;

use crate::config::StatsTo;
use crate::message::{Complaints, cause, quoted, say};
use millstream_exec::{Overrun, Report, RunError, RunOutcome, StageReport};
use serde_json::{Value, json};
use std::fmt::Display;

/// Whether this is the beginning of statistics, in either format.
pub(crate) fn are_stats(begin: &str) -> bool {
    begin.starts_with("{\n  \"runs\": [") || table::is_table(begin)
}

/// Writes statistics to their destination.
pub(crate) fn write(to: &StatsTo, stats: &str, complaints: &Complaints) {
    match to {
        StatsTo::StandardError => say(stats),
        StatsTo::File(path) => {
            if let Err(error) = std::fs::write(path, format!("{stats}\n")) {
                complaints.complain(&format!("{}: {}", quoted(path.as_os_str()), cause(&error)));
            }
        }
    }
}

/// The statistics of all runs of a command.
pub(crate) fn text(runs: &[Value]) -> String {
    format!("{:#}", json!({ "runs": runs }))
}

pub(crate) fn of_model(numbers: Option<usize>, failure: Option<&dyn Display>) -> Value {
    json!({ "deploy": "model", "numbers": numbers, "failure": failure.map(|failure| failure.to_string()) })
}

pub(crate) fn of_run(deploy: &str, report: &Report, failure: Option<&RunError>) -> Value {
    json!({
        "deploy": deploy,
        "failure": failure.map(RunError::to_string),
        "ending": ending(report.outcome),
        "numbers": report.numbers.0,
        "values": report.values,
        "workers": report.workers,
        "cores": report.cores,
        "pinned": report.pinned,
        "tasklets": report.tasklets,
        "ring_bytes": report.ring_bytes,
        "seconds": report.elapsed.as_secs_f64(),
        "overruns": report.overruns().map(|overrun| overruns(&overrun)).collect::<Vec<Value>>(),
        "rates": report.rates,
        "too_many_workers": report.too_many_workers().map(|found| found.to_string()),
        "decisions": report.decisions,
        "stages": report.stages.iter().map(stage).collect::<Vec<Value>>(),
        "rings": report.rings,
        "bottleneck": report.bottleneck(),
    })
}

fn ending(ending: RunOutcome) -> &'static str {
    match ending {
        RunOutcome::End => "end",
        RunOutcome::Drained => "drained",
        RunOutcome::Stopped => "stopped",
        RunOutcome::Failed => "failed",
    }
}

fn overruns(overrun: &Overrun<'_>) -> Value {
    json!({ "stage": overrun.stage, "steps": overrun.steps, "by": overrun.by.as_secs_f64() })
}

fn stage(stage: &StageReport) -> Value {
    json!({
        "name": stage.name,
        "moved": stage.moved,
        "steps": stage.steps,
        "mean_batch": stage.mean_batch(),
        "left": stage.left,
        "ns_per_number": stage.ns_per_number,
        "longest_step": stage.longest_step.as_secs_f64(),
        "budget": stage.budget.map(|budget| budget.as_secs_f64()),
        "overruns": stage.overruns,
        "blocking": stage.blocking,
        "failures": stage.failures,
        "retries": stage.retries,
        "parked": stage.parked,
        "looked_at": stage.looked_at,
        "empties": stage.empties,
    })
}
