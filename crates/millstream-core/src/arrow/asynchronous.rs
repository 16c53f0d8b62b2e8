use crate::pipe::{AsIs, DeadLetters, LeaveEmpty, MapAsync, Stop, Then, TryMapAsyncOrDeadLetter, Unordered};
use crate::{Arrow, Cause, DeadLetter, Item, Shape, ToOwnedItem};
use std::future::Future;

/// Stages whose functions return futures. For every [`Arrow`].
///
/// At most `limit` futures are in flight at a time, and every result has its input's number, in whichever order the
/// futures finish. An empty slot starts no future. The function borrows its value; the future cannot, so the function
/// copies what the future needs.
///
/// On rings the run's workers poll the futures when they are woken. A poll that takes long delays other stages, as a
/// long call in any stage does. One worker at a time polls the futures of a tasklet, as `buffered` of the futures crate
/// does; spawn work for several cores, or do it in another kind of stage. Inside `shard` with k tasklets, one tasklet
/// has k times `limit` futures in flight. Each result waits for the earlier ones, so memory is bounded by `limit`
/// futures and results.
///
/// `limit` bounds the futures in flight at a time. It does not bound how many are started before their results are
/// read: a run works ahead of its reader until its rings are full. With the usual rings of 4096 slots, several
/// thousand futures may have been started for a reader that has taken one result. If a future is costly, as a request
/// is, give the run smaller rings, with
/// [`Rings::ring`](https://docs.rs/millstream-exec/latest/millstream_exec/struct.Rings.html#method.ring): with
/// `.ring(64)` at most 64 results wait in a ring, so a pipeline of this one stage is at most some 130 results ahead.
///
/// Any future runs, whatever wakes it. With the feature `tokio` of `millstream-exec`, futures run inside a tokio
/// runtime, for timers, sockets and `tokio::spawn`: the runtime in which the run was started if that has several
/// workers, and otherwise one that belongs to the run and ends with it. If the run is stopped or fails, the futures in
/// flight are dropped before
/// [`wait`](https://docs.rs/millstream-exec/latest/millstream_exec/struct.Handle.html#method.wait) and similar methods
/// return; draining finishes them.
///
/// The model, and runs on the calling thread alone, wait for one future after another. There, a future that needs a
/// runtime finds the one that the caller has entered, if threads of its own drive that runtime.
///
/// ```
/// use millstream::prelude::*;
///
/// let lengths = pipeline::<String>().map_async(8, |line| {
///     let line = line.clone();
///     async move { line.len() }
/// });
/// assert_eq!(lengths.model(["a".to_owned(), "bc".to_owned()]), [1, 2]);
/// ```
pub trait AsyncExt: Arrow {
    /// Applies an async function to every value, and keeps the order.
    ///
    /// A panic of `f` or of the future is a failure at the value's number. The run reports it when every earlier number
    /// is done.
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    #[doc(alias("buffered", "buffer_ordered"))]
    fn map_async<B, Fut, F>(self, limit: usize, f: F) -> Then<Self, MapAsync<Self::Out, F, Fut, AsIs>>
    where
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = B> + Send + 'static,
    {
        Then::new(self, MapAsync::new(limit, f, AsIs))
    }

    /// Applies an async function that can fail to every value; an error ends the run.
    ///
    /// The run's error is that of [`try_map`](crate::TryMapExt::try_map). Otherwise as
    /// [`map_async`](AsyncExt::map_async). To try again first, the function returns the future of
    /// [`Retry::call_async`](crate::Retry::call_async).
    ///
    /// ```
    /// use millstream::prelude::*;
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

    /// Applies an async function that can fail to every value; an error or a panic leaves the slot empty.
    ///
    /// Otherwise as [`map_async`](AsyncExt::map_async).
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

    /// Applies an async function that can fail to every value; an error or a panic leaves the slot empty, and `dead`
    /// receives it.
    ///
    /// `name` and `dead` are as in [`try_map_or_dead_letter`](crate::TryMapExt::try_map_or_dead_letter). Otherwise as
    /// [`map_async`](AsyncExt::map_async). The stage keeps a clone of each value until its future is done: a dead
    /// letter has it.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let send = move |letter: DeadLetter<'_, &'static str, _>| {
    ///     let _ = dead.send(format!("{} {}: {}", letter.stage, letter.number, letter.fault));
    /// };
    /// let parse = |s: &&'static str| {
    ///     let s = *s;
    ///     async move { s.parse::<u64>() }
    /// };
    /// let numbers = pipeline::<&str>().try_map_async_or_dead_letter(8, "parse", parse, send);
    /// assert_eq!(numbers.model_slots(["1", "x", "3"]), [Some(1), None, Some(3), None]);
    /// assert_eq!(letters.try_iter().collect::<Vec<_>>(), ["parse 1: invalid digit found in string"]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn try_map_async_or_dead_letter<B, E, Fut, F, G>(
        self,
        limit: usize,
        name: impl Into<String>,
        f: F,
        dead: G,
    ) -> Then<Self, TryMapAsyncOrDeadLetter<Self::Out, F, Fut, B, E, G>>
    where
        Self::Out: ToOwnedItem,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<B, E>> + Send + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        Then::new(self, TryMapAsyncOrDeadLetter::new(limit, f, DeadLetters::new(name.into(), dead)))
    }

    /// Applies an async function to every value, and yields results in the order in which they finish.
    ///
    /// A slow result delays no other one, until `limit` of them are slow. This is for outputs whose order does not
    /// matter, if waiting for the order would be costly. It is `buffer_unordered` of the futures crate.
    ///
    /// - Every run and the model yield the same values, but **in any order**. Stages downstream see that order: the
    ///   output of a `scan`, a `take` or a `delay` may differ in every run.
    /// - An output cannot be joined with its input. The stage can be in no body that keeps its clock: its type lacks
    ///   the marker [`KeepsClock`](crate::KeepsClock).
    /// - If several values fail, chance decides which failure ends the run, and which values come out before it.
    /// - The type lacks the marker [`Determinate`](crate::Determinate), and so does every pipeline that contains the
    ///   stage. `Pipeline`, `Stage`, boxes, the model as a runner, `verify` and the testkit refuse it, since they
    ///   compare deployments or rely on repetition. `Rings`, `Inline` and `Queues` run it.
    ///
    /// Marks keep their meaning: a mark waits until all outputs of earlier values have come out. The calling thread
    /// alone, queues and the model await one future after another, so their order is that of the inputs.
    ///
    /// ```
    /// use millstream::prelude::*;
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
    #[doc(alias("buffer_unordered", "for_each_concurrent"))]
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
