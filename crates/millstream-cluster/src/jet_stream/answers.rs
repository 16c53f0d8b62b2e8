//! The meaning of the servers' answers.

use super::bell::Bell;
use crate::{LogError, Sent};
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use std::error::Error;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::runtime::Runtime;

/// The servers' code for a condition on one subject that is not met.
const WRONG_LAST_OF_SUBJECT: &str = "10164";
/// The servers' texts for a stream that is full.
const FULL: [&str; 2] = ["maximum messages exceeded", "maximum bytes exceeded"];

pub(super) fn refused(error: impl fmt::Display) -> LogError {
    LogError::Refused(error.to_string())
}

pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !why.ends_with(&next) {
            why = format!("{why}: {next}");
        }
        cause = error.source();
    }
    why
}

pub(super) fn unavailable(error: &dyn Error) -> LogError {
    LogError::Unavailable(with_causes(error))
}

/// The reason of a refused publication, by the code or the text of the server.
pub(super) fn not_published(error: &dyn Error) -> LogError {
    match unavailable(error) {
        LogError::Unavailable(why) if why.contains(WRONG_LAST_OF_SUBJECT) => LogError::Conflict,
        LogError::Unavailable(why) if FULL.iter().any(|full| why.contains(full)) => LogError::Full,
        other => other,
    }
}

pub(super) fn not_appended(error: &PublishError) -> LogError {
    match error.kind() {
        PublishErrorKind::WrongLastSequence => LogError::Conflict,
        PublishErrorKind::MaxPayloadExceeded => refused(format!("a part of a snapshot: {}", with_causes(error))),
        _ => not_published(error),
    }
}

/// An append that was sent. The thread that asks for its answer polls it: a task for each costs more than the append.
pub(super) struct Waiting {
    acknowledged: <PublishAckFuture as IntoFuture>::IntoFuture,
    /// The last number before it.
    last: u64,
    /// The future's timer runs there.
    runtime: Arc<Runtime>,
    rings: Waker,
}

impl Waiting {
    pub(super) fn new(acknowledged: PublishAckFuture, last: u64, runtime: Arc<Runtime>, bell: Arc<Bell>) -> Self {
        Waiting { acknowledged: acknowledged.into_future(), last, runtime, rings: bell.into() }
    }
}

impl Sent for Waiting {
    fn answer(&mut self) -> Option<Result<(), LogError>> {
        let _inside = self.runtime.enter();
        let polled = self.acknowledged.as_mut().poll(&mut Context::from_waker(&self.rings));
        let Poll::Ready(answer) = polled else { return None };
        Some(match answer {
            Ok(acknowledged) if acknowledged.sequence == self.last + 1 => Ok(()),
            Ok(other) => Err(refused(format!("an entry after {} got number {}", self.last, other.sequence))),
            Err(error) => Err(not_appended(&error)),
        })
    }
}
