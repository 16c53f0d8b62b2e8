//! Standard output, for results.

use crate::hash::Hash;
use crate::message::{Complaints, cause, say};
use crate::outcome::Outcome;
use crate::progress;
use millstream_core::text::{Block, Piece};
use millstream_io::stdio;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output, unbuffered but for what is gathered.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    /// Adjacent bytes of one block that are not yet written.
    gathered: Option<Gathered>,
    /// Lines that are not yet written, and how many of their bytes are those of whole lines.
    lines: Vec<u8>,
    whole: usize,
    /// Whether the output is a terminal, which may show a progress line.
    is_terminal: bool,
    complaints: Complaints,
}

/// Gathered bytes and lines are written however the run ended.
impl Drop for Output {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Lines are written once they have as many bytes.
const LINES_AT_ONCE: usize = 1 << 16;

/// The addresses of the gathered bytes, and their block.
#[derive(Debug)]
struct Gathered {
    block: Block,
    start: usize,
    end: usize,
}

impl Output {
    /// Runs `command` with standard output. If that cannot be opened, prints why and runs nothing.
    pub(crate) fn opened(complaints: &Complaints, command: impl FnOnce(Self) -> Outcome) -> Outcome {
        match stdio::output() {
            Ok(file) => {
                let is_terminal = file.is_terminal();
                let (lines, complaints) = (Vec::new(), complaints.clone());
                command(Output { file, gathered: None, lines, whole: 0, is_terminal, complaints })
            }
            Err(error) => {
                complaints.complain(&cause(&error));
                Outcome::InputOrOutputFailed
            }
        }
    }

    /// Writes a piece without copying it, together with adjacent pieces of its block: at the next
    /// [`flush`](Output::flush) at the latest.
    #[inline]
    pub(crate) fn gather(&mut self, piece: Piece<'_>) {
        let start = piece.text().as_ptr() as usize;
        match &mut self.gathered {
            Some(gathered) if gathered.end == start && gathered.block.is_same(piece.block()) => {
                gathered.end += piece.len()
            }
            _ => self.gather_first(piece, start),
        }
    }

    fn gather_first(&mut self, piece: Piece<'_>, start: usize) {
        self.flush();
        self.gathered = Some(Gathered { block: piece.block().clone(), start, end: start + piece.len() });
    }

    /// Writes a value as a line, together with other lines: at the next [`flush`](Output::flush) at the latest.
    pub(crate) fn line(&mut self, value: &impl Display) {
        // A line whose value has panicked is no whole one.
        self.lines.truncate(self.whole);
        writeln!(self.lines, "{value}").expect("memory takes every text, and `Display` fails for no reason of its own");
        self.whole = self.lines.len();
        if self.whole >= LINES_AT_ONCE {
            self.flush();
        }
    }

    /// Writes the gathered bytes and lines.
    pub(crate) fn flush(&mut self) {
        if self.whole > 0 {
            self.lines.truncate(self.whole);
            self.whole = 0;
            let mut lines = std::mem::take(&mut self.lines);
            self.write(&lines);
            lines.clear();
            self.lines = lines;
        }
        if let Some(Gathered { block, start, end }) = self.gathered.take() {
            let first = start - block.as_ptr() as usize;
            self.write(&block[first..first + (end - start)]);
        }
    }

    /// Writes all of `bytes`, or ends the process.
    ///
    /// Without an output no work is left. The run could not end by itself: its source may be waiting for input that
    /// never comes. An output closed by its reader is not a failure, and ends the process quietly.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let written =
            if self.is_terminal { progress::aside(|| self.file.write_all(bytes)) } else { self.file.write_all(bytes) };
        self.or_end(written);
    }

    /// The same as [`write`](Output::write), for callers that clean up: returns false if the output's reader is gone.
    pub(crate) fn offer(&mut self, bytes: &[u8]) -> bool {
        match progress::aside(|| self.file.write_all(bytes)) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => false,
            written => {
                self.or_end(written);
                true
            }
        }
    }

    /// The same as [`offer`](Output::offer), for callers that also write files: returns false after any error. Reports
    /// an error of an output that still has a reader.
    #[cfg(feature = "run")]
    pub(crate) fn attempt(&mut self, bytes: &[u8]) -> bool {
        let written = progress::aside(|| self.file.write_all(bytes));
        if let Some(error) = written.as_ref().err().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
            self.complaints.lose(&format!("write error: {}", cause(error)));
        }
        written.is_ok()
    }

    /// Writes a whole file, or ends the process as [`write`](Output::write) does.
    pub(crate) fn copy(&mut self, mut file: &File) {
        let written = file.rewind().and_then(|()| io::copy(&mut file, &mut self.file));
        self.or_end(written.map(drop));
    }

    fn or_end(&self, written: io::Result<()>) {
        match written {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Outcome::Done.exit(),
            // It is the same error again.
            Err(_) if FAILED.swap(true, Ordering::Relaxed) => {}
            Err(error) => {
                self.complaints.complain(&format!("write error: {}", cause(&error)));
                if !HASHED.load(Ordering::Relaxed) {
                    Outcome::InputOrOutputFailed.exit()
                }
            }
        }
    }
}

/// Whether a failed write leaves the end to [`end_if_failed`], since there is a hash to print.
static HASHED: AtomicBool = AtomicBool::new(false);
static FAILED: AtomicBool = AtomicBool::new(false);

/// Says that the output is hashed, by a caller of [`end_if_failed`].
pub(crate) fn is_hashed() {
    HASHED.store(true, Ordering::Relaxed);
}

/// Says that the hash is printed: a write that fails now ends the process.
pub(crate) fn no_hash_follows() {
    HASHED.store(false, Ordering::Relaxed);
}

/// After a failed write prints the hash of the output, also of what could not be written, and ends the process.
pub(crate) fn end_if_failed(hash: &Hash) {
    if FAILED.load(Ordering::Relaxed) {
        say(&hash.to_string());
        Outcome::InputOrOutputFailed.exit()
    }
}

/// Whether a file for a later write can be written, as far as that can be known now. The file is unchanged afterwards.
pub(crate) fn can_be_written(path: &Path) -> io::Result<()> {
    match path.metadata() {
        // A pipe or a device: opening it as a test would disturb its reader, which waits for the output.
        Ok(there) if !there.is_file() && !there.is_dir() => Ok(()),
        Ok(_) => File::options().append(true).open(path).map(drop),
        // A link to a file that is not there yet. Links that form a circle are another error.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            can_be_written(&path.parent().unwrap_or(Path::new("")).join(path.read_link()?))
        }
        Err(error) if path.is_symlink() => Err(error),
        Err(_) => {
            File::options().write(true).create_new(true).open(path)?;
            std::fs::remove_file(path)
        }
    }
}
