mod asynchronous;
mod borrowed_keys;
mod choice;
mod clock;
mod feedback;
mod folds;
mod kernels;
mod keys;
mod parts;
mod streams;
mod text;
mod try_map;
mod try_scan;
mod views;
mod windows;

pub use asynchronous::AsyncExt;
pub use borrowed_keys::BorrowedKeysExt;
pub use choice::ChoiceExt;
pub use clock::ClockExt;
pub use feedback::FeedbackExt;
pub use folds::{Answered, FoldExt};
pub use kernels::KernelsExt;
pub use keys::KeysExt;
pub use parts::{PartsExt, WithFirst, WithLeft, WithRight, WithSecond};
pub use streams::StreamsExt;
pub use text::TextExt;
pub use try_map::TryMapExt;
pub use try_scan::TryScanExt;
pub use views::{ViewExt, WithPart};
pub use windows::WindowsExt;

use crate::pipe::{
    After, Both, Cloned, Delay, Fanout, Filter, FilterMap, Fold, Follows, Id, IsPipeline, KeepsState, Made, MakesItems,
    Map, MapBlocking, MapOwned, Named, OfItems, OfState, OwnedBy, Scan, Shard, StageFn, Then, Threaded, id,
};
use crate::plan::{Describe, Plan, Port};
use crate::{Item, KeepsClock, PairShape, Shape, Shardable, ToOwnedItem};

/// Every type. Nothing to implement.
///
/// A trait whose supertrait mentions `Self` is refused where a `dyn` of it is written. For another reason, such as
/// `Sized`, the compiler goes on, and reports each use as well.
pub trait NoObject<T> {}
impl<T> NoObject<T> for T {}

/// A pipeline from edges of shape [`In`](Arrow::In) to edges of shape [`Out`](Arrow::Out), as a value.
///
/// Building a pipeline starts nothing, and one value can be deployed any number of times. The combinators are methods,
/// here and in the traits of [`combinators`](crate::combinators), which lists all of them by their purpose. A *body*,
/// the pipeline inside another combinator, is written as a function of the edge it reads:
///
/// ```
/// use millstream::prelude::*;
/// let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x * 10)).map(|(x, y)| x + y);
/// assert_eq!(p.model([1, 2, 3]), [11, 22, 33]);
/// ```
///
/// Closures are `Fn`, and state is explicit. A closure that hides state behind a lock or an atomic, or that reads a
/// clock, breaks the promise that every deployment produces the same output. The compiler cannot detect this.
pub trait Arrow:
    NoObject<Self> // for `Box<dyn Pipeline<A, B>>` write `BoxPipeline<A, B>`; `.boxed()` makes one
    + Sized
    + Send
    + Sync
    + 'static
{
    /// The shape of the edge that the pipeline reads.
    type In: Shape;
    /// The shape of the edge that the pipeline writes.
    type Out: Shape;

    /// Adds this pipeline's stages to a plan, in pipeline order, and returns the port of its output.
    fn describe(&self, input: Port, plan: &mut Describe) -> Port;

    /// Returns the stages, rings and warnings of this pipeline.
    fn plan(&self) -> Plan {
        Plan::with_lookup(self).0
    }

    /// Runs `next` on the output of `self`: Haskell's `>>>`.
    ///
    /// The result is a `Then<Self, Q>`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().map(|x| x + 1).then(pipeline::<u64>().filter(|x| x % 2 == 0));
    /// assert_eq!(p.model([1, 2, 3]), [2, 4]);
    /// ```
    #[doc(alias("compose", "pipe"))]
    fn then<Q: IsPipeline<By, Pipeline: Follows<Self::Out, <Q::Pipeline as Arrow>::In>>, By>(
        self,
        next: Q,
    ) -> After<Self, Q, Self::Out, By> {
        next.pipeline().after(self)
    }

    /// Applies `f` to a reference to every value.
    ///
    /// The compiler infers that a closure written in the call accepts a reference of any lifetime. A closure with a
    /// name of its own needs a type annotation that says so. Without one it accepts references of one lifetime only,
    /// and the compiler refuses it here ([`StageFn`]).
    ///
    /// The result is a `Then<Self, Map<Self::Out, F, B>>`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let add = |x: &u64| x + 1; // and not `|x| x + 1`
    /// assert_eq!(pipeline::<u64>().map(add).model([1, 2]), [2, 3]);
    /// ```
    #[doc(alias = "select")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn map<'x, B, F, X, By, Flow>(
        self,
        f: F,
    ) -> OfItems<Self, F, B, Flow, Made<'x, Self::Out, F, X, B, By, Then<Self, Map<Self::Out, F, B>>>>
    where
        Self: MakesItems<F, B, Flow>,
        F: Threaded<X, B> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, B, By>,
    {
        Self::making(F::made(Then::new(self, Map::new(f))))
    }

    /// Applies `f` to every value, which `f` then owns.
    ///
    /// On rings and in the model the value is always cloned: a ring owns what is in its slots, and lends it to every
    /// reader. On queues the value is moved, and cloned only where the edge forks. So on rings this is
    /// `map(|x| f(x.clone()))`, and a function that only reads its value is cheaper as a [`map`](Arrow::map).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let shout = pipeline::<String>().map_owned(|mut word| { word.push('!'); word });
    /// assert_eq!(shout.model(["hey".to_owned()]), ["hey!"]);
    /// ```
    #[doc(alias = "into")]
    fn map_owned<B, F>(self, f: F) -> Then<Self, OwnedBy<MapOwned<Self::Out, F, B>>>
    where
        Self::Out: ToOwnedItem,
        B: Item,
        F: Fn(<Self::Out as ToOwnedItem>::Owned) -> B + Send + Sync + 'static,
    {
        Then::new(self, OwnedBy::new(MapOwned::new(f)))
    }

    /// Clones every value into a ring of its own. On queues the value is moved.
    ///
    /// The output's shape is [`Val`](crate::Val), whatever the shape of the input: after a filter it is the value,
    /// and of a pair of rings it is a tuple. So a function that returns a pipeline can write its type.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// fn even() -> impl Arrow<In = Val<u64>, Out = Val<u64, Sparse>> {
    ///     pipeline::<u64>().filter(|x| x % 2 == 0).cloned()
    /// }
    /// assert_eq!(even().plan().stages.len(), 2);
    /// ```
    #[doc(alias("copied", "to_owned"))]
    fn cloned(self) -> Then<Self, OwnedBy<Cloned<Self::Out>>>
    where
        Self::Out: ToOwnedItem,
    {
        Then::new(self, OwnedBy::new(Cloned::new()))
    }

    /// Applies a function that may wait, for a disk, a server or a lock, to every value.
    ///
    /// On rings the stage has a thread of its own; inside a `shard`, each of the k tasklets has one. It takes and
    /// publishes one value at a time.
    #[doc(alias = "spawn_blocking")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn map_blocking<'x, B, F, X, By, Flow>(
        self,
        f: F,
    ) -> OfItems<Self, F, B, Flow, Made<'x, Self::Out, F, X, B, By, Then<Self, MapBlocking<Self::Out, F, B>>>>
    where
        Self: MakesItems<F, B, Flow>,
        F: Threaded<X, B> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, B, By>,
    {
        Self::making(F::made(Then::new(self, MapBlocking::new(f))))
    }

    /// Applies `f` to every value; `None` leaves the slot empty.
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn filter_map<'x, B, F, X, By, Flow>(
        self,
        f: F,
    ) -> OfItems<Self, F, B, Flow, Made<'x, Self::Out, F, X, Option<B>, By, Then<Self, FilterMap<Self::Out, F, B>>>>
    where
        Self: MakesItems<F, B, Flow>,
        F: Threaded<X, Option<B>> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, Option<B>, By>,
    {
        Self::making(F::made(Then::new(self, FilterMap::new(f))))
    }

    /// Keeps the values for which `keep` returns true, and leaves the other slots empty.
    ///
    /// No value is copied: the stage writes a mask of one byte a number.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().filter(|x| x % 2 == 1);
    /// assert_eq!(p.model_slots([1, 2, 3]), [Some(1), None, Some(3), None]); // END is empty
    /// ```
    #[doc(alias = "where")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn filter<'x, F, X, By>(self, keep: F) -> Made<'x, Self::Out, F, X, bool, By, Then<Self, Filter<Self::Out, F>>>
    where
        F: Threaded<X, bool> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, bool, By>,
    {
        F::made(Then::new(self, Filter::new(keep)))
    }

    /// Applies `f` to a state and every value; `f` may change the state and returns the output.
    ///
    /// This is a Mealy machine. The result is a `Then<Self, Scan<Self::Out, S, F, B>>`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sum = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum });
    /// assert_eq!(sum.model([1, 2, 3, 4, 5]), [1, 3, 6, 10, 15]);
    /// ```
    #[doc(alias("map_with_state", "stateful_map", "accumulate"))]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn scan<S, B, F, By, Flow>(
        self,
        state: S,
        f: F,
    ) -> OfItems<Self, F, B, Flow, OfState<Self, S, F, By, Then<Self, Scan<Self::Out, S, F, B>>>>
    where
        Self: KeepsState<S, F, By>,
        Self: MakesItems<F, B, Flow>,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> B + Send + Sync + 'static,
    {
        Self::making(Self::keeping(Then::new(self, Scan::new(state, f))))
    }

    /// Folds all values into a state, and yields one value at END: `finish` of the state.
    ///
    /// END's own value, if there is one, is folded in first. Every slot below END is empty, and nothing is written for
    /// it: the edge is filled [`AtEnd`](crate::AtEnd) alone.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let count = pipeline::<char>().fold(0, |n, _| *n += 1, |n| n);
    /// assert_eq!(count.model(['a', 'b']), [2]);
    /// assert_eq!(count.model([]), [0]);
    /// ```
    #[doc(alias("aggregate", "reduce", "collect", "product"))]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn fold<S, B, F, G, By>(
        self,
        state: S,
        f: F,
        finish: G,
    ) -> OfState<Self, S, F, By, Then<Self, Fold<Self::Out, S, F, G, B>>>
    where
        Self: KeepsState<S, F, By>,
        B: Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        G: Fn(S) -> B + Send + Sync + 'static,
    {
        Self::keeping(Then::new(self, Fold::new(state, f, finish)))
    }

    /// Yields, at every value, the value before it, and at the first value `first`. The last value is not output.
    #[doc(alias = "lag")]
    fn delay(self, first: <Self::Out as ToOwnedItem>::Owned) -> Then<Self, Delay<Self::Out>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
    {
        Then::new(self, Delay::new(first))
    }

    /// Runs the two halves of a pair, each through its own body: Haskell's `***`.
    ///
    /// A body sees only numbers at which both halves are filled. The pair can be two rings side by side, or tuples in
    /// one ring.
    #[doc(alias = "unzip")]
    fn both<P, Q>(
        self,
        first: impl FnOnce(Id<<Self::Out as PairShape>::First>) -> P,
        second: impl FnOnce(Id<<Self::Out as PairShape>::Second>) -> Q,
    ) -> Then<Self, Both<Self::Out, P, Q>>
    where
        Self::Out: PairShape,
        P: Arrow<In = <Self::Out as PairShape>::First> + KeepsClock,
        Q: Arrow<In = <Self::Out as PairShape>::Second> + KeepsClock,
    {
        Then::new(self, Both::new(first(id()), second(id())))
    }

    /// Runs the same values through two bodies, and joins their outputs by number: Haskell's `&&&`. No value is copied.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().fanout(|p| p.map(|x| x * 10), |p| p.filter(|x| x % 2 == 1));
    /// assert_eq!(p.model([1, 2, 3]), [(10, 1), (30, 3)]);
    /// ```
    #[doc(alias("zip", "broadcast", "split"))]
    fn fanout<P, Q /* for three bodies write `fanout3` */>(
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

    /// Runs each stage of `body` on `k` tasklets; the output is the same for every `k`, in order.
    ///
    /// Tasklets claim runs of the same input ring and fill the same numbers of the same output ring. There is no
    /// splitter and no merger, and uneven items balance themselves.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().shard(4, |p| p.map(|x| x * x)).collect(1..=4), Ok(vec![1, 4, 9, 16]));
    /// ```
    ///
    /// # Panics
    ///
    /// If `k` is 0.
    #[doc(alias("par_map", "parallel"))]
    fn shard<P>(self, k: usize, body: impl FnOnce(Id<Self::Out>) -> P) -> Then<Self, Shard<P>>
    where
        P: Arrow<In = Self::Out> + Shardable,
    {
        Then::new(self, Shard::new(k, body(id())))
    }

    /// Names the last stage of this pipeline, in plans, reports and errors. An empty name is none.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().map(|x| x + 1).named("increment").map(|x| x * 2);
    /// assert!(p.plan().stages.iter().map(|stage| &*stage.name).eq(["increment", "map-2"]));
    /// ```
    #[doc(alias("uid", "label"))]
    fn named(self, name: impl Into<String>) -> Named<Self> {
        Named::new(self, name.into())
    }
}
