//! HTTP: a pipeline that answers requests, posted lines as a source, values to many readers, and a server with limits.
//!
//! The meaning of a status:
//!
//! | status | meaning | what the client does |
//! | --- | --- | --- |
//! | 200 | the answer; of [`Ingest`], with a journal: all is durable | goes on |
//! | 202 | accepted, and the answer did not come in time | asks again with the same id |
//! | 202 of [`Ingest`] | in the pipeline, and lost if the process dies | |
//! | 400 | the request is not HTTP, or cannot be read | does not repeat it |
//! | 401, 403, 421 | no token; from another site; for another host | |
//! | 408 | the body came too slowly | tries again |
//! | 409 | the id was answered, too long ago to know how | looks at the state |
//! | 413 | the body, or a line of it, is too long | sends less |
//! | 415 | the body is compressed | sends it as it is |
//! | 422 | understood, and refused; or the id is another request's | does not repeat it |
//! | 429 | this client has too many open requests | waits as `Retry-After` says |
//! | 431 | the headers are too long | |
//! | 500 | a stage failed at this request's number, or left it out | |
//! | 503 with `Retry-After` | there is no room, or the service is ending: it was not accepted | waits, and repeats it |
//! | 503 without it | the service has ended: whether it was accepted is not known | asks again with the same id |
//! | 503 with `Millstream-Taken` | of [`Ingest`]: this number of its lines was taken | sends the others |
//!
//! A client that gets no answer does not know whether its request was accepted. It can repeat a request with an id that
//! a stage [remembers](crate::once).

mod body;
mod connection;
mod counters;
mod endpoint;
mod events;
mod guard;
#[cfg(unix)]
pub mod hand_over;
mod ingest;
mod limits;
#[cfg(feature = "post")]
mod post;
mod readers;
mod refusal;
mod repeated;
mod server;
#[cfg(feature = "websocket")]
mod socket;
#[cfg(any(all(test, feature = "tcp"), feature = "fuzzed"))]
mod spoken;
mod switch;
mod timers;
#[cfg(feature = "tls")]
mod tls;
mod wire;

pub use crate::OpenError;
pub use counters::Counters;
pub use endpoint::Endpoint;
pub use ingest::Ingest;
pub use limits::Limits;
#[cfg(feature = "post")]
pub use post::{PostError, PostSink, Posted};
pub use readers::{events, stream};
pub use refusal::Refusal;
pub use server::{Closed, Server};
#[cfg(feature = "websocket")]
pub use socket::{send_messages, take_messages};
#[cfg(any(all(test, feature = "tcp"), feature = "fuzzed"))]
pub(crate) use spoken::spoken_to;
#[cfg(feature = "tls")]
pub use tls::Certificate;

pub use axum;
