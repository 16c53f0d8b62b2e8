//! A page with other data than a run of a pipeline.

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

/// Serves a page and its current value, from a thread of its own, until it is dropped.
///
/// When it is dropped, readers of events get the last value, if they take it within a second.
///
/// | path | what |
/// |---|---|
/// | `/` | the page, in which the word `FIRST` is replaced by the current value |
/// | `/now.json` | the current value; `null` before the first one |
/// | `/events` | each new value, as server-sent events; a slow reader misses some |
/// | `/health` | `telling`: whether there is a value |
/// | `/metrics` | the current value as text, by the function of [`measured`](Dashboard::measured) |
/// | any other | 404, and a line that names the paths; there is no `/plan.json`, since there is no run |
///
/// ```
/// use millstream::observe::{Dashboard, serde_json::json};
///
/// let dashboard = Dashboard::open("127.0.0.1:0", "<script>let value = FIRST</script>")?;
/// dashboard.show(json!({ "round": 1 }));
/// assert_eq!(dashboard.latest()["round"], 1);
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
    /// The number of values until now, and the last one.
    value: Mutex<(u64, Value)>,
    /// There will be no further value.
    over: AtomicBool,
    measure: OnceLock<fn(&Value) -> String>,
}

/// The answer at any other path.
const NOT_FOUND: &str = "no run of a pipeline is shown here: open / in a browser, or read /now.json";

impl Dashboard {
    /// Listens at this address. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// If the address cannot be used, or the thread could not be started.
    pub fn open(address: impl ToSocketAddrs, page: &'static str) -> io::Result<Self> {
        let shown = Arc::new(Shown {
            page,
            value: Mutex::new((0, Value::Null)),
            over: AtomicBool::new(false),
            measure: OnceLock::new(),
        });
        let app = Router::new()
            .route("/", get(index))
            .route("/now.json", get(now))
            .route("/events", get(events))
            .route("/health", get(health))
            .route("/metrics", get(metrics))
            .fallback(async || (StatusCode::NOT_FOUND, NOT_FOUND))
            .with_state(shown.clone());
        Ok(Dashboard { served: Served::begin(address, app, LAST_WHILE)?, shown })
    }

    /// The address where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.served.address
    }

    /// Shows this value from now on.
    pub fn show(&self, what: Value) {
        let mut value = self.shown.value();
        *value = (value.0 + 1, what);
    }

    /// Answers `/metrics` from now on with the text that `measure` makes of the current value, in Prometheus's format.
    /// Only the first call has an effect.
    pub fn measured(&self, measure: fn(&Value) -> String) {
        let _ = self.shown.measure.set(measure);
    }

    /// The current value; `null` before the first one.
    #[must_use]
    pub fn latest(&self) -> Value {
        self.shown.value().1.clone()
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.shown.over.store(true, Ordering::Release);
    }
}

impl Shown {
    fn value(&self) -> MutexGuard<'_, (u64, Value)> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn index(State(shown): State<Arc<Shown>>) -> Html<String> {
    // A `<` could end the element that contains it.
    let first = shown.value().1.to_string().replace('<', "\\u003c");
    Html(shown.page.replacen("FIRST", &first, 1))
}

async fn now(State(shown): State<Arc<Shown>>) -> Json<Value> {
    Json(shown.value().1.clone())
}

async fn events(State(shown): State<Arc<Shown>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let stream = unfold((shown, 0), |(shown, last)| async move {
        loop {
            // This is read first: the last value was set before.
            let over = shown.over.load(Ordering::Acquire);
            let (number, value) = {
                let value = shown.value();
                (value.0, (value.0 > last).then(|| value.1.to_string()))
            };
            if let Some(value) = value {
                return Some((Ok(Event::default().data(value)), (shown, number)));
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
            let text = measure(&shown.value().1);
            ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        None => (StatusCode::NOT_FOUND, NOT_FOUND).into_response(),
    }
}

async fn health(State(shown): State<Arc<Shown>>) -> Json<Value> {
    Json(json!({ "telling": shown.value().0 > 0 }))
}
