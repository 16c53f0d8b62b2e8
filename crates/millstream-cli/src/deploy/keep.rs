//! Runs whose state is kept in a directory, and looks at such a directory.

mod answer;
mod begun;
#[cfg(all(feature = "run", feature = "serve"))]
mod clients;
#[cfg(all(feature = "run", feature = "serve"))]
mod followed;
pub(super) mod offered;
mod printed;
mod taken;

pub(crate) use answer::Answer;
#[cfg(all(feature = "run", feature = "serve"))]
pub(crate) use clients::Clients;
pub(crate) use printed::print_once;

use super::{Failed, Runs};
use crate::config::{Doing, Keep, RunConfig};
use crate::flags::When;
use crate::input::{IS_OUTPUT, Joined, Names, identity};
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress;
use crate::watching::Watching;
use millstream_core::text::{Block, Piece};
use millstream_core::{Arrow, Either, Item, Lends, SequenceNumber, Shape, Val};
use millstream_exec::{Lasting, RunEnd, RunOutcome, Sink, Stopper, sink};
use millstream_io::{FileSink, FileSinkOptions};
use millstream_state::claims::OutputOf;
use millstream_state::journal::Recovered;
use millstream_state::journaled;
use millstream_state::{ClaimingSink, JobError, Resumable, Span, StateDir, Stored, Storer, TextFiles, replay_migrated};
use offered::{Asked, Of, Offered};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::path::Path;

/// The output of a run whose state is kept: standard output, which must be a file opened for appending. A look does not
/// write to it.
pub(crate) fn output_of(keep: &Keep, files: &[OsString]) -> Result<FileSinkOptions, String> {
    let identity_of = |name: &OsStr| fs::metadata(name).ok().as_ref().and_then(identity);
    let output = identity_of(STANDARD_OUTPUT.as_ref());
    if matches!(keep.doing, Doing::Run { .. }) && output.is_none() {
        let why =
            "standard output is not a file: append to one with `>> FILE`, so that it can be cut back after a crash";
        return Err(format!("--state: {why}"));
    }
    if matches!(keep.doing, Doing::Run { .. }) && !crate::input::output_appends().unwrap_or(true) {
        let why = "standard output goes to its file by `>`, which empties the file at each start: write `>> FILE`";
        return Err(format!("--state: {why}"));
    }
    let is_read = |name: &&OsString| *name != "-" && output.is_some() && identity_of(name) == output;
    if let (Doing::Run { .. }, Some(name)) = (&keep.doing, files.iter().find(is_read)) {
        return Err(format!("--state: {}: {IS_OUTPUT}", quoted(name)));
    }
    if matches!(keep.doing, Doing::Run { .. }) && !keep.goes_on {
        say_contents(&keep.dir);
    }
    Ok(FileSink::append(STANDARD_OUTPUT).after_contents())
}

/// Says that a run without a snapshot writes after what standard output has: its state may have been lost.
fn say_contents(dir: &Path) {
    let bytes = fs::metadata(STANDARD_OUTPUT).map_or(0, |file| file.len());
    let is_stored = || StateDir::read(dir).and_then(|dir| dir.snapshots()).is_ok_and(|stored| !stored.is_empty());
    if bytes > 0 && !is_stored() {
        let dir = quoted(dir.as_os_str());
        crate::message::say_own(&format!(
            "--state: standard output has {bytes} bytes already, and {dir} has no snapshot: \
             this run writes all its output, after them"
        ));
    }
}

/// The files of these names, if they can be read again after a crash.
pub(crate) fn files(names: Names) -> Result<TextFiles, String> {
    if names.files.iter().any(|name| name == "-") {
        return Err("--state: standard input cannot be read together with files".into());
    }
    let files = TextFiles::new(names.files).on_read(progress::read);
    Ok(if names.decompress { files.decompressed() } else { files })
}

const STANDARD_OUTPUT: &str = "/dev/stdout";

/// A sink for a replay, or, without a sink inside, for a look, which prints no output. Both have one type, so that a
/// replay is compiled once.
#[derive(Debug)]
struct Looked<K>(Option<K>);

impl<A: Shape, K: Sink<A>> Sink<A> for Looked<K> {
    type Output = Option<K::Output>;
    type Error = K::Error;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), K::Error> {
        self.0.as_mut().map_or(Ok(()), |sink| sink.put(number, value))
    }

    fn pause(&mut self) -> Result<(), K::Error> {
        self.0.as_mut().map_or(Ok(()), Sink::pause)
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), K::Error> {
        self.0.as_mut().map_or(Ok(()), |sink| sink.mark(next))
    }

    fn finish(self, outcome: RunOutcome) -> Result<Self::Output, K::Error> {
        self.0.map(|sink| sink.finish(outcome)).transpose()
    }
}

/// The result of a run's sink; `None` for a look.
type Kept<O> = Result<Option<O>, Failed>;

impl Runs {
    /// Runs `pipeline` from the place that the state directory has, or looks at its states. Returns the result of the
    /// sink; `None` for a look. A run with `FOLLOWS` may follow the process from which it takes over; others are
    /// compiled without the code for it, which is large.
    pub(crate) fn keep<const FOLLOWS: bool, P, T, X, K, L>(
        &mut self,
        keep: &Keep,
        pipeline: &P,
        source: impl FnOnce(&StateDir) -> X,
        into: K,
        shown: L,
    ) -> Kept<OutputOf<P::Out, K>>
    where
        T: Item,
        P: Lasting + Arrow<In = Val<T>>,
        X: Resumable<T>,
        K: ClaimingSink<P::Out>,
        L: Sink<P::Out>,
    {
        let (rings, migrations) = (&self.config.rings, &keep.migrations);
        match &keep.doing {
            Doing::Run { program, job } => {
                let (running, taken) =
                    self.begin::<FOLLOWS, _, _, _, _>(keep, (program, job), pipeline, source, into)?;
                match &taken {
                    Some(taken) => self.shown.begins_after(taken.process()),
                    // The process that was to get the run may have the page's address, until it has ended.
                    None if keep.goes_on => {}
                    None => self.shown.begins_alone(),
                }
                let begun = (keep, running.began());
                let offered = self.begins(begun, taken.as_ref(), running.storer(), running.stopper())?;
                let watching =
                    Watching::begin(&self.config, &self.shown, &running.handle().observer(), &self.complaints);
                self.when_started.call_kept(|| running.upgrader());
                self.interrupts.attend(running.stopper());
                let (ended, stored, source) = running.join();
                self.interrupts.leave();
                let asked = offered.and_then(Offered::end).and_then(|asked| {
                    if has_stopped(&ended) && (asked.with_clients() || !self.interrupted()) {
                        return Some(asked.after(stored.last));
                    }
                    asked.leave();
                    None
                });
                let (output, failure) = self.kept(ended, &stored, watching);
                if !self.config.quiet {
                    say_stored(&self.complaints, &stored);
                }
                if let Some(error) = source {
                    self.complaints.complain(&error.to_string());
                }
                if let Some(taken) = &taken {
                    if failure.is_none() { taken.settled() } else { taken.failed() }
                }
                match (failure, asked) {
                    (Some(failure), _) => Err(failure),
                    (None, Some(asked)) => self.retires(keep, program, asked).map(|()| None),
                    (None, None) => Ok(output),
                }
            }
            Doing::Replay(span) => {
                let dir = StateDir::read(&keep.dir).map_err(JobError::State)?;
                let source = source(&dir);
                let replayed = replay_migrated(&dir, rings, migrations, pipeline, &source, *span, Looked(Some(shown)))?;
                // A source whose cuts depend on the time counts its end otherwise than the run.
                let to = span.to.map_or("the end".to_owned(), |to| to.to_string());
                self.complaints.note(&format!("replayed the numbers from {} to {to}", replayed.began));
                Ok(None)
            }
            Doing::Look { at, seen, .. } => {
                let dir = StateDir::read(&keep.dir).map_err(JobError::State)?;
                let to = match at {
                    Some(When::At(number)) => Some(*number),
                    Some(When::End) => None,
                    None => Some(newest(&dir)?),
                };
                let (span, source) = (Span { from: None, to }, source(&dir));
                let replayed = replay_migrated(&dir, rings, migrations, pipeline, &source, span, Looked::<L>(None))?;
                seen.put(replayed.snapshot);
                Ok(None)
            }
        }
    }

    /// Lets other processes take over.
    fn offered(&self, keep: &Keep, storer: Storer, stopper: Stopper) -> Option<Offered> {
        let refuses = self.is_live.then_some("it reads its standard input, which no other process can");
        let offered = Offered::begin(&keep.dir, refuses, storer, stopper);
        if let (Err(error), false) = (&offered, self.config.quiet) {
            self.complaints.note(&format!("--state: no process can take over from this one: {error}"));
        }
        offered.ok()
    }

    /// Hands over the state of a stopped run. If the other process does not go on, this process starts its program
    /// again, and returns only if that fails.
    fn retires(&mut self, keep: &Keep, program: &str, asked: Asked) -> Result<(), Failed> {
        self.when_left.call();
        let (to, Asked { of, at }) = (offered::named(asked.process()), asked);
        let retired = format!("--take-over: retired at number {at}, where {to} took over");
        match of {
            Of::State(link) => match offered::hand_over(&link, at, &self.interrupts) {
                Ok(()) => {
                    self.shown.is_taken_over();
                    self.say(&retired);
                }
                Err(_) if self.interrupted() => {}
                Err(why) => {
                    self.say(&format!("--take-over: {to} did not take over, so this process goes on: {why}"));
                    drop(link);
                    return Err(Failed::TakeOver(format!(
                        "this process cannot go on: {}",
                        offered::again(keep, program)
                    )));
                }
            },
            #[cfg(all(feature = "run", feature = "serve"))]
            Of::Clients(leaving) => {
                if self.leaves(keep, program, leaving)? {
                    self.shown.is_taken_over();
                    self.say(&retired);
                }
            }
        }
        Ok(())
    }

    /// Prints a note, unless the run is quiet.
    pub(super) fn say(&self, text: &str) {
        if !self.config.quiet {
            self.complaints.note(text);
        }
    }

    /// Runs a program with text output over files, and keeps its state.
    pub(crate) fn kept_text<P>(
        run: RunConfig,
        keep: &Keep,
        names: Names,
        longest: Option<usize>,
        complaints: &Complaints,
        pipeline: &P,
    ) -> Outcome
    where
        P: Lasting + Arrow<In = Val<Block>, Out: Lends<Lent = [u8]> + for<'a> Shape<Ref<'a> = Piece<'a>>>,
    {
        let wrong = |why: &str| {
            complaints.note(why);
            Outcome::WrongUse
        };
        let output = match output_of(keep, &names.files) {
            Ok(output) => output,
            Err(why) => return wrong(&why),
        };
        Output::opened(complaints, |shown| {
            let mut runs = Runs::new(run, complaints.clone());
            let shown =
                sink::fold(shown, |shown: &mut Output, _: SequenceNumber, piece: Piece<'_>| shown.gather(piece));
            match runs.keep_blocks(keep, pipeline, names, longest, output, shown) {
                Ok(Ok(_)) => runs.finish(),
                Ok(Err(failed)) => runs.fail(&failed),
                Err(why) => wrong(&why),
            }
        })
    }

    /// As [`keep`](Runs::keep), over the blocks of files, or of standard input with a journal.
    ///
    /// # Errors
    ///
    /// If the inputs are neither; the inner error is `keep`'s.
    pub(crate) fn keep_blocks<P, K, L>(
        &mut self,
        keep: &Keep,
        pipeline: &P,
        names: Names,
        longest: Option<usize>,
        into: K,
        shown: L,
    ) -> Result<Kept<OutputOf<P::Out, K>>, String>
    where
        P: Lasting + Arrow<In = Val<Block>>,
        K: ClaimingSink<P::Out>,
        L: Sink<P::Out>,
    {
        let source = if !names.is_standard_input() {
            let files = files(names)?;
            let files = longest.map_or(files.clone(), |longest| files.longest(longest));
            Either::Left(files)
        } else {
            self.is_live = true;
            let (opening, complaints) = (self.opening(names.decompress), self.complaints.clone());
            Either::Right(move || match longest {
                Some(longest) => Joined::lines(names.files, longest, opening, complaints),
                None => Joined::new(names.files, opening, complaints),
            })
        };
        let complaints = self.complaints.clone();
        let source = |state: &StateDir| {
            source.map_right(|blocks| {
                let waits = complaints.clone();
                let journal = journaled(state, keep.journal, blocks);
                let journal = journal.on_recovery(move |found| say_lost(&complaints, found));
                journal.waiting_for_room(move |why| say_waits(&waits, &why))
            })
        };
        Ok(self.keep::<false, _, _, _, _, _>(keep, pipeline, source, into, shown))
    }

    pub(super) fn kept<S>(
        &mut self,
        ended: RunEnd<S>,
        stored: &Stored,
        watching: Watching,
    ) -> (Option<S>, Option<Failed>) {
        let ended = self.ended("rings", ended);
        if let Some(report) = self.reports.last_mut() {
            let Stored { began, snapshots, last, failed, .. } = stored;
            report["state"] = json!({ "began": began, "snapshots": snapshots, "last": last, "failed": failed });
        }
        self.seen(watching);
        ended
    }
}

fn has_stopped<S>(ended: &RunEnd<S>) -> bool {
    ended.failure.is_none() && ended.report.outcome == RunOutcome::Stopped
}

/// The number of the newest snapshot; 0 if there is none.
fn newest(dir: &StateDir) -> Result<u64, JobError> {
    Ok(dir.newest()?.map_or(0, |manifest| manifest.at))
}

/// Notes what `--skip-corrupt` leaves out.
pub(crate) fn say_lost(complaints: &Complaints, found: &Recovered) {
    for lost in &found.lost {
        let (first, last) = (lost.start, lost.end - 1);
        complaints.note(&format!("--state: the journal is damaged: its numbers from {first} to {last} are left out"));
    }
}

/// Notes that the source waits, because its journal has no room.
pub(crate) fn say_waits(complaints: &Complaints, why: &impl Display) {
    complaints.note(&format!("--state: {why}: the input waits for room"));
}

/// Says at once, also if the run is quiet, that snapshots cannot be stored, and that they are stored again: meanwhile a
/// start would repeat more and more.
pub(super) fn say_storing(complaints: &Complaints) -> impl Fn(Result<u64, &str>) + Send + Sync + use<> {
    let complaints = complaints.clone();
    move |outcome| {
        complaints.note(&match outcome {
            Ok(at) => format!("--state: snapshots are stored again, the first at number {at}"),
            Err(why) => format!("--state: a snapshot could not be stored, and the run goes on without it: {why}"),
        });
    }
}

fn say_stored(complaints: &Complaints, stored: &Stored) {
    if let Some(why) = &stored.last_failure {
        complaints.note(&format!("--state: {} snapshots could not be stored. The last of them: {why}", stored.failed));
    }
}
