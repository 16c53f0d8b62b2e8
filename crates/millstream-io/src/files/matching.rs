use glob::glob;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// The files whose names match a pattern, as in a shell. With the feature `glob`.
///
/// `*` is any characters, `?` is one character, `[a-z]` is one of a range, and `**` is any directories. The files are
/// in alphabetical order, each once, without directories.
///
/// ```
/// use millstream::io::{Files, matching};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// for name in ["b.log", "a.log", "a.txt"] {
///     std::fs::write(name, name)?;
/// }
/// let found = matching("*.log")?;
/// assert_eq!(std::io::read_to_string(Files::new(found))?, "a.logb.log");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the pattern is invalid, if no file matches, or if a directory cannot be read.
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let invalid = |error| Error::new(ErrorKind::InvalidInput, format!("{pattern} is not a pattern: {error}"));
    let mut found = Vec::new();
    for path in glob(pattern).map_err(invalid)? {
        let path = path.map_err(|error| {
            let words = format!("{}: cannot look for {pattern}: {}", error.path().display(), error.error());
            Error::new(error.error().kind(), words)
        })?;
        if !path.is_dir() {
            found.push(path);
        }
    }
    if found.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, format!("{pattern}: no file matches")));
    }
    Ok(found)
}
