use crate::pipe::{Both, Choose, Fanout, FanoutAll, Id, Project, Tee, TeeTo, Then, ToAnyEdge, id};
use crate::shape::{Distributed, Flat, Nothing, Swapped, Twice};
use crate::{Arrow, ChoiceShape, ItemShape, KeepsClock, Lens, PairShape, Quiet, Sink, lens};

/// The type that [`PartsExt::first`] returns.
pub type WithFirst<S, P> = Then<S, Both<<S as Arrow>::Out, P, Id<<<S as Arrow>::Out as PairShape>::Second>>>;
/// The type that [`PartsExt::second`] returns.
pub type WithSecond<S, P> = Then<S, Both<<S as Arrow>::Out, Id<<<S as Arrow>::Out as PairShape>::First>, P>>;
/// The type that [`PartsExt::left`] returns.
pub type WithLeft<S, P> = Then<S, Choose<<S as Arrow>::Out, P, Id<<<S as Arrow>::Out as ChoiceShape>::Right>>>;
/// The type that [`PartsExt::right`] returns.
pub type WithRight<S, P> = Then<S, Choose<<S as Arrow>::Out, Id<<<S as Arrow>::Out as ChoiceShape>::Left>, P>>;

/// Fan-outs in fan-outs: as a type, and as a value.
macro_rules! nested {
    (type $all:ty) => { $all };
    (type $first:ty, $second:ty $(, $rest:ty)*) => { nested!(type Fanout<$first, $second> $(, $rest)*) };
    (value $all:expr) => { $all };
    (value $first:expr, $second:expr $(, $rest:expr)*) => { nested!(value Fanout::new($first, $second) $(, $rest)*) };
}

/// Operations on one half of a pair or one lane of a choice, and lenses that rearrange values, after the article's
/// arrow classes and its unfinished shapes. For every [`Arrow`].
///
/// A method without a body adds no stage: the next stage reads the same ring, through a lens.
///
/// ```
/// use millstream::prelude::*;
/// let p = pipeline::<u64>().fork().first(|p| p.map(|x| x + 1)).swap();
/// assert_eq!(p.model([1, 2]), [(1, 2), (2, 3)]);
/// assert_eq!(p.plan().stages.len(), 1);
/// ```
pub trait PartsExt: Arrow {
    /// Keeps the first half of every pair: Haskell's `arr fst`.
    #[doc(alias("fst", "unzip"))]
    fn firsts(self) -> Then<Self, Project<Self::Out, lens::First>>
    where
        lens::First: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Keeps the second half of every pair: Haskell's `arr snd`.
    #[doc(alias("snd", "unzip"))]
    fn seconds(self) -> Then<Self, Project<Self::Out, lens::Second>>
    where
        lens::Second: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Runs the first halves of pairs through a body, and leaves the second halves as they are: Haskell's `first`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<(u64, char)>().first(|p| p.map(|x| x + 1));
    /// assert_eq!(p.model([(1, 'a')]), [(2, 'a')]);
    /// ```
    fn first<P>(self, body: impl FnOnce(Id<<Self::Out as PairShape>::First>) -> P) -> WithFirst<Self, P>
    where
        Self::Out: PairShape,
        P: Arrow<In = <Self::Out as PairShape>::First> + KeepsClock,
    {
        self.both(body, |second| second)
    }

    /// Runs the second halves of pairs through a body, and leaves the first halves as they are: Haskell's `second`.
    fn second<P>(self, body: impl FnOnce(Id<<Self::Out as PairShape>::Second>) -> P) -> WithSecond<Self, P>
    where
        Self::Out: PairShape,
        P: Arrow<In = <Self::Out as PairShape>::Second> + KeepsClock,
    {
        self.both(|first| first, body)
    }

    /// Exchanges the halves of every pair: (a, b) becomes (b, a).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<(u64, char)>().swap().model([(1, 'a')]), [('a', 1)]);
    /// ```
    fn swap(self) -> Then<Self, Project<Self::Out, Swapped>>
    where
        Swapped: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Pairs every value with itself: a becomes (a, a).
    fn fork(self) -> Then<Self, Project<Self::Out, Twice>>
    where
        Twice: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Runs the same values through three bodies, and joins their outputs by number, as one flat tuple.
    ///
    /// It is [`fanout`](Arrow::fanout) in `fanout`, and a lens that sees `((a, b), c)` as `(a, b, c)`: no value is
    /// copied, and no stage is added.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>()
    ///     .fanout3(|p| p, |p| p.map(|x| x * x), |p| p.map(|x| x % 2 == 0))
    ///     .map(|(x, square, even)| format!("{x} {square} {even}"));
    /// assert_eq!(p.model([2, 3]), ["2 4 true", "3 9 false"]);
    /// ```
    #[doc(alias("fanout_all", "broadcast"))]
    #[expect(clippy::type_complexity, reason = "one body each, and the type says so")]
    fn fanout3<A, B, C /* for two bodies write `fanout` */>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> A,
        second: impl FnOnce(Id<Self::Out>) -> B,
        third: impl FnOnce(Id<Self::Out>) -> C,
    ) -> Then<Self, FanoutAll<nested!(type A, B, C), Flat<3>>>
    where
        A: Arrow<In = Self::Out> + KeepsClock,
        B: Arrow<In = Self::Out> + KeepsClock,
        C: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(self, FanoutAll::new(nested!(value first(id()), second(id()), third(id()))))
    }

    /// Runs the same values through four bodies, as [`fanout3`](PartsExt::fanout3) does through three.
    #[expect(clippy::type_complexity, reason = "one body each, and the type says so")]
    fn fanout4<A, B, C, D>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> A,
        second: impl FnOnce(Id<Self::Out>) -> B,
        third: impl FnOnce(Id<Self::Out>) -> C,
        fourth: impl FnOnce(Id<Self::Out>) -> D,
    ) -> Then<Self, FanoutAll<nested!(type A, B, C, D), Flat<4>>>
    where
        A: Arrow<In = Self::Out> + KeepsClock,
        B: Arrow<In = Self::Out> + KeepsClock,
        C: Arrow<In = Self::Out> + KeepsClock,
        D: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(self, FanoutAll::new(nested!(value first(id()), second(id()), third(id()), fourth(id()))))
    }

    /// Runs the same values through five bodies, as [`fanout3`](PartsExt::fanout3) does through three.
    #[expect(clippy::type_complexity, reason = "one body each, and the type says so")]
    fn fanout5<A, B, C, D, E>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> A,
        second: impl FnOnce(Id<Self::Out>) -> B,
        third: impl FnOnce(Id<Self::Out>) -> C,
        fourth: impl FnOnce(Id<Self::Out>) -> D,
        fifth: impl FnOnce(Id<Self::Out>) -> E,
    ) -> Then<Self, FanoutAll<nested!(type A, B, C, D, E), Flat<5>>>
    where
        A: Arrow<In = Self::Out> + KeepsClock,
        B: Arrow<In = Self::Out> + KeepsClock,
        C: Arrow<In = Self::Out> + KeepsClock,
        D: Arrow<In = Self::Out> + KeepsClock,
        E: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(
            self,
            FanoutAll::new(nested!(value first(id()), second(id()), third(id()), fourth(id()), fifth(id()))),
        )
    }

    /// Runs the same values through six bodies, as [`fanout3`](PartsExt::fanout3) does through three.
    #[expect(clippy::type_complexity, reason = "one body each, and the type says so")]
    fn fanout6<A, B, C, D, E, F>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> A,
        second: impl FnOnce(Id<Self::Out>) -> B,
        third: impl FnOnce(Id<Self::Out>) -> C,
        fourth: impl FnOnce(Id<Self::Out>) -> D,
        fifth: impl FnOnce(Id<Self::Out>) -> E,
        sixth: impl FnOnce(Id<Self::Out>) -> F,
    ) -> Then<Self, FanoutAll<nested!(type A, B, C, D, E, F), Flat<6>>>
    where
        A: Arrow<In = Self::Out> + KeepsClock,
        B: Arrow<In = Self::Out> + KeepsClock,
        C: Arrow<In = Self::Out> + KeepsClock,
        D: Arrow<In = Self::Out> + KeepsClock,
        E: Arrow<In = Self::Out> + KeepsClock,
        F: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(
            self,
            FanoutAll::new(
                nested!(value first(id()), second(id()), third(id()), fourth(id()), fifth(id()), sixth(id())),
            ),
        )
    }

    /// Runs the same values through seven bodies, as [`fanout3`](PartsExt::fanout3) does through three.
    #[expect(clippy::too_many_arguments, clippy::type_complexity, reason = "one body each, and the type says so")]
    fn fanout7<A, B, C, D, E, F, G>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> A,
        second: impl FnOnce(Id<Self::Out>) -> B,
        third: impl FnOnce(Id<Self::Out>) -> C,
        fourth: impl FnOnce(Id<Self::Out>) -> D,
        fifth: impl FnOnce(Id<Self::Out>) -> E,
        sixth: impl FnOnce(Id<Self::Out>) -> F,
        seventh: impl FnOnce(Id<Self::Out>) -> G,
    ) -> Then<Self, FanoutAll<nested!(type A, B, C, D, E, F, G), Flat<7>>>
    where
        A: Arrow<In = Self::Out> + KeepsClock,
        B: Arrow<In = Self::Out> + KeepsClock,
        C: Arrow<In = Self::Out> + KeepsClock,
        D: Arrow<In = Self::Out> + KeepsClock,
        E: Arrow<In = Self::Out> + KeepsClock,
        F: Arrow<In = Self::Out> + KeepsClock,
        G: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(
            self,
            FanoutAll::new(nested!(
                value first(id()), second(id()), third(id()), fourth(id()), fifth(id()), sixth(id()), seventh(id())
            )),
        )
    }

    /// Runs the same values through eight bodies, as [`fanout3`](PartsExt::fanout3) does through three.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>()
    ///     .fanout8(|p| p, |p| p, |p| p, |p| p, |p| p, |p| p, |p| p, |p| p.map(|x| x + 1));
    /// assert_eq!(p.map(|(a, _, _, _, _, _, _, h)| a + h).model([1, 2]), [3, 5]);
    /// ```
    #[expect(clippy::too_many_arguments, clippy::type_complexity, reason = "one body each, and the type says so")]
    fn fanout8<A, B, C, D, E, F, G, H>(
        self,
        first: impl FnOnce(Id<Self::Out>) -> A,
        second: impl FnOnce(Id<Self::Out>) -> B,
        third: impl FnOnce(Id<Self::Out>) -> C,
        fourth: impl FnOnce(Id<Self::Out>) -> D,
        fifth: impl FnOnce(Id<Self::Out>) -> E,
        sixth: impl FnOnce(Id<Self::Out>) -> F,
        seventh: impl FnOnce(Id<Self::Out>) -> G,
        eighth: impl FnOnce(Id<Self::Out>) -> H,
    ) -> Then<Self, FanoutAll<nested!(type A, B, C, D, E, F, G, H), Flat<8>>>
    where
        A: Arrow<In = Self::Out> + KeepsClock,
        B: Arrow<In = Self::Out> + KeepsClock,
        C: Arrow<In = Self::Out> + KeepsClock,
        D: Arrow<In = Self::Out> + KeepsClock,
        E: Arrow<In = Self::Out> + KeepsClock,
        F: Arrow<In = Self::Out> + KeepsClock,
        G: Arrow<In = Self::Out> + KeepsClock,
        H: Arrow<In = Self::Out> + KeepsClock,
    {
        Then::new(
            self,
            FanoutAll::new(nested!(
                value first(id()), second(id()), third(id()), fourth(id()), fifth(id()), sixth(id()), seventh(id()),
                eighth(id())
            )),
        )
    }

    /// Keeps the left values of a choice, and leaves the slots of right values empty.
    fn lefts(self) -> Then<Self, Project<Self::Out, lens::Left>>
    where
        lens::Left: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Keeps the right values of a choice, and leaves the slots of left values empty.
    fn rights(self) -> Then<Self, Project<Self::Out, lens::Right>>
    where
        lens::Right: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Runs the left values of a choice through a body, and leaves right values as they are: Haskell's `left`.
    fn left<P>(self, body: impl FnOnce(Id<<Self::Out as ChoiceShape>::Left>) -> P) -> WithLeft<Self, P>
    where
        Self::Out: ChoiceShape,
        P: Arrow<In = <Self::Out as ChoiceShape>::Left> + Quiet,
    {
        Then::new(self, Choose::new(body(id()), id()))
    }

    /// Runs the right values of a choice through a body, and leaves left values as they are: Haskell's `right`.
    fn right<P>(self, body: impl FnOnce(Id<<Self::Out as ChoiceShape>::Right>) -> P) -> WithRight<Self, P>
    where
        Self::Out: ChoiceShape,
        P: Arrow<In = <Self::Out as ChoiceShape>::Right> + Quiet,
    {
        Then::new(self, Choose::new(id(), body(id())))
    }

    /// Turns a pair whose second half is a choice into a choice of two pairs.
    ///
    /// `(a, Left b)` becomes `Left (a, b)`, and `(a, Right c)` becomes `Right (a, c)`.
    ///
    /// ```
    /// use millstream::prelude::{Either::{Left, Right}, *};
    /// let p = pipeline::<u64>()
    ///     .fanout(|p| p, |p| p.map(|x| if x % 2 == 0 { Left(x / 2) } else { Right("odd") }))
    ///     .distribute()
    ///     .merge(
    ///         |even| even.map(|(x, half)| format!("{x} is twice {half}")),
    ///         |odd| odd.map(|(x, odd)| format!("{x} is {odd}")),
    ///     );
    /// assert_eq!(p.model([1, 2]), ["1 is odd", "2 is twice 1"]);
    /// ```
    fn distribute(self) -> Then<Self, Project<Self::Out, Distributed>>
    where
        Distributed: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Passes every value on, and runs a body on the side that reads the same values.
    ///
    /// No stage reads the output of the body. The run ends after the body has read everything. Before an outer
    /// [`take`](crate::StreamsExt::take) the body reads everything up to the last value taken. Whether it reads more,
    /// and END, at which a fold in it answers, depends on timing: put the `take` first.
    ///
    /// The body may be of any kind, even one that renumbers. Inside a lane of a choice or a `shard_by` it must be
    /// [quiet](crate::Quiet), and inside a `shard` [shardable](crate::Shardable).
    fn tee<P: Arrow<In = Self::Out>>(self, body: impl FnOnce(Id<Self::Out>) -> P) -> Then<Self, Tee<P>> {
        Then::new(self, Tee::new(body(id())))
    }

    /// Passes every value on, and puts it into a named sink as well.
    ///
    /// Every run, and every pipeline that replaces that of a run, puts its values into a clone of `sink`, with their
    /// numbers, in order, END's too. At its end the clone is [finished](Sink::finish), before the sink of the job. An
    /// error or a panic of the sink ends the run with its name, the number and the cause. `sink::with_output` keeps
    /// what it returns, and `sink::again` makes a sink that cannot be cloned, such as a file. After a crash, a
    /// `Persistent` run gives it the values since the snapshot again, unless it is a `SideSink`, which goes on.
    ///
    /// On rings and queues it has a thread of its own, since it may wait; back-pressure then reaches the source. Before
    /// an outer [`take`](crate::StreamsExt::take) it may get more than is taken, or lack END's value. On the model it
    /// gets all values at once. It cannot be in a lane of a choice, at a key or in a `shard`: it would see no order.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let (rejected, kept) = sink::with_output(sink::collect());
    /// let p = pipeline::<&str>()
    ///     .map(|text| text.parse::<u64>().map_err(|_| *text))
    ///     .tee(|p| p.filter_map(|parsed| parsed.err()).tee_to("rejected", rejected))
    ///     .filter_map(|parsed| parsed.ok());
    /// assert_eq!(p.collect(["1", "x", "3"])?, [1, 3]);
    /// assert_eq!(kept.take(), Some(vec!["x"]));
    /// # Ok::<(), RunError>(())
    /// ```
    #[doc(alias("side_output", "sink", "tap"))]
    fn tee_to<K>(self, name: impl Into<String>, sink: K) -> Then<Self, TeeTo<Self::Out, K>>
    where
        K: Sink<Self::Out> + Clone + Sync,
    {
        Then::new(self, TeeTo::new(name.into(), sink))
    }

    /// Leaves every slot empty.
    ///
    /// The stages before it run, and no value comes out.
    fn dead_end(self) -> Then<Self, Project<Self::Out, Nothing>>
    where
        Nothing: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Hides the shape of the edge from its type: the edge is then an [`AnyEdge`](crate::AnyEdge) of the same items.
    ///
    /// It copies no value and adds no stage; the docs of `AnyEdge` say what reading one costs. A box such as
    /// `BoxPipeline<u64, u64>` ends with it, so that boxes of one type hold pipelines with any output shape.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// fn even() -> impl Arrow<In = Val<u64>, Out = AnyEdge<u64>> {
    ///     pipeline::<u64>().filter(|x| x % 2 == 0).any_edge()
    /// }
    /// fn next() -> impl Arrow<In = Val<u64>, Out = AnyEdge<u64>> {
    ///     pipeline::<u64>().map(|x| x + 1).any_edge()
    /// }
    /// assert_eq!(even().plan().stages.len(), 1);
    /// assert_eq!(next().plan().stages.len(), 1);
    /// assert_eq!(
    ///     pipeline::<u64>().map(|x| x + 1).any_edge().filter(|x| x % 2 == 0).model(0..5),
    ///     [2, 4]
    /// );
    /// ```
    #[doc(alias("erase", "erased"))]
    fn any_edge(self) -> Then<Self, ToAnyEdge<Self::Out>>
    where
        Self::Out: ItemShape,
    {
        Then::new(self, ToAnyEdge::new())
    }
}

impl<P: Arrow> PartsExt for P {}
