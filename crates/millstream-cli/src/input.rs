//! Inputs by the names that the user gave them.

use crate::interrupts::Interrupts;
use crate::message::{Complaints, cause, quoted};
use crate::progress;
use millstream_io::{Block, Blocks, Failure, Files, WholeBlocks, stdio};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::{fmt, io, vec};

/// The inputs that a command was given.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// In this order; `-` is standard input.
    pub(crate) files: Vec<OsString>,
    /// Whether those whose names end in `.gz` or `.zst` hold what is meant only once they are decompressed.
    pub(crate) decompress: bool,
}

/// Something that is read, and told as progress.
#[derive(Debug)]
pub(crate) enum Input {
    Plain(File),
    Compressed(Files),
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Input::Plain(file) => file.read(buffer)?,
            Input::Compressed(files) => files.read(buffer).map_err(without_name)?,
        };
        progress::advance(read);
        Ok(read)
    }
}

/// An error of [`Files`] without the file's name, which is told by whoever has told all others.
fn without_name(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|named| named.source()) {
        Some(cause) => io::Error::new(error.kind(), cause.to_string()),
        None => error,
    }
}

/// Opens a file by its name; `-` is standard input.
pub(crate) fn open(name: &OsStr, decompress: bool) -> io::Result<Input> {
    let compressed =
        ["gz", "zst"].iter().any(|end| Path::new(name).extension().is_some_and(|extension| extension == *end));
    if name == "-" {
        return stdio::input().map(Input::Plain);
    }
    if decompress && compressed {
        return Ok(Input::Compressed(Files::new([name]).decompressed()));
    }
    File::open(name).map(Input::Plain)
}

/// As [`open`]; none if a signal comes while it waits for somebody to open the other end.
pub(crate) fn open_unless_interrupted(
    name: &OsStr,
    decompress: bool,
    interrupts: &Interrupts,
) -> io::Result<Option<Input>> {
    let waits = name != "-" && fs::metadata(name).is_ok_and(|metadata| metadata.file_type().is_fifo());
    if !waits {
        return open(name, decompress).map(Some);
    }
    let name = name.to_owned();
    interrupts.unless_interrupted(move || open(&name, decompress))?.transpose()
}

/// Whether reading never waits for somebody else: of a regular file.
pub(crate) fn never_waits(name: &OsStr) -> bool {
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
    decompress: bool,
    /// Of at most so many bytes each, if blocks are of whole lines.
    longest_line: Option<usize>,
    current: Option<(OsString, Box<dyn Iterator<Item = Block> + Send>, Failure)>,
    complaints: Complaints,
}

impl Joined {
    pub(crate) fn new(Names { files, decompress }: Names, complaints: Complaints) -> Self {
        Joined { names: files.into_iter(), decompress, longest_line: None, current: None, complaints }
    }

    /// Blocks of whole lines; a line that is longer than so many bytes, its end counted, fails its input.
    pub(crate) fn lines(names: Names, longest: usize, complaints: Complaints) -> Self {
        Joined { longest_line: Some(longest), ..Joined::new(names, complaints) }
    }

    /// Whether reading the next block never waits for somebody else.
    pub(crate) fn never_waits(&self) -> bool {
        self.names.as_slice().iter().all(|name| never_waits(name))
    }

    fn blocks(&self, input: Input) -> (Box<dyn Iterator<Item = Block> + Send>, Failure) {
        if let Some(longest) = self.longest_line {
            let blocks = WholeBlocks::lines(input).longest(longest);
            let failure = blocks.failure();
            return (Box::new(blocks), failure);
        }
        let blocks = Blocks::new(input);
        let failure = blocks.failure();
        (Box::new(blocks), failure)
    }

    /// Opens the next input that can be opened.
    fn advance(&mut self) -> Option<()> {
        let name = self.names.next()?;
        match open(&name, self.decompress) {
            Ok(input) => {
                let (blocks, failure) = self.blocks(input);
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
