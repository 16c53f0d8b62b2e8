//! The timers of a connection, which its requests use one after the other.
//!
//! A timer of tokio is registered with a lock that all threads share, and removed with it. A registered timer whose
//! time is put off needs neither. So a timer that is no longer wanted stays registered until the next request puts it
//! off; if none does, it wakes the connection once in vain.

use super::limits::NO_LIMIT;
use hyper::rt::{Sleep as HyperSleep, Timer as HyperTimer};
use hyper_util::rt::TokioTimer;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep_until};

/// A timer for each of the waits of a request. Each has its own length, so that times are mostly put off.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    pub(super) head: Reused,
    pub(super) body: Reused,
    pub(super) answer: Reused,
}

/// A timer that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Reused(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

impl Reused {
    fn until(&self, deadline: Instant) -> Until {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut sleep = kept.unwrap_or_else(|| Box::pin(sleep_until(deadline.into())));
        sleep.as_mut().reset(deadline.into());
        Until { sleep: Some(sleep), of: self.clone() }
    }

    /// The output of a future, or none if it takes longer than this.
    pub(super) async fn within<F: Future>(&self, time: Duration, future: F) -> Option<F::Output> {
        let (mut future, mut late) = (pin!(future), None);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            let late =
                late.get_or_insert_with(|| self.until(tokio::time::Instant::now().into_std() + time.min(NO_LIMIT)));
            Pin::new(late).poll(cx).map(|()| None)
        })
        .await
    }
}

/// Waits until a time.
struct Until {
    /// `None` once it is dropped.
    sleep: Option<Pin<Box<Sleep>>>,
    of: Reused,
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().map_or(Poll::Ready(()), |sleep| sleep.as_mut().poll(cx))
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        let before =
            std::mem::replace(&mut *self.of.0.lock().unwrap_or_else(PoisonError::into_inner), self.sleep.take());
        // Two waits at a time: one of their timers is enough.
        drop(before);
    }
}

impl HyperSleep for Until {}

/// What hyper times heads with.
impl HyperTimer for Reused {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn HyperSleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn HyperSleep>> {
        Box::pin(self.until(deadline))
    }

    fn now(&self) -> Instant {
        TokioTimer::new().now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn HyperSleep>>, deadline: Instant) {
        *sleep = self.sleep_until(deadline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_timer_that_is_used_again_still_ends_its_wait() {
        let timer = Reused::default();
        for millis in [20, 1, 30] {
            let never = std::future::pending::<()>();
            assert_eq!(timer.within(Duration::from_millis(millis), never).await, None);
            // In between it is put off, and not waited for.
            let soon = tokio::task::yield_now();
            assert_eq!(timer.within(Duration::from_secs(100), soon).await, Some(()));
            assert!(timer.0.lock().unwrap().is_some());
        }
    }

    #[tokio::test]
    async fn a_time_beyond_all_times_of_the_machine_is_no_limit() {
        let later = async { tokio::time::sleep(Duration::from_millis(1)).await };
        assert_eq!(Reused::default().within(Duration::MAX, later).await, Some(()));
    }

    #[tokio::test]
    async fn two_waits_at_a_time_both_end() {
        let timer = Reused::default();
        let after = |millis| tokio::time::Instant::now().into_std() + Duration::from_millis(millis);
        let (mut short, mut long) = (timer.until(after(1)), timer.until(after(10)));
        (&mut short).await;
        drop(short);
        (&mut long).await;
    }
}
