//! A line that a run prints after its end, once however often the process is killed.
//!
//! Before the line goes to a file, the state directory notes it, with the place where it will begin. The next run finds
//! there the whole line, and prints it no second time; or a part of it, which it cuts off.

use crate::input::{self, identity};
use crate::output::Output;
use millstream_state::dir::replace;
use millstream_state::disk::RealDisk;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The file of the note in a state directory.
const PRINTED: &str = "printed";
const FORMAT: u32 = 1;

/// A line, and where it begins.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Printed {
    format: u32,
    /// The file: its device and its number there.
    file: (u64, u64),
    offset: u64,
    line: Vec<u8>,
}

/// Prints a line, unless standard output is a file opened for appending that ends with this line, printed by an earlier
/// run of this directory.
///
/// # Errors
///
/// If the line cannot be noted in the directory. It is printed all the same.
pub(crate) fn print_once(output: &mut Output, dir: &Path, line: &[u8]) -> io::Result<()> {
    let noted = note(dir, line);
    if !matches!(noted, Ok(Noted::IsThere)) {
        output.write(line);
    }
    noted.map(drop)
}

#[derive(Debug)]
enum Noted {
    /// The line is to be printed.
    ToPrint,
    IsThere,
}

fn note(dir: &Path, line: &[u8]) -> io::Result<Noted> {
    if !input::output_appends()? {
        return Ok(Noted::ToPrint);
    }
    // Standard output itself cannot be read, and a pipe must not be opened.
    let Some(file) = identity(&std::fs::metadata(super::STANDARD_OUTPUT)?) else { return Ok(Noted::ToPrint) };
    let opened = OpenOptions::new().read(true).write(true).open(super::STANDARD_OUTPUT)?;
    let mut end = opened.metadata()?.len();
    if let Some(before) = Printed::read(dir).filter(|before| before.file == file && before.offset <= end) {
        let mut there = vec![0; usize::try_from(end - before.offset).unwrap_or(usize::MAX).min(before.line.len() + 1)];
        opened.read_exact_at(&mut there, before.offset)?;
        if there == before.line && there == line {
            return Ok(Noted::IsThere);
        }
        if there.len() < before.line.len() && before.line.starts_with(&there) {
            opened.set_len(before.offset)?;
            end = before.offset;
        }
    }
    Printed { format: FORMAT, file, offset: end, line: line.to_owned() }.write(dir)?;
    Ok(Noted::ToPrint)
}

impl Printed {
    /// The note of the last run; `None` if there is none, or it is of another format.
    fn read(dir: &Path) -> Option<Self> {
        let bytes = std::fs::read(dir.join(PRINTED)).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|printed: &Printed| printed.format == FORMAT)
    }

    /// Writes it, and returns when it is durable.
    fn write(&self, dir: &Path) -> io::Result<()> {
        replace(&RealDisk, &dir.join(PRINTED), &serde_json::to_vec(self)?).map_err(io::Error::other)
    }
}
