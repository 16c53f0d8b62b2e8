//! Observers of a run.

#[cfg(feature = "page")]
mod page;
#[cfg(not(feature = "page"))]
#[path = "watching/no_page.rs"]
mod page;

#[cfg(all(feature = "page", feature = "run"))]
pub(crate) use page::on_upgrade;
pub(crate) use page::{Shown, ended};

use crate::config::{RunConfig, picture_to};
use crate::message::{Complaints, cause, quoted};
use millstream_exec::Observer;
use millstream_observe::{Recorder, Watch};
use serde_json::Value;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
            // The first name was checked with the flags, and may be a log by now.
            let refused = (run > 1).then(|| picture_to("--record-picture", path.as_os_str()).err()).flatten();
            let write = || {
                let written = std::fs::write(&path, recorder.finish().svg());
                written.map_err(|error| format!("{}: {}", quoted(path.as_os_str()), cause(&error)))
            };
            if let Err(why) = refused.map_or_else(write, Err) {
                complaints.complain(&why);
            }
        }
        self.watch.map(|watch| serde_json::to_value(&*watch.finish()).expect("a frame is plain data"))
    }
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
