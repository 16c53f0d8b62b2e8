use crate::pipe::{AsIs, LeaveEmpty, MapAsync, Stop, Then, Unordered};
use crate::{Arrow, Cause, Item, Shape};
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
/// `limit` bounds the futures that are in flight at a time, and not how many are started before somebody wants their results.
/// A run works ahead of whoever reads it until its rings are full: with the usual rings of 4096 slots a reader that has
/// taken one result may have had several thousand futures started. Where a future costs something, as a request does,
/// give the run smaller rings, with [`Rings::ring`](https://docs.rs/millstream-exec/latest/millstream_exec/struct.Rings.html#method.ring):
/// with `.ring(64)` no more than 64 results wait in a ring, so a pipeline of this one stage is at most some 130 results ahead.
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
/// use millstream_core::{Arrow, AsyncExt, ModelExt, pipeline};
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
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = B> + Send + 'static,
    {
        Then::new(self, MapAsync::new(limit, f, AsIs))
    }

    /// As [`map_async`](AsyncExt::map_async); where the future gives an error, the run ends with it, as with
    /// [`try_map`](Arrow::try_map).
    ///
    /// ```
    /// use millstream_core::{Arrow, AsyncExt, ModelExt, pipeline};
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
        B: Item,
        E: Cause + Send,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Fut + Send + Sync + 'static,
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
        B: Item,
        E: Cause + Send,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<B, E>> + Send + 'static,
    {
        Then::new(self, MapAsync::new(limit, f, LeaveEmpty))
    }

    /// As [`map_async`](AsyncExt::map_async), but **gives the order up**: a result comes out as soon as it is there, and
    /// one that takes long holds up nobody, until `limit` of them do. For what is written to a place where order does not
    /// matter, and where waiting for it costs more than it is worth.
    ///
    /// The results are numbered afresh, as by [`flat_map`](crate::ClockExt::flat_map): a **new clock**, all its numbers
    /// filled, its END empty. What is given up:
    ///
    /// - The same values come out of every run, and of the model, but **in any order**. Everything behind this stage sees
    ///   them so: a `scan`, a `take`, a `delay` there may give something else in every run.
    /// - An output cannot be joined with its input, so this stands in no body: the type lacks the marker
    ///   [`KeepsClock`](crate::KeepsClock).
    /// - Which of several failures ends the run is left to chance, and so is what came out before it.
    /// - The type lacks the marker [`Determinate`](crate::Determinate), and so has every pipeline that this is a part of.
    ///   What compares deployments or builds on repetition refuses it: `Pipeline`, `Runner`, boxes, `verify`, the testkit.
    ///   The methods of `Run` run it.
    ///
    /// Marks keep their meaning: a mark waits until everything in front of it has come out. On the calling thread alone,
    /// on queues and in the model one future is waited for after the other, and so the order is that of the inputs.
    ///
    /// As `buffer_unordered` of the futures crate.
    ///
    /// ```
    /// use millstream_core::{Arrow, AsyncExt, ModelExt, pipeline};
    /// let lengths = pipeline::<&str>().unordered(8, |line| {
    ///     let line = *line;
    ///     async move { line.len() }
    /// });
    /// let mut model = lengths.model(["abc", "d"]);
    /// model.sort_unstable();
    /// assert_eq!(model, [1, 3]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    fn unordered<B, Fut, F>(self, limit: usize, f: F) -> Then<Self, Unordered<Self::Out, F, Fut>>
    where
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = B> + Send + 'static,
    {
        Then::new(self, Unordered::new(limit, f))
    }
}

impl<P: Arrow> AsyncExt for P {}
