//! An output of a program whose state is kept: a file, or a URL to which rows are posted.

#[cfg(feature = "serve")]
use super::super::posting::{Posting, new_run};
use super::super::sink_file::is_url;
use millstream_core::SequenceNumber;
use millstream_io::{FileSink, FileSinkOptions};
use millstream_state::{Claims, OpenError};
use serde_json::Value;
use std::io;

/// What is written at once.
const BUFFER: usize = 1 << 16;

/// Where an output goes.
#[derive(Clone, Debug)]
pub(super) enum To {
    File(FileSinkOptions),
    Url(String),
}

/// An open output.
pub(super) enum OpenOutput {
    File(Box<FileSink>),
    #[cfg(feature = "serve")]
    Url {
        posting: Box<Posting>,
        url: String,
    },
}

impl To {
    /// A file of this name, or a URL.
    pub(super) fn named(name: &str) -> Self {
        if is_url(name) {
            return To::Url(name.to_owned());
        }
        To::File(FileSink::append(name).buffered(BUFFER).flush_at_pauses())
    }
}

#[cfg(feature = "page")]
impl To {
    pub(super) fn url(&self) -> Option<&str> {
        match self {
            To::File(_) => None,
            To::Url(url) => Some(url),
        }
    }
}

impl OpenOutput {
    pub(super) fn file(file: FileSink) -> Self {
        OpenOutput::File(Box::new(file))
    }

    /// What posts to a URL.
    #[cfg(feature = "serve")]
    pub(super) fn posting(url: &str) -> Result<Self, OpenError> {
        let posting = Posting::to(url).map_err(io::Error::other)?;
        Ok(OpenOutput::Url { posting: Box::new(posting), url: url.to_owned() })
    }

    #[cfg(not(feature = "serve"))]
    pub(super) fn posting(url: &str) -> Result<Self, OpenError> {
        Err(io::Error::other(format!("{url}: this command was built without the feature `serve`, which posts")).into())
    }

    /// Writes what goes there at a number; what is posted has a key of this run.
    #[cfg_attr(not(feature = "serve"), expect(unused_variables, reason = "nothing is posted"))]
    pub(super) fn write(&mut self, number: SequenceNumber, bytes: &[u8], run: &str) -> io::Result<()> {
        match self {
            OpenOutput::File(file) => file.write(number, bytes),
            #[cfg(feature = "serve")]
            OpenOutput::Url { posting, url } => posting
                .post_again(run, url, number, bytes)
                .map_err(|error| io::Error::new(error.kind(), format!("{url}: {error}"))),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            OpenOutput::File(file) => file.flush(),
            #[cfg(feature = "serve")]
            OpenOutput::Url { .. } => Ok(()),
        }
    }

    /// What it holds. Of what was posted, nothing can be taken back.
    pub(super) fn claim(&mut self) -> io::Result<Value> {
        match self {
            OpenOutput::File(file) => Claims::claim(&mut **file),
            #[cfg(feature = "serve")]
            OpenOutput::Url { .. } => Ok(Value::Null),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            OpenOutput::File(file) => file.finish().map(drop),
            #[cfg(feature = "serve")]
            OpenOutput::Url { .. } => Ok(()),
        }
    }
}

/// The name of a run, by which what it posts is known.
pub(super) fn run_of(stored: &str) -> String {
    #[cfg(feature = "serve")]
    if stored.is_empty() {
        return new_run();
    }
    stored.to_owned()
}
