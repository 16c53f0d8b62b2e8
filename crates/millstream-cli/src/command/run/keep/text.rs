//! The text of a run whose state is kept: the text of the state, or another text that goes on with the state.
//!
//! A text is recognized by its calls, and by the names of those that keep a state: with other comments and spaces it
//! is still the same text. A snapshot has the text, and the numbers of its sources and sinks, which the states may
//! contain.

use super::super::change_rules::{advice, names_states};
use super::super::{Text, shown_wrong};
use crate::config::{Doing, Judge, Keep};
use crate::flags::When;
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
#[cfg(feature = "page")]
use millstream_core::SequenceNumber;
use millstream_exec::Migrations;
use millstream_mill::{Allowed, Numbers, Program};
use millstream_state::{Manifest, SnapshotEntry, StateDir};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// A program whose state is kept.
#[derive(Clone)]
pub(in super::super) struct KeptProgram {
    pub(in super::super) program: Program,
    text: String,
    allowed: Allowed,
    shards: usize,
    /// Whether the run began with another text.
    changed: bool,
    /// The summary of the states that this text takes from another one, if it replaces one.
    said: Option<String>,
}

/// The calls of a program, each with the wires that it reads, without those that print rows without a sink. A call that
/// keeps a state has its name, by which a start finds the state.
fn calls(program: &Program) -> Vec<String> {
    let states = program.states();
    let call = |call: &millstream_registry::Called| {
        let name = states.get(&call.name).map_or_else(String::new, |name| format!("{name}: "));
        let wires: Vec<String> = call.reads.iter().map(usize::to_string).collect();
        format!("{name}{call} of {}", wires.join(", "))
    };
    program.calls().iter().filter(|call| !matches!(&*call.stage, "print" | "both")).map(call).collect()
}

/// Loads the program of a stored job.
fn stored(job: &Value, shards: usize) -> Result<Program, String> {
    let text = job["text"].as_str().unwrap_or_default();
    let program = match Numbers::deserialize(&job["numbers"]) {
        Ok(numbers) => Program::load_again(text, &numbers, shards, false),
        Err(_) => Program::load(text, shards, false),
    };
    program.map_err(|wrong| format!("this command cannot load its text:\n{}", wrong.in_file("the state's text")))
}

/// The manifests of the complete snapshots, the oldest first.
fn manifests(dir: &Path) -> Vec<Manifest> {
    let listed = StateDir::read(dir).and_then(|dir| dir.snapshots()).unwrap_or_default();
    let whole = |entry| match entry {
        SnapshotEntry::Whole(manifest) => Some(manifest),
        _ => None,
    };
    listed.into_iter().filter_map(whole).collect()
}

impl KeptProgram {
    /// The program to run, or to look at.
    ///
    /// # Errors
    ///
    /// The exit code, after a message.
    pub(in super::super) fn load(
        text: &Text,
        keep: &Keep,
        allowed: Allowed,
        shards: usize,
        complaints: &Complaints,
    ) -> Result<Self, Outcome> {
        let wrong = |why: &str| {
            complaints.note(&format!("--state: {}: {why}", quoted(keep.dir.as_os_str())));
            Outcome::WrongUse
        };
        let manifests = manifests(&keep.dir);
        let looked_at = looked_at(&keep.doing, &manifests).map_err(|why| wrong(&why))?;
        let newest = manifests.last().map(|newest| &newest.plan["job"]).filter(|job| job["text"].is_string());
        let program = |job| stored(job, shards).map_err(|why| wrong(&why));
        let changed = newest.is_some_and(|job| job["changed"] == true);
        let kept = |program, text| KeptProgram { program, text, allowed: allowed.clone(), shards, changed, said: None };
        if let Some(job) = looked_at.or(newest.filter(|_| keep.goes_on)) {
            let text = job["text"].as_str().unwrap_or_default().to_owned();
            return Ok(kept(program(job)?, text));
        }
        let text_here = text.read(complaints)?;
        let Some(job) = newest else {
            let program = Program::load(&text_here, shards, false);
            let program = program.map_err(|error| shown_wrong(text, &text_here, error, complaints))?;
            names_states(&program, &program, &allowed).map_err(|why| wrong(&why))?;
            return Ok(kept(program, text_here));
        };
        let old = program(job)?;
        let next = old.next(&text_here).map_err(|error| shown_wrong(text, &text_here, error, complaints))?;
        if calls(&old) == calls(&next) {
            // A run that began with another text may be started again with the rule for its change.
            if !changed {
                names_states(&old, &next, &allowed).map_err(|why| wrong(&why))?;
            }
            return Ok(kept(next, text_here));
        }
        names_states(&old, &next, &allowed).map_err(|why| wrong(&why))?;
        let check = old.check_upgrade(&next, &allowed);
        if !check.is_allowed() {
            let lines: String = check.to_string().lines().map(|line| format!("\n  {line}")).collect();
            let why = format!(
                "it has the state of another text, which this one cannot replace{}. \
                 To begin from nothing, keep the state in another directory:{lines}",
                advice(&check)
            );
            return Err(wrong(&why));
        }
        let said = check.to_string().lines().last().map(str::to_owned);
        Ok(KeptProgram { said, changed: true, ..kept(next, text_here) })
    }

    /// The part of the program that is stored with a run's states.
    pub(super) fn describe(&self, keep: &mut Keep) {
        if let Doing::Run { job, .. } = &mut keep.doing {
            *job = described(job.clone(), &self.program, &self.text, self.changed);
        }
    }

    /// Judges each snapshot with which the run may begin.
    pub(super) fn judge(&self, keep: &mut Keep) {
        let kept = self.clone();
        keep.judge = Some(Judge::of(move |job| kept.judged(job)));
    }

    /// Judges the states of a job; `None` if it has the same text.
    fn judged(&self, job: &Value) -> Result<Option<Migrations>, String> {
        if !job["text"].is_string() {
            return Ok(None);
        }
        let old = stored(job, self.shards)?;
        if !self.program.numbers().go_on_from(&old.numbers()) {
            return Err("its text has been changed in the meantime: try again".to_owned());
        }
        if calls(&old) == calls(&self.program) {
            return Ok(None);
        }
        let judged = old.migrations_to(&self.program, &self.allowed);
        judged.map(Some).map_err(|check| format!("it has the state of another text{}:\n{check}", advice(&check)))
    }

    /// The summary of the states that this text takes from another one, if it replaces one.
    pub(super) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }
}

/// Adds a text and its program to the job, which says how a run was started.
fn described(mut job: Value, program: &Program, text: &str, changed: bool) -> Value {
    (job["text"], job["calls"]) = (json!(text), json!(calls(program)));
    (job["numbers"], job["changed"]) = (json!(program.numbers()), json!(changed));
    job
}

/// The job of a text that replaces another one at a number.
#[cfg(feature = "page")]
pub(super) fn replacing(program: &Program, text: &str, keep: &Keep) -> impl FnOnce(SequenceNumber) -> Value + use<> {
    let started = match &keep.doing {
        Doing::Run { job, .. } => job.clone(),
        _ => Value::Null,
    };
    let mut job = described(started, program, text, true);
    |SequenceNumber(at)| {
        job["changed_at"] = at.into();
        job
    }
}

/// The job of the text that a look repeats; `None` for a run.
///
/// # Errors
///
/// If the text was changed within the numbers to repeat.
fn looked_at<'a>(doing: &Doing, manifests: &'a [Manifest]) -> Result<Option<&'a Value>, String> {
    let newest = manifests.last().map(|newest| newest.at);
    let (begins, to) = match doing {
        Doing::Run { .. } => return Ok(None),
        Doing::Replay(span) => ([span.from, span.to].into_iter().flatten().min(), span.to),
        Doing::Look { at: Some(When::At(number)), .. } => (Some(*number), Some(*number)),
        Doing::Look { at: Some(When::End), .. } => (None, None),
        Doing::Look { at: None, .. } => (newest, newest),
    };
    let begins = manifests.iter().rposition(|manifest| begins.is_none_or(|begins| manifest.at <= begins));
    let Some(first) = manifests.get(begins.unwrap_or(0)) else { return Ok(None) };
    let rest = &manifests[begins.unwrap_or(0)..];
    let is_other = |of: &str, manifest: &Manifest| manifest.plan["job"][of] != first.plan["job"][of];
    // Another version of this command may have written the calls of one text in another way.
    let other = rest.iter().position(|manifest| is_other("text", manifest) && is_other("calls", manifest));
    let ends = other.map(|other| {
        let (last, next) = (rest[other - 1].at, &rest[other]);
        // A run that was started again with another text has no later number of the old one.
        (next.plan["job"]["changed_at"].as_u64().unwrap_or(last), next.at)
    });
    if let Some((last, next)) = ends.filter(|(last, _)| to.is_none_or(|to| to > *last)) {
        return Err(format!(
            "the text was changed at number {last}, and a replay runs one text: \
             use --to {last}, or --from {next} for the next text"
        ));
    }
    if begins.is_none() && first.plan["job"]["changed"] == true {
        return Err("the run began with another text, and no snapshot of that text is left".to_owned());
    }
    Ok(Some(&first.plan["job"]).filter(|job| job["text"].is_string()))
}
