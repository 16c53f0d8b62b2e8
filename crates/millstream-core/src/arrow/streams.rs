use crate::pipe::{
    Annotate, Chunks, ClonesItems, Dedup, Enumerate, FilterBy, Inspect, KeepsState, Made, MapM, MapWindows, OfClones,
    OfState, Pairwise, ScanBy, ScanFinish, Skip, SkipWhile, StageFn, Take, TakeWhile, Then, Threaded, Windows,
};
use crate::{Arrow, Item, Shape, ToOwnedItem};

/// Stages that remember something from one value to the next. All of them keep the clock, and none of them can be
/// inside a `shard`. For every [`Arrow`].
pub trait StreamsExt: Arrow {
    /// Keeps the first `n` values; at the outer level it also ends the stream after them.
    ///
    /// Values keep their slots, and none is copied. Inside a body, for example of `fanout`, the remaining slots are
    /// empty: a body ends where its input does.
    ///
    /// At the outer level **the stream ends** after the slot of the last value taken, with an empty END, and
    /// everything upstream is cancelled: an endless source stops. The run does not wait for a source that waits for
    /// its next value. If END comes first, the stage changes nothing.
    ///
    /// Stages upstream run ahead, as far as their rings reach. The output is determined; whether closures upstream see
    /// values after the last one taken, and fail at them, is not. Dead letters and the bodies of `tee`s upstream
    /// therefore receive everything up to the last value taken, and possibly something after it. Whether such a body
    /// reads END, at which a fold in it would answer, is not determined either. The model runs one stage after the
    /// other and needs a source that ends.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let odd = pipeline::<u64>().filter(|x| x % 2 == 1).take(2);
    /// assert_eq!(odd.model_slots(0..9), [None, Some(1), None, Some(3), None]);
    /// let beside = pipeline::<u64>().fanout(|p| p.take(1), |p| p);
    /// assert_eq!(beside.model_slots(0..3), [Some((0, 0)), None, None, None]);
    /// ```
    #[doc(alias("limit", "head"))]
    fn take(self, n: usize) -> Then<Self, FilterBy<Take<Self::Out>>> {
        Then::new(self, FilterBy::new(Take::new(n)))
    }

    /// Keeps the values before the first one that `wanted` refuses; at the outer level it also ends the stream there.
    ///
    /// As with [`take`](StreamsExt::take), the remaining slots are empty inside a body. At the outer level END has the
    /// number of the value that was refused.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().take_while(|x| x % 5 != 4).model(0..100), [0, 1, 2, 3]);
    /// ```
    fn take_while<F>(self, wanted: F) -> Then<Self, FilterBy<TakeWhile<Self::Out, F>>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, FilterBy::new(TakeWhile::new(wanted)))
    }

    /// Leaves the first `n` values out.
    ///
    /// The others keep their slots, and no value is copied.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<char>().skip(1).model_slots(['a', 'b']), [None, Some('b'), None]);
    /// ```
    fn skip(self, n: usize) -> Then<Self, FilterBy<Skip<Self::Out>>> {
        Then::new(self, FilterBy::new(Skip::new(n)))
    }

    /// Leaves values out up to the first one for which `unwanted` returns false.
    ///
    /// The others keep their slots, and no value is copied.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().skip_while(|x| *x < 3);
    /// assert_eq!(p.model([1, 3, 2]), [3, 2]);
    /// ```
    fn skip_while<F>(self, unwanted: F) -> Then<Self, FilterBy<SkipWhile<Self::Out, F>>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, FilterBy::new(SkipWhile::new(unwanted)))
    }

    /// Leaves a value out if it is equal to the value before it.
    ///
    /// The others keep their slots. Of each run of equal values one is cloned, to compare the next values with. Edges
    /// side by side (a pair, a flat tuple, a choice) and what `maybe` shows cannot be compared in their slots: of these
    /// each value is cloned.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().dedup().model([1, 1, 2, 1]), [1, 2, 1]);
    /// ```
    #[doc(alias = "distinct_until_changed")]
    fn dedup(self) -> Then<Self, FilterBy<Dedup<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone + PartialEq>,
    {
        Then::new(self, FilterBy::new(Dedup::new()))
    }

    /// Collects every `n` values into a `Vec`, which is the output at the last of them.
    ///
    /// At END it yields the remaining values, END's own value among them. It may therefore fill END's slot while its
    /// input is empty there, and cannot be in a lane of a choice. It clones every value, and allocates once a chunk.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().chunks(2);
    /// assert_eq!(p.model_slots([1, 2, 3]), [None, Some(vec![1, 2]), None, Some(vec![3])]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[doc(alias("buffer", "batch", "array_chunks"))]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn chunks<'x, By>(self, n: usize) -> OfClones<'x, Self::Out, By, Then<Self, ScanBy<Chunks<Self::Out>>>>
    where
        Self::Out: ClonesItems<<Self::Out as Shape>::Ref<'x>, By>,
    {
        Self::Out::cloning(Then::new(self, ScanBy::new(Chunks::new(n))))
    }

    /// Runs a [`scan`](Arrow::scan) whose state may also make END's output.
    ///
    /// `f` is that of a `scan`. At END, `finish` makes the output from the state; if it returns `None`, END's slot
    /// stays as the `scan` leaves it. If END has a value of its own, such as a fold's answer, `f` gets that first, and
    /// the output of `f` counts only if `finish` returns `None`.
    ///
    /// It may fill END's slot while its input is empty there, so it cannot be in a lane of a choice or in a `shard_by`.
    /// For several outputs at END, make one `Vec` of them and [`flatten`](crate::ClockExt::flatten) it, or use
    /// [`flat_scan_finish`](crate::ClockExt::flat_scan_finish).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // Each run of equal values with its length, at the number of the value after it; the last run at END.
    /// let runs = pipeline::<char>()
    ///     .scan_finish(
    ///         None,
    ///         |run: &mut Option<(char, u64)>, c| match run {
    ///             Some((same, length)) if same == c => { *length += 1; None }
    ///             _ => run.replace((*c, 1)),
    ///         },
    ///         |run| Some(run),
    ///     )
    ///     .filter_map(|run| *run);
    /// assert_eq!(runs.model_slots("aab".chars()), [None, None, Some(('a', 2)), Some(('b', 1))]);
    /// ```
    #[doc(alias("scan_with_end", "on_completed", "flush"))]
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn scan_finish<S, B, F, G, By>(
        self,
        state: S,
        f: F,
        finish: G,
    ) -> OfState<Self, S, F, By, Then<Self, ScanBy<ScanFinish<Self::Out, S, F, G, B>>>>
    where
        Self: KeepsState<S, F, By>,
        B: Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> B + Send + Sync + 'static,
        G: Fn(S) -> Option<B> + Send + Sync + 'static,
    {
        Self::keeping(Then::new(self, ScanBy::new(ScanFinish::new(state, f, finish))))
    }

    /// Yields the last `n` values, the oldest first, at every value from the `n`-th on.
    ///
    /// It clones every value up to `n + 1` times, and allocates once a window.
    /// [`map_windows`](StreamsExt::map_windows) lends the window to a function instead. Memory: as there, and the
    /// windows that are on their way.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().windows(2);
    /// assert_eq!(p.model_slots([1, 2, 3]), [None, Some(vec![1, 2]), Some(vec![2, 3]), None]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[doc(alias = "sliding_window")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn windows<'x, By>(self, n: usize) -> OfClones<'x, Self::Out, By, Then<Self, ScanBy<Windows<Self::Out>>>>
    where
        Self::Out: ClonesItems<<Self::Out as Shape>::Ref<'x>, By>,
    {
        Self::Out::cloning(Then::new(self, ScanBy::new(Windows::new(n))))
    }

    /// Applies `f` to the last `n` values, the oldest first, at every value from the `n`-th on.
    ///
    /// It is `windows(n).map(|last| f(last))`, without a vector for each window: `f` borrows the values that the stage
    /// keeps. It clones every value once. Memory: room for up to `2 n` values; inside a
    /// [`shard_by`](crate::KeysExt::shard_by), for each key.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let average = pipeline::<f64>().map_windows(2, |last| last.iter().sum::<f64>() / 2.0);
    /// assert_eq!(average.model_slots([1.0, 2.0, 4.0]), [None, Some(1.5), Some(3.0), None]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[doc(alias("sliding_window", "moving_average"))]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn map_windows<'x, F, B, By>(
        self,
        n: usize,
        f: F,
    ) -> OfClones<'x, Self::Out, By, Then<Self, ScanBy<MapWindows<Self::Out, F, B>>>>
    where
        Self::Out: ClonesItems<<Self::Out as Shape>::Ref<'x>, By>,
        F: Fn(&[<Self::Out as ToOwnedItem>::Owned]) -> B + Send + Sync + 'static,
        B: Item,
    {
        Self::Out::cloning(Then::new(self, ScanBy::new(MapWindows::new(n, f))))
    }

    /// Pairs every value with the value before it; the slot of the first value is empty.
    ///
    /// It clones every value once.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let rises = pipeline::<u64>().pairwise().map(|(before, now)| now - before);
    /// assert_eq!(rises.model_slots([1, 2, 5]), [None, Some(1), Some(3), None]);
    /// ```
    #[doc(alias = "tuple_windows")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn pairwise<'x, By>(self) -> OfClones<'x, Self::Out, By, Then<Self, Annotate<Pairwise<Self::Out>>>>
    where
        Self::Out: ClonesItems<<Self::Out as Shape>::Ref<'x>, By>,
    {
        Self::Out::cloning(Then::new(self, Annotate::new(Pairwise::new())))
    }

    /// Pairs every value with its number.
    ///
    /// The number is the slot's: it counts empty slots as well. No value is copied.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<char>()
    ///     .filter(|c| *c != 'b')
    ///     .enumerate()
    ///     .map(|(number, c)| (number.0, *c));
    /// assert_eq!(p.model(['a', 'b', 'c']), [(0, 'a'), (2, 'c')]);
    /// ```
    #[doc(alias = "zip_with_index")]
    fn enumerate(self) -> Then<Self, Annotate<Enumerate<Self::Out>>> {
        Then::new(self, Annotate::new(Enumerate::new()))
    }

    /// Calls `f` with every value, and passes the value on.
    ///
    /// Each call happens once, in the order of the numbers, and before the stages downstream see the value. No value
    /// is copied, and the density stays the same.
    #[doc(alias("for_each", "peek", "tap"))]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn inspect<'x, F, X, By>(self, f: F) -> Made<'x, Self::Out, F, X, (), By, Then<Self, Inspect<Self::Out, F>>>
    where
        F: Threaded<X, ()> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, (), By>,
    {
        F::made(Then::new(self, Inspect::new(f)))
    }

    /// Applies a function that has effects to every value, in order: Haskell's `mapM`.
    ///
    /// An effect is a write to a file, a count in an atomic, a request to a service.
    ///
    /// `f` is called once for every value, in the order of the numbers, by one tasklet at a time; the stage therefore
    /// cannot be inside a `shard`. Nothing more is promised. In particular, these are open: what an effect is, when it
    /// happens relative to the effects of other stages, and whether it happens for numbers after a failure or after
    /// the end that a later [`take`](StreamsExt::take) sets. The output is open too if it depends on anything but the
    /// value. State that the output depends on belongs in a [`scan`](Arrow::scan). For a function that waits,
    /// [`map_blocking`](Arrow::map_blocking) outside of every `shard` makes the same promise.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::Mutex;
    /// use std::sync::Arc;
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let logged = log.clone();
    /// let p = pipeline::<u64>().map_m(move |x| {
    ///     logged.lock().unwrap().push(*x);
    ///     x * 2
    /// });
    /// assert_eq!((p.model([1, 2]), &*log.lock().unwrap()), (vec![2, 4], &vec![1, 2]));
    /// ```
    #[doc(alias = "for_each")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn map_m<'x, B, F, X, By>(self, f: F) -> Made<'x, Self::Out, F, X, B, By, Then<Self, ScanBy<MapM<Self::Out, F, B>>>>
    where
        B: Item,
        F: Threaded<X, B> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, B, By>,
    {
        F::made(Then::new(self, ScanBy::new(MapM::new(f))))
    }
}

impl<P: Arrow> StreamsExt for P {}
