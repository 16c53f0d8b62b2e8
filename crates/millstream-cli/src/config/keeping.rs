//! The state directory of a run.

use super::RunConfig;
use crate::flags::{self, When, shaped};
use crate::message::{Complaints, quoted};
use crate::name::program;
use clap::{CommandFactory, FromArgMatches};
use millstream_exec::{Migrations, Snapshot};
use millstream_state::journal::JournalOptions;
use millstream_state::{Cadence, Persistent, Span, StateDir, StateError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
#[cfg(feature = "page")]
use std::time::Duration;

/// Set by a process that starts itself again.
pub(crate) const GOES_ON: &str = "MILLSTREAM_GOES_ON";

/// The state directory of a run, and what to do with it.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    pub(crate) dir: PathBuf,
    pub(crate) cadence: Cadence,
    /// How many snapshots to keep.
    pub(crate) snapshots: usize,
    /// How to keep the journal of standard input.
    pub(crate) journal: JournalOptions,
    pub(crate) doing: Doing,
    /// Whether the run takes over from another process.
    pub(crate) take_over: bool,
    /// Whether this process had the run before. It then goes on with the text of the state, even if the text in the
    /// file has changed.
    pub(crate) goes_on: bool,
    /// The migrations of states of an earlier version of the program.
    pub(crate) migrations: Migrations,
    /// Judges the snapshots of other versions, instead of the migrations.
    pub(crate) judge: Option<Judge>,
}

/// Judges the states of a job, as its snapshot describes it: see [`Persistent::judged_by`].
#[derive(Clone)]
pub(crate) struct Judge(Arc<Judges>);

type Judges = dyn Fn(&Value) -> Result<Option<Migrations>, String> + Send + Sync;

#[cfg(feature = "run")]
impl Judge {
    pub(crate) fn of(judge: impl Fn(&Value) -> Result<Option<Migrations>, String> + Send + Sync + 'static) -> Self {
        Judge(Arc::new(judge))
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").finish_non_exhaustive()
    }
}

impl Keep {
    /// Makes a job judge the states that other versions have stored.
    pub(crate) fn judged(&self, job: Persistent) -> Persistent {
        match &self.judge {
            None => job.with_migrations(self.migrations.clone()),
            Some(Judge(judge)) => {
                let judge = judge.clone();
                job.judged_by(move |of| judge(of))
            }
        }
    }
}

/// What to do with a state directory.
#[derive(Clone, Debug)]
pub(crate) enum Doing {
    /// Run, and go on with its state. The directory belongs to this program; its snapshots say how the run was started.
    Run { program: String, job: Value },
    /// Repeat a part of the run.
    Replay(Span),
    /// Look at the states before a number, for this tool; by default, at the newest snapshot.
    Look { at: Option<When>, seen: Seen, tool: &'static str },
}

/// The place for the states that a look finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Option<Snapshot>>>);

impl Seen {
    pub(crate) fn put(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
    }

    pub(crate) fn take(&self) -> Option<Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The state directory that the flags name.
pub(crate) fn keeping(flags: &flags::Run) -> Result<Option<Keep>, String> {
    let Some(dir) = &flags.keeping.state else { return Ok(None) };
    if flags.deploy != flags::Deploy::Rings {
        return Err("--state: only runs on rings keep their state: use `--deploy rings`".into());
    }
    if flags.hash {
        return Err(
            "--state: --hash covers a whole output, but a run with a state may begin in the middle of it".into()
        );
    }
    let cadence = flags.keeping.snapshot_every.unwrap_or_default();
    let fsync = flags.keeping.fsync.unwrap_or_default();
    let journal = JournalOptions { fsync, skip_corrupt: flags.keeping.skip_corrupt, ..JournalOptions::default() };
    let args: Vec<Value> = std::env::args_os().skip(1).map(stored).collect();
    let directory = std::env::current_dir().ok().map(|dir| stored(dir.into()));
    let doing = Doing::Run { program: program(), job: json!({ "args": args, "directory": directory }) };
    let (dir, snapshots, migrations) = (dir.clone(), flags.keeping.snapshots.unwrap_or(5), Migrations::new());
    let (take_over, goes_on) = (flags.keeping.take_over, std::env::var_os(GOES_ON).is_some());
    Ok(Some(Keep { dir, cadence, snapshots, journal, doing, take_over, goes_on, migrations, judge: None }))
}

/// A text, or the bytes of one that is not UTF-8.
fn stored(text: OsString) -> Value {
    text.into_string().map_or_else(|other| json!(other), Value::from)
}

/// What was [stored].
fn read_again(value: &Value) -> Option<OsString> {
    value.as_str().map(OsString::from).or_else(|| OsString::deserialize(value).ok())
}

/// A run of a command that keeps no state.
pub(crate) fn without_state(command: &str, run: RunConfig) -> Result<RunConfig, String> {
    match run.keep {
        None => Ok(run),
        Some(_) => {
            Err(format!("--state: `{command}` keeps no state; `run`, `serve`, `wc`, `uppercase` and `spaces` do"))
        }
    }
}

/// A run of this command, which keeps its state if the flags ask for it.
pub(crate) fn with_state(command: &str, mut run: RunConfig) -> RunConfig {
    if let Some(Keep { doing: Doing::Run { program, .. }, .. }) = &mut run.keep {
        *program = format!("{program} {command}");
    }
    run
}

/// The directory as an absolute path.
pub(crate) fn whole(dir: &Path) -> PathBuf {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}

/// The flags of the run whose state the directory has. Changes the current directory to the run's, since the flags name
/// files. Ends the process if the directory cannot be read, as for any other input.
pub(crate) fn stored_flags<F: CommandFactory + FromArgMatches>(dir: &Path) -> Result<F, String> {
    let here = quoted(dir.as_os_str());
    let state = StateDir::read(dir).map_err(|error| match error {
        StateError::Io { .. } => flags::unread(&error.to_string()),
        error => error.to_string(),
    })?;
    let newest = state.newest().map_err(|error| error.to_string())?;
    let newest = newest.ok_or_else(|| format!("{here} has no snapshot"))?;
    let job = &newest.plan["job"];
    let args = job["args"].as_array().ok_or_else(|| format!("{here} does not say how its run was started"))?;
    let args = args.iter().filter_map(read_again);
    let parsed = shaped::<F>().try_get_matches_from(std::iter::once("millstream".into()).chain(args));
    let flags = parsed.and_then(|matches| F::from_arg_matches(&matches));
    let flags = flags.map_err(|error| other_program(dir, error.to_string().lines().next().unwrap_or_default()))?;
    if let Some(directory) = read_again(&job["directory"]) {
        std::env::set_current_dir(&directory).map_err(|error| format!("{}: {error}", quoted(&directory)))?;
    }
    Ok(flags)
}

pub(crate) fn other_program(dir: &Path, why: &str) -> String {
    let program = StateDir::read(dir).map_or_else(|_| "another program".to_owned(), |dir| dir.program().to_owned());
    format!("{} has the state of `{program}`, which this program cannot look at: {why}", quoted(dir.as_os_str()))
}

impl flags::Run {
    /// Leaves out the reports of the run: a look at its states writes none, and their files may be others by now.
    pub(crate) fn without_reports(&mut self) {
        (self.stats, self.record_picture) = (None, None);
    }
}

impl RunConfig {
    /// The complaints of a run by this command, or of the tool that looks at the states.
    pub(crate) fn complaints(&self, command: &'static str) -> Complaints {
        Complaints::of(match self.keep.as_ref().map(|keep| &keep.doing) {
            Some(Doing::Replay(_)) => "replay",
            Some(Doing::Look { tool, .. }) => tool,
            Some(Doing::Run { .. }) | None => command,
        })
    }

    /// Whether it only looks at a state.
    pub(crate) fn looks(&self) -> bool {
        self.keep.as_ref().is_some_and(|keep| !matches!(keep.doing, Doing::Run { .. }))
    }

    /// Makes a run do this with the directory, and write no reports.
    pub(crate) fn only_looks(&mut self, dir: &Path, doing: Doing) {
        if let Some(keep) = &mut self.keep {
            (keep.dir, keep.doing) = (dir.to_owned(), doing);
        }
        (self.stats, self.picture, self.observe, self.quiet) = (None, None, false, true);
        #[cfg(feature = "page")]
        {
            (self.page, self.page_linger) = (None, Duration::ZERO);
        }
    }
}
