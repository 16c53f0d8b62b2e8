//! The answers to requests, by path.

use super::metrics::format;
use super::{GLANCE, Stage, posted};
use crate::graph::Graph;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures_util::stream::{Stream, iter, unfold};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::iter::once;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn router(stage: Arc<Stage>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/plan.json", get(plan))
        .route("/frames.json", get(frames))
        .route("/events", get(events))
        .route("/metrics", get(metrics))
        .route("/health", get(health))
        .route("/upgrade", post(posted::upgrade))
        .with_state(stage)
}

/// The page, with the first state.
async fn index(State(stage): State<Arc<Stage>>) -> Html<String> {
    // A `<` could end the element that contains it.
    let mut first = description(&stage).await;
    if let Some(shown) = stage.shown().filter(|shown| first["run"] == shown.number(shown.watch.observer().version())) {
        first["frames"] = shown.last_frames();
    }
    let first = first.to_string().replace('<', "\\u003c");
    Html(include_str!("page.html").replacen("FIRST", &first, 1))
}

async fn plan(State(stage): State<Arc<Stage>>) -> Json<Value> {
    let seen = description(&stage).await;
    let mut state = stage.lock();
    state.asked = Some((Instant::now(), !seen["ended"].is_null()));
    drop(state);
    stage.asked.notify_all();
    Json(seen)
}

/// The plan of the run, and the newest frame.
async fn description(stage: &Stage) -> Value {
    loop {
        let Some(shown) = stage.shown() else { return Value::Null };
        let observer = shown.watch.observer();
        let graph = Graph::of(observer.plan());
        // The layout of thousands of nodes takes a while, and other requests are served meanwhile.
        let laid_out = tokio::task::spawn_blocking({
            let (shown, observer, graph) = (shown.clone(), observer.clone(), graph.clone());
            move || shown.layout(&observer, &graph)
        });
        let layout = laid_out.await.unwrap_or_default();
        let (program, ended) = {
            let state = stage.lock();
            (state.program.clone(), state.ended.clone())
        };
        // The frame is read last, so that the outcome comes with the last frame.
        let frame = shown.frame();
        // Else the pipeline was replaced meanwhile.
        if frame.as_ref().is_none_or(|frame| frame.version == observer.version()) {
            return json!({ "id": stage.id.0, "run": shown.number(observer.version()), "graph": graph,
                "layout": layout, "plan": observer.plan(), "frame": frame.as_deref(), "program": program,
                "ended": ended });
        }
    }
}

/// All frames, as a list. Each becomes text when the reader takes it: together they may have a hundred megabytes. A
/// slow reader keeps none of them: those that the watch has dropped by then are left out.
async fn frames(State(stage): State<Arc<Stage>>) -> Response {
    let frames = stage.shown().map(|shown| shown.watch.frames()).unwrap_or_default();
    let frames: Vec<_> = frames.iter().map(Arc::downgrade).collect();
    let mut comma = "";
    let texts = frames.into_iter().filter_map(move |frame| {
        let text = serde_json::to_string(&*frame.upgrade()?).expect("a frame is plain data");
        Some(format!("{}{text}", std::mem::replace(&mut comma, ",")))
    });
    let list = once("[".to_owned()).chain(texts).chain(once("]".to_owned()));
    let body = Body::from_stream(iter(list.map(Ok::<_, Infallible>)));
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The last event of a reader: a frame of a run, and whether it had the outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Read {
    frame: Option<(u64, u64)>,
    end: bool,
}

async fn events(State(stage): State<Arc<Stage>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = unfold((stage, Read { frame: None, end: false }), |(stage, read)| async move {
        loop {
            let (shown, ended, over) = {
                let state = stage.lock();
                (state.shown.clone(), state.ended.clone(), state.over)
            };
            let frame = shown.as_ref().and_then(|shown| {
                let frame = shown.frame()?;
                Some((shown.number(frame.version), frame))
            });
            let now = Read { frame: frame.as_ref().map(|(run, frame)| (*run, frame.number)), end: ended.is_some() };
            if now != read {
                let (run, frame) = frame.unzip();
                let event = json!({ "id": stage.id.0, "run": run, "frame": frame.as_deref(), "ended": ended });
                return Some((Ok(Event::default().data(event.to_string())), (stage, now)));
            }
            if over {
                return None;
            }
            tokio::time::sleep(GLANCE).await;
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

async fn metrics(State(stage): State<Arc<Stage>>, headers: HeaderMap) -> Response {
    let open = stage.metrics();
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let (format, text) =
        if format::is_open(accept) { (format::OPEN, open) } else { (format::PLAIN, format::plain(&open)) };
    ([(header::CONTENT_TYPE, format)], text).into_response()
}

async fn health(State(stage): State<Arc<Stage>>) -> Response {
    let shown = stage.shown();
    let status = if shown.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let running = shown.is_some_and(|shown| !shown.watch.observer().is_over());
    (status, Json(json!({ "running": running }))).into_response()
}
