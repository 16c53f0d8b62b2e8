use super::waits::Waits;
use super::{Channel, Source};
use millstream_core::Item;
use std::time::{Duration, Instant};

/// A source at a limited rate. See [`throttle`].
#[derive(Clone, Debug)]
pub struct Throttle<X> {
    source: X,
    every: Duration,
}

/// Takes at most one value from the source in each `every`: after a value it waits that long before it asks for the
/// next one. The first value comes at once. No value is lost: the source is simply not asked, so back-pressure reaches
/// it as that of a full ring would. Nothing is buffered.
///
/// The stream is that of the source, the same in every run; only the times differ. With an `every` of zero it changes
/// nothing.
///
/// It waits on the thread that takes the values: on [`Rings`](crate::Rings) and [`Queues`](crate::Queues) that of the
/// source, which no stage needs, and on other deployments the calling thread. A run that is drained or stopped, or
/// whose `take` has enough, ends the wait; the source is not asked for another value.
///
/// ```
/// use millstream::prelude::*;
/// use std::time::Duration;
///
/// let requests = source::throttle(["a", "b", "c"], Duration::from_millis(1));
/// assert_eq!(pipeline().collect(requests)?, ["a", "b", "c"]);
/// # Ok::<(), RunError>(())
/// ```
#[doc(alias = "rate_limit")]
#[doc(alias = "pace")]
pub fn throttle<X>(source: X, every: Duration) -> Throttle<X> {
    Throttle { source, every }
}

impl<T: Item, X: Source<T>> Source<T> for Throttle<X> {
    type Values = Throttled<X::Values>;
    const WAITS: bool = true;
    const SLOTS: usize = X::SLOTS;
    const THREADS: usize = if X::THREADS > 1 { X::THREADS } else { 1 };

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn into_values(self) -> Throttled<X::Values> {
        Throttled { values: self.source.into_values(), every: self.every, last: None }
    }

    fn channels(&self) -> Vec<Channel> {
        self.source.channels()
    }
}

/// The values of a [`Throttle`].
#[derive(Debug)]
pub struct Throttled<I> {
    values: I,
    every: Duration,
    last: Option<Instant>,
}

impl<I: Iterator> Iterator for Throttled<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if let Some(last) = self.last
            && !Waits::of_thread().sleep(last, self.every)
        {
            return None;
        }
        let value = self.values.next()?;
        self.last = Some(Instant::now());
        Some(value)
    }
}
