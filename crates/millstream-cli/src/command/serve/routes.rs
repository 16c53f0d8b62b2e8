//! The routes of the service over HTTP.

use super::steps::{Reply, Request, Verb};
use crate::deploy::TookOver;
use millstream_exec::Client;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::body::Bytes;
use millstream_net::http::axum::http::request::Parts;
use millstream_net::http::axum::http::{HeaderMap, HeaderName, StatusCode, header};
use millstream_net::http::axum::response::{IntoResponse, Redirect, Response};
use millstream_net::http::axum::routing::{get, get_service, post_service};
use millstream_net::http::{Counters, Endpoint};
use millstream_observe::PageRoutes;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The most bytes of a body. A command is a few names and numbers.
const LONGEST_BODY: usize = 16 << 10;

/// The time for an answer, unless the request sets a shorter one.
const WITHIN: Duration = Duration::from_secs(30);

/// How long a request waits for room, so that clients that try again at once do not keep the server busy with refusals.
const ROOM_WITHIN: Duration = Duration::from_millis(50);

/// The counters of the server, which is opened after its routes are made.
pub(super) type Counted = Arc<OnceLock<Arc<Counters>>>;

/// How this process took over from another, if it did.
pub(super) type Taken = Arc<OnceLock<TookOver>>;

/// The routes of the service, of its metrics and of its page.
pub(super) fn routes(client: &Client<Request, Reply>, page: &PageRoutes, counted: Counted, taken: Taken) -> Router {
    let endpoint = |verb: Verb| {
        let endpoint = Endpoint::new(client.clone(), move |parts, body| request(verb, &parts, &body), response);
        endpoint.body(LONGEST_BODY).within(WITHIN).room_within(ROOM_WITHIN)
    };
    let health = {
        let client = client.clone();
        move || async move {
            match client.failure() {
                None => (StatusCode::OK, "{\"status\":\"ok\"}\n"),
                Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"failed\"}\n"),
            }
        }
    };
    let metrics = {
        let page = page.clone();
        move || async move {
            let own = counted.get().map(|counters| counters.metrics()).unwrap_or_default();
            let taken = taken.get().map(TookOver::metrics).unwrap_or_default();
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page.metrics() + &own + &taken)
        }
    };
    Router::new()
        .route("/deposit", post_service(endpoint(Verb::Deposit)))
        .route("/withdraw", post_service(endpoint(Verb::Withdraw)))
        .route("/transfer", post_service(endpoint(Verb::Transfer)))
        .route("/balance/{name}", get_service(endpoint(Verb::Balance)))
        .route("/accounts", get_service(endpoint(Verb::Accounts)))
        .route("/audit", get_service(endpoint(Verb::Audit)))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/", get(|| async { Redirect::to("/page/") }))
        .nest("/page/", page.routes())
}

const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The answer to a request that does not reach the pipeline, and why.
type Wrong = (StatusCode, &'static str);

/// The part of a request that goes to the journal.
fn request(verb: Verb, parts: &Parts, body: &Bytes) -> Result<Request, Wrong> {
    let id = key(&parts.headers)?;
    let path = parts.uri.path();
    let body = match verb {
        Verb::Balance => path.rsplit('/').next().unwrap_or_default().as_bytes().to_vec(),
        Verb::Accounts => {
            let query = parts.uri.query().and_then(|query| query.strip_prefix("after="));
            query.unwrap_or_default().as_bytes().to_vec()
        }
        Verb::Audit => Vec::new(),
        Verb::Deposit | Verb::Withdraw | Verb::Transfer => body.to_vec(),
    };
    Ok(Request { verb, id, body })
}

/// The header `Idempotency-Key`: a string in quotes, as the draft requires, or without them, as most clients write it.
fn key(headers: &HeaderMap) -> Result<Option<String>, Wrong> {
    let mut given = headers.get_all(KEY).iter();
    let Some(key) = given.next() else { return Ok(None) };
    let wrong = || (StatusCode::BAD_REQUEST, "Idempotency-Key: send one, of visible ASCII characters\n");
    let text = key.to_str().ok().filter(|_| given.next().is_none()).ok_or_else(wrong)?;
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    Ok(Some(quoted.unwrap_or(text).to_owned()))
}

fn response(reply: Reply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], reply.body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_quotes_or_not() {
        let headers = |keys: &[&str]| {
            let mut headers = HeaderMap::new();
            keys.iter().for_each(|key| _ = headers.append(KEY, key.parse().unwrap()));
            key(&headers).map_err(|(status, _)| status.as_u16())
        };
        assert_eq!(headers(&[]), Ok(None));
        assert_eq!(headers(&["a-1"]), Ok(Some("a-1".to_owned())));
        assert_eq!(headers(&["\"a-1\""]), Ok(Some("a-1".to_owned())));
        assert_eq!(headers(&["a", "b"]), Err(400));
        assert_eq!(headers(&["\u{e9}"]), Err(400));
    }
}
