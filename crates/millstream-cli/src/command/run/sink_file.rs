use crate::message::{Complaints, cause, quoted};
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that a run writes. A write may wait for another process, so each has a lock of its own.
pub(super) struct SinkFile {
    name: String,
    is_open: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// `None` once it is closed.
    file: Option<File>,
    /// Whether what it has is of an earlier run, and is to go.
    is_old: bool,
    failed: bool,
}

impl SinkFile {
    /// A file of this name. What it has goes before it is written if that `is_old`.
    pub(super) fn new(name: String, file: File, is_old: bool) -> Arc<Self> {
        let state = Mutex::new(State { file: Some(file), is_old, failed: false });
        Arc::new(SinkFile { name, is_open: AtomicBool::new(true), state })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is not closed; waits for nothing.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same file, to be written in turn; `None` once it is closed.
    pub(super) fn try_clone(&self) -> Option<io::Result<File>> {
        self.state().file.as_ref().map(File::try_clone)
    }

    /// Writes to the file until that fails once.
    pub(super) fn write(&self, bytes: &[u8], complaints: &Complaints) {
        let mut state = self.state();
        if state.failed {
            return;
        }
        let written = state.ready().and_then(|file| file.map_or(Ok(()), |file| file.write_all(bytes)));
        if let Err(error) = written {
            state.failed = true;
            complaints.complain(&format!("{}: {}", quoted(self.name.as_ref()), cause(&error)));
        }
    }

    /// Takes out what it has of an earlier run. An error of that comes again where it is written.
    pub(super) fn begin(&self) {
        let _ = self.state().ready();
    }

    pub(super) fn close(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        self.state().file = None;
    }
}

impl State {
    /// The file, which has nothing of an earlier run.
    fn ready(&mut self) -> io::Result<Option<&mut File>> {
        if let (true, Some(file)) = (self.is_old, &self.file)
            && file.metadata()?.is_file()
        {
            file.set_len(0)?;
        }
        self.is_old = false;
        Ok(self.file.as_mut())
    }
}
