use crate::deploy::Hashed;
use crate::output::Output;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

/// The answer to a block or to a line.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The number of the block or of the line, from 0.
    pub(super) number: u64,
    pub(super) written: Written,
    pub(super) ending: Ending,
}

/// How the command ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Well,
    /// The process failed, by its exit status or by its time limit. Its output is kept.
    Failed(Arc<str>),
    /// No other block can succeed either, for example because the command cannot be started.
    Broken(Arc<str>),
    /// The command was not run or was stopped: its output is not needed.
    Skipped,
}

/// The output of a process: in memory, or in a file without a name if it is too large.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Held(Vec<u8>),
    Kept(Arc<File>),
}

impl Answer {
    /// The answer of a command that wrote nothing.
    pub(super) fn empty(number: u64, ending: Ending) -> Self {
        Answer { number, written: Written::Held(Vec::new()), ending }
    }
}

impl Written {
    /// Reads all of `output`, about `expected` bytes. Fewer than `most` bytes stay in memory.
    pub(super) fn read(mut output: impl Read, expected: usize, most: usize) -> Result<Self, Wrong> {
        let mut held = Vec::with_capacity(expected.min(most));
        output.by_ref().take(most as u64).read_to_end(&mut held).map_err(Wrong::Reading)?;
        if held.len() < most {
            return Ok(Written::Held(held));
        }
        let keep = || {
            let mut file = tempfile::tempfile()?;
            file.write_all(&held)?;
            drop(held);
            io::copy(&mut output, &mut file)?;
            Ok(Written::Kept(file.into()))
        };
        keep().map_err(Wrong::Keeping)
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Written::Held(bytes) => bytes.len() as u64,
            Written::Kept(file) => file.metadata().map_or(0, |file| file.len()),
        }
    }

    pub(super) fn write_to(&self, output: &mut Output) {
        match self {
            Written::Held(bytes) => output.write(bytes),
            Written::Kept(file) => output.copy(file),
        }
    }
}

/// Why there is no answer.
pub(super) enum Wrong {
    Reading(io::Error),
    /// The output is too large for memory and cannot be written to a file.
    Keeping(io::Error),
}

impl Hashed for Answer {
    /// A hash needs all bytes in memory.
    fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.written {
            Written::Held(bytes) => bytes.into(),
            Written::Kept(file) => {
                let mut bytes = Vec::new();
                let mut file: &File = file;
                file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file that was written can be read");
                bytes.into()
            }
        }
    }

    fn is_output(&self) -> bool {
        !matches!(self.ending, Ending::Skipped)
    }
}
