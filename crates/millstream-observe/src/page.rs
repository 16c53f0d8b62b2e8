//! A run in the browser, and for Prometheus: the data of a watch, over HTTP.
//!
//! A thread with a tokio runtime of its own serves frames: as JSON, as server-sent events for the one self-contained
//! page, and as metrics. At most 200 stages, side outputs, rings and workers have series of their
//! own.

mod dashboard;
mod metrics;
mod posted;
mod routes;
mod served;

pub use dashboard::Dashboard;

use crate::frame::Frame;
use crate::graph::{Graph, Layout};
use crate::watch::Watch;
use axum::Router;
use metrics::format;
use millstream_exec::Observer;
use posted::Answers;
use serde_json::{Value, json};
use served::Served;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time in which readers can get the last state after the page was dropped.
const LAST_WHILE: Duration = Duration::from_secs(1);

/// A reader that asked within this time counts as present.
const LATELY: Duration = Duration::from_secs(2);

/// How often the server looks for a new frame.
const GLANCE: Duration = Duration::from_millis(50);

/// Serves the state of a run, one run at a time, from a thread of its own, until it is dropped.
///
/// | path | what |
/// |---|---|
/// | `/` | a page that shows the run as it goes on |
/// | `/plan.json` | `id`, `run`, `graph`, `layout`, `plan`, the newest `frame`, the `program`, its outcome `ended` |
/// | `/frames.json` | all frames that are kept, the oldest first |
/// | `/events` | each new `frame`, with the `id`, the `run`, and the outcome `ended`, as server-sent events |
/// | `/metrics` | the newest frame and the process, as OpenMetrics if the request accepts it, or else for Prometheus |
/// | `/health` | `running`, and 200; 503 before there is a run |
/// | `/upgrade` | POST of JSON alone: what the program's own [function](Page::on_upgrade) answers, if there is one |
///
/// `run` is the number of the run in this process, from 1, plus 2^32 for each version of its pipeline after the first.
/// The next process at the same address counts from 1, too, and has another `id`: a reader that keeps frames drops them
/// when either changes. A reader of `/frames.json` costs the process the text of one frame at a time.
///
/// When it is dropped, readers of events get the last events, and readers that asked for `/plan.json` within the last
/// two seconds may ask once more. It waits for them for at most a second, so that they see how the program
/// [ended](Page::end).
///
/// Anyone who can reach the address can read everything here: names of stages and numbers, but no values. At a loopback
/// address the server answers only requests for `localhost` or for an IP address, since a page from elsewhere could
/// otherwise read it under a host name of its own. It answers a POST only if it does not come from a page in a browser.
///
/// ```no_run
/// use millstream::{observe::{Page, Watch}, prelude::*};
/// use std::sync::Arc;
/// let page = Page::open("127.0.0.1:8080")?;
/// let run = Rings::new()
///     .start(pipeline().map(|x: &u64| x + 1).from(0..1 << 40).to_each(|_, _| ()))?;
/// page.show(Arc::new(Watch::attach(run.observer())?));
/// run.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Page {
    served: Served,
    routes: PageRoutes,
}

/// What a [`Page`] serves, for a server of the program's own: as a router of axum.
///
/// ```
/// use millstream::observe::PageRoutes;
/// let page = PageRoutes::new();
/// let app = axum::Router::new().nest("/page/", page.routes());
/// # let _: axum::Router = app;
/// ```
#[derive(Clone, Debug, Default)]
pub struct PageRoutes {
    stage: Arc<Stage>,
}

impl PageRoutes {
    /// Of no run yet.
    #[must_use]
    pub fn new() -> Self {
        PageRoutes::default()
    }

    /// The routes of the [`Page`], relative to where they are.
    pub fn routes(&self) -> Router {
        routes::router(self.stage.clone())
    }

    /// The text of `/metrics` for Prometheus.
    #[must_use]
    pub fn metrics(&self) -> String {
        format::plain(&self.stage.metrics())
    }

    /// As [`Page::show`].
    pub fn show(&self, watch: Arc<Watch>) {
        let mut state = self.stage.lock();
        state.runs += 1;
        state.shown = Some(Arc::new(Shown { run: state.runs, watch, layout: Mutex::default() }));
    }

    /// As [`Page::name`].
    pub fn name(&self, program: impl Into<String>) {
        self.stage.lock().program = Some(program.into());
    }

    /// As [`Page::bytes`].
    pub fn bytes(&self, read: fn() -> u64) {
        self.stage.lock().bytes = Some(read);
    }

    /// As [`Page::on_upgrade`].
    pub fn on_upgrade(&self, token: Option<String>, by: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static) {
        self.stage.lock().answers = Some(Answers { token, by: Arc::new(by) });
    }

    /// As [`Page::end`].
    pub fn end(&self, code: u8, sentence: &str) {
        self.stage.lock().ended = Some(json!({ "code": code, "sentence": sentence }));
    }
}

/// The state that is served.
#[derive(Debug, Default)]
struct Stage {
    id: Id,
    state: Mutex<Announced>,
    /// A reader has asked for the state after the program had ended.
    asked: Condvar,
}

/// A text by which readers tell this page from the one of another process at the same address, which counts its runs
/// from 1, too.
#[derive(Debug)]
struct Id(String);

impl Default for Id {
    fn default() -> Self {
        Id(format!("{:016x}", RandomState::new().hash_one(0_u8)))
    }
}

#[derive(Debug, Default)]
struct Announced {
    runs: u64,
    shown: Option<Arc<Shown>>,
    program: Option<String>,
    /// Returns the bytes of input that the program has read.
    bytes: Option<fn() -> u64>,
    answers: Option<Answers>,
    /// The outcome of the program, as JSON.
    ended: Option<Value>,
    /// When a reader last asked for the newest frame, and whether the answer had the program's outcome.
    asked: Option<(Instant, bool)>,
    /// There will be no further state.
    over: bool,
}

/// The run that is shown.
#[derive(Debug)]
struct Shown {
    run: u64,
    watch: Arc<Watch>,
    /// The layout of one version of the pipeline.
    layout: Mutex<Option<(u32, Layout)>>,
}

impl Page {
    /// Listens at this address. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// If the address cannot be used, or the thread could not be started.
    pub fn open(address: impl ToSocketAddrs) -> io::Result<Self> {
        Page::of(PageRoutes::new(), address)
    }

    /// As [`open`](Page::open), with routes that may show a run already, and with the same errors.
    pub fn of(routes: PageRoutes, address: impl ToSocketAddrs) -> io::Result<Self> {
        Ok(Page { served: Served::begin(address, routes.routes(), LAST_WHILE)?, routes })
    }

    /// The address where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.served.address
    }

    /// Shows this run from now on, also after its end.
    pub fn show(&self, watch: Arc<Watch>) {
        self.routes.show(watch);
    }

    /// Sets the program's name, which is shown from now on.
    pub fn name(&self, program: impl Into<String>) {
        self.routes.name(program);
    }

    /// Sets a function that returns the bytes of input that the program has read.
    pub fn bytes(&self, read: fn() -> u64) {
        self.routes.bytes(read);
    }

    /// Sets the function that answers what is posted to `/upgrade`: with a status of HTTP, and JSON. It may take long,
    /// and gets JSON of at most 1 MiB, from requests that show the `token` if there is one. Who can reach the
    /// address can ask for what the function does.
    pub fn on_upgrade(&self, token: Option<String>, by: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static) {
        self.routes.on_upgrade(token, by);
    }

    /// Sets the outcome of the program: its exit code, and a sentence. If it is never set, the page takes the program
    /// for killed.
    pub fn end(&self, code: u8, sentence: &str) {
        self.routes.end(code, sentence);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let stage = &self.routes.stage;
        let mut state = stage.lock();
        let until = Instant::now() + LAST_WHILE;
        while state.ended.is_some() && state.asked.is_some_and(|(at, knows)| !knows && at.elapsed() < LATELY) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = stage.asked.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.over = true;
    }
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, Announced> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self) -> Option<Arc<Shown>> {
        self.lock().shown.clone()
    }

    /// As OpenMetrics.
    fn metrics(&self) -> String {
        let (shown, program, bytes) = {
            let state = self.lock();
            (state.shown.clone(), state.program.clone(), state.bytes)
        };
        // The graph that describes the frame: the pipeline may be replaced meanwhile.
        let seen = shown.as_ref().and_then(|shown| {
            let (frames, graph) = shown.watch.frames_and_graph();
            Some((graph, frames.last()?.clone()))
        });
        let seen = seen.as_ref().map(|(graph, frame)| (&**graph, &**frame));
        metrics::text(&program.unwrap_or_default(), bytes.map(|bytes| bytes()), seen)
    }
}

/// The page is sent with frames of at most this many stages in all.
const BROUGHT: usize = 500;

impl Shown {
    /// The newest frames, the oldest first.
    fn last_frames(&self) -> Value {
        let (frames, graph) = self.watch.frames_and_graph();
        let most = BROUGHT / graph.nodes.len();
        json!(frames[frames.len().saturating_sub(most)..].iter().map(|frame| &**frame).collect::<Vec<_>>())
    }

    fn frame(&self) -> Option<Arc<Frame>> {
        self.watch.frame()
    }

    /// The number by which readers know the run, and the version of its pipeline: for another one they read the plan
    /// again.
    fn number(&self, version: u32) -> u64 {
        self.run + (u64::from(version - 1) << 32)
    }

    /// The layout of a version. Another one forgets it.
    fn layout(&self, observer: &Observer, graph: &Graph) -> Layout {
        let mut layout = self.layout.lock().unwrap_or_else(PoisonError::into_inner);
        match &*layout {
            Some((version, layout)) if *version == observer.version() => layout.clone(),
            _ => layout.insert((observer.version(), graph.layout())).1.clone(),
        }
    }
}
