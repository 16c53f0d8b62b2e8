use crate::pipe::{
    Compact, FlatMap, FlatScan, FlatScanFinish, Flatten, KeepsState, Made, OfState, Renumber, StageFn, Then, Threaded,
    Window, WindowsBy,
};
use crate::{Arrow, Item, Shape, ToOwnedItem};

/// Stages that number their outputs from 0 again. For every [`Arrow`].
///
/// Their output has a **new clock**: its numbers begin at 0 and are all filled, and its END is empty. A value at the
/// input's END is treated as any other value, and its outputs come before the new END. A mark moves to the new clock,
/// before the first output of the values that came after the mark.
///
/// Output n does not have input n's number. Such a stage therefore cannot be joined with its input by number, and
/// cannot be inside `fanout`, `both` or `shard`. Inside such a body, `map` to a `Vec`, and
/// [`flatten`](ClockExt::flatten) it after the body.
///
/// ```
/// use millstream::prelude::*;
/// let words = |line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let p = pipeline::<String>()
///     .shard(2, move |p| p.map(words))
///     .flatten()
///     .map(|word| word.len());
/// assert_eq!(p.model(["to be or".to_owned(), "not".to_owned()]), [2, 2, 2, 3]);
/// ```
pub trait ClockExt: Arrow {
    /// Yields every item of the iterator that `f` returns for a value: Haskell's `concatMap`.
    ///
    /// The iterator is kept from one step to the next, and therefore owns its items. It may be long or endless: the
    /// stage asks for one item at a time, when there is room. A panic of the iterator is a failure at the value's
    /// number.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().flat_map(|n| 0..*n);
    /// assert_eq!(p.model_slots([2, 0, 3]), [Some(0), Some(1), Some(0), Some(1), Some(2), None]);
    /// ```
    #[doc(alias = "concat_map")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn flat_map<'x, I, F, X, By>(
        self,
        f: F,
    ) -> Made<'x, Self::Out, F, X, I, By, Then<Self, Renumber<FlatMap<Self::Out, F, I>>>>
    where
        I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
        F: Threaded<X, I> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, I, By>,
    {
        F::made(Then::new(self, Renumber::new(FlatMap::new(f))))
    }

    /// Applies `f` to a state and every value, and yields every item of the iterator that `f` returns.
    ///
    /// It is a [`scan`](Arrow::scan) with any number of outputs a value, or a [`flat_map`](ClockExt::flat_map) with a
    /// state. The iterator owns its items, as there; it does not see the state, which `f` may change at the next value
    /// before the iterator has ended.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // The numbers that are missing before each.
    /// let gaps = pipeline::<u64>().flat_scan(0, |next, x| {
    ///     let missing = *next..*x;
    ///     *next = x + 1;
    ///     missing
    /// });
    /// assert_eq!(gaps.model([0, 3, 4, 6]), [1, 2, 5]);
    /// ```
    #[doc(alias("flat_map_with_state", "process"))]
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn flat_scan<S, I, F, By>(
        self,
        state: S,
        f: F,
    ) -> OfState<Self, S, F, By, Then<Self, Renumber<FlatScan<Self::Out, S, F, I>>>>
    where
        Self: KeepsState<S, F, By>,
        I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> I + Send + Sync + 'static,
    {
        Self::keeping(Then::new(self, Renumber::new(FlatScan::new(state, f))))
    }

    /// Runs a [`flat_scan`](ClockExt::flat_scan) whose state has outputs after the last value, too.
    ///
    /// `finish` returns them at END, after the outputs of END's own value. They have numbers below the new END, which
    /// is empty. `f` and `finish` return iterators of one type, for example a `Vec`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // Batches of at most 10 altogether.
    /// let batches = pipeline::<u64>().flat_scan_finish(
    ///     Vec::new(),
    ///     |batch: &mut Vec<u64>, x| {
    ///         let full = batch.iter().sum::<u64>() + x > 10;
    ///         let done = if full { vec![std::mem::take(batch)] } else { vec![] };
    ///         batch.push(*x);
    ///         done
    ///     },
    ///     |batch| vec![batch],
    /// );
    /// assert_eq!(batches.model([4, 5, 2, 9]), [vec![4, 5], vec![2], vec![9]]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn flat_scan_finish<S, I, F, G, By>(
        self,
        state: S,
        f: F,
        finish: G,
    ) -> OfState<Self, S, F, By, Then<Self, Renumber<FlatScanFinish<Self::Out, S, F, G, I>>>>
    where
        Self: KeepsState<S, F, By>,
        I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> I + Send + Sync + 'static,
        G: Fn(S) -> I + Send + Sync + 'static,
    {
        Self::keeping(Then::new(self, Renumber::new(FlatScanFinish::new(state, f, finish))))
    }

    /// Yields every item of every value, one after another.
    ///
    /// It clones each value as a whole, and not its items one by one. To avoid even that, let
    /// [`flat_map`](ClockExt::flat_map) make the items.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(
    ///     pipeline::<Vec<u64>>().flatten().model([vec![1, 2], vec![], vec![3]]),
    ///     [1, 2, 3]
    /// );
    /// ```
    #[doc(alias = "concat")]
    fn flatten(self) -> Then<Self, Renumber<Flatten<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: IntoIterator<Item: Item, IntoIter: Send + 'static>>,
    {
        Then::new(self, Renumber::new(Flatten::new()))
    }

    /// Removes empty slots: the output is dense again.
    ///
    /// It clones every value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().filter(|x| x % 2 == 1).compact();
    /// assert_eq!(p.model_slots([1, 2, 3]), [Some(1), Some(3), None]);
    /// ```
    #[doc(alias = "cat_maybes")]
    fn compact(self) -> Then<Self, Renumber<Compact<Self::Out>>>
    where
        Self::Out: ToOwnedItem,
    {
        Then::new(self, Renumber::new(Compact::new()))
    }

    /// Groups values into windows of event time, and yields each window after it has closed; a **new clock**.
    ///
    /// Every value belongs to the windows that contain its `time`. Windows that close at one value come in the order
    /// of their starts, and windows that are open at END come there. [`Window`] defines the windows, how long they
    /// wait for late values, and what happens to values that are later still.
    ///
    /// A window is in memory until it closes, with a clone of each of its values; a value in several sliding windows
    /// is cloned for each of them. A window without values takes no memory. [`Window::at_most`] bounds the number of
    /// values in memory, and defines what happens at the bound.
    ///
    /// The idea is from Google's Dataflow model (Akidau et al., 2015). The watermark is derived from the values alone,
    /// and every run therefore has the same windows.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sums = pipeline::<(u64, u64)>()
    ///     .windows_by(Window::tumbling(10).lateness(2), |(time, _)| *time)
    ///     .map(|window| (window.start, window.values.iter().map(|(_, x)| x).sum::<u64>()));
    /// // The value of time 9 comes after one of time 11: the window up to 10 still waits for it.
    /// assert_eq!(sums.model([(1, 1), (11, 2), (9, 4), (12, 8)]), [(0, 5), (10, 10)]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `window` has `early_every`, `refine_within` or `watermark_by_key`, which are for `fold_windows` and the
    /// methods beside it.
    #[doc(alias("tumbling", "session"))]
    fn windows_by<F>(self, window: Window, time: F) -> Then<Self, Renumber<WindowsBy<Self::Out, F>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
    {
        Then::new(self, Renumber::new(WindowsBy::new(window, time)))
    }
}

impl<P: Arrow> ClockExt for P {}
