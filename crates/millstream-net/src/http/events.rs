//! Responses that end when their server does.

use crate::listening::Closing;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::StreamExt;

/// The response. A stream of events, which does not end by itself, ends when the server is closed.
pub(super) fn ends_with_server(response: Response, closing: impl FnOnce() -> Closing) -> Response {
    if response.headers().get(CONTENT_TYPE).is_none_or(|kind| kind != "text/event-stream") {
        return response;
    }
    let mut closing = closing();
    let end = async move { closing.wait().await };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
}
