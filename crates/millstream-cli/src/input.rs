//! Inputs by the names that the user gave them.

use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause, quoted};
use millstream_io::{Block, Blocks, Failure, stdio};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::{io, vec};

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

/// How a message speaks of an input that failed.
pub(crate) fn message(name: &OsStr, error: &io::Error) -> String {
    if name.is_empty() { "invalid zero-length file name".into() } else { format!("{}: {}", quoted(name), cause(error)) }
}

/// The blocks of several inputs as one stream. An input that fails is told of and left out from there on.
#[derive(Debug)]
pub(crate) struct Joined {
    names: vec::IntoIter<OsString>,
    current: Option<(OsString, Blocks<File>, Failure)>,
    complaints: Complaints,
}

impl Joined {
    pub(crate) fn new(names: Vec<OsString>, complaints: Complaints) -> Self {
        Joined { names: names.into_iter(), current: None, complaints }
    }

    /// Opens the next input that can be opened.
    fn advance(&mut self) -> Option<()> {
        let name = self.names.next()?;
        match open(&name) {
            Ok(file) => {
                let blocks = Blocks::new(file);
                let failure = blocks.failure();
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
