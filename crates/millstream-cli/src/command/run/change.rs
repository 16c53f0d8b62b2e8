//! `--accept-upgrades`: a run goes on with another text, which a client posts to its page.

use super::change_rules::{advice, names_states};
use super::ends::Texts;
use super::files::Files;
use super::outputs::{Place, overwritten};
use super::sink_file::{SinkFile, file_of, is_url};
use super::sources::Named;
use super::{Accepts, count_rows};
use crate::command::upgrade::asked::{Answered, Asked};
use crate::message::{Complaints, cause, quoted};
use crate::outcome::Outcome;
use crate::output::can_be_written;
use crate::watching;
use millstream_core::plan::UpgradeCheck;
use millstream_exec::{ChangeReport, Upgrade, Upgrader};
use millstream_mill::{Allowed, Boxes, Program, Raw, Written};
use millstream_registry::TextPipeline;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Changes a run from outside.
#[derive(Clone)]
pub(super) struct Changes(Arc<Mutex<State>>);

enum State {
    NotBegun,
    Runs(Box<Running>),
    Over,
}

/// A run in progress.
struct Running {
    of: Of,
    run: Box<dyn Changeable>,
}

/// A run, as a change of its text sees it.
pub(super) struct Of {
    /// The present text, and those before it.
    pub(super) texts: Texts,
    /// Its sources.
    pub(super) read: Vec<Named>,
    /// The files of its reports, each with its flag.
    pub(super) reports: Vec<(&'static str, OsString)>,
    pub(super) quiet: bool,
    pub(super) complaints: Complaints,
}

/// The text that is to replace the present one.
pub(super) struct Next<'a> {
    pub(super) program: &'a Program,
    pub(super) text: &'a str,
    pub(super) upgrade: Upgrade<TextPipeline<Raw, Written, Boxes>>,
}

/// A change that was made.
pub(super) struct Made {
    pub(super) report: Option<ChangeReport>,
    /// A message for the user: the change is not stored.
    pub(super) error: Option<String>,
}

/// A run whose text can be replaced.
pub(super) trait Changeable: Send {
    /// The names of the files that it writes.
    fn names(&self) -> Vec<String>;

    /// The names of the files that it has written, also for earlier texts.
    fn written(&self) -> Vec<String>;

    /// Whether it can write to a sink of this name, which is new to it.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    fn can_write(&self, name: &str) -> io::Result<()>;

    /// Goes on with another text.
    ///
    /// # Errors
    ///
    /// Why it cannot. Nothing has changed then.
    fn go_on(&mut self, present: &Program, next: Next<'_>) -> Result<Made, String>;
}

/// A run that keeps no state.
pub(super) struct OnRings {
    pub(super) upgrader: Upgrader,
    pub(super) files: Files,
}

impl Changeable for OnRings {
    fn names(&self) -> Vec<String> {
        self.files.lock().names()
    }

    fn written(&self) -> Vec<String> {
        self.files.lock().all().map(|file| file_of(file.name()).to_owned()).collect()
    }

    fn can_write(&self, name: &str) -> io::Result<()> {
        can_be_written(file_of(name).as_ref())
    }

    fn go_on(&mut self, present: &Program, next: Next<'_>) -> Result<Made, String> {
        let opened = self.files.open(next.program)?;
        let added = self.files.add(opened);
        if let Err(error) = self.upgrader.upgrade(next.upgrade) {
            self.files.take_out(added);
            return Err(error.to_string());
        }
        self.files.go_on(present, next.program);
        Ok(Made { report: self.upgrader.changes().pop(), error: None })
    }
}

impl Changes {
    /// Makes the page answer posted texts. If the run `accepts` them, a text replaces that of the run that
    /// [begins](Changes::begin) next. Returns `None` if it does not.
    pub(super) fn offer(accepts: Option<Accepts>) -> Option<Self> {
        let Some(Accepts { token }) = accepts else {
            let why = "the run was started without --accept-upgrades, so its text cannot be replaced";
            watching::on_upgrade(None, move |_| refused(why));
            return None;
        };
        let changes = Changes(Arc::new(Mutex::new(State::NotBegun)));
        let of_page = changes.clone();
        watching::on_upgrade(token, move |asked| of_page.answer(asked));
        Some(changes)
    }

    /// The run has begun.
    pub(super) fn begin(&self, of: Of, run: impl Changeable + 'static) {
        *self.lock() = State::Runs(Box::new(Running { of, run: Box::new(run) }));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run is over. Returns its texts, if it has begun.
    pub(super) fn end(&self) -> Option<Texts> {
        match std::mem::replace(&mut *self.lock(), State::Over) {
            State::Runs(running) => Some(running.of.texts),
            State::NotBegun | State::Over => None,
        }
    }

    /// Answers a request.
    fn answer(&self, asked: &Value) -> (u16, Value) {
        let Ok(asked) = Asked::deserialize(asked) else {
            return (400, json!({ "error": "a change needs a `text`, and may have `check`, `keep` and `drop`" }));
        };
        let mut state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return refused("another change is under way: try again when it is over"),
        };
        match &mut *state {
            State::NotBegun => refused("the run has not begun yet: try again"),
            State::Over => refused("the run is over"),
            State::Runs(running) => match running.change(&asked) {
                Ok(answered) => (200, json!(answered)),
                Err(answered) if answered.code == Outcome::WrongUse.code() => (422, json!(answered)),
                Err(answered) => (409, json!(answered)),
            },
        }
    }
}

fn refused(why: &str) -> (u16, Value) {
    (409, json!(Answered::refused(why.to_owned())))
}

impl Running {
    /// Checks a text, and goes on with it unless the request asks only for a check.
    fn change(&mut self, asked: &Asked) -> Result<Answered, Answered> {
        let Of { texts: Texts { program, .. }, read, reports, .. } = &self.of;
        let next = program.next(&asked.text).map_err(|wrong| Answered {
            code: Outcome::WrongUse.code(),
            wrong: wrong.in_file(asked.name.clone()).to_string(),
            ..Answered::default()
        })?;
        let allowed = Allowed { keeps: asked.keep.clone(), drops: asked.drop.clone() };
        names_states(program, &next, &allowed).map_err(Answered::wrong_use)?;
        overwritten(&next, read, None, reports).map_or(Ok(()), Err).map_err(Answered::wrong_use)?;
        self.files_fit(&next)?;
        if asked.check {
            let check = program.check_upgrade(&next, &allowed);
            let code = if check.is_allowed() { Outcome::Done } else { Outcome::CheckFailed }.code();
            let answered = Answered { code, out: check.to_string(), report: json!(check), ..Answered::default() };
            return if check.is_allowed() { Ok(answered) } else { Err(answered) };
        }
        let upgrade = program.upgrade_to(&next, &allowed).map_err(|check| not_allowed(&check))?;
        let goes_on = Next { program: &next, text: &asked.text, upgrade };
        let Made { report, error } = self.run.go_on(program, goes_on).map_err(Answered::refused)?;
        count_rows(&next);
        self.of.texts.replace(next);
        let report = report.ok_or_else(|| Answered::refused("the run is over".to_owned()))?;
        let Of { quiet, complaints, .. } = &self.of;
        if !quiet {
            complaints.note(&format!("{}: {report}", quoted(asked.name.as_ref())));
        }
        let answered = Answered { out: format!("{report}\n"), report: json!(report), ..Answered::default() };
        let Some(error) = error else { return Ok(answered) };
        complaints.note(&error);
        Ok(Answered { code: Outcome::InputOrOutputFailed.code(), error, ..answered })
    }

    /// Refuses files that the text adds if they cannot be written beside those of the run.
    fn files_fit(&self, next: &Program) -> Result<(), Answered> {
        let (open, written) = (self.run.names(), self.run.written());
        let [sinks, dead] = next.writes();
        let names = sinks.iter().filter_map(|number| next.sinks[*number].file.as_ref());
        let names = names.chain(dead.iter().filter_map(|number| next.dead[*number].as_ref()));
        for sink in names.filter(|name| !open.iter().any(|open| open == file_of(name))) {
            let name = file_of(sink);
            if is_url(name) {
                SinkFile::posting(name.to_owned()).map_err(Answered::refused)?;
                continue;
            }
            let shown = quoted(name.as_ref());
            let place = Place::of(name.as_ref());
            let of = |files: &[String], verb| {
                let other = files.iter().find(|other| *other != name && Place::of(other.as_ref()) == place)?;
                Some((quoted(other.as_ref()), verb))
            };
            let other = match &place {
                None => None,
                Some(Place::New(_)) => of(&open, "writes"),
                // What an earlier text has written would be emptied.
                Some(Place::There(_)) => of(&open, "writes").or_else(|| of(&written, "has written")),
            };
            if let Some((other, verb)) = other {
                let why =
                    format!("{shown} is the file {other}, which the run {verb}: name it {other} in the new text, too");
                return Err(Answered::wrong_use(why));
            }
            // Opening a pipe waits for its other end, and the run would wait, too.
            if fs::metadata(name).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
                let why = format!("{shown} is a pipe, which a text that replaces another cannot open");
                return Err(Answered::wrong_use(why));
            }
            let can = self.run.can_write(sink);
            can.map_err(|error| Answered::refused(format!("{shown}: {}", cause(&error))))?;
        }
        Ok(())
    }
}

/// The answer that names the refused stages.
fn not_allowed(check: &UpgradeCheck) -> Answered {
    let text = check.to_string();
    let lines = text.lines().filter(|line| line.starts_with("refused"));
    let lines: String = lines.map(|line| format!("\n  {line}")).collect();
    let help = advice(check);
    Answered {
        report: json!(check),
        ..Answered::refused(format!("the text was not replaced, and the run goes on as before{help}:{lines}"))
    }
}
