use crate::pipe::{Both, Choose, Id, Project, Projection, Tee, Then, id};
use crate::shape::{Distributed, Nothing, Swapped, Twice};
use crate::{Arrow, KeepsClock, Lens, Projected, Quiet, lens};

/// What [`PartsExt::first`] gives.
pub type WithFirst<S, P> = Then<S, Both<<S as Arrow>::Out, P, Projection<<S as Arrow>::Out, lens::Second>>>;
/// What [`PartsExt::second`] gives.
pub type WithSecond<S, P> = Then<S, Both<<S as Arrow>::Out, Projection<<S as Arrow>::Out, lens::First>, P>>;
/// What [`PartsExt::left`] gives.
pub type WithLeft<S, P> = Then<S, Choose<<S as Arrow>::Out, P, Projection<<S as Arrow>::Out, lens::Right>>>;
/// What [`PartsExt::right`] gives.
pub type WithRight<S, P> = Then<S, Choose<<S as Arrow>::Out, Projection<<S as Arrow>::Out, lens::Left>, P>>;

/// One half, one lane, another order: what the article's [`Arrow`] classes and its unfinished shapes do to pairs and
/// choices. Where there is no body there is no stage either: the next stage reads the same ring, through a lens.
///
/// ```
/// use millstream_core::{Arrow, PartsExt, ModelExt, pipeline};
/// let p = pipeline::<u64>().fork().first(|p| p.map(|x| x + 1)).swap();
/// assert_eq!(p.model([1, 2]), [(1, 2), (2, 3)]);
/// assert_eq!(p.plan().stages.len(), 1);
/// ```
pub trait PartsExt: Arrow {
    /// The first halves of pairs: Haskell's `arr fst`.
    fn firsts(self) -> Then<Self, Project<Self::Out, lens::First>>
    where
        lens::First: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// The second halves of pairs: Haskell's `arr snd`.
    fn seconds(self) -> Then<Self, Project<Self::Out, lens::Second>>
    where
        lens::Second: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// The first halves through a body, the second ones as they are: Haskell's `first`.
    fn first<P>(self, body: impl FnOnce(Projection<Self::Out, lens::First>) -> P) -> WithFirst<Self, P>
    where
        lens::First: Lens<Self::Out>,
        lens::Second: Lens<Self::Out>,
        P: Arrow<In = Projected<Self::Out, lens::First>> + KeepsClock,
    {
        self.both(body, |second| second)
    }

    /// The second halves through a body, the first ones as they are: Haskell's `second`.
    fn second<P>(self, body: impl FnOnce(Projection<Self::Out, lens::Second>) -> P) -> WithSecond<Self, P>
    where
        lens::First: Lens<Self::Out>,
        lens::Second: Lens<Self::Out>,
        P: Arrow<In = Projected<Self::Out, lens::Second>> + KeepsClock,
    {
        self.both(|first| first, body)
    }

    /// Pairs, their halves exchanged: `model swap = map (\(a, b) -> (b, a))`.
    fn swap(self) -> Then<Self, Project<Self::Out, Swapped>>
    where
        Swapped: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Every value twice, as a pair: `model fork = map (\a -> (a, a))`.
    fn fork(self) -> Then<Self, Project<Self::Out, Twice>>
    where
        Twice: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Left values; where the value is a right one, the slot is empty.
    fn lefts(self) -> Then<Self, Project<Self::Out, lens::Left>>
    where
        lens::Left: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Right values; where the value is a left one, the slot is empty.
    fn rights(self) -> Then<Self, Project<Self::Out, lens::Right>>
    where
        lens::Right: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// Left values through a body, right ones as they are: Haskell's `left`.
    fn left<P>(self, body: impl FnOnce(Projection<Self::Out, lens::Left>) -> P) -> WithLeft<Self, P>
    where
        lens::Left: Lens<Self::Out>,
        lens::Right: Lens<Self::Out>,
        P: Arrow<In = Projected<Self::Out, lens::Left>> + Quiet,
    {
        Then::new(self, Choose::new(body(id()), id()))
    }

    /// Right values through a body, left ones as they are: Haskell's `right`.
    fn right<P>(self, body: impl FnOnce(Projection<Self::Out, lens::Right>) -> P) -> WithRight<Self, P>
    where
        lens::Left: Lens<Self::Out>,
        lens::Right: Lens<Self::Out>,
        P: Arrow<In = Projected<Self::Out, lens::Right>> + Quiet,
    {
        Then::new(self, Choose::new(id(), body(id())))
    }

    /// A pair whose second half is a choice becomes a choice of two pairs: the article's `Distr`,
    /// `(a, Left b) -> Left (a, b)` and `(a, Right c) -> Right (a, c)`.
    ///
    /// ```
    /// use millstream_core::{Arrow, ChoiceExt, PartsExt, Either::{Left, Right}, ModelExt, pipeline};
    /// let p = pipeline::<u64>()
    ///     .fanout(|p| p, |p| p.map(|x| if x % 2 == 0 { Left(x / 2) } else { Right("odd") }))
    ///     .distribute()
    ///     .merge(|even| even.map(|(x, half)| format!("{x} is twice {half}")), |odd| odd.map(|(x, odd)| format!("{x} is {odd}")));
    /// assert_eq!(p.model([1, 2]), ["1 is odd", "2 is twice 1"]);
    /// ```
    fn distribute(self) -> Then<Self, Project<Self::Out, Distributed>>
    where
        Distributed: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }

    /// The same values, and a body on the side that sees them too: the article's `Tee`. Nobody reads what the body gives;
    /// the run ends when it has seen everything. In front of an outer [`take`](crate::StreamsExt::take) that is
    /// everything up to the last value taken; how much it sees behind that depends on timing. It may be of any kind,
    /// one that renumbers too; in a lane of a choice, at a key and in a shard it keeps its clock and is quiet, as
    /// everything there.
    fn tee<P: Arrow<In = Self::Out>>(self, body: impl FnOnce(Id<Self::Out>) -> P) -> Then<Self, Tee<P>> {
        Then::new(self, Tee::new(body(id())))
    }

    /// Every slot empty: the article's `DeadEnd`. What comes before runs, and nothing comes out.
    fn dead_end(self) -> Then<Self, Project<Self::Out, Nothing>>
    where
        Nothing: Lens<Self::Out>,
    {
        Then::new(self, Project::new())
    }
}

impl<P: Arrow> PartsExt for P {}
