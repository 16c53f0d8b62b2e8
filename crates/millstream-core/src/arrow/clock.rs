use crate::pipe::{Compact, FlatMap, Flatten, Renumber, Then};
use crate::{Arrow, Event, Flow, Own};

/// Stages that number their outputs afresh.
///
/// What comes out of them is a **new clock**: its numbers begin at 0 and are all filled, and its END is empty. END's
/// value, if the input has one, is treated as any other value, and its outputs come before the new END. Marks are
/// laid on the new clock in front of the first output of what came behind them.
///
/// Since output n does not stand at input n's number, such a stage cannot be joined with its input by number, so it
/// cannot stand inside `fanout`, `both` or `shard`: inside, `map` to a `Vec`; behind, [`flatten`](ClockExt::flatten).
///
/// ```
/// use millstream_core::{Arrow, ClockExt, Modelled, pipeline};
/// let words = |line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let p = pipeline::<String>().shard(2, move |p| p.map(words)).flatten().map(|word| word.len());
/// assert_eq!(p.model(["to be or".to_owned(), "not".to_owned()]), [2, 2, 2, 3]);
/// ```
pub trait ClockExt: Arrow {
    /// Any number of outputs for every value: those of the iterator that `f` gives. Haskell's `concatMap`.
    ///
    /// The iterator is kept from one step to the next, so it owns what it gives; it may be long or endless, and is
    /// asked for one output at a time, when there is room. A panic of it is a failure at the value's number.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, Modelled, pipeline};
    /// let p = pipeline::<u64>().flat_map(|n| 0..*n);
    /// assert_eq!(p.model_slots([2, 0, 3]), [Some(0), Some(1), Some(0), Some(1), Some(2), None]);
    /// ```
    fn flat_map<I, F>(self, f: F) -> Then<Self, Renumber<FlatMap<Self::Out, F, I>>>
    where
        I: IntoIterator<Item: Event, IntoIter: Send + 'static> + 'static,
        F: for<'a> Fn(<Self::Out as Flow>::Ref<'a>) -> I + Send + Sync + 'static,
    {
        Then::new(self, Renumber::new(FlatMap::new(f)))
    }

    /// What is in every value, one after the other. Clones the value, not what is inside of it one by one: to avoid
    /// even that, let [`flat_map`](ClockExt::flat_map) make what is needed.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, Modelled, pipeline};
    /// assert_eq!(pipeline::<Vec<u64>>().flatten().model([vec![1, 2], vec![], vec![3]]), [1, 2, 3]);
    /// ```
    fn flatten(self) -> Then<Self, Renumber<Flatten<Self::Out>>>
    where
        Self::Out: Own<Owned: IntoIterator<Item: Event, IntoIter: Send + 'static>>,
    {
        Then::new(self, Renumber::new(Flatten::new()))
    }

    /// The values without the empty slots between them: behind it, edges are full again. Clones every value.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, Modelled, pipeline};
    /// let p = pipeline::<u64>().filter(|x| x % 2 == 1).compact();
    /// assert_eq!(p.model_slots([1, 2, 3]), [Some(1), Some(3), None]);
    /// ```
    fn compact(self) -> Then<Self, Renumber<Compact<Self::Out>>>
    where
        Self::Out: Own,
    {
        Then::new(self, Renumber::new(Compact::new()))
    }
}

impl<P: Arrow> ClockExt for P {}
