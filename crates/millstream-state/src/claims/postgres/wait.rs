//! Waits for the database, with a limit.

use std::time::{Duration, Instant};

/// The end of a wait that begins now.
pub(super) fn after(patience: Duration) -> Instant {
    // A patience can be endless, which no clock can express.
    const YEARS: Duration = Duration::from_secs(1 << 30);
    Instant::now() + patience.min(YEARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_core::blocking::block_until;
    use std::thread;

    #[test]
    fn a_result_comes_from_another_thread_or_the_wait_ends() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            sender.send(7)
        });
        assert_eq!(block_until(after(Duration::MAX), receiver), Some(Ok(7)));
        thread.join().unwrap().unwrap();
        let begun = Instant::now();
        assert_eq!(block_until(begun + Duration::from_millis(20), std::future::pending::<()>()), None);
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }
}
