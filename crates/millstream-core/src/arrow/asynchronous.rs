use crate::pipe::{AsIs, LeaveEmpty, MapAsync, Stop, Then};
use crate::{Arrow, Cause, Event, Flow};
use std::future::Future;

/// Stages whose functions give futures.
///
/// At most `limit` futures are in flight at a time, and every result stands at its own number, whichever is finished
/// first. An empty slot starts no future. The function is called with a borrowed value, which the future cannot keep:
/// it takes what it needs before its first await.
///
/// On rings the futures are polled by the run's workers, when they are woken and as long as they do not wait, so what
/// holds of every stage holds of them: a poll that takes long holds up others. They are polled side by side on one
/// worker at a time, as by `buffered` of the futures crate; what should take several cores is spawned by the function,
/// or is no async work. Inside `shard` with k tasklets, one tasklet has k times as many in flight. Each result waits for
/// those before it, so memory is bounded by `limit` futures and results.
///
/// Any future runs, whatever wakes it. With the feature `tokio` of `millstream-exec`, futures find a tokio runtime
/// around them, for timers, sockets and `tokio::spawn`: that in which the run was started if it has several workers, or
/// else one that belongs to the run and ends with it. When the run is stopped or fails, the futures in flight are dropped
/// before [`wait`](https://docs.rs/millstream-exec/latest/millstream_exec/struct.Handle.html#method.wait) and its like
/// come back; draining finishes them.
///
/// The model, and runs on the calling thread alone, wait for one future after the other. There, a future that needs a
/// runtime finds it if the caller has entered one whose own threads drive it.
///
/// ```
/// use millstream_core::{Arrow, AsyncExt, Modelled, pipeline};
///
/// let lengths = pipeline::<String>().map_async(8, |line| {
///     let line = line.clone();
///     async move { line.len() }
/// });
/// assert_eq!(lengths.model(["a".to_owned(), "bc".to_owned()]), [1, 2]);
/// ```
pub trait AsyncExt: Arrow {
    /// What the future that `f` gives gives, at every value. A panic of `f` or of the future is a failure at the
    /// value's number, which shows when every number before it is done.
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    fn map_async<B, Fut, F>(self, limit: usize, f: F) -> Then<Self, MapAsync<Self::Out, F, Fut, AsIs>>
    where
        B: Event,
        F: for<'a> Fn(<Self::Out as Flow>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = B> + Send + 'static,
    {
        Then::new(self, MapAsync::new(limit, f, AsIs))
    }

    /// As [`map_async`](AsyncExt::map_async); where the future gives an error, the run ends with it, as with
    /// [`try_map`](Arrow::try_map).
    ///
    /// ```
    /// use millstream_core::{Arrow, AsyncExt, Modelled, pipeline};
    /// let parse = pipeline::<&str>().try_map_async(2, |s| {
    ///     let s = *s;
    ///     async move { s.parse::<u64>() }
    /// });
    /// assert_eq!(parse.model(["1", "2"]), [1, 2]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    fn try_map_async<B, E, Fut, F>(self, limit: usize, f: F) -> Then<Self, MapAsync<Self::Out, F, Fut, Stop>>
    where
        B: Event,
        E: Cause + Send,
        F: for<'a> Fn(<Self::Out as Flow>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<B, E>> + Send + 'static,
    {
        Then::new(self, MapAsync::new(limit, f, Stop))
    }

    /// As [`map_async`](AsyncExt::map_async); where the future gives an error or panics, the slot is left empty.
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    fn try_map_async_or_empty<B, E, Fut, F>(
        self,
        limit: usize,
        f: F,
    ) -> Then<Self, MapAsync<Self::Out, F, Fut, LeaveEmpty>>
    where
        B: Event,
        E: Cause + Send,
        F: for<'a> Fn(<Self::Out as Flow>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<B, E>> + Send + 'static,
    {
        Then::new(self, MapAsync::new(limit, f, LeaveEmpty))
    }
}

impl<P: Arrow> AsyncExt for P {}
