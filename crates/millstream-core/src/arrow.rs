mod asynchronous;
mod choice;
mod clock;
mod feedback;
mod keys;
mod parts;
mod streams;
mod text;

pub use asynchronous::AsyncExt;
pub use choice::ChoiceExt;
pub use clock::ClockExt;
pub use feedback::FeedbackExt;
pub use keys::KeysExt;
pub use parts::{PartsExt, WithFirst, WithLeft, WithRight, WithSecond};
pub use streams::StreamsExt;
pub use text::TextExt;

use crate::failure::{Cause, Retry};
use crate::pipe::{
    Both, DeadLetter, Delay, Fanout, Filter, FilterMap, Fold, Id, LeaveEmpty, Map, MapBlocking, Named, Scan, Shard,
    Stop, Then, TryMap, TryMapOrDeadLetter, id,
};
use crate::plan::{Describe, Plan, Port};
use crate::{Density, Item, KeepsClock, Lens, Projected, Shape, Shardable, ToOwnedItem, lens};

/// A pipeline from edges of shape [`In`](Arrow::In) to edges of shape [`Out`](Arrow::Out), as a value.
///
/// Building one starts nothing, and one value can be deployed any number of times. The combinators are methods; a
/// *body*, the pipeline inside another combinator, is written as a function of the edge it gets:
///
/// ```
/// use millstream_core::{Arrow, ModelExt, pipeline};
/// let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x * 10)).map(|(x, y)| x + y);
/// assert_eq!(p.model([1, 2, 3]), [11, 22, 33]);
/// ```
///
/// Closures are `Fn`, and state is explicit: a closure that hides state behind a lock or an atomic, or that reads a
/// clock, breaks the promise that every deployment gives the same output. The compiler cannot see it.
pub trait Arrow: Sized + Send + Sync + 'static {
    /// What it reads.
    type In: Shape;
    /// What it writes.
    type Out: Shape;

    /// Adds its stages to a plan, in the order in which it deploys them, and returns what it writes.
    fn describe(&self, input: Port, plan: &mut Describe) -> Port;

    /// The stages, rings and warnings of this pipeline.
    fn plan(&self) -> Plan {
        let (mut plan, source) = Describe::new(Self::In::BYTES, <Self::In as Shape>::Density::DENSE);
        let output = self.describe(source, &mut plan);
        plan.finish(output)
    }

    /// `self`, and `next` on what it gives: Haskell's `>>>`.
    fn then<Q: Arrow<In = Self::Out>>(self, next: Q) -> Then<Self, Q> {
        Then::new(self, next)
    }

    /// `f` at every value, which it gets by reference.
    ///
    /// Where the closure is written in the call, the compiler knows that. One that has a name of its own says it, or it is a
    /// closure for references of one lifetime only: then the pipeline compiles, but cannot run, and the compiler says
    /// that "the method `model` exists, but its trait bounds were not satisfied".
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, pipeline};
    /// let add = |x: &u64| x + 1; // and not `|x| x + 1`
    /// assert_eq!(pipeline::<u64>().map(add).model([1, 2]), [2, 3]);
    /// ```
    fn map<B, F>(self, f: F) -> Then<Self, Map<Self::Out, F, B>>
    where
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> B + Send + Sync + 'static,
    {
        Then::new(self, Map::new(f))
    }

    /// As [`map`](Arrow::map), with a function that may wait: for a disk, a server, a lock. On rings it has a thread of
    /// its own, inside `shard` one for each of the k, and takes and publishes one value at a time.
    fn map_blocking<B, F>(self, f: F) -> Then<Self, MapBlocking<Self::Out, F, B>>
    where
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> B + Send + Sync + 'static,
    {
        Then::new(self, MapBlocking::new(f))
    }

    /// `f` at every value; where it gives an error, the run ends with it: with the stage, the number, the error and its
    /// sources.
    ///
    /// To keep the failures beside the values, at their own numbers, use [`map`](Arrow::map): its output is then a
    /// `Result`.
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, pipeline};
    /// let parse = pipeline::<&str>().try_map(|s| s.parse::<u64>());
    /// assert_eq!(parse.model(["1", "2"]), [1, 2]);
    /// let skip = pipeline::<&str>().try_map_or_empty(|s| s.parse::<u64>());
    /// assert_eq!(skip.model_slots(["1", "x", "3"]), [Some(1), None, Some(3), None]);
    /// let keep = pipeline::<&str>().map(|s| s.parse::<u64>().map_err(|_| *s));
    /// assert_eq!(keep.model(["1", "x"]), [Ok(1), Err("x")]);
    /// ```
    fn try_map<B, E, F>(self, f: F) -> Then<Self, TryMap<Self::Out, F, B, E, Stop>>
    where
        B: Item,
        E: Cause,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, TryMap::new(f, Stop))
    }

    /// `f` at every value; where it gives an error or panics, the slot is left empty.
    fn try_map_or_empty<B, E, F>(self, f: F) -> Then<Self, TryMap<Self::Out, F, B, E, LeaveEmpty>>
    where
        B: Item,
        E: Cause,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, TryMap::new(f, LeaveEmpty))
    }

    /// `f` at every value; where it gives an error or panics, the slot is left empty, and `dead` is told: of the stage,
    /// the number, the input and the error. The stage has this name.
    ///
    /// `dead` is called once for each failure of a run, in the order of their numbers, also where `f` is sharded. It may
    /// wait: it has a thread of its own, and the stage gets no further ahead of it than a ring. So failures that
    /// nobody takes hold up the run, and its end; a bounded channel whose receiver is dropped does not. Where `dead`
    /// panics, the run fails. The model tells of failures in the same order; inside a `shard_by`, the model and queues keep
    /// the order of each key alone.
    ///
    /// Where a stage downstream ends the stream, as an outer [`take`](crate::StreamsExt::take) does, `dead` is told of
    /// every failure up to that end. What is upstream of the `take` runs ahead, so `dead` may be told of some failures
    /// after it, too: how many depends on timing, and on the deployment. A program that needs the same dead letters in
    /// every run puts the `take` first.
    ///
    /// ```
    /// use millstream_core::{Arrow, DeadLetter, ModelExt, pipeline};
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let tell = move |letter: DeadLetter<'_, &'static str, _>| {
    ///     let DeadLetter { stage, number, input, fault } = letter;
    ///     // Whoever listens no more does not want them.
    ///     let _ = dead.send(format!("{stage} {number} {input:?}: {fault}"));
    /// };
    /// let parse = pipeline::<&str>().try_map_or_dead_letter("parse", |s| s.parse::<u64>(), tell);
    /// assert_eq!(parse.model_slots(["1", "x", "3"]), [Some(1), None, Some(3), None]);
    /// assert_eq!(letters.try_iter().collect::<Vec<_>>(), [r#"parse 1 "x": invalid digit found in string"#]);
    /// ```
    fn try_map_or_dead_letter<B, E, F, G>(
        self,
        name: impl Into<String>,
        f: F,
        dead: G,
    ) -> Then<Self, TryMapOrDeadLetter<Self::Out, F, B, E, G>>
    where
        Self::Out: ToOwnedItem,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        Then::new(self, TryMapOrDeadLetter::new(name.into(), f, dead))
    }

    /// `f` at every value; where it gives an error it is tried again, and in the end the run ends with the last one. A
    /// panic is not tried again. Since it may wait, it has a thread of its own on rings, as
    /// [`map_blocking`](Arrow::map_blocking) has. The number is held meanwhile: those behind it wait.
    fn try_map_retry<B, E, F>(self, retry: Retry, f: F) -> Then<Self, TryMap<Self::Out, F, B, E, Retry>>
    where
        B: Item,
        E: Cause,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, TryMap::new(f, retry))
    }

    /// `f` at every value; where it gives `None`, the slot is left empty.
    fn filter_map<B, F>(self, f: F) -> Then<Self, FilterMap<Self::Out, F, B>>
    where
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Option<B> + Send + Sync + 'static,
    {
        Then::new(self, FilterMap::new(f))
    }

    /// The same slots, empty where `keep` says no. No value is copied: only a mask of one byte a number is written.
    fn filter<F>(self, keep: F) -> Then<Self, Filter<Self::Out, F>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, Filter::new(keep))
    }

    /// A Mealy kernel: at every value `f` sees the state and the value, may change the state, and gives an output.
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, pipeline};
    /// let sum = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum });
    /// assert_eq!(sum.model([1, 2, 3, 4, 5]), [1, 3, 6, 10, 15]);
    /// ```
    fn scan<S, B, F>(self, state: S, f: F) -> Then<Self, Scan<Self::Out, S, F, B>>
    where
        S: Item + Clone,
        B: Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> B + Send + Sync + 'static,
    {
        Then::new(self, Scan::new(state, f))
    }

    /// Empty at every number; at END, after END's own value if there is one, `finish` of the state. Nothing is written for
    /// a number below END: the edge is filled [`AtEnd`](crate::AtEnd) alone.
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, pipeline};
    /// let count = pipeline::<char>().fold(0, |n, _| *n += 1, |n| n);
    /// assert_eq!(count.model(['a', 'b']), [2]);
    /// assert_eq!(count.model([]), [0]);
    /// ```
    fn fold<S, B, F, G>(self, state: S, f: F, finish: G) -> Then<Self, Fold<Self::Out, S, F, G, B>>
    where
        S: Item + Clone,
        B: Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        Then::new(self, Fold::new(state, f, finish))
    }

    /// At every value the value before it; `first` at the first. As long as its input: the last value is not seen.
    fn delay(self, first: <Self::Out as ToOwnedItem>::Owned) -> Then<Self, Delay<Self::Out>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
    {
        Then::new(self, Delay::new(first))
    }

    /// Both halves of a pair, each through its own body: Haskell's `***`. A body sees only numbers at which both
    /// halves are filled. The pair can be two rings side by side or tuples in one ring.
    fn both<P, Q>(
        self,
        first: impl FnOnce(Id<Projected<Self::Out, lens::First>>) -> P,
        second: impl FnOnce(Id<Projected<Self::Out, lens::Second>>) -> Q,
    ) -> Then<Self, Both<Self::Out, P, Q>>
    where
        lens::First: Lens<Self::Out>,
        lens::Second: Lens<Self::Out>,
        P: Arrow<In = Projected<Self::Out, lens::First>> + KeepsClock,
        Q: Arrow<In = Projected<Self::Out, lens::Second>> + KeepsClock,
    {
        Then::new(self, Both::new(first(id()), second(id())))
    }

    /// The same values through both bodies, joined by number: Haskell's `&&&`. Nothing is copied.
    fn fanout<P, Q>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> P,
        second: impl FnOnce(Id<Self::Out>) -> Q,
    ) -> Then<Self, Fanout<P, Q>>
    where
        P: Arrow<In = Self::Out> + KeepsClock,
        Q: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(self, Fanout::new(first(id()), second(id())))
    }

    /// `body`, each of its stages run by `k` tasklets at once; the output is the same for every `k`, in order.
    ///
    /// Tasklets claim runs of the same input ring and fill the same numbers of the same output ring: there is no
    /// splitter and no merger, and uneven items balance themselves.
    ///
    /// # Panics
    ///
    /// If `k` is 0.
    fn shard<P>(self, k: usize, body: impl FnOnce(Id<Self::Out>) -> P) -> Then<Self, Shard<P>>
    where
        P: Arrow<In = Self::Out> + Shardable,
    {
        Then::new(self, Shard::new(k, body(id())))
    }

    /// Names the last stage of this pipeline, in plans, reports and errors.
    ///
    /// ```
    /// use millstream_core::{Arrow, pipeline};
    /// let p = pipeline::<u64>().map(|x| x + 1).named("increment").map(|x| x * 2);
    /// let names: Vec<_> = p.plan().stages.into_iter().map(|stage| stage.name).collect();
    /// assert_eq!(names, ["increment", "map-1"]);
    /// ```
    fn named(self, name: impl Into<String>) -> Named<Self> {
        Named::new(self, name.into())
    }
}
