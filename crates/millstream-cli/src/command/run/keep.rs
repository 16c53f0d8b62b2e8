//! `run --state`: programs as text that go on after a crash, and looks at what they have kept.
//!
//! A text is known by what it calls: its comments and spaces may change, and nothing else. A snapshot has the text, so
//! that the tools read it there.

mod outputs;
mod sources;

use super::sink_file::is_url;
use super::sources::Named;
use crate::config::{Doing, Keep, RunConfig};
use crate::deploy::{Runs, say_lost};
use crate::input::{message, never_waits};
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::SequenceNumber;
use millstream_exec::sink;
use millstream_mill::{Program, RowBlocks, Written};
use millstream_state::{StateDir, journaled};
use outputs::KeptOutputs;
use serde_json::{Value, json};
use sources::{KeptSources, Reading};
use std::ffi::OsString;

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
    if read.iter().filter(|name| *name == "-").count() > 1 {
        return wrong("--state: standard input is read once");
    }
    if let Some(address) = files.iter().find_map(|named| named.of.listen.as_ref()) {
        return wrong(&format!(
            "--state: what comes at {address} is in no journal: write it to a file, and follow that"
        ));
    }
    let outputs = match KeptOutputs::of(program, &keep, &read, complaints) {
        Ok(outputs) => outputs,
        Err(why) => return wrong(&why),
    };
    Output::opened(complaints, |shown| {
        let quiet = run.quiet;
        let mut runs = Runs::new(run, complaints.clone());
        let reads_standard_input = read.iter().any(|name| name == "-");
        if reads_standard_input {
            runs.is_live();
        }
        let live = if runs_on { standard_input(&runs, &files, most) } else { Ok(None) };
        let live = match live {
            Ok(live) => live,
            Err(why) => {
                complaints.complain(&why);
                return Outcome::InputOrOutputFailed;
            }
        };
        let waits = reads_standard_input && !never_waits("-".as_ref());
        let reading = Reading { most, waits, quiet, live: runs_on, failure: live.as_ref().map(RowBlocks::failure) };
        let reading = reading.of(files, complaints);
        if let Some(stopper) = reading.stopper() {
            runs.interrupts().when_drained(stopper);
        }
        let source = |state: &StateDir| {
            let complaints = complaints.clone();
            let journal = reads_standard_input.then(|| {
                let live = move || live.into_iter().flatten();
                journaled(state, keep.journal, live).on_recovery(move |found| say_lost(&complaints, found))
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
            Err(failed) => runs.fail(&failed),
        }
    })
}

/// What standard input brings, if it is read.
fn standard_input(runs: &Runs, files: &[Named], most: usize) -> Result<Option<RowBlocks>, String> {
    let Some(named) = files.iter().find(|named| named.files.iter().any(|name| name == "-")) else { return Ok(None) };
    match runs.opening(true).open("-".as_ref()) {
        Ok(input) => Ok(input.map(|input| named.of.blocks(input, most))),
        Err(error) => Err(message("-".as_ref(), &error)),
    }
}
