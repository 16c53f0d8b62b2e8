//! The costs of a program beside time: processor time, switches, faults, instructions. By `perf stat`, in runs of their
//! own.

use crate::failure::Failure;
use crate::figure::median;
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

/// The number of runs of each program, as in the experiment.
const RUNS: usize = 5;

/// The counters of one program, as medians of its runs. Events that the machine does not count are missing: a virtual
/// machine often has no counters of the processor.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Counters {
    pub(crate) case: &'static str,
    pub(crate) who: &'static str,
    /// The unit of `task-clock` is milliseconds.
    pub(crate) events: BTreeMap<&'static str, f64>,
}

impl Counters {
    /// Runs the chain of each program five times; none if there is no `perf`.
    pub(crate) fn of(case: &'static str, chains: &[(&'static str, Chain)]) -> Result<Vec<Self>, Failure> {
        if !is_here("perf", "counters")? {
            return Ok(Vec::new());
        }
        let path = std::env::temp_dir().join(format!("millstream-counters-{}.txt", std::process::id()));
        let counted = chains.iter().map(|(who, chain)| {
            let counting = ["stat", "-x", ";", "-e", &EVENTS.join(","), "-o"].map(Into::into);
            let chain = chain.run_by("perf", counting.into_iter().chain([path.clone().into(), "--".into()]));
            let run = || {
                chain.timed()?;
                std::fs::read_to_string(&path).map_err(Failure::io(path.display().to_string()))
            };
            let runs: Result<Vec<_>, Failure> = (0..RUNS).map(|_| Ok(parsed(&run()?))).collect();
            Ok(Counters { case, who, events: medians(&runs?) })
        });
        let counted = counted.collect();
        let _ = std::fs::remove_file(&path);
        counted
    }

    /// Instructions per cycle, if the machine counts both.
    pub(crate) fn instructions_per_cycle(&self) -> Option<f64> {
        let of = |event| self.events.get(event).copied();
        Some(of("instructions")? / of("cycles").filter(|cycles| *cycles > 0.0)?)
    }
}

/// The ratio of an event's count to the first program's.
pub(crate) fn over_first(counters: &[Counters], event: &str, who: &str) -> Option<f64> {
    let of = |counters: &Counters| counters.events.get(event).copied();
    let theirs = of(counters.iter().find(|counters| counters.who == who)?)?;
    Some(theirs / of(counters.first()?).filter(|ours| *ours > 0.0)?)
}

/// The medians of the events that every run has.
fn medians(runs: &[BTreeMap<&'static str, f64>]) -> BTreeMap<&'static str, f64> {
    let all = |event: &str| runs.iter().map(|run| run.get(event).copied()).collect::<Option<Vec<_>>>();
    EVENTS.into_iter().filter_map(|event| Some((event, median(&all(event).filter(|all| !all.is_empty())?)))).collect()
}

/// Parses lines `VALUE;UNIT;EVENT[:u];...`, with `<not supported>` for a missing value.
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

    fn counters(who: &'static str, events: &[(&'static str, f64)]) -> Counters {
        Counters { case: "speed", who, events: events.iter().copied().collect() }
    }

    #[test]
    fn the_median_of_the_runs_counts() {
        let runs = [3.0, 9.0, 1.0].map(|switches| BTreeMap::from([("context-switches", switches)]));
        assert_eq!(medians(&runs), BTreeMap::from([("context-switches", 3.0)]));
        let [first, second, _] = runs;
        assert_eq!(medians(&[first, second, BTreeMap::new()]), BTreeMap::new());
        assert_eq!(medians(&[]), BTreeMap::new());
    }

    #[test]
    fn an_event_without_a_count_has_no_ratio() {
        let all = [
            counters("ours", &[("task-clock", 2.0), ("cycles", 4.0), ("instructions", 10.0)]),
            counters("a", &[("task-clock", 5.0), ("instructions", 10.0)]),
        ];
        assert_eq!(over_first(&all, "task-clock", "a"), Some(2.5));
        assert_eq!((over_first(&all, "cycles", "a"), over_first(&all, "task-clock", "b")), (None, None));
        assert_eq!(all.map(|counters| counters.instructions_per_cycle()), [Some(2.5), None]);
    }

    #[test]
    fn an_event_without_a_count_is_left_out() {
        let text = "# started on Saturday\n\n12.5;msec;task-clock;125;100.00;0.9;CPUs utilized\n\
                    3;;context-switches:u;1;100.00\n<not supported>;;cycles;0;100.00;;\n7;;another;1;1\n";
        let events = parsed(text);
        assert_eq!(events.into_iter().collect::<Vec<_>>(), [("context-switches", 3.0), ("task-clock", 12.5)]);
    }
}
