//! Whoever looks at a run while it goes on.

use crate::config::RunConfig;
#[cfg(feature = "page")]
use crate::message::say;
use crate::message::{Complaints, cause, quoted};
use millstream_exec::Observer;
#[cfg(feature = "page")]
use millstream_observe::Page;
use millstream_observe::{Recorder, Watch};
use serde_json::Value;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a picture begins with.
pub(crate) const PICTURE_BEGIN: &str = "<svg ";

/// Those who are wanted.
#[derive(Debug)]
pub(crate) struct Watching {
    watch: Option<Arc<Watch>>,
    recorder: Option<(Recorder, PathBuf)>,
}

impl Watching {
    /// From now on. Whoever cannot look is complained about, and the run goes on.
    pub(crate) fn begin(config: &RunConfig, shown: &Shown, observer: &Observer, complaints: &Complaints) -> Self {
        let watch = config.observe.then(|| started(Watch::attach(observer.clone()), "--observe", complaints)).flatten();
        let watch = watch.map(Arc::new).inspect(|watch| shown.show(watch));
        let record = |path: &PathBuf| {
            started(Recorder::attach(observer.clone()), "--record-picture", complaints).zip(Some(path.clone()))
        };
        Watching { watch, recorder: config.picture.as_ref().and_then(record) }
    }

    /// The run, which is number `run` of this command, from 1, has ended: what was seen of it.
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

/// Where the runs of a command are shown while they go on, if that is wanted.
#[derive(Debug)]
pub(crate) struct Shown {
    #[cfg(feature = "page")]
    page: Option<Page>,
}

#[cfg(feature = "page")]
impl Shown {
    /// Says where; if nobody can listen there, the runs go on without.
    pub(crate) fn open(config: &RunConfig, complaints: &Complaints) -> Self {
        let open = |address| started(Page::open(address), format_args!("--page {address}"), complaints);
        let page = config.page.and_then(open);
        if let (Some(page), false) = (&page, config.quiet) {
            say(&format!("millstream: the run is shown at http://{}/", page.address()));
        }
        Shown { page }
    }

    fn show(&self, watch: &Arc<Watch>) {
        if let Some(page) = &self.page {
            page.show(watch.clone());
        }
    }
}

#[cfg(not(feature = "page"))]
impl Shown {
    pub(crate) fn open(_: &RunConfig, _: &Complaints) -> Self {
        Shown {}
    }

    fn show(&self, _: &Arc<Watch>) {}
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
