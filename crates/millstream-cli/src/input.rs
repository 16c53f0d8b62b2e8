//! Inputs, by the names that the user wrote.

use crate::interrupts::{Interrupts, Watched, is_end};
use crate::message::{Complaints, cause, quoted};
use crate::progress;
use millstream_core::Item;
use millstream_exec::Source;
use millstream_io::{Block, Blocks, Decompressed, Failure, WholeBlocks, stdio};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::{fmt, io, vec};

/// The inputs of a command.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// In this order; `-` is standard input.
    pub(crate) files: Vec<OsString>,
    /// Whether to decompress compressed inputs.
    pub(crate) decompress: bool,
}

impl Names {
    /// Whether standard input is all that is read.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.files.iter().all(|name| name == "-")
    }
}

/// An open input. Its reads count as progress.
#[derive(Debug)]
pub(crate) enum Input {
    Plain(File),
    Watched(Watched),
    Decompressed(Decompressed<Box<Input>>),
}

#[cfg(feature = "cluster")]
impl Input {
    /// Whether a read would not wait, as far as is known.
    pub(crate) fn has_come(&self) -> bool {
        match self {
            Input::Plain(_) | Input::Decompressed(_) => true,
            Input::Watched(file) => file.has_come(),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Input::Plain(file) => file.read(buffer)?,
            Input::Watched(file) => file.read(buffer)?,
            // Reads of the compressed input are counted already.
            Input::Decompressed(input) => return input.read(buffer),
        };
        progress::read(read);
        Ok(read)
    }
}

/// A reader whose bytes count as progress.
#[cfg(feature = "run")]
pub(crate) struct Counted<R>(pub(crate) R);

#[cfg(feature = "run")]
impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        progress::read(read);
        Ok(read)
    }
}

#[cfg(feature = "run")]
impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: std::io::SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// How inputs are opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opening {
    pub(crate) decompress: bool,
    /// Ends the wait for another process to open the other end of a FIFO.
    pub(crate) interrupts: Option<Interrupts>,
    /// Whether a signal also ends a wait for input.
    pub(crate) watched: bool,
    /// Whether all input is read before anything is written, so that it may be the output's file.
    pub(crate) answers_at_end: bool,
}

impl Opening {
    /// Opens a file by its name; `-` is standard input. `None` if a signal ends the wait.
    pub(crate) fn open(&self, name: &OsStr) -> io::Result<Option<Input>> {
        let is_fifo = || name != "-" && fs::metadata(name).is_ok_and(|metadata| metadata.file_type().is_fifo());
        let file = match &self.interrupts {
            Some(interrupts) if is_fifo() => {
                let name = name.to_owned();
                match interrupts.unless_interrupted(move || File::open(name))? {
                    Some(file) => file?,
                    None => return Ok(None),
                }
            }
            _ if name == "-" => stdio::input()?,
            _ => File::open(name)?,
        };
        if !self.answers_at_end {
            not_output(&file)?;
        }
        let input = match &self.interrupts {
            Some(interrupts) if self.watched && !never_waits(name) => Input::Watched(interrupts.watch(file)?),
            _ => Input::Plain(file),
        };
        Ok(Some(if self.decompress {
            Input::Decompressed(Decompressed::named(Box::new(input), Path::new(name)))
        } else {
            input
        }))
    }
}

#[cfg(feature = "run")]
impl Opening {
    /// An input that is no file, so that a signal ends a wait for it as for one.
    pub(crate) fn aside(&self, input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.interrupts {
            Some(interrupts) if self.watched => Box::new(interrupts.watch_aside(input)?),
            _ => Box::new(input),
        })
    }
}

/// Why an input to which the output is appended is refused.
pub(crate) const IS_OUTPUT: &str = "standard output goes to the same file, so reading it would never end";

/// Refuses a file that is the output's.
pub(crate) fn not_output(file: &File) -> io::Result<()> {
    // A file without a position, such as a pipe, cannot grow by the output.
    if grows_by_output(file).unwrap_or(false) { Err(io::Error::other(IS_OUTPUT)) } else { Ok(()) }
}

/// Whether standard output appends to this file after the place where it is read: the run would then read its own
/// output, without end. `false` for a pipe, a terminal, and a file that is overwritten from its beginning.
fn grows_by_output(file: &File) -> io::Result<bool> {
    let mut output = stdio::output()?;
    let written = output.metadata()?;
    if identity(&written).is_none() || identity(&written) != identity(&file.metadata()?) {
        return Ok(false);
    }
    let end = if appends(&output)? { written.len() } else { output.stream_position()? };
    Ok({ file }.stream_position()? < end)
}

/// Whether standard output appends to its file.
pub(crate) fn output_appends() -> io::Result<bool> {
    appends(&stdio::output()?)
}

fn appends(output: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(output)?.contains(rustix::fs::OFlags::APPEND))
}

/// Identifies a regular file, which may have several names.
pub(crate) fn identity(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

/// Whether a read never waits for another process: true for a regular file.
pub(crate) fn never_waits(name: &OsStr) -> bool {
    let metadata = if name == "-" { stdio::input().and_then(|file| file.metadata()) } else { fs::metadata(name) };
    metadata.is_ok_and(|metadata| metadata.is_file())
}

/// Slots of the ring of values from files, blocks of text as a rule. That many blocks stay in a core's cache.
const SLOTS: usize = 4;

/// Values that are read from files, and whether a read may wait for another process.
#[derive(Debug)]
pub(crate) struct FromFiles<I> {
    pub(crate) values: I,
    pub(crate) waits: bool,
}

impl<T: Item, I: Iterator<Item = T> + Send + 'static> Source<T> for FromFiles<I> {
    type Values = I;
    const WAITS: bool = true;
    const SLOTS: usize = SLOTS;

    fn waits(&self) -> bool {
        self.waits
    }

    fn into_values(self) -> I {
        self.values
    }
}

/// Reports that an input failed, unless a signal has ended it.
pub(crate) fn report(complaints: &Complaints, name: &OsStr, error: &io::Error) {
    if !is_end(error) {
        complaints.complain(&message(name, error));
    }
}

/// The message about an input that failed.
pub(crate) fn message(name: &OsStr, error: &io::Error) -> String {
    if name.is_empty() { "invalid zero-length file name".into() } else { format!("{}: {}", quoted(name), cause(error)) }
}

/// The blocks of several inputs as one stream. An input that fails is reported, and the next one follows. If a signal
/// ends an input, the stream ends there.
pub(crate) struct Joined {
    names: vec::IntoIter<OsString>,
    opening: Opening,
    /// The limit for a line in bytes, if blocks consist of whole lines.
    longest_line: Option<usize>,
    current: Option<(OsString, Box<dyn Iterator<Item = Block> + Send>, Failure)>,
    complaints: Complaints,
}

impl Joined {
    pub(crate) fn new(files: Vec<OsString>, opening: Opening, complaints: Complaints) -> Self {
        Joined { names: files.into_iter(), opening, longest_line: None, current: None, complaints }
    }

    /// Blocks of whole lines. A line longer than `longest` bytes, its end included, fails its input.
    pub(crate) fn lines(files: Vec<OsString>, longest: usize, opening: Opening, complaints: Complaints) -> Self {
        Joined { longest_line: Some(longest), ..Joined::new(files, opening, complaints) }
    }

    /// Whether reading the next block never waits for another process.
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
        match self.opening.open(&name) {
            Ok(Some(input)) => {
                let (blocks, failure) = self.blocks(input);
                self.current = Some((name, blocks, failure));
            }
            // A signal ends the whole stream.
            Ok(None) => return None,
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
                    if is_end(&error) {
                        // Further inputs would come after a hole.
                        self.names = Vec::new().into_iter();
                    }
                    report(&self.complaints, name, &error);
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
