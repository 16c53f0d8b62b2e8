//! Why a server does not listen.

use std::net::SocketAddr;
use std::{error, fmt, io};

/// Why a server does not listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Other machines could connect, and no token is set.
    NoToken(SocketAddr),
    /// An error of the system.
    Io(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NoToken(address) => write!(
                f,
                "{address} can be reached from other machines, and no token is asked for: set one, or listen at 127.0.0.1"
            ),
            OpenError::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for OpenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            OpenError::NoToken(_) => None,
            OpenError::Io(error) => Some(error),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => error,
            no_token @ OpenError::NoToken(_) => io::Error::other(no_token),
        }
    }
}
