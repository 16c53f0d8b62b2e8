//! What a program costs beside time: processor time, switches, faults, instructions. By `perf stat`, in a run of its own.

use crate::failure::Failure;
use crate::programs::{Chain, is_here};
use serde::Serialize;
use std::collections::BTreeMap;

const EVENTS: [&str; 8] = [
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
];

/// What was counted of one program; of what the machine does not count, nothing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Counters {
    pub(crate) case: &'static str,
    pub(crate) who: &'static str,
    /// Milliseconds for `task-clock`.
    pub(crate) events: BTreeMap<&'static str, f64>,
}

impl Counters {
    /// Runs each of these chains of one program once; none where there is no `perf`.
    pub(crate) fn of(case: &'static str, chains: &[(&'static str, Chain)]) -> Result<Vec<Self>, Failure> {
        if !is_here("perf", "counters")? {
            return Ok(Vec::new());
        }
        let path = std::env::temp_dir().join(format!("millstream-counters-{}.txt", std::process::id()));
        let counted = chains.iter().map(|(who, chain)| {
            let counting = ["stat", "-x", ";", "-e", &EVENTS.join(","), "-o"].map(Into::into);
            chain.behind("perf", counting.into_iter().chain([path.clone().into(), "--".into()])).timed()?;
            let text = std::fs::read_to_string(&path).map_err(Failure::io(path.display().to_string()))?;
            Ok(Counters { case, who, events: parsed(&text) })
        });
        let counted = counted.collect();
        let _ = std::fs::remove_file(&path);
        counted
    }
}

/// From lines `VALUE;UNIT;EVENT[:u];...`, and `<not supported>` for a value that there is not.
fn parsed(text: &str) -> BTreeMap<&'static str, f64> {
    let line = |line: &str| {
        let mut fields = line.split(';');
        let (value, _, name) = (fields.next()?, fields.next()?, fields.next()?);
        let event = EVENTS.into_iter().find(|event| name.split(':').next() == Some(event))?;
        Some((event, value.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_is_left_out() {
        let text = "# started on Saturday\n\n12.5;msec;task-clock;125;100.00;0.9;CPUs utilized\n3;;context-switches:u;1;100.00\n\
                    <not supported>;;cycles;0;100.00;;\n7;;another;1;1\n";
        let events = parsed(text);
        assert_eq!(events.into_iter().collect::<Vec<_>>(), [("context-switches", 3.0), ("task-clock", 12.5)]);
    }
}
