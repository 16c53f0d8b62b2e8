use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error, with the file's name and the operation.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    doing: &'static str,
    cause: io::Error,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot {}: {}", self.path.display(), self.doing, self.cause)
    }
}

impl Error for Named {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

/// Adds the file's name and the operation to `error`: "NAME: cannot DOING: CAUSE". The kind stays the same.
pub(crate) fn named(path: &Path, doing: &'static str, cause: io::Error) -> io::Error {
    io::Error::new(cause.kind(), Named { path: path.to_owned(), doing, cause })
}
