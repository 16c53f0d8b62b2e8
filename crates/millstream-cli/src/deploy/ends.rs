//! The end of a command: its reports, and its outcome.

use super::{Failed, Runs};
use crate::config::{Doing, Keep};
use crate::flags::StatsFormat;
use crate::message::{indented, one_line, quoted, say, say_own};
use crate::outcome::Outcome;
use crate::{name, output, progress, stats, watching};
use millstream_exec::RunError;
use millstream_state::{JobError, StateError};
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;

/// The sink's name among the stages.
const SINK: &str = "sink";

/// Whether the output could not be written. A value that an output refuses, as a table does, is
/// [invalid data](ErrorKind::InvalidData): it is the pipeline's.
fn is_of_output(error: &RunError) -> bool {
    let RunError::Stage { stage, cause, .. } = error else { return false };
    let error = cause.error().and_then(|error| error.downcast_ref::<io::Error>());
    stage == SINK && error.is_some_and(|error| error.kind() != ErrorKind::InvalidData)
}

impl Runs {
    /// Writes the reports that the flags ask for, the hash last.
    pub(crate) fn finish(self) -> Outcome {
        self.finish_as(|outcome| outcome)
    }

    /// The same, with the outcome that the rules of the program make of this one.
    pub(crate) fn finish_as(self, rules: impl FnOnce(Outcome) -> Outcome) -> Outcome {
        progress::end();
        self.write_stats();
        let outcome = match self.interrupts.first() {
            // What was read before the signal is not in the output.
            Some(_) if self.complaints.lost() => Outcome::InputOrOutputFailed,
            Some(signal) => Outcome::Interrupted(signal),
            None if self.complaints.any() => Outcome::InputOrOutputFailed,
            None => Outcome::Done,
        };
        self.end_with(rules(outcome))
    }

    /// Prints why a run failed, then writes the reports up to the failure.
    pub(crate) fn fail(mut self, failed: &Failed) -> Outcome {
        progress::end();
        // The failure was found in the output, not by the run.
        if let Some(report) = self.reports.last_mut()
            && report["failure"].is_null()
        {
            report["failure"] = failed.to_string().into();
            report["ending"] = "failed".into();
        }
        let why = match failed {
            // A list, whose lines each say what does not fit.
            Failed::Job(JobError::OtherStates { .. } | JobError::OtherVersion { .. }) => indented(&failed.to_string()),
            _ => one_line(&failed.to_string()),
        };
        let outcome = match failed {
            Failed::Run(RunError::Options(_)) => {
                self.complaints.note(&why);
                Outcome::WrongUse
            }
            Failed::Job(error) => {
                // A tool that looks at a state has no such flag.
                let flag = if self.config.looks() { "" } else { "--state: " };
                self.complaints.note(&format!("{flag}{why}"));
                match error {
                    JobError::OtherStates { .. }
                    | JobError::OtherVersion { .. }
                    | JobError::NotExact { .. }
                    | JobError::State(StateError::OtherProgram { .. } | StateError::NotState { .. }) => {
                        Outcome::WrongUse
                    }
                    _ => Outcome::InputOrOutputFailed,
                }
            }
            Failed::TakeOver(_) | Failed::GoesOn | Failed::LeftBehind(_) | Failed::Restores | Failed::Interrupted => {
                self.complaints.note(&format!("--take-over: {why}"));
                self.interrupts.first().map_or(Outcome::InputOrOutputFailed, |signal| match failed {
                    Failed::Interrupted => Outcome::Interrupted(signal),
                    _ => Outcome::InputOrOutputFailed,
                })
            }
            Failed::Run(error) if is_of_output(error) => {
                say_own(&why);
                Outcome::InputOrOutputFailed
            }
            Failed::Run(_) | Failed::Model(_) => {
                say_own(&why);
                self.say_replay(failed);
                Outcome::PipelineFailed
            }
        };
        self.write_stats();
        self.end_with(outcome)
    }

    /// Prints the hash, and keeps the page for as long as the flags say.
    fn end_with(self, outcome: Outcome) -> Outcome {
        let lingers = self.shown.lingers(outcome, &self.interrupts, (!self.config.quiet).then_some(&self.complaints));
        if let Some(hash) = &self.hash {
            say(&hash.to_string());
            output::no_hash_follows();
        }
        if lingers {
            self.shown.linger(&self.interrupts);
        }
        watching::ended(outcome);
        outcome
    }

    /// Prints the command that fails in the same way, if the run's state is kept. A replay has a sink of its own.
    fn say_replay(&self, failed: &Failed) {
        let Some(Keep { dir, doing: Doing::Run { .. }, .. }) = &self.config.keep else { return };
        if let Failed::Run(RunError::Stage { stage, .. }) = failed
            && stage != SINK
        {
            say_own(&format!("to repeat the failure: {} replay {}", name::typed(), quoted(dir.as_os_str())));
        }
    }

    fn write_stats(&self) {
        let Some(to) = &self.config.stats else { return };
        self.reported.store(true, Ordering::Relaxed);
        let stats = match self.config.stats_format {
            StatsFormat::Json => stats::text(&self.reports),
            StatsFormat::Table => stats::table(&self.reports),
        };
        stats::write(to, &stats, &self.complaints);
    }
}
