use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The error of a function that did not end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hung {
    /// The time limit.
    pub limit: Duration,
}

impl fmt::Display for Hung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no end within {:?}", self.limit)
    }
}

impl std::error::Error for Hung {}

/// Runs `f` on its own thread and returns its result, or an error if it does not end within `limit`. A deadlock then
/// fails a test instead of hanging it. The thread of a function that hangs is not joined.
///
/// ```
/// use millstream::testkit::within;
/// use std::time::Duration;
/// assert_eq!(within(Duration::from_secs(60), || 6 * 7), Ok(42));
/// assert!(within(Duration::from_millis(5), || loop { std::thread::park() }).is_err());
/// ```
///
/// # Errors
///
/// If `f` does not end in time.
///
/// # Panics
///
/// As `f` does, with the same payload.
pub fn within<T: Send + 'static>(limit: Duration, f: impl FnOnce() -> T + Send + 'static) -> Result<T, Hung> {
    let (done, wait) = sync_channel(1);
    let thread = thread::spawn(move || {
        let result = f();
        // After the time limit the receiver is gone.
        let _ = done.send(result);
    });
    match wait.recv_timeout(limit) {
        Ok(result) => {
            let _ = thread.join();
            Ok(result)
        }
        Err(RecvTimeoutError::Timeout) => Err(Hung { limit }),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(payload) => std::panic::resume_unwind(payload),
            Ok(()) => unreachable!("a thread that returns has sent its result"),
        },
    }
}
