use glob::glob;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// The files whose names match a pattern, as a shell matches it: `*` and `?` are any letters and any letter, `[a-z]`
/// one of a range, `**` any directories. In alphabetical order, each once, directories left out. With the feature `glob`.
///
/// ```
/// use millstream_io::{Files, matching};
///
/// # let directory = tempfile::tempdir()?;
/// # let logs = directory.path().join("*.log").display().to_string();
/// for name in ["b.log", "a.log", "a.txt"] {
///     std::fs::write(directory.path().join(name), name)?;
/// }
/// let found = matching(&logs)?;
/// assert_eq!(std::io::read_to_string(Files::new(found))?, "a.logb.log");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If it is no pattern, if nothing matches, or if a directory cannot be read.
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let invalid = |error| Error::new(ErrorKind::InvalidInput, format!("{pattern}: not a pattern: {error}"));
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
