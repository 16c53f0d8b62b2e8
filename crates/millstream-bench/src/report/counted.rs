//! A table of what a run has counted beside time.

use super::kept::Run;
use std::collections::BTreeSet;

/// A row for each program, and a column for each event that the machine counts.
pub(super) fn table(run: &Run) -> String {
    let events: BTreeSet<&String> = run.counters.iter().flat_map(|counters| counters.events.keys()).collect();
    let cells =
        |of: &dyn Fn(&str) -> String| events.iter().map(|event| format!(" {} |", of(event))).collect::<String>();
    let title = |event: &str| if event == "task-clock" { "task-clock, ms".to_owned() } else { event.to_owned() };
    let mut text = format!("| bench | case | program |{}\n|---|---|---|{}", cells(&title), "--:|".repeat(events.len()));
    for counters in &run.counters {
        let count = |event: &str| counters.events.get(event).map_or("-".to_owned(), |count| grouped(*count));
        text += &format!("\n| {} | {} | {} |{}", run.bench, counters.case, counters.who, cells(&count));
    }
    text
}

/// A whole number, with a comma before every three digits.
fn grouped(count: f64) -> String {
    let digits = format!("{count:.0}");
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let first = (first > 0).then(|| digits[..first].to_owned());
    first.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_groups_of_three() {
        let seen = [0.0, 999.0, 1000.0, 134_799.4].map(grouped);
        assert_eq!(seen, ["0", "999", "1,000", "134,799"]);
    }
}
