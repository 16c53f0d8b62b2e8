use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The beginning of a job log, which identifies its file.
pub(crate) const JOB_LOG_BEGIN: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/// A file with a line for every process that has ended, as GNU `parallel --joblog` writes it.
#[derive(Debug)]
pub(crate) struct JobLog {
    command: String,
    /// The file, or the error that ended the log.
    file: Mutex<io::Result<File>>,
}

/// A running process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    number: u64,
    at: SystemTime,
    began: Instant,
}

impl Job {
    /// A process for the block of this number, which begins now.
    pub(super) fn begin(number: u64) -> Self {
        Job { number, at: SystemTime::now(), began: Instant::now() }
    }
}

impl JobLog {
    /// An empty log.
    pub(super) fn create(path: &Path, command: String) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(JOB_LOG_BEGIN.as_bytes())?;
        Ok(JobLog { command, file: Mutex::new(Ok(file)) })
    }

    /// Logs a process that has ended, with the number of bytes that it was sent and that it wrote.
    pub(super) fn ended(&self, job: Job, sent: usize, received: u64, status: ExitStatus) {
        let Job { number, at, began } = job;
        let at = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let (took, command) = (began.elapsed().as_secs_f64(), &self.command);
        let (code, signal) = (status.code().unwrap_or(0), status.signal().unwrap_or(0));
        let line = format!("{number}\t:\t{at:.3}\t{took:>10.3}\t{sent}\t{received}\t{code}\t{signal}\t{command}\n");
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(open) = &mut *file
            && let Err(error) = open.write_all(line.as_bytes())
        {
            *file = Err(error);
        }
    }

    /// The error that ended the log early, if there was one.
    pub(super) fn failure(&self) -> Option<io::Error> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *file, Err(io::ErrorKind::Other.into())).err()
    }
}
