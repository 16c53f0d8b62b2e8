//! `run --state`: programs as text that go on after a crash, and looks at what they have kept.
//!
//! `text` decides with which text a run goes on, `live` has what goes to the journal, and `sources` and `outputs` what
//! can be read and written again.

mod again;
#[cfg(feature = "page")]
mod change;
mod live;
mod output;
mod outputs;
mod shown;
mod sources;
mod text;

use super::sink_file::is_url;
use super::sources::{Endless, Named};
use super::{RunText, files_of};
use crate::config::{Doing, Keep};
use crate::deploy::{Runs, say_lost};
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use live::{Left, Live, Once, Opening};
use millstream_core::SequenceNumber;
use millstream_exec::sink;
use millstream_mill::Written;
use millstream_state::{StateDir, journaled_in_groups};
use outputs::KeptOutputs;
use shown::Shown;
use sources::{KeptSources, Reading};
use std::ffi::OsString;
use std::sync::OnceLock;
use text::KeptProgram;

/// Runs the program from where the directory says that it was, or looks at it there.
pub(super) fn run(of: RunText, mut keep: Keep, complaints: &Complaints) -> Outcome {
    let RunText { text, files, most, shards, accepts, allowed, run } = of;
    let wrong = |why: &str| {
        complaints.note(why);
        Outcome::WrongUse
    };
    let kept = match KeptProgram::load(&text, &keep, allowed, shards, complaints) {
        Ok(kept) => kept,
        Err(outcome) => return outcome,
    };
    let program = &kept.program;
    let files = match files_of(program, files) {
        Ok(files) => files,
        Err(why) => return wrong(&why),
    };
    kept.describe(&mut keep);
    kept.judge(&mut keep);
    let runs_on = matches!(keep.doing, Doing::Run { .. });
    let read: Vec<OsString> = files.iter().flat_map(|named| named.files.clone()).collect();
    let once = match Once::of(&files) {
        Ok(once) => once,
        Err(why) => return wrong(&why),
    };
    let outputs = match KeptOutputs::of(program, &keep, &read, complaints) {
        Ok(outputs) => outputs,
        Err(why) => return wrong(&why),
    };
    if let (Some(said), false) = (kept.said(), run.quiet) {
        complaints.note(&format!("--state: this text replaces the one in {}: {said}", quoted(keep.dir.as_os_str())));
    }
    Output::opened(complaints, |shown| {
        let quiet = run.quiet;
        let mut runs = Runs::new(run, complaints.clone());
        #[cfg(feature = "page")]
        let changes = super::change::Changes::offer(accepts);
        #[cfg(feature = "page")]
        if let Some(changes) = changes.clone() {
            let (program, complaints) = (kept.program.clone(), complaints.clone());
            let of = super::change::Of { program, read: files.clone(), quiet, complaints };
            let (kept, outputs, keep, read) = (kept.clone(), outputs.clone(), keep.clone(), read.clone());
            runs.when_kept_started(move |upgrader| {
                changes.begin(of, change::OnState { upgrader, kept, outputs, keep, read });
            });
        }
        #[cfg(not(feature = "page"))]
        let _ = accepts;
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
        let reads_url = read.iter().any(|name| is_url(&name.to_string_lossy()));
        let waits = reads_url || files.iter().any(Named::is_query) || once.as_ref().is_some_and(Once::waits);
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
        let show = |shown: &mut Shown, _: SequenceNumber, written: &Written| shown.write(written);
        let ended = runs.keep(&keep, &program.pipeline, source, outputs, sink::fold(shown, show));
        #[cfg(feature = "page")]
        changes.iter().for_each(super::change::Changes::end);
        match ended {
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
