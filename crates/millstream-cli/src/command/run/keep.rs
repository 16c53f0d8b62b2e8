//! `run --state`: programs as text that go on after a crash, and looks at their stored states.
//!
//! `text` decides which text a run goes on with, `live` has the input that goes to the journal, and `sources` and
//! `outputs` have the files that can be read and written again.

mod again;
#[cfg(feature = "page")]
mod change;
mod follow;
mod live;
mod output;
mod outputs;
mod shown;
mod sources;
mod text;

use super::ends::Texts;
use super::sink_file::is_url;
use super::sources::{Endless, Named};
use super::{RunText, STUCK, Text, files_of};
use crate::command::stuck::stop_if_stuck;
use crate::config::{Doing, Keep};
use crate::deploy::{Failed, Runs, say_lost, say_waits};
use crate::input;
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use follow::Follow;
use live::{Left, Live, Once, Opening, Posts};
use millstream_core::SequenceNumber;
use millstream_exec::sink;
use millstream_jq::evaluations;
use millstream_mill::{Allowed, Written};
use millstream_state::{StateDir, journaled_in_groups};
use outputs::KeptOutputs;
use shown::{Counts, Shown};
use sources::{KeptSources, Reading};
use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use text::KeptProgram;

/// The flags of the command.
struct Asked {
    text: Text,
    files: Vec<OsString>,
    most: usize,
    shards: usize,
    allowed: Allowed,
    reports: Vec<(&'static str, OsString)>,
    quiet: bool,
    complaints: Complaints,
}

/// A program, with its inputs and outputs.
struct Job {
    kept: KeptProgram,
    keep: Keep,
    files: Vec<Named>,
    read: Vec<OsString>,
    once: Option<Once>,
    outputs: KeptOutputs,
}

/// The result of a run, or why it has failed.
enum Ended {
    Ran(Result<Option<Counts>, Failed>),
    /// The source could not begin.
    Refused((String, Outcome)),
}

/// Runs the program from the place that the directory has, or looks at its states.
pub(super) fn run(of: RunText, keep: Keep, complaints: &Complaints) -> Outcome {
    let RunText { text, files, most, shards, accepts, allowed, run } = of;
    let (quiet, reports) = (run.quiet, run.reports());
    let asked = Asked { text, files, most, shards, allowed, reports, quiet, complaints: complaints.clone() };
    let mut job = match asked.job(keep.clone()) {
        Ok(job) => job,
        Err(outcome) => return outcome,
    };
    if let (Some(said), false) = (job.kept.said(), quiet) {
        complaints.note(&format!("--state: this text replaces the one in {}: {said}", quoted(keep.dir.as_os_str())));
    }
    Output::opened(complaints, |shown| {
        let (mut runs, mut shown) = (Runs::new(run, complaints.clone()), Some(shown));
        stop_if_stuck(runs.interrupts(), STUCK, evaluations);
        #[cfg(feature = "page")]
        let changes = super::change::Changes::offer(accepts);
        #[cfg(not(feature = "page"))]
        let _ = accepts;
        let mut follows = Follow::From(0);
        loop {
            #[cfg(feature = "page")]
            changes.iter().for_each(|changes| job.takes(changes, &asked, &mut runs));
            let ended = job.run(&asked, &mut runs, shown.take(), follows);
            #[cfg(feature = "page")]
            let texts = changes.as_ref().and_then(super::change::Changes::end);
            #[cfg(not(feature = "page"))]
            let texts = None;
            let again = match &ended {
                Ok(Ended::Ran(Err(Failed::GoesOn))) => Some(Keep { take_over: false, goes_on: true, ..keep.clone() }),
                Ok(Ended::Ran(Err(failed))) => follows.again(failed).then(|| keep.clone()),
                _ => None,
            };
            if let Some(keep) = again {
                job = match asked.job(keep) {
                    Ok(job) => job,
                    Err(outcome) => return outcome,
                };
                continue;
            }
            #[cfg(feature = "serve")]
            runs.end_clients();
            return match ended {
                Ok(Ended::Ran(Ok(counts))) => {
                    let texts = texts.unwrap_or_else(|| Texts::of(job.kept.program.clone()));
                    if runs.interrupted() && !quiet && !job.files.iter().any(Named::is_endless) {
                        super::ends::say_left_off(&texts.program, complaints);
                    }
                    counts.into_iter().for_each(|counts| counts.say(quiet));
                    if !quiet {
                        super::ends::say_alone(&texts, complaints);
                    }
                    runs.finish()
                }
                Ok(Ended::Ran(Err(failed))) => runs.fail(&failed),
                Ok(Ended::Refused((why, outcome))) => {
                    complaints.note(&why);
                    outcome
                }
                Err(why) => {
                    complaints.complain(&why);
                    Outcome::InputOrOutputFailed
                }
            };
        }
    })
}

impl Asked {
    /// The program, at the place that the directory has.
    ///
    /// # Errors
    ///
    /// The exit code, after a message.
    fn job(&self, mut keep: Keep) -> Result<Job, Outcome> {
        let complaints = &self.complaints;
        let wrong = |why: String| {
            complaints.note(&why);
            Outcome::WrongUse
        };
        let kept = KeptProgram::load(&self.text, &keep, self.allowed.clone(), self.shards, complaints)?;
        let files = files_of(&kept.program, self.files.clone(), &self.text, &self.reports).map_err(wrong)?;
        kept.describe(&mut keep);
        kept.judge(&mut keep);
        let read: Vec<OsString> = files.iter().flat_map(|named| named.files.clone()).collect();
        let once = Once::of(&files).map_err(wrong)?;
        let outputs = KeptOutputs::of(&kept.program, &keep, &read, complaints).map_err(wrong)?;
        Ok(Job { kept, keep, files, read, once, outputs })
    }
}

impl Job {
    /// Lets another text replace this one once the run has begun.
    #[cfg(feature = "page")]
    fn takes(&self, changes: &super::change::Changes, asked: &Asked, runs: &mut Runs) {
        let Job { kept, keep, files, read, outputs, .. } = self;
        let (texts, complaints) = (Texts::of(kept.program.clone()), asked.complaints.clone());
        let reports = asked.reports.clone();
        let of = super::change::Of { texts, read: files.clone(), reports, quiet: asked.quiet, complaints };
        let (outputs, keep, read) = (outputs.clone(), keep.clone(), read.clone());
        let changes = changes.clone();
        runs.when_kept_started(move |upgrader| {
            changes.begin(of, change::OnState { upgrader, outputs, keep, read });
        });
    }

    /// Runs the program once.
    ///
    /// # Errors
    ///
    /// Why its standard input cannot be read.
    fn run(&self, asked: &Asked, runs: &mut Runs, shown: Option<Output>, follows: Follow) -> Result<Ended, String> {
        let Job { kept, keep, files, read, once, outputs } = self;
        let Asked { most, quiet, complaints, .. } = asked;
        let (most, quiet) = (*most, *quiet);
        let runs_on = matches!(keep.doing, Doing::Run { .. });
        let ends_by_signal = files.iter().any(Named::is_endless);
        let live = match once {
            Some(once) if runs_on => once.begin(runs, most, ends_by_signal)?,
            _ => Live::Nothing,
        };
        let (left, endless, refused) = (Left::default(), Endless::default(), Arc::new(OnceLock::new()));
        let reads_url = read.iter().any(|name| is_url(&name.to_string_lossy()));
        let waits = reads_url || files.iter().any(Named::is_query) || once.as_ref().is_some_and(Once::waits);
        let opening = if runs_on { runs.opening(true) } else { input::Opening::default() };
        // A start reads a URL again, up to its place, before there is a run that a signal could drain.
        let opening = input::Opening { watched: runs_on, ..opening };
        let reading = Reading { most, waits, quiet, live: runs_on, failure: live.failure(), opening };
        let mut reading = reading.of(files.clone(), complaints);
        if ends_by_signal {
            let (stops_files, stops_posts) = (reading.stopper(), endless.clone());
            runs.interrupts().when_drained(move || {
                stops_files();
                stops_posts.stop();
            });
        }
        let mut posts = None;
        if let Some(Once::Posted(address)) = once {
            reading.until_dropped(left.before_leaving(runs));
            let complaints = complaints.clone();
            let opening = || Opening {
                most,
                quiet,
                endless,
                #[cfg(feature = "serve")]
                clients: runs.clients(),
                complaints,
            };
            posts = runs_on.then(|| Posts::of(opening(), address, &left, &refused));
        }
        #[cfg(feature = "serve")]
        runs.when_taken(posts.as_ref().filter(|_| follows.is_at(keep, &reading)).map(Posts::later));
        #[cfg(not(feature = "serve"))]
        let _ = follows;
        let source = |state: &StateDir| {
            let live: Box<dyn FnOnce() -> Live + Send> = match posts {
                Some(posts) if state.is_followed() => Box::new(move || posts.opened_later()),
                Some(posts) => {
                    let live = posts.open().unwrap_or_else(|why| {
                        reading.cannot_begin(why);
                        Live::Nothing
                    });
                    Box::new(move || live)
                }
                None => Box::new(move || live),
            };
            let complaints = complaints.clone();
            let journal = once.is_some().then(|| {
                let journal = journaled_in_groups(state, keep.journal, live);
                let waits = complaints.clone();
                let journal = journal.on_recovery(move |found| say_lost(&complaints, found));
                journal.waiting_for_room(move |why| say_waits(&waits, &why))
            });
            KeptSources::new(reading, journal)
        };
        super::count_rows(&kept.program);
        let shown = outputs.shown(shown);
        let show = |shown: &mut Shown, _: SequenceNumber, written: &Written| shown.write(written);
        let (pipeline, shown) = (&kept.program.pipeline, sink::fold(shown, show));
        let into = outputs.clone().unless(refused.clone());
        let ended = runs.keep::<{ cfg!(feature = "serve") }, _, _, _, _, _>(keep, pipeline, source, into, shown);
        Ok(match (ended, refused.get()) {
            (Err(_), Some(refused)) => Ended::Refused(refused.clone()),
            (ended, _) => Ended::Ran(ended),
        })
    }
}
