//! The report of a run, as a table.

use serde_json::Value;
use std::fmt::Write;

/// The table of a command without runs.
const NO_RUNS: &str = "no runs";

/// All runs of a command, one table for each.
pub(crate) fn table(runs: &[Value]) -> String {
    if runs.is_empty() {
        return NO_RUNS.to_owned();
    }
    runs.iter().map(of_run).collect::<Vec<_>>().join("\n")
}

/// Whether this is the beginning of a table.
pub(super) fn is_table(begin: &str) -> bool {
    let head = begin.split_once(": ").and_then(|(deploy, rest)| Some((deploy, rest.split_once(NUMBERS)?.0)));
    let is_number = |text: &str| text == "null" || text.parse::<u64>().is_ok();
    begin.trim_end() == NO_RUNS || head.is_some_and(|(deploy, n)| !deploy.contains(' ') && is_number(n))
}

/// Stands between the numbers and the time of a run.
const NUMBERS: &str = " numbers in ";

const COLUMNS: [&str; 10] =
    ["stage", "numbers", "batches", "a number", "busy", "working", "starved", "blocked", "empties", "failures"];

fn of_run(run: &Value) -> String {
    let text = |name: &str| run[name].as_str().unwrap_or("?").to_owned();
    let seconds = run["seconds"].as_f64().unwrap_or(0.0);
    let mut table = format!("{}: {}{NUMBERS}{seconds:.3} s", text("deploy"), run["numbers"]);
    if let Some(ending) = run["ending"].as_str() {
        let workers = if run["workers"] == 1 { "worker" } else { "workers" };
        let _ = write!(table, ", {} {workers}, ended by {ending}", run["workers"]);
    }
    table.push('\n');
    let stages = run["stages"].as_array().map_or(&[][..], |stages| &**stages);
    let seen = |index: usize, stage: &Value| seen(run, stage, index == 0, index + 1 == stages.len());
    let row = |(index, stage): (usize, &Value)| row(stage, seen(index, stage), seconds);
    let rows: Vec<_> = stages.iter().enumerate().map(row).collect();
    if !rows.is_empty() {
        let header = COLUMNS.map(str::to_owned);
        let widths: Vec<usize> = (0..COLUMNS.len())
            .map(|column| rows.iter().chain([&header]).map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for row in [&header].into_iter().chain(&rows) {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            });
            let _ = writeln!(table, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
    if let Some(latency) = run["seen"]["latency"].as_object() {
        let at = |name: &str| time(latency[name].as_f64().unwrap_or(0.0) * 1e9);
        let _ = writeln!(table, "source to sink: p50 {}, p99 {}, max {}", at("p50"), at("p99"), at("max"));
    }
    if let Some(found) = run["bottleneck"]["sentence"].as_str() {
        let _ = writeln!(table, "{found}");
    }
    if let Some(advice) = run["too_many_workers"].as_str() {
        let _ = writeln!(table, "workers: {advice}");
    }
    if let Some(failure) = run["failure"].as_str() {
        let _ = writeln!(table, "failed: {failure}");
    }
    table
}

/// What observers saw of a stage. One between the ends may have the name of an end.
fn seen<'a>(run: &'a Value, stage: &Value, first: bool, last: bool) -> Option<&'a Value> {
    let name = stage["name"].as_str()?;
    let (source, seen) = run["seen"]["stages"].as_array()?.split_first()?;
    let (sink, between) = seen.split_last()?;
    match name {
        "source" if first => Some(source),
        "sink" if last => Some(sink),
        _ => between.iter().find(|seen| seen["name"] == name),
    }
}

fn row(stage: &Value, seen: Option<&Value>, seconds: f64) -> [String; COLUMNS.len()] {
    let count = |name: &str| stage[name].as_u64().unwrap_or(0).to_string();
    let cost = stage["ns_per_number"].as_f64();
    let moved = stage["moved"].as_f64().unwrap_or(0.0);
    let share = |name: &str| seen.and_then(|seen| seen[name].as_f64()).map_or_else(String::new, percent);
    [
        stage["name"].as_str().unwrap_or("?").to_owned(),
        count("moved"),
        count("steps"),
        cost.map_or_else(String::new, time),
        cost.filter(|_| seconds > 0.0).map_or_else(String::new, |ns| percent(moved * ns / 1e9 / seconds)),
        share("working"),
        share("starved"),
        share("blocked"),
        stage["empties"]
            .as_f64()
            .zip(stage["looked_at"].as_f64())
            .filter(|(_, looked_at)| *looked_at > 0.0)
            .map_or_else(String::new, |(empties, looked_at)| percent(empties / looked_at)),
        count("failures"),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Nanoseconds in a readable unit.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.1} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_ends_are_not_taken_for_stages_of_their_names() {
        let seen: Vec<_> = [("source", 0.1), ("sink", 0.2), ("source", 0.3), ("sink", 0.4)]
            .map(|(name, share)| json!({ "name": name, "working": share }))
            .into();
        let stages: Vec<_> = seen.iter().map(|stage| json!({ "name": stage["name"] })).collect();
        let run = json!({ "stages": stages, "seen": { "stages": seen } });
        let shares = (0..4)
            .map(|index| super::seen(&run, &run["stages"][index], index == 0, index == 3).unwrap()["working"].as_f64());
        assert_eq!(shares.collect::<Vec<_>>(), [0.1, 0.2, 0.3, 0.4].map(Some));
    }

    #[test]
    fn advice_is_below_the_stages() {
        let run = |advice: Option<&str>| -> Value {
            json!({ "deploy": "rings", "numbers": 5, "seconds": 1.0, "too_many_workers": advice })
        };
        assert!(!table(&[run(None)]).contains("workers"));
        let found = table(&[run(Some("2 move 80% of what 1 moves"))]);
        assert_eq!(found, "rings: 5 numbers in 1.000 s\nworkers: 2 move 80% of what 1 moves\n");
    }

    #[test]
    fn a_table_is_known_by_its_beginning() {
        let model = json!({ "deploy": "model", "numbers": null });
        let tables = [table(&[]), table(std::slice::from_ref(&model)), table(&[model.clone(), model])];
        assert!(tables.iter().all(|table| is_table(table)), "{tables:?}");
        for other in ["", "\n", "a b\n", "rings: gold\n", "model: a: 5 numbers in it\n", "my list: 5 numbers in it\n"] {
            assert!(!is_table(other), "{other:?}");
        }
    }
}
