//! Rows that are posted to a URL.

use millstream_core::{SequenceNumber, Sink, Val};
use millstream_net::http::{PostError, PostSink};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Posts rows, some whole ones in a body, and tries again as a [`PostSink`] does. A key of `Idempotency-Key` is that of
/// one body of one run, so that a server which knows keys takes a repeated body once.
pub(super) struct Posting {
    sink: PostSink,
    bodies: u64,
}

impl Posting {
    pub(super) fn to(url: &str) -> Result<Self, String> {
        if !url.starts_with("http://") {
            return Err(format!("{url}: rows are posted to http:// alone, without encryption"));
        }
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("run-{}-{}", std::process::id(), begun.as_micros());
        Ok(Posting { sink: PostSink::to(url, run).batch(1), bodies: 0 })
    }

    pub(super) fn post(&mut self, rows: &[u8]) -> io::Result<()> {
        let number = SequenceNumber(self.bodies);
        self.bodies += 1;
        Sink::<Val<Vec<u8>>>::put(&mut self.sink, number, &rows.to_vec()).map_err(|error| match error {
            PostError::Refused { status, .. } => io::Error::other(format!("the response is {status}")),
            PostError::Unanswered { source, .. } => io::Error::other(source),
            error => io::Error::other(error),
        })
    }
}
