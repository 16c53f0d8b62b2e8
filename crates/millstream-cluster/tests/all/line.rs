//! A line to a log in this process.

use millstream_cluster::{Entry, Log, LogError, MemoryLog, Record};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A line that can be cut: then no call gets an answer. It can also lead to another log.
#[derive(Clone)]
pub(crate) struct Line {
    log: Arc<Mutex<MemoryLog>>,
    cut: Arc<AtomicBool>,
    loses: Arc<AtomicBool>,
    refuses: Arc<Mutex<Option<Refuses>>>,
}

/// Whether a record or a blob of this key and value is lost on the way.
type Refuses = Box<dyn FnMut(&str, &[u8]) -> bool + Send>;

impl Line {
    pub(crate) fn to(log: &MemoryLog) -> Self {
        let log = Arc::new(Mutex::new(log.clone()));
        Line { log, cut: Arc::default(), loses: Arc::default(), refuses: Arc::default() }
    }

    /// Loses the records and the blobs of which this says so.
    pub(crate) fn refuses(&self, refuses: impl FnMut(&str, &[u8]) -> bool + Send + 'static) {
        *self.refuses.lock().unwrap() = Some(Box::new(refuses));
    }

    /// Loses the answer to the next record that is set.
    pub(crate) fn loses_an_answer(&self) {
        self.loses.store(true, Ordering::Relaxed);
    }

    pub(crate) fn cut(&self, is_cut: bool) {
        self.cut.store(is_cut, Ordering::Relaxed);
    }

    /// As if all of a log was removed, and perhaps made again.
    pub(crate) fn leads_to(&self, log: &MemoryLog) {
        *self.log.lock().unwrap() = log.clone();
    }

    /// Sets a record, or stores a blob.
    fn write(
        &self,
        key: &str,
        value: &[u8],
        asked: impl FnOnce(&MemoryLog) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        if self.refuses.lock().unwrap().as_mut().is_some_and(|refuses| refuses(key, value)) {
            return Err(LogError::Unavailable("the request was lost".to_owned()));
        }
        self.ask(asked)
    }

    fn ask<T>(&self, asked: impl FnOnce(&MemoryLog) -> Result<T, LogError>) -> Result<T, LogError> {
        if self.cut.load(Ordering::Relaxed) {
            return Err(LogError::Unavailable("the line is cut".to_owned()));
        }
        asked(&self.log.lock().unwrap())
    }
}

impl Log for Line {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        self.ask(|log| log.append_if(edge, last, bytes))
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        self.ask(|log| log.read_from(edge, first, most))
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        self.ask(|log| log.last(edge))
    }

    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError> {
        self.ask(|log| log.kept(edge))
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        self.ask(|log| log.trim(edge, below))
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        self.ask(|log| log.get(key))
    }

    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError> {
        let set = self.write(key, value, |log| log.compare_and_set(key, revision, value));
        if self.loses.swap(false, Ordering::Relaxed) {
            return Err(LogError::Unavailable("the answer was lost".to_owned()));
        }
        set
    }

    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        self.write(name, bytes, |log| log.put_blob(name, bytes))
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        self.ask(|log| log.blob(name))
    }

    fn remove_blob(&self, name: &str) -> Result<(), LogError> {
        self.ask(|log| log.remove_blob(name))
    }

    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        self.ask(Log::blob_names)
    }
}
