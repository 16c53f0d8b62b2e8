//! Posts rows to a URL.

use crate::hash::Hash;
use millstream_core::{SequenceNumber, Sink, Val};
use millstream_net::http::{PostError, PostSink};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Posts rows, a body of whole rows at a time, and tries again as a [`PostSink`] does. The `Idempotency-Key` of a body
/// is unique among all runs, so a server that knows such keys takes a repeated body once.
pub(super) struct Posting {
    sink: PostSink,
    bodies: u64,
}

impl Posting {
    pub(super) fn to(url: &str) -> Result<Self, String> {
        if !url.starts_with("http://") {
            return Err(format!("{url}: rows can be posted only to http:// addresses, without encryption"));
        }
        Ok(Posting { sink: PostSink::to(url, new_run()).batch(1), bodies: 0 })
    }

    /// As [`post`](Posting::post), for a run whose state is kept: the same rows at the same number have the same key in
    /// every process. If a source cuts its rows differently when it is read again, the keys differ.
    pub(super) fn post_again(&mut self, run: &str, url: &str, number: SequenceNumber, rows: &[u8]) -> io::Result<()> {
        let mut hash = Hash::default();
        hash.slot(SequenceNumber(0), url.as_bytes());
        hash.slot(number, rows);
        self.sink.post_as(&format!("{run}:{number}-{:016x}", hash.state()), rows).map_err(failed)
    }

    pub(super) fn post(&mut self, rows: &[u8]) -> io::Result<()> {
        let number = SequenceNumber(self.bodies);
        self.bodies += 1;
        Sink::<Val<Vec<u8>>>::put(&mut self.sink, number, &rows.to_vec()).map_err(failed)
    }
}

/// A unique name for a run, or for one of its sinks.
pub(super) fn new_run() -> String {
    // The clock may stand still between two sinks, or go back.
    static NAMED: AtomicU64 = AtomicU64::new(0);
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let named = NAMED.fetch_add(1, Ordering::Relaxed);
    format!("run-{}-{}-{named}", std::process::id(), begun.as_micros())
}

fn failed(error: PostError) -> io::Error {
    match error {
        PostError::Refused { status, .. } => io::Error::other(format!("the server answered with status {status}")),
        PostError::Unanswered { source, .. } => io::Error::other(source),
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::new_run;
    use std::collections::BTreeSet;

    #[test]
    fn sinks_that_are_opened_at_once_have_different_names() {
        let names: BTreeSet<String> = (0..10_000).map(|_| new_run()).collect();
        assert_eq!(names.len(), 10_000);
    }
}
