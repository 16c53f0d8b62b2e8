use crate::flow::{Distributed, Nothing, Swapped, Twice};
use crate::pipe::{Both, Choose, Id, Part, See, Tee, Then, id};
use crate::{Arrow, Fst, KeepsClock, Lens, Lft, Quiet, Rgt, Seen, Snd};

/// What [`ArrowParts::first`] gives.
pub type First<S, P> = Then<S, Both<<S as Arrow>::Out, P, Part<<S as Arrow>::Out, Snd>>>;
/// What [`ArrowParts::second`] gives.
pub type Second<S, P> = Then<S, Both<<S as Arrow>::Out, Part<<S as Arrow>::Out, Fst>, P>>;
/// What [`ArrowParts::left`] gives.
pub type LeftLane<S, P> = Then<S, Choose<<S as Arrow>::Out, P, Part<<S as Arrow>::Out, Rgt>>>;
/// What [`ArrowParts::right`] gives.
pub type RightLane<S, P> = Then<S, Choose<<S as Arrow>::Out, Part<<S as Arrow>::Out, Lft>, P>>;

/// One half, one lane, another order: what the article's [`Arrow`] classes and its unfinished shapes do to pairs and
/// choices. Where there is no body there is no stage either: the next stage reads the same ring, through a lens.
///
/// ```
/// use millstream_core::{Arrow, ArrowParts, Modelled, pipeline};
/// let p = pipeline::<u64>().fork().first(|p| p.map(|x| x + 1)).swap();
/// assert_eq!(p.model([1, 2]), [(1, 2), (2, 3)]);
/// assert_eq!(p.plan().stages.len(), 1);
/// ```
pub trait ArrowParts: Arrow {
    /// The first halves of pairs: Haskell's `arr fst`.
    fn fst(self) -> Then<Self, See<Self::Out, Fst>>
    where
        Fst: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }

    /// The second halves of pairs: Haskell's `arr snd`.
    fn snd(self) -> Then<Self, See<Self::Out, Snd>>
    where
        Snd: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }

    /// The first halves through a body, the second ones as they are: Haskell's `first`.
    fn first<P>(self, body: impl FnOnce(Part<Self::Out, Fst>) -> P) -> First<Self, P>
    where
        Fst: Lens<Self::Out>,
        Snd: Lens<Self::Out>,
        P: Arrow<In = Seen<Self::Out, Fst>> + KeepsClock,
    {
        self.both(body, |second| second)
    }

    /// The second halves through a body, the first ones as they are: Haskell's `second`.
    fn second<P>(self, body: impl FnOnce(Part<Self::Out, Snd>) -> P) -> Second<Self, P>
    where
        Fst: Lens<Self::Out>,
        Snd: Lens<Self::Out>,
        P: Arrow<In = Seen<Self::Out, Snd>> + KeepsClock,
    {
        self.both(|first| first, body)
    }

    /// Pairs, their halves exchanged: `model swap = map (\(a, b) -> (b, a))`.
    fn swap(self) -> Then<Self, See<Self::Out, Swapped>>
    where
        Swapped: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }

    /// Every value twice, as a pair: `model fork = map (\a -> (a, a))`.
    fn fork(self) -> Then<Self, See<Self::Out, Twice>>
    where
        Twice: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }

    /// Left values; where the value is a right one, the slot is empty.
    fn lefts(self) -> Then<Self, See<Self::Out, Lft>>
    where
        Lft: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }

    /// Right values; where the value is a left one, the slot is empty.
    fn rights(self) -> Then<Self, See<Self::Out, Rgt>>
    where
        Rgt: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }

    /// Left values through a body, right ones as they are: Haskell's `left`.
    fn left<P>(self, body: impl FnOnce(Part<Self::Out, Lft>) -> P) -> LeftLane<Self, P>
    where
        Lft: Lens<Self::Out>,
        Rgt: Lens<Self::Out>,
        P: Arrow<In = Seen<Self::Out, Lft>> + KeepsClock + Quiet,
    {
        Then::new(self, Choose::new(body(id()), id()))
    }

    /// Right values through a body, left ones as they are: Haskell's `right`.
    fn right<P>(self, body: impl FnOnce(Part<Self::Out, Rgt>) -> P) -> RightLane<Self, P>
    where
        Lft: Lens<Self::Out>,
        Rgt: Lens<Self::Out>,
        P: Arrow<In = Seen<Self::Out, Rgt>> + KeepsClock + Quiet,
    {
        Then::new(self, Choose::new(id(), body(id())))
    }

    /// A pair whose second half is a choice becomes a choice of two pairs: the article's `Distr`,
    /// `(a, Left b) -> Left (a, b)` and `(a, Right c) -> Right (a, c)`.
    ///
    /// ```
    /// use millstream_core::{Arrow, ArrowChoice, ArrowParts, Either::{Left, Right}, Modelled, pipeline};
    /// let p = pipeline::<u64>()
    ///     .fanout(|p| p, |p| p.map(|x| if x % 2 == 0 { Left(x / 2) } else { Right("odd") }))
    ///     .distribute()
    ///     .merge(|even| even.map(|(x, half)| format!("{x} is twice {half}")), |odd| odd.map(|(x, odd)| format!("{x} is {odd}")));
    /// assert_eq!(p.model([1, 2]), ["1 is odd", "2 is twice 1"]);
    /// ```
    fn distribute(self) -> Then<Self, See<Self::Out, Distributed>>
    where
        Distributed: Lens<Self::Out>,
    {
        Then::new(self, See::new())
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
    fn dead_end(self) -> Then<Self, See<Self::Out, Nothing>>
    where
        Nothing: Lens<Self::Out>,
    {
        Then::new(self, See::new())
    }
}

impl<P: Arrow> ArrowParts for P {}
