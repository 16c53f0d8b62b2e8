//! `run --state`: programs as text that go on after a crash, and looks at what they have kept.
//!
//! A text is known by what it calls: its comments and spaces may change, and nothing else. A snapshot has the text, so
//! that the tools read it there.

mod live;
mod outputs;
mod sources;

use super::sink_file::is_url;
use super::sources::{Endless, Named};
use crate::config::{Doing, Keep, RunConfig};
use crate::deploy::{Runs, say_lost};
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use live::{Left, Live, Once, Opening};
use millstream_core::SequenceNumber;
use millstream_exec::sink;
use millstream_mill::{Program, Written};
use millstream_state::{StateDir, journaled_in_groups};
use outputs::KeptOutputs;
use serde_json::{Value, json};
use sources::{KeptSources, Reading};
use std::ffi::OsString;
use std::sync::OnceLock;

/// What the newest snapshot says of how its run was started.
fn job(keep: &Keep) -> Option<Value> {
    let newest = StateDir::read(&keep.dir).ok()?.newest().ok()??;
    newest.plan.get("job").cloned()
}

/// The text of the run that is looked at: its file may have been changed since.
pub(super) fn stored_text(keep: &Keep) -> Option<String> {
    match keep.doing {
        Doing::Run { .. } => None,
        Doing::Replay(_) | Doing::Look { .. } => job(keep)?["text"].as_str().map(str::to_owned),
    }
}

/// The calls of a program, each with the wires that it reads. What rows without a sink go through is no call.
fn calls(program: &Program) -> Vec<String> {
    let call = |call: &millstream_registry::Called| {
        let wires: Vec<String> = call.reads.iter().map(usize::to_string).collect();
        format!("{call} of {}", wires.join(", "))
    };
    program.calls().iter().filter(|call| !matches!(&*call.stage, "print" | "both")).map(call).collect()
}

/// Why the directory is not this text's, if it is another one's.
fn other_text(keep: &Keep, ours: &[String]) -> Option<String> {
    let job = job(keep)?;
    let theirs: Vec<&str> = job["calls"].as_array()?.iter().filter_map(Value::as_str).collect();
    if theirs == ours {
        return None;
    }
    let shown = |call: Option<&str>| match call.and_then(|call| call.rsplit_once(" of ")) {
        Some((call, _)) => format!("`{call}`"),
        None => "nothing more".to_owned(),
    };
    let many = theirs.len().max(ours.len());
    let parts = |n: &usize| theirs.get(*n).copied() != ours.get(*n).map(String::as_str);
    let first = (0..many).find(parts).unwrap_or_default();
    let (there, here) = (shown(theirs.get(first).copied()), shown(ours.get(first).map(String::as_str)));
    let dir = quoted(keep.dir.as_os_str());
    let differ =
        if there == here { format!("{there} reads other rows there") } else { format!("{there} there, {here} here") };
    Some(format!(
        "--state: {dir} has the state of another text: {differ}. Go on with that text, or keep the state of this one in \
         another directory"
    ))
}

/// Runs the program from where the directory says that it was, or looks at it there.
pub(super) fn run(
    (program, text): (&Program, &str),
    files: Vec<Named>,
    most: usize,
    run: RunConfig,
    mut keep: Keep,
    complaints: &Complaints,
) -> Outcome {
    let wrong = |why: &str| {
        complaints.note(why);
        Outcome::WrongUse
    };
    let calls = calls(program);
    if let Some(why) = other_text(&keep, &calls) {
        return wrong(&why);
    }
    let runs_on = matches!(keep.doing, Doing::Run { .. });
    if let Doing::Run { job, .. } = &mut keep.doing {
        (job["text"], job["calls"]) = (json!(text), json!(calls));
    }
    let read: Vec<OsString> = files.iter().flat_map(|named| named.files.clone()).collect();
    if let Some(url) = read.iter().find(|name| is_url(&name.to_string_lossy())) {
        return wrong(&format!("--state: {} cannot be read again from a place: read a file", quoted(url)));
    }
    let once = match Once::of(&files) {
        Ok(once) => once,
        Err(why) => return wrong(&why),
    };
    let outputs = match KeptOutputs::of(program, &keep, &read, complaints) {
        Ok(outputs) => outputs,
        Err(why) => return wrong(&why),
    };
    Output::opened(complaints, |shown| {
        let quiet = run.quiet;
        let mut runs = Runs::new(run, complaints.clone());
        let live = match &once {
            Some(once) if runs_on => once.begin(&mut runs, most),
            _ => Ok(Live::Nothing),
        };
        let live = match live {
            Ok(live) => live,
            Err(why) => {
                complaints.complain(&why);
                return Outcome::InputOrOutputFailed;
            }
        };
        let (left, endless, refused) = (Left::default(), Endless::default(), OnceLock::new());
        let waits = once.as_ref().is_some_and(Once::waits);
        let reading = Reading { most, waits, quiet, live: runs_on, failure: live.failure() };
        let mut reading = reading.of(files, complaints);
        if let Some(stopper) = reading.stopper() {
            runs.interrupts().when_drained(stopper);
        }
        if let Some(Once::Posted(_)) = once {
            let endless = endless.clone();
            runs.interrupts().when_drained(move || endless.stop());
            reading.until_dropped(left.before_leaving(&mut runs));
        }
        let source = |state: &StateDir| {
            let live = match &once {
                Some(Once::Posted(address)) if runs_on => {
                    let opening = Opening { most, quiet, endless, complaints: complaints.clone() };
                    opening.posted(address, &left).unwrap_or_else(|(why, outcome)| {
                        reading.cannot_begin(why.clone());
                        let _ = refused.set((why, outcome));
                        Live::Nothing
                    })
                }
                _ => live,
            };
            let complaints = complaints.clone();
            let journal = once.is_some().then(|| {
                let journal = journaled_in_groups(state, keep.journal, move || live);
                journal.on_recovery(move |found| say_lost(&complaints, found))
            });
            KeptSources::new(reading, journal)
        };
        let shown = outputs.shown(shown);
        let show = |shown: &mut outputs::Shown, _: SequenceNumber, written: &Written| shown.write(written);
        match runs.keep(&keep, &program.pipeline, source, outputs, sink::fold(shown, show)) {
            Ok(counts) => {
                counts.into_iter().for_each(|counts| counts.say(quiet));
                runs.finish()
            }
            Err(failed) => match refused.get() {
                Some((why, outcome)) => {
                    complaints.note(why);
                    *outcome
                }
                None => runs.fail(&failed),
            },
        }
    })
}
