use crate::pipe::{Choose, Id, Merge, Partition, Then, id};
use crate::{Arrow, ChoiceShape, Quiet, SameItem, Shape};

/// Choices: one body for the left values of an `Either`, and one for the right values. For every [`Arrow`] whose
/// values are an `Either`, in one ring or in two lanes.
pub trait ChoiceExt: Arrow {
    /// Puts every value into one of two lanes: left where `is_left` returns true, and right where it returns false.
    ///
    /// The output is a choice, for [`choose`](ChoiceExt::choose) or [`merge`](ChoiceExt::merge). No value is copied:
    /// the stage writes one byte a number, and both lanes read the same edge.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>()
    ///     .partition(|x| x % 2 == 0)
    ///     .merge(|even| even.map(|x| x / 2), |odd| odd.map(|x| 3 * x + 1));
    /// assert_eq!(p.model([3, 4, 5]), [10, 2, 16]);
    /// ```
    #[doc(alias("unzip", "split", "branch"))]
    fn partition<F>(self, is_left: F) -> Then<Self, Partition<Self::Out, F>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, Partition::new(is_left))
    }

    /// Runs left values through one body and right values through another: Haskell's `+++`.
    ///
    /// Each lane reads the same edge and sees the other lane's numbers as empty. Nothing is copied or routed, and
    /// every value keeps its number: the output has the order of the input. A body must be [quiet](crate::Quiet): it
    /// fills no slot at which its input is empty.
    ///
    /// ```
    /// use millstream::prelude::{Either::{Left, Right}, *};
    /// let p = pipeline::<u64>()
    ///     .map(|x| if x % 2 == 0 { Left(x / 2) } else { Right(*x) })
    ///     .choose(|even| even, |odd| odd.map(|x| format!("odd {x}")));
    /// assert_eq!(p.model([4, 5]), [Left(2), Right("odd 5".to_string())]);
    /// ```
    fn choose<P, Q>(
        self,
        left: impl FnOnce(Id<<Self::Out as ChoiceShape>::Left>) -> P,
        right: impl FnOnce(Id<<Self::Out as ChoiceShape>::Right>) -> Q,
    ) -> Then<Self, Choose<Self::Out, P, Q>>
    where
        Self::Out: ChoiceShape,
        P: Arrow<In = <Self::Out as ChoiceShape>::Left> + Quiet,
        Q: Arrow<In = <Self::Out as ChoiceShape>::Right> + Quiet,
    {
        Then::new(self, Choose::new(left(id()), right(id())))
    }

    /// Runs left and right values through two bodies with outputs of one type, which become one edge: Haskell's `|||`.
    ///
    /// The output is dense if the input is dense and neither body leaves a slot empty in its own lane. Otherwise as
    /// [`choose`](ChoiceExt::choose).
    ///
    /// ```
    /// use millstream::prelude::{Either::{Left, Right}, *};
    /// let p = pipeline::<u64>()
    ///     .map(|x| if x % 2 == 0 { Left(*x) } else { Right(*x) })
    ///     .merge(|even| even.map(|x| x / 2), |odd| odd.map(|x| 3 * x + 1));
    /// assert_eq!(p.model([3, 4, 5]), [10, 2, 16]);
    /// ```
    #[doc(alias = "either")]
    fn merge<P, Q>(
        self,
        left: impl FnOnce(Id<<Self::Out as ChoiceShape>::Left>) -> P,
        right: impl FnOnce(Id<<Self::Out as ChoiceShape>::Right>) -> Q,
    ) -> Then<Self, Merge<Self::Out, P, Q>>
    where
        Self::Out: ChoiceShape,
        P: Arrow<In = <Self::Out as ChoiceShape>::Left> + Quiet,
        Q: Arrow<In = <Self::Out as ChoiceShape>::Right, Out: SameItem<P::Out>> + Quiet,
    {
        Then::new(self, Merge::new(left(id()), right(id())))
    }
}

impl<P: Arrow> ChoiceExt for P {}
