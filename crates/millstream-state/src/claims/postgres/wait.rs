//! Waiting for a future that another thread completes.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The end of a wait that begins now.
pub(super) fn after(patience: Duration) -> Instant {
    // Some have no end to their patience, and no clock goes that far.
    const YEARS: Duration = Duration::from_secs(1 << 30);
    Instant::now() + patience.min(YEARS)
}

/// The result of a future, for which this thread waits; none if there is none at that moment. It may be called from
/// anywhere, also by a future of a runtime, whose thread it blocks.
pub(super) fn wait_until<R>(moment: Instant, future: impl Future<Output = R>) -> Option<R> {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(unpark.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
        // A park may end for any reason, and other code may have consumed the wake-up. The flag is exact.
        while !unpark.woken.swap(false, Ordering::Acquire) {
            thread::park_timeout(moment.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?);
        }
    }
}

struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_comes_from_another_thread_or_the_wait_ends() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            sender.send(7)
        });
        assert_eq!(wait_until(after(Duration::MAX), receiver), Some(Ok(7)));
        thread.join().unwrap().unwrap();
        let begun = Instant::now();
        assert_eq!(wait_until(begun + Duration::from_millis(20), std::future::pending::<()>()), None);
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }
}
