use crate::pipe::{Compact, FlatMap, Flatten, Renumber, Then, Window, WindowsBy};
use crate::{Arrow, Item, Shape, ToOwnedItem};

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
/// use millstream_core::{Arrow, ClockExt, ModelExt, pipeline};
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
    /// use millstream_core::{Arrow, ClockExt, ModelExt, pipeline};
    /// let p = pipeline::<u64>().flat_map(|n| 0..*n);
    /// assert_eq!(p.model_slots([2, 0, 3]), [Some(0), Some(1), Some(0), Some(1), Some(2), None]);
    /// ```
    fn flat_map<I, F>(self, f: F) -> Then<Self, Renumber<FlatMap<Self::Out, F, I>>>
    where
        I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> I + Send + Sync + 'static,
    {
        Then::new(self, Renumber::new(FlatMap::new(f)))
    }

    /// What is in every value, one after the other. Clones the value, not what is inside of it one by one: to avoid
    /// even that, let [`flat_map`](ClockExt::flat_map) make what is needed.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, ModelExt, pipeline};
    /// assert_eq!(pipeline::<Vec<u64>>().flatten().model([vec![1, 2], vec![], vec![3]]), [1, 2, 3]);
    /// ```
    fn flatten(self) -> Then<Self, Renumber<Flatten<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: IntoIterator<Item: Item, IntoIter: Send + 'static>>,
    {
        Then::new(self, Renumber::new(Flatten::new()))
    }

    /// The values without the empty slots between them: behind it, edges are full again. Clones every value.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, ModelExt, pipeline};
    /// let p = pipeline::<u64>().filter(|x| x % 2 == 1).compact();
    /// assert_eq!(p.model_slots([1, 2, 3]), [Some(1), Some(3), None]);
    /// ```
    fn compact(self) -> Then<Self, Renumber<Compact<Self::Out>>>
    where
        Self::Out: ToOwnedItem,
    {
        Then::new(self, Renumber::new(Compact::new()))
    }

    /// Windows of event time: every value goes into the windows that its `time` lies in, and each window is given once
    /// it has closed, those that close at one value in the order of their starts. What is open at END is given there.
    /// [`Window`] says which windows, how long they wait for values that come late, and what becomes of those that
    /// come too late.
    ///
    /// A window is in memory until it closes: all its values, each in every sliding window that it lies in. A clone of
    /// each is made for that, and windows that nothing lies in take none. How many values there may be together, and what
    /// happens with more, says [`Window::at_most`].
    ///
    /// The idea is from Google's Dataflow model (Akidau et al., 2015), with the watermark taken from the values alone,
    /// so that every run has the same windows.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, ModelExt, Window, pipeline};
    /// let sums = pipeline::<(u64, u64)>()
    ///     .windows_by(Window::tumbling(10).lateness(2), |(time, _)| *time)
    ///     .map(|window| (window.start, window.values.iter().map(|(_, x)| x).sum::<u64>()));
    /// // The value of time 9 comes behind one of time 11, and the window up to 10 still waits for it.
    /// assert_eq!(sums.model([(1, 1), (11, 2), (9, 4), (12, 8)]), [(0, 5), (10, 10)]);
    /// ```
    fn windows_by<F>(self, window: Window, time: F) -> Then<Self, Renumber<WindowsBy<Self::Out, F>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
    {
        Then::new(self, Renumber::new(WindowsBy::new(window, time)))
    }
}

impl<P: Arrow> ClockExt for P {}
