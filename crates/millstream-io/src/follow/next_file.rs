use std::error;
use std::fmt;
use std::io::{Error, ErrorKind};

/// The error by which a [`Follow`](super::Follow) says, once, that the next bytes are those of another file, or of the
/// same one from its beginning: a line that was not at its end goes on no further.
///
/// Its kind is [`Interrupted`](ErrorKind::Interrupted), so whatever repeats interrupted reads, as
/// [`Blocks`](crate::Blocks) and `read_to_end` do, has the bytes of all files one after the other.
///
/// ```
/// use millstream::io::NextFile;
/// use std::io;
///
/// let error = io::Error::from(NextFile);
/// assert!(NextFile::is(&error) && error.kind() == io::ErrorKind::Interrupted);
/// assert!(!NextFile::is(&io::ErrorKind::Interrupted.into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextFile;

impl NextFile {
    /// Whether an error is this one.
    #[must_use]
    pub fn is(error: &Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<NextFile>())
    }
}

impl fmt::Display for NextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the next file begins")
    }
}

impl error::Error for NextFile {}

impl From<NextFile> for Error {
    fn from(next: NextFile) -> Self {
        Error::new(ErrorKind::Interrupted, next)
    }
}
