//! A run in the browser, and for Prometheus: what a watch sees, by HTTP.

mod board;
mod metrics;
mod served;

pub use board::Board;

use crate::frame::Frame;
use crate::graph::Layout;
use crate::watch::Watch;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::{Router, routing::get};
use futures_util::stream::{Stream, unfold};
use serde_json::{Value, json};
use served::Served;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often it is looked whether there is a new frame.
const GLANCE: Duration = Duration::from_millis(50);

/// Serves what is seen of a run, one at a time, from a thread of its own, until it is dropped.
///
/// | path | what |
/// |---|---|
/// | `/` | a page that shows the run as it goes on |
/// | `/plan.json` | `run`, `graph`, `layout`, `plan`, and the newest `frame` |
/// | `/frames.json` | all frames that are kept, the oldest first |
/// | `/events` | each new frame, with the number of its run, as server-sent events |
/// | `/metrics` | the newest frame for Prometheus, as OpenMetrics text |
/// | `/health` | `running`, and 200; 503 before there is a run |
///
/// Whoever can reach the address can read all of it: names of stages and numbers, and none of the values.
///
/// ```no_run
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Rings, Run};
/// use millstream_observe::{Page, Watch};
/// use std::sync::Arc;
/// let page = Page::open("127.0.0.1:8080")?;
/// let run = pipeline().map(|x: &u64| x + 1).start(&Rings::new(), 0..1 << 40, (), |(), _, _| ())?;
/// page.show(Arc::new(Watch::attach(run.observer())?));
/// run.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Page {
    served: Served,
    stage: Arc<Stage>,
}

/// What is shown.
#[derive(Debug, Default)]
struct Stage(Mutex<(u64, Option<Arc<Shown>>)>);

/// A run that is shown.
#[derive(Debug)]
struct Shown {
    run: u64,
    watch: Arc<Watch>,
    layout: OnceLock<Layout>,
}

impl Page {
    /// Listens there; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// If nobody can listen there, or the thread could not be started.
    pub fn open(address: impl ToSocketAddrs) -> io::Result<Self> {
        let stage = Arc::<Stage>::default();
        Ok(Page { served: Served::begin(address, router(stage.clone()), Duration::ZERO)?, stage })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.served.address
    }

    /// Shows this run from now on, also when it has ended.
    pub fn show(&self, watch: Arc<Watch>) {
        let mut stage = self.stage.0.lock().unwrap_or_else(PoisonError::into_inner);
        stage.0 += 1;
        stage.1 = Some(Arc::new(Shown { run: stage.0, watch, layout: OnceLock::new() }));
    }
}

impl Stage {
    fn shown(&self) -> Option<Arc<Shown>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

/// The page brings as many frames with it as have so many stages in all.
const BROUGHT: usize = 500;

impl Shown {
    /// The newest frames, the oldest first.
    fn last_frames(&self) -> Value {
        let (frames, most) = (self.watch.frames(), BROUGHT / self.watch.graph().nodes.len());
        json!(frames[frames.len().saturating_sub(most)..].iter().map(|frame| &**frame).collect::<Vec<_>>())
    }

    fn frame(&self) -> Option<Arc<Frame>> {
        self.watch.frame()
    }
}

fn router(stage: Arc<Stage>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/plan.json", get(plan))
        .route("/frames.json", get(frames))
        .route("/events", get(events))
        .route("/metrics", get(told))
        .route("/health", get(health))
        .with_state(stage)
}

/// The page, with what there is to be shown at first.
async fn index(State(stage): State<Arc<Stage>>) -> Html<String> {
    // Nothing in it may end the element that it stands in.
    let mut first = told_of(&stage).await;
    if let Some(shown) = stage.shown().filter(|shown| first["run"] == shown.run) {
        first["frames"] = shown.last_frames();
    }
    let first = first.to_string().replace('<', "\\u003c");
    Html(include_str!("page/page.html").replacen("FIRST", &first, 1))
}

async fn plan(State(stage): State<Arc<Stage>>) -> Json<Value> {
    Json(told_of(&stage).await)
}

/// What the run is, and the newest frame.
async fn told_of(stage: &Stage) -> Value {
    let Some(shown) = stage.shown() else { return Value::Null };
    let graph = shown.watch.graph().clone();
    // Thousands of nodes take a while, and others are served meanwhile.
    let laid_out = tokio::task::spawn_blocking({
        let shown = shown.clone();
        move || shown.layout.get_or_init(|| graph.layout()).clone()
    });
    let layout = laid_out.await.unwrap_or_default();
    let (graph, plan) = (&**shown.watch.graph(), shown.watch.plan());
    json!({ "run": shown.run, "graph": graph, "layout": layout, "plan": plan, "frame": shown.frame().as_deref() })
}

async fn frames(State(stage): State<Arc<Stage>>) -> Json<Value> {
    let frames = stage.shown().map(|shown| shown.watch.frames()).unwrap_or_default();
    Json(json!(frames.iter().map(|frame| &**frame).collect::<Vec<_>>()))
}

async fn events(State(stage): State<Arc<Stage>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = unfold((stage, None), |(stage, mut last)| async move {
        loop {
            if let Some((run, frame)) = stage.shown().and_then(|shown| Some((shown.run, shown.frame()?)))
                && last != Some((run, frame.number))
            {
                last = Some((run, frame.number));
                let event = Event::default().data(json!({ "run": run, "frame": &*frame }).to_string());
                return Some((Ok(event), (stage, last)));
            }
            tokio::time::sleep(GLANCE).await;
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

async fn told(State(stage): State<Arc<Stage>>) -> Response {
    let shown = stage.shown();
    let seen = shown.as_ref().and_then(|shown| Some((&**shown.watch.graph(), shown.frame()?)));
    let text = metrics::text(seen.as_ref().map(|(graph, frame)| (*graph, &**frame)));
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}

async fn health(State(stage): State<Arc<Stage>>) -> Response {
    let frame = stage.shown().and_then(|shown| shown.frame());
    let status = if frame.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "running": frame.is_some_and(|frame| frame.running) }))).into_response()
}
