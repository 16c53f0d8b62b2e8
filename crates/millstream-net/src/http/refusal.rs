//! Why a request has no answer from the pipeline.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use millstream_exec::RunError;
use std::fmt;
use std::sync::Arc;

/// Why a request has no answer from the pipeline. As a response it has the [`status`](Refusal::status), and the reason
/// in a line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// 413: the body is too long.
    BodyTooLong {
        /// The most bytes that it may have.
        most: usize,
    },
    /// 413: a line is too long.
    LineTooLong {
        /// The most bytes that it may have, counting its end.
        most: usize,
        /// The number of lines before it that were taken.
        taken: u64,
    },
    /// 408: the body did not come in time.
    BodyTooSlow,
    /// 400: the body broke off, or its chunks are not valid.
    BodyBroken,
    /// 503 with `Retry-After`: there is no room in the first ring. The request was not accepted.
    Full,
    /// 503 with `Retry-After`: the service is ending. The request was not accepted.
    Ending,
    /// 503: the run ended before it answered. Whether the request has an effect is not known.
    Ended,
    /// 503: the service has ended in the middle of a body, which must not be sent again as a whole.
    Interrupted {
        /// The number of its lines that are known to be taken.
        taken: u64,
    },
    /// 422: the `Idempotency-Key` has come before, with other lines.
    OtherLines,
    /// 429 with `Retry-After`: this client has too many open requests.
    TooMany,
    /// 202: the request is accepted, but its answer did not come in time.
    Late,
    /// 500: the pipeline has no answer to this request. A stage left it out, or failed on it.
    NoAnswer,
    /// 500: the run has failed.
    Failed(Arc<RunError>),
}

impl Refusal {
    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Refusal::BodyTooLong { .. } | Refusal::LineTooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Refusal::BodyBroken => StatusCode::BAD_REQUEST,
            Refusal::Full | Refusal::Ending | Refusal::Ended | Refusal::Interrupted { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Refusal::OtherLines => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Late => StatusCode::ACCEPTED,
            Refusal::NoAnswer | Refusal::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The seconds after which to try again, if the request was not accepted and trying again can help.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Refusal::Full | Refusal::TooMany => Some(1),
            Refusal::Ending => Some(5),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::BodyTooLong { most } => write!(f, "the body has more than {most} bytes"),
            Refusal::LineTooLong { most, taken } => {
                write!(f, "a line has more than {most} bytes; {taken} lines before it were taken")
            }
            Refusal::BodyTooSlow => f.write_str("the body did not come in time"),
            Refusal::BodyBroken => f.write_str("the body ended early"),
            Refusal::Full => f.write_str("there is no room now: this was not accepted, and can be sent again"),
            Refusal::Ending => f.write_str("the service is ending: this was not accepted, and can be sent again"),
            Refusal::Ended => f.write_str("the service has ended; whether this had an effect is not known"),
            Refusal::Interrupted { taken } => {
                write!(f, "the service has ended in the middle of this: the first {taken} lines were taken")
            }
            Refusal::OtherLines => f.write_str("the Idempotency-Key has come before, with other lines"),
            Refusal::TooMany => f.write_str("too many requests of this client are under way"),
            Refusal::Late => f.write_str("accepted; the answer did not come in time"),
            Refusal::NoAnswer => {
                f.write_str("there is no answer to this request: a stage left it out, or failed on it")
            }
            // Strangers must not see where and why it failed: that is for the log.
            Refusal::Failed(_) => f.write_str("the service has failed"),
        }
    }
}

impl std::error::Error for Refusal {}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{self}\n")).into_response();
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Marks a response to a request of which another process has, or may have, taken something.
#[derive(Clone)]
#[cfg_attr(not(unix), expect(dead_code, reason = "no other process takes over"))]
pub(super) struct Arrived;
