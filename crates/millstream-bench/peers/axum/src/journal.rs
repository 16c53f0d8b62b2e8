//! The journal of requests that a service writes before it answers.

use crate::steps::Request;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use tokio::sync::oneshot;

/// A journal. Records that arrive during a sync are synced together by the next one.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The records that are not written yet, and a sender for each request that waits for that.
    waiting: Mutex<(Vec<u8>, Vec<oneshot::Sender<()>>)>,
    more: Condvar,
}

impl Journal {
    /// Begins a journal in this file.
    pub(crate) fn begin(file: &Path) -> io::Result<Arc<Self>> {
        let mut file = File::create(file)?;
        let journal = Arc::new(Journal::default());
        let written = journal.clone();
        let write = move || {
            loop {
                let (records, callers) = written.next();
                if file.write_all(&records).and_then(|()| file.sync_data()).is_err() {
                    return;
                }
                callers.into_iter().for_each(|caller| _ = caller.send(()));
            }
        };
        std::thread::Builder::new().name("journal".to_owned()).spawn(write)?;
        Ok(journal)
    }

    /// Waits for records, and takes them all.
    fn next(&self) -> (Vec<u8>, Vec<oneshot::Sender<()>>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |waiting: &mut (Vec<u8>, Vec<_>)| waiting.1.is_empty();
        std::mem::take(&mut *self.more.wait_while(waiting, none).unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends a record. The receiver gets a message once the record is durable.
    pub(crate) fn append(&self, request: &Request) -> oneshot::Receiver<()> {
        let (done, durable) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.0.extend((request.body.len() as u32).to_le_bytes());
        waiting.0.extend(&request.body);
        waiting.1.push(done);
        self.more.notify_one();
        durable
    }
}
