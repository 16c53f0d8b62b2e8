//! Posts to a page: the one request by which a reader changes something.

use super::Stage;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of a request.
const MOST: usize = 1 << 20;

/// A request has to be here after this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers a request, with a status of HTTP and JSON.
pub(super) type By = dyn Fn(&Value) -> (u16, Value) + Send + Sync;

/// The function that answers requests that are posted to `/upgrade`.
#[derive(Clone)]
pub(super) struct Answers {
    /// The token that requests have to show.
    pub(super) token: Option<String>,
    pub(super) by: Arc<By>,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

/// Why a request is not answered.
type Refused = (StatusCode, &'static str);

pub(super) async fn upgrade(State(stage): State<Arc<Stage>>, request: Request) -> Response {
    let answers = stage.lock().answers.clone();
    let (head, body) = request.into_parts();
    let answered = match allowed(&head.headers, answers.as_ref()) {
        Ok(answers) => answer(answers.by.clone(), body).await,
        Err(refused) => Err(refused),
    };
    let (status, answer) = answered.unwrap_or_else(|(status, why)| (status, json!({ "error": why })));
    (status, Json(answer)).into_response()
}

/// Whether a request may change something. For a page from elsewhere a browser asks before it sends JSON, and names the
/// page in `Origin`.
fn allowed<'a>(headers: &HeaderMap, answers: Option<&'a Answers>) -> Result<&'a Answers, Refused> {
    let answers = answers.ok_or((StatusCode::FORBIDDEN, "the text of this run cannot be replaced"))?;
    if headers.contains_key(header::ORIGIN) {
        return Err((StatusCode::FORBIDDEN, "a page in a browser cannot change a run"));
    }
    let given = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json = given(header::CONTENT_TYPE).split(';').next().is_some_and(|kind| kind.trim() == "application/json");
    if !is_json {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "a change is posted as application/json"));
    }
    let shown = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    match &answers.token {
        Some(token) if !is_bearer(shown, token) => {
            Err((StatusCode::UNAUTHORIZED, "a change needs the token of the run, as `Authorization: Bearer TOKEN`"))
        }
        _ => Ok(answers),
    }
}

/// Whether it is this token, which may have any characters; blanks at its ends do not count, since a header has none
/// there. Compares all bytes, so that the time says nothing of the token.
fn is_bearer(shown: &[u8], token: &str) -> bool {
    let Some((scheme, shown)) = shown.split_at_checked("bearer ".len()) else { return false };
    let (shown, token) = (shown.trim_ascii(), token.trim_ascii().as_bytes());
    let differ = shown.iter().zip(token).fold(0, |differ, (one, other)| differ | (one ^ other));
    scheme.eq_ignore_ascii_case(b"bearer ") && shown.len() == token.len() && differ == 0
}

async fn answer(by: Arc<By>, body: Body) -> Result<(StatusCode, Value), Refused> {
    let read = tokio::time::timeout(PATIENCE, to_bytes(body, MOST)).await;
    let read = read.map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the request did not come in time"))?;
    let read = read.map_err(|_| (StatusCode::PAYLOAD_TOO_LARGE, "the request is too long, or was cut off"))?;
    let asked = serde_json::from_slice(&read).map_err(|_| (StatusCode::BAD_REQUEST, "the request is not JSON"))?;
    // It waits for the run, and readers of the page do not wait for it.
    let answered = tokio::task::spawn_blocking(move || by(&asked)).await;
    let (status, answer) = answered.map_err(|_| (StatusCode::INTERNAL_SERVER_ERROR, "the change has failed"))?;
    Ok((StatusCode::from_u16(status).unwrap_or(StatusCode::OK), answer))
}
