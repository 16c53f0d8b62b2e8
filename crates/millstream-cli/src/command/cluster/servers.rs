//! The servers, and how to connect to them.

use crate::environment::secret;
use crate::flags;
use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause, quoted};
use crate::outcome::Outcome;
use millstream_cluster::{Access, App, JetStream, LogError, Login, OpenError, Streams, Tls};
use std::env;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where a server of this machine listens.
const HERE: &str = "nats://127.0.0.1:4222";
/// The variables that are read.
const URL: &str = "MILLSTREAM_NATS";
const PASSWORD: &str = "MILLSTREAM_NATS_PASSWORD";
/// How long a command tries to get an answer of the servers. An election of the servers takes up to nine seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time between two of those tries.
const AGAIN: Duration = Duration::from_millis(100);

/// An application on its servers.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    pub(super) access: Access,
}

/// Reads the flags and the environment. An error is wrong use.
pub(crate) fn servers(flags: flags::Servers) -> Result<Servers, String> {
    let flags::Servers { nats, app, nats_user, nats_credentials, nats_key, tls_authority, .. } = flags;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if app.is_empty() || app.len() > 64 || !app.chars().all(fits) {
        return Err(format!("--app: {app:?} is not a name of 1 to 64 letters, digits, `-` and `_`"));
    }
    if nats.as_ref().is_some_and(|url| url.contains('@')) {
        return Err(format!(
            "--nats: every user of the machine can see a password on the command line: use --nats-user and {PASSWORD}"
        ));
    }
    let url = match nats {
        Some(url) => url,
        None => env::var(URL).unwrap_or_else(|_| HERE.to_owned()),
    };
    let login = match (nats_user, nats_credentials, nats_key) {
        (Some(user), ..) => match secret(PASSWORD, 1)? {
            Some(password) => Login::Password { user, password },
            None => return Err(format!("--nats-user: {PASSWORD} is not set: set it to the password of this user")),
        },
        (None, Some(file), _) => Login::Credentials(file),
        (None, None, Some(file)) => {
            let seed = std::fs::read_to_string(&file);
            let seed = seed.map_err(|error| format!("--nats-key: {}: {}", quoted(file.as_os_str()), cause(&error)))?;
            Login::Key(seed.trim().to_owned())
        }
        (None, None, None) => Login::Open,
    };
    let tls = Tls { authority: tls_authority, certificate: flags.tls_certificate.zip(flags.tls_key) };
    Ok(Servers { access: Access { url, app, login, tls } })
}

impl Servers {
    /// The application, or the outcome after a message.
    pub(super) fn open(&self, complaints: &Complaints) -> Result<JetStream, Outcome> {
        JetStream::open(&self.access, PATIENCE).map_err(|error| not_open(&error, complaints))
    }

    /// The application if there is one, or the outcome after a message.
    pub(super) fn open_if_there(&self, complaints: &Complaints) -> Result<Option<JetStream>, Outcome> {
        match JetStream::open(&self.access, PATIENCE) {
            Ok(log) => Ok(Some(log)),
            Err(OpenError::NoApp { .. }) => Ok(None),
            Err(error) => Err(not_open(&error, complaints)),
        }
    }

    /// As [`open`](Servers::open), for a command that listens for signals from now on.
    pub(super) fn open_until_a_signal(&self, complaints: &Complaints) -> Result<(JetStream, Interrupts), Outcome> {
        let log = self.open(complaints)?;
        let interrupts = Interrupts::default();
        interrupts.listen().map_err(|error| {
            complaints.complain(&error.to_string());
            Outcome::InputOrOutputFailed
        })?;
        Ok((log, interrupts))
    }

    pub(super) fn create(&self, streams: &Streams, complaints: &Complaints) -> Result<JetStream, Outcome> {
        JetStream::create(&self.access, streams, PATIENCE).map_err(|error| not_open(&error, complaints))
    }

    /// Removes the application, or what is left of it.
    pub(super) fn remove(&self, complaints: &Complaints) -> Result<(), Outcome> {
        JetStream::remove(&self.access, &App::edges(), PATIENCE).map_err(|error| not_open(&error, complaints))
    }
}

/// Asks until the servers answer, but not for longer than a command tries.
pub(super) fn answered<T>(ask: impl Fn() -> Result<T, LogError>) -> Result<T, LogError> {
    let begun = Instant::now();
    loop {
        match ask() {
            Err(LogError::Unavailable(_)) if begun.elapsed() < PATIENCE => sleep(AGAIN),
            answer => return answer,
        }
    }
}

fn not_open(error: &OpenError, complaints: &Complaints) -> Outcome {
    complaints.complain(&error.to_string());
    match error {
        OpenError::NoApp { .. } | OpenError::InPart { .. } | OpenError::Unusable { .. } => Outcome::WrongUse,
        _ => Outcome::InputOrOutputFailed,
    }
}

/// Says that the log failed.
pub(super) fn log_failed(error: &LogError, complaints: &Complaints) -> Outcome {
    complaints.complain(&error.to_string());
    Outcome::InputOrOutputFailed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn servers_that_elect_a_leader_are_asked_again() {
        let asked = Cell::new(0);
        let electing = || {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Err(LogError::Unavailable("no leader".to_owned())) } else { Ok(asked.get()) }
        };
        assert_eq!(answered(electing), Ok(3));
        let refused = || Err::<(), _>(LogError::Refused(asked.replace(9).to_string()));
        assert_eq!(answered(refused), Err(LogError::Refused("3".to_owned())));
    }
}
