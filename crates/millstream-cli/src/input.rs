//! Inputs by the names that the user gave them.

use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause, quoted};
use millstream_io::{Block, Blocks, Failure, WholeBlocks, stdio};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::{fmt, io, vec};

/// Opens a file by its name; `-` is standard input.
pub(crate) fn open(name: &OsStr) -> io::Result<File> {
    if name == "-" { stdio::input() } else { File::open(name) }
}

/// As [`open`]; none if a signal comes while it waits for somebody to open the other end.
pub(crate) fn open_unless_interrupted(name: &OsStr, interrupts: &Interrupts) -> io::Result<Option<File>> {
    let waits = name != "-" && fs::metadata(name).is_ok_and(|metadata| metadata.file_type().is_fifo());
    if !waits {
        return open(name).map(Some);
    }
    let name = name.to_owned();
    interrupts.unless_interrupted(move || open(&name))?.transpose()
}

/// Whether reading never waits for somebody else: of a regular file.
fn never_waits(name: &OsStr) -> bool {
    let metadata = if name == "-" { stdio::input().and_then(|file| file.metadata()) } else { fs::metadata(name) };
    metadata.is_ok_and(|metadata| metadata.is_file())
}

/// How a message speaks of an input that failed.
pub(crate) fn message(name: &OsStr, error: &io::Error) -> String {
    if name.is_empty() { "invalid zero-length file name".into() } else { format!("{}: {}", quoted(name), cause(error)) }
}

/// The blocks of several inputs as one stream. An input that fails is told of and left out from there on.
pub(crate) struct Joined {
    names: vec::IntoIter<OsString>,
    /// Of at most so many bytes each, if blocks are of whole lines.
    longest_line: Option<usize>,
    current: Option<(OsString, Box<dyn Iterator<Item = Block> + Send>, Failure)>,
    complaints: Complaints,
}

impl Joined {
    pub(crate) fn new(names: Vec<OsString>, complaints: Complaints) -> Self {
        Joined { names: names.into_iter(), longest_line: None, current: None, complaints }
    }

    /// Blocks of whole lines; a line that is longer than so many bytes, its end counted, fails its input.
    pub(crate) fn lines(names: Vec<OsString>, longest: usize, complaints: Complaints) -> Self {
        Joined { longest_line: Some(longest), ..Joined::new(names, complaints) }
    }

    /// Whether reading the next block never waits for somebody else.
    pub(crate) fn never_waits(&self) -> bool {
        self.names.as_slice().iter().all(|name| never_waits(name))
    }

    fn blocks(&self, file: File) -> (Box<dyn Iterator<Item = Block> + Send>, Failure) {
        if let Some(longest) = self.longest_line {
            let blocks = WholeBlocks::lines(file).longest(longest);
            let failure = blocks.failure();
            return (Box::new(blocks), failure);
        }
        let blocks = Blocks::new(file);
        let failure = blocks.failure();
        (Box::new(blocks), failure)
    }

    /// Opens the next input that can be opened.
    fn advance(&mut self) -> Option<()> {
        let name = self.names.next()?;
        match open(&name) {
            Ok(file) => {
                let (blocks, failure) = self.blocks(file);
                self.current = Some((name, blocks, failure));
            }
            Err(error) => self.complaints.complain(&message(&name, &error)),
        }
        Some(())
    }
}

impl Iterator for Joined {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            if let Some((name, blocks, failure)) = &mut self.current {
                if let Some(block) = blocks.next() {
                    return Some(block);
                }
                if let Some(error) = failure.take() {
                    self.complaints.complain(&message(name, &error));
                }
                self.current = None;
            }
            self.advance()?;
        }
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("names", &self.names.as_slice()).finish_non_exhaustive()
    }
}
