use crate::deploy::Hashed;
use crate::output::Output;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

/// What a process has written: in memory, or in a file without a name if it is too much for that.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Held(Vec<u8>),
    Kept(Arc<File>),
}

impl Answer {
    /// All that comes out of `output`, about `expected` bytes, in memory if there are fewer than `most`.
    pub(super) fn read(mut output: impl Read, expected: usize, most: usize) -> Result<Self, Wrong> {
        let mut held = Vec::with_capacity(expected.min(most));
        output.by_ref().take(most as u64).read_to_end(&mut held).map_err(Wrong::Reading)?;
        if held.len() < most {
            return Ok(Answer::Held(held));
        }
        let keep = || {
            let mut file = tempfile::tempfile()?;
            file.write_all(&held)?;
            drop(held);
            io::copy(&mut output, &mut file)?;
            Ok(Answer::Kept(file.into()))
        };
        keep().map_err(Wrong::Keeping)
    }

    pub(super) fn write_to(&self, output: &mut Output) {
        match self {
            Answer::Held(bytes) => output.write(bytes),
            Answer::Kept(file) => output.copy(file),
        }
    }
}

/// Why there is no answer.
pub(super) enum Wrong {
    Reading(io::Error),
    /// It is too large for the memory, and cannot be in a file.
    Keeping(io::Error),
}

impl Hashed for Answer {
    /// A hash has to see it in memory.
    fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Answer::Held(bytes) => bytes.into(),
            Answer::Kept(file) => {
                let mut bytes = Vec::new();
                let mut file: &File = file;
                file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file that was written can be read");
                bytes.into()
            }
        }
    }
}
