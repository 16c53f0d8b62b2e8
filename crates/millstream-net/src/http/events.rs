//! Responses that end when their server does.

use crate::listening::Closing;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::StreamExt;

/// Marks a response that itself ends when the server is closed, after the values that were published before.
#[derive(Clone)]
pub(super) struct EndsItself;

/// The response. A stream of events, which does not end by itself, ends when the server is closed.
pub(super) fn ends_with_server(response: Response, closing: impl FnOnce() -> Closing) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_endless = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_endless || response.extensions().get::<EndsItself>().is_some() {
        return response;
    }
    let mut closing = closing();
    let end = async move { closing.wait().await };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
}
