//! What the servers say, and what becomes of the connection, beside the answers.

use crate::LogError;
use async_nats::{ClientError, ConnectErrorKind, Event};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A login that the servers have refused for this long is refused for good. One that is being changed there may be
/// refused for a moment.
const FOR_GOOD: Duration = Duration::from_secs(30);

/// What was said last.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(Arc<Mutex<Last>>);

#[derive(Debug, Default)]
struct Last {
    error: Option<String>,
    unconnected: Option<Unconnected>,
}

/// Why there is no connection.
#[derive(Debug)]
struct Unconnected {
    why: String,
    /// Since when the login is refused, if it is.
    refused: Option<Instant>,
}

impl Said {
    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, event: Event) {
        let mut last = self.last();
        match event {
            Event::ServerError(error) => last.error = Some(error.to_string()),
            Event::ClientError(ClientError::Other(why)) => {
                let refuses = [ConnectErrorKind::AuthorizationViolation, ConnectErrorKind::Authentication];
                let is_refused = refuses.iter().any(|kind| why.contains(&kind.to_string()));
                let before = last.unconnected.take().and_then(|unconnected| unconnected.refused);
                let refused = is_refused.then(|| before.unwrap_or_else(Instant::now));
                last.unconnected = Some(Unconnected { why, refused });
            }
            Event::Connected => last.unconnected = None,
            _ => {}
        }
    }

    /// The servers' message that this login may not do something, if there was one.
    pub(super) fn forbidden(&self) -> Option<String> {
        let last = self.last();
        let said = last.error.as_ref().filter(|said| said.to_lowercase().contains("permissions violation"))?;
        Some(format!(
            "{said}: this login lacks that permission; deploy/permissions.conf lists those that each command needs"
        ))
    }

    /// Adds what is known of the reason to the error of a call that got no answer: a call that the servers forbid gets
    /// none, and neither does one without a connection.
    pub(super) fn explains(&self, error: LogError) -> LogError {
        let LogError::Unavailable(why) = error else { return error };
        if let Some(forbidden) = self.forbidden() {
            return LogError::Refused(forbidden);
        }
        match &self.last().unconnected {
            None => LogError::Unavailable(why),
            Some(Unconnected { why: cause, refused: Some(since) }) if since.elapsed() >= FOR_GOOD => {
                LogError::Refused(format!("the servers take this login no more: {cause}"))
            }
            Some(Unconnected { why: cause, refused: Some(_) }) => {
                LogError::Unavailable(format!("{why}; the servers refuse this login: {cause}"))
            }
            Some(Unconnected { why: cause, .. }) => LogError::Unavailable(format!("{why}; no connection: {cause}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_nats::ServerError;

    fn fails(said: &Said, why: &str) {
        said.note(Event::ClientError(ClientError::Other(why.to_owned())));
    }

    fn explained(said: &Said) -> LogError {
        said.explains(LogError::Unavailable("no answer".to_owned()))
    }

    #[test]
    fn a_login_that_is_refused_for_long_is_refused_for_good() {
        let unavailable = |why: &str| LogError::Unavailable(why.to_owned());
        let said = Said::default();
        assert_eq!(explained(&said), unavailable("no answer"));
        fails(&said, "IO error");
        assert_eq!(explained(&said), unavailable("no answer; no connection: IO error"));
        let refused = unavailable("no answer; the servers refuse this login: authorization violation");
        let begins_long_ago = || {
            fails(&said, "authorization violation");
            assert_eq!(explained(&said), refused);
            let mut last = said.last();
            let unconnected = last.unconnected.as_mut().unwrap();
            unconnected.refused = unconnected.refused.and_then(|since| since.checked_sub(FOR_GOOD));
        };
        begins_long_ago();
        fails(&said, "authorization violation");
        let for_good = "the servers take this login no more: authorization violation".to_owned();
        assert_eq!(explained(&said), LogError::Refused(for_good));
        assert_eq!(said.explains(LogError::Full), LogError::Full);
        // Servers that are not there refuse nothing.
        fails(&said, "IO error");
        begins_long_ago();
        said.note(Event::Connected);
        assert_eq!(explained(&said), unavailable("no answer"));
    }

    #[test]
    fn what_is_forbidden_is_refused_at_once() {
        let said = Said::default();
        said.note(Event::ServerError(ServerError::Other("Permissions Violation for Publish to \"a\"".to_owned())));
        assert!(matches!(explained(&said), LogError::Refused(why) if why.contains("this login lacks that permission")));
    }
}
