//! A page about what is no run of a pipeline.

use super::served::Served;
use super::{GLANCE, LAST_WHILE};
use axum::extract::State;
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::{Router, routing::get};
use futures_util::stream::{Stream, unfold};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Serves a page of somebody's own, and what it is told, from a thread of its own, until it is dropped.
///
/// Whoever reads events then is sent what was told last, if it takes that within a second.
///
/// | path | what |
/// |---|---|
/// | `/` | the page, in which the word `FIRST` stands for what was told last |
/// | `/now.json` | what was told last; `null` before |
/// | `/events` | whatever is told, as server-sent events; who is slow misses some |
/// | `/health` | `telling`: whether anything was told |
/// | `/metrics` | what was told last as [`measured`](Dashboard::measured) says it |
/// | any other | 404, and a line that says what there is: `/plan.json` is a run's, and this is none |
///
/// ```
/// use millstream_observe::Dashboard;
/// let board = Dashboard::open("127.0.0.1:0", "<script>let told = FIRST</script>")?;
/// board.tell(serde_json::json!({ "round": 1 }));
/// assert_eq!(board.told()["round"], 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Dashboard {
    served: Served,
    shown: Arc<Shown>,
}

#[derive(Debug)]
struct Shown {
    page: &'static str,
    /// How often something was told, and what it was the last time.
    told: Mutex<(u64, Value)>,
    /// Nothing will be told any more.
    over: AtomicBool,
    measure: OnceLock<fn(&Value) -> String>,
}

/// What there is at a path that is not.
const NOT_THERE: &str =
    "no run of a pipeline is shown here, but something of its own: / in a browser, /now.json for programs";

impl Dashboard {
    /// Listens there; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// If nobody can listen there, or the thread could not be started.
    pub fn open(address: impl ToSocketAddrs, page: &'static str) -> io::Result<Self> {
        let shown = Arc::new(Shown {
            page,
            told: Mutex::new((0, Value::Null)),
            over: AtomicBool::new(false),
            measure: OnceLock::new(),
        });
        let app = Router::new()
            .route("/", get(index))
            .route("/now.json", get(now))
            .route("/events", get(events))
            .route("/health", get(health))
            .route("/metrics", get(metrics))
            .fallback(async || (StatusCode::NOT_FOUND, NOT_THERE))
            .with_state(shown.clone());
        Ok(Dashboard { served: Served::begin(address, app, LAST_WHILE)?, shown })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.served.address
    }

    /// Shows this from now on.
    pub fn tell(&self, what: Value) {
        let mut told = self.shown.told();
        *told = (told.0 + 1, what);
    }

    /// Answers `/metrics` from now on by what this makes of what was told last: text as Prometheus reads it. The first one
    /// counts.
    pub fn measured(&self, measure: fn(&Value) -> String) {
        let _ = self.shown.measure.set(measure);
    }

    /// What was told last.
    #[must_use]
    pub fn told(&self) -> Value {
        self.shown.told().1.clone()
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.shown.over.store(true, Ordering::Release);
    }
}

impl Shown {
    fn told(&self) -> MutexGuard<'_, (u64, Value)> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn index(State(shown): State<Arc<Shown>>) -> Html<String> {
    // Nothing in it may end the element that it stands in.
    let first = shown.told().1.to_string().replace('<', "\\u003c");
    Html(shown.page.replacen("FIRST", &first, 1))
}

async fn now(State(shown): State<Arc<Shown>>) -> Json<Value> {
    Json(shown.told().1.clone())
}

async fn events(State(shown): State<Arc<Shown>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = unfold((shown, 0), |(shown, last)| async move {
        loop {
            // Looked at first: what was told last was told before.
            let over = shown.over.load(Ordering::Acquire);
            let (number, told) = {
                let told = shown.told();
                (told.0, (told.0 > last).then(|| told.1.to_string()))
            };
            if let Some(told) = told {
                return Some((Ok(Event::default().data(told)), (shown, number)));
            }
            if over {
                return None;
            }
            tokio::time::sleep(GLANCE).await;
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

async fn metrics(State(shown): State<Arc<Shown>>) -> Response {
    match shown.measure.get() {
        Some(measure) => {
            let text = measure(&shown.told().1);
            ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        None => (StatusCode::NOT_FOUND, NOT_THERE).into_response(),
    }
}

async fn health(State(shown): State<Arc<Shown>>) -> Json<Value> {
    Json(json!({ "telling": shown.told().0 > 0 }))
}
