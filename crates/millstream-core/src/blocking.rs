//! Waiting on a thread for a future that another thread completes.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// The result of a future, for which this thread waits.
pub fn block_on<R>(future: impl Future<Output = R>) -> R {
    let forever = || {
        thread::park();
        Some(())
    };
    block_while(forever, future).expect("it waits until there is a result")
}

/// The result of a future, for which this thread waits; none if there is none at that moment. It may be called from
/// anywhere, also by a future of a runtime, whose thread it blocks.
pub fn block_until<R>(moment: Instant, future: impl Future<Output = R>) -> Option<R> {
    let for_a_time = || {
        let left = moment.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        thread::park_timeout(left);
        Some(())
    };
    block_while(for_a_time, future)
}

/// Polls a future that this thread does not leave to a runtime.
///
/// In a task of tokio, the timers and sockets of tokio pretend after 128 polls that they are not ready, and wake at
/// once, so that the task lets others have their turn. A thread that polls until the future is ready would go on for
/// ever.
#[inline]
pub fn poll<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    #[cfg(feature = "tokio")]
    return pin!(tokio::task::unconstrained(future)).poll(cx);
    #[cfg(not(feature = "tokio"))]
    future.poll(cx)
}

/// Parks this thread by `park`, until that returns none.
fn block_while<R>(mut park: impl FnMut() -> Option<()>, future: impl Future<Output = R>) -> Option<R> {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(unpark.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = poll(future.as_mut(), &mut Context::from_waker(&waker)) {
            return Some(result);
        }
        // A park may end for any reason, and other code may have consumed the wake-up. The flag is exact.
        while !unpark.woken.swap(false, Ordering::Acquire) {
            park()?;
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
