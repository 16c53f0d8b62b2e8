use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Something did not come to its end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hung {
    /// How long was waited for it.
    pub limit: Duration,
}

impl fmt::Display for Hung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no end within {:?}", self.limit)
    }
}

impl std::error::Error for Hung {}

/// Runs `f` on a thread of its own and gives its result, or says that it did not end within `limit`: a deadlock then
/// fails a test and does not hang it. The thread of something that hangs is left behind.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(millstream_testkit::within(Duration::from_secs(60), || 6 * 7), Ok(42));
/// assert!(millstream_testkit::within(Duration::from_millis(5), || loop { std::thread::park() }).is_err());
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
        // Nobody waits any more if the time was up.
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
            Ok(()) => unreachable!("a thread that ends well has sent its result"),
        },
    }
}
