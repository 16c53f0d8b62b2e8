use millstream_state::door::is_silence;
use std::{error, fmt, io};

/// Why a service was not handed over.
#[derive(Debug)]
#[non_exhaustive]
pub enum HandOverError {
    /// Another process is taking over.
    Busy,
    /// The other process has refused, with its reason.
    Refused(String),
    /// The other process has not answered in time.
    Silent,
    /// The other process has ended.
    Gone,
    /// An error of the system.
    Io(io::Error),
}

impl fmt::Display for HandOverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandOverError::Busy => f.write_str("another process is taking over: try again once that has ended"),
            HandOverError::Refused(why) => write!(f, "the other process says: {why}"),
            HandOverError::Silent => f.write_str("the other process does not answer"),
            HandOverError::Gone => f.write_str("the other process has ended"),
            HandOverError::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for HandOverError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            HandOverError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for HandOverError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            _ if is_silence(&error) => HandOverError::Silent,
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => HandOverError::Gone,
            _ => HandOverError::Io(error),
        }
    }
}
