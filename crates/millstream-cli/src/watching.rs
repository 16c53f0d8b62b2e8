//! Observers of a run.

use crate::config::RunConfig;
use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause, quoted};
use crate::outcome::Outcome;
#[cfg(feature = "page")]
use crate::progress;
use millstream_exec::Observer;
#[cfg(feature = "page")]
use millstream_observe::Page;
use millstream_observe::{Recorder, Watch};
use serde_json::Value;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "page")]
use std::time::Duration;

/// The beginning of a picture, which identifies its file.
pub(crate) const PICTURE_BEGIN: &str = "<svg ";

/// How many rows have come to a stage.
type CountRows = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

/// Who counts the rows of this command's run. It may change while the run is watched.
static ROWS: Mutex<Option<CountRows>> = Mutex::new(None);

fn counted() -> MutexGuard<'static, Option<CountRows>> {
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on rows are counted so.
#[cfg(feature = "run")]
pub(crate) fn count_rows(rows: impl Fn(&str) -> Option<u64> + Send + Sync + 'static) {
    *counted() = Some(Arc::new(rows));
}

/// The observers that the flags ask for.
#[derive(Debug)]
pub(crate) struct Watching {
    watch: Option<Arc<Watch>>,
    recorder: Option<(Recorder, PathBuf)>,
}

impl Watching {
    /// Attaches the observers to a run. If one cannot be attached, that is reported, and the run goes on.
    pub(crate) fn begin(config: &RunConfig, shown: &Shown, observer: &Observer, complaints: &Complaints) -> Self {
        let watch = config.observe.then(|| started(Watch::attach(observer.clone()), "--observe", complaints)).flatten();
        let watch = watch.map(Arc::new).inspect(|watch| {
            if counted().is_some() {
                watch.count_rows(|stage| counted().clone().and_then(|rows| rows(stage)));
            }
            shown.show(watch);
        });
        let record = |path: &PathBuf| {
            started(Recorder::attach(observer.clone()), "--record-picture", complaints).zip(Some(path.clone()))
        };
        Watching { watch, recorder: config.picture.as_ref().and_then(record) }
    }

    /// Ends the observers after run `run` of this command, counted from 1. Writes the picture, and returns what was
    /// seen.
    pub(crate) fn end(self, run: usize, complaints: &Complaints) -> Option<Value> {
        if let Some((recorder, path)) = self.recorder {
            let path = numbered(&path, run);
            if let Err(error) = std::fs::write(&path, recorder.finish().svg()) {
                complaints.complain(&format!("{}: {}", quoted(path.as_os_str()), cause(&error)));
            }
        }
        self.watch.map(|watch| serde_json::to_value(&*watch.finish()).expect("a frame is plain data"))
    }
}

/// The page that shows the runs of a command, if the flags ask for one.
///
/// A process has one command and therefore one page, a static. Any code that ends the process can report the outcome to
/// it.
#[derive(Debug)]
pub(crate) struct Shown {
    #[cfg(feature = "page")]
    linger: Duration,
}

#[cfg(feature = "page")]
static PAGE: Mutex<Option<Page>> = Mutex::new(None);

#[cfg(feature = "page")]
fn page() -> MutexGuard<'static, Option<Page>> {
    PAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports to readers of the page how the process is about to end.
pub(crate) fn ended(outcome: Outcome) {
    #[cfg(feature = "page")]
    if let Some(page) = page().take() {
        page.end(outcome.code(), &outcome.sentence());
    }
    #[cfg(not(feature = "page"))]
    let _ = outcome;
}

/// Makes the page answer posted texts by this function. If there is a token, requests must have it.
#[cfg(all(feature = "page", feature = "run"))]
pub(crate) fn on_upgrade(token: Option<String>, by: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static) {
    if let Some(page) = &*page() {
        page.on_upgrade(token, by);
    }
}

#[cfg(feature = "page")]
impl Shown {
    /// Opens the page and prints its address. `None` if it cannot listen there, with a message.
    pub(crate) fn open(config: &RunConfig, complaints: &Complaints) -> Option<Self> {
        if let Some(address) = &config.page {
            let opened = started(Page::open(address.as_str()), format_args!("--page {address}"), complaints)?;
            opened.name(format!("millstream {}", complaints.program()));
            opened.bytes(progress::bytes);
            if !config.quiet {
                complaints.note(&format!("the run is shown at http://{}/", opened.address()));
            }
            *page() = Some(opened);
        }
        Some(Shown { linger: config.page_linger })
    }

    fn show(&self, watch: &Arc<Watch>) {
        if let Some(page) = &*page() {
            page.show(watch.clone());
        }
    }

    /// After all runs, keeps the page for as long as the flags say, or until a signal comes. Notes that in
    /// `complaints`.
    pub(crate) fn linger(&self, outcome: Outcome, interrupts: &Interrupts, complaints: Option<&Complaints>) {
        if self.linger.is_zero() || interrupts.first().is_some() {
            return;
        }
        if let Some(page) = &*page() {
            page.end(outcome.code(), &outcome.sentence());
        }
        if let Some(complaints) = complaints {
            complaints.note(&format!("the page stays for {} s, or until a signal comes", self.linger.as_secs()));
        }
        interrupts.wait_at_most(self.linger);
    }
}

#[cfg(not(feature = "page"))]
impl Shown {
    pub(crate) fn open(_: &RunConfig, _: &Complaints) -> Option<Self> {
        Some(Shown {})
    }

    fn show(&self, _: &Arc<Watch>) {}

    pub(crate) fn linger(&self, _: Outcome, _: &Interrupts, _: Option<&Complaints>) {}
}

fn started<T>(attached: io::Result<T>, what: impl Display, complaints: &Complaints) -> Option<T> {
    attached.inspect_err(|error| complaints.complain(&format!("{what}: {}", cause(error)))).ok()
}

/// `FILE.svg`, `FILE-2.svg`, ...
fn numbered(path: &Path, run: usize) -> PathBuf {
    if run < 2 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{run}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}
