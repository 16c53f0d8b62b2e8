use super::Source;
use super::waits::Waits;
use crate::reactor::Reactor;
use futures_core::Stream;
use millstream_core::Item;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// An async stream as a source. See [`from_stream`].
#[derive(Clone, Debug)]
pub struct FromStream<S>(S);

/// Makes a source of an async stream: of a socket, a subscription, a request in pages.
///
/// The stream is polled on the source's thread, one value at a time, and no value is read ahead, so back-pressure
/// reaches it: while the pipeline has no room, it is not polled. Between two polls the thread sleeps until the stream
/// wakes it. A run that is drained or stopped ends that sleep and drops the stream. No executor is needed; with the
/// feature `tokio` the stream finds a runtime, as a future of [`map_async`](millstream_core::AsyncExt::map_async) does.
///
/// The stream may depend on timing; then so do its values. What the stages make of them does not.
///
/// ```
/// use futures_util::stream;
/// use millstream::prelude::*;
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// let pages = source::from_stream(stream::iter(1..=3));
/// assert_eq!(squares.collect(pages)?, [1, 4, 9]);
/// # Ok::<(), RunError>(())
/// ```
pub fn from_stream<S: Stream>(stream: S) -> FromStream<S> {
    FromStream(stream)
}

impl<T: Item, S: Stream<Item = T> + Send + 'static> Source<T> for FromStream<S> {
    type Values = Streamed<S>;
    const WAITS: bool = true;

    fn into_values(self) -> Streamed<S> {
        Streamed { stream: Some(Box::pin(self.0)), wakes: None, reactor: Reactor::here() }
    }
}

/// The values of a [`FromStream`].
pub struct Streamed<S> {
    /// None after its end.
    stream: Option<Pin<Box<S>>>,
    /// Wakes the thread that polls it.
    wakes: Option<Arc<WakesThread>>,
    reactor: Reactor,
}

/// The stream's waker.
struct WakesThread {
    woken: AtomicBool,
    waits: Arc<Waits>,
}

impl Wake for WakesThread {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.waits.notify();
    }
}

impl WakesThread {
    /// Waits until it is woken. None if the run has ended.
    fn wait(&self) -> Option<()> {
        self.waits.until(|| if self.woken.swap(false, Ordering::Acquire) { Ok(()) } else { Err(None) })
    }
}

impl<S> Streamed<S> {
    /// Drops the stream, which may want its runtime.
    fn close(&mut self) {
        let _entered = self.reactor.enter();
        self.stream = None;
    }
}

impl<S: Stream> Iterator for Streamed<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        let waits = Waits::of_thread();
        let same = self.wakes.take().filter(|wakes| Arc::ptr_eq(&wakes.waits, &waits));
        let wakes = same.unwrap_or_else(|| Arc::new(WakesThread { woken: AtomicBool::new(false), waits }));
        self.wakes = Some(wakes.clone());
        let waker = Waker::from(wakes.clone());
        loop {
            let polled = {
                let _entered = self.reactor.enter();
                self.stream.as_mut()?.as_mut().poll_next(&mut Context::from_waker(&waker))
            };
            match polled {
                Poll::Ready(Some(value)) => return Some(value),
                Poll::Ready(None) => {
                    self.close();
                    return None;
                }
                Poll::Pending => wakes.wait()?,
            }
        }
    }
}

impl<S> Drop for Streamed<S> {
    fn drop(&mut self) {
        if self.stream.is_some() {
            self.close();
        }
    }
}

impl<S> fmt::Debug for Streamed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").field("ended", &self.stream.is_none()).finish_non_exhaustive()
    }
}
