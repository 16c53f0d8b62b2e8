//! Standard output, where results go.

use crate::command::Outcome;
use crate::message::{Complaints, cause};
use millstream_io::stdio;
use std::fs::File;
use std::io::{ErrorKind, Write};

/// Standard output, unbuffered: what is written is out.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    complaints: Complaints,
}

impl Output {
    /// What `command` comes to with standard output; where that cannot be opened, says so, and nothing is run.
    pub(crate) fn opened(complaints: &Complaints, command: impl FnOnce(Self) -> Outcome) -> Outcome {
        match stdio::output() {
            Ok(file) => command(Output { file, complaints: complaints.clone() }),
            Err(error) => {
                complaints.complain(&cause(&error));
                Outcome::InputOrOutputFailed
            }
        }
    }

    /// Writes all of `bytes`, or ends the process.
    ///
    /// Without an output nothing is left to be done, and a run could not end by itself: its source may be waiting for
    /// input that never comes. A reader who has seen enough is no failure, so that ends the process quietly.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        match self.file.write_all(bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Outcome::Done.exit(),
            Err(error) => {
                self.complaints.complain(&format!("write error: {}", cause(&error)));
                Outcome::InputOrOutputFailed.exit()
            }
        }
    }
}
