use crate::pipe::{
    Annotate, Chunks, Dedup, Enumerate, FilterBy, Inspect, MapM, Pairwise, ScanBy, Skip, SkipWhile, Take, TakeWhile,
    Then, Windows,
};
use crate::{Arrow, Item, Shape, ToOwnedItem};

/// What one does with streams. All of it keeps the clock and remembers something from one value to the next, so none
/// of it stands in a `shard`.
pub trait StreamsExt: Arrow {
    /// The first `n` values, in the same slots; no value is copied.
    ///
    /// Inside a body, of `fanout` say, the rest is empty, since a body ends where its input does. At the outer level
    /// **the stream ends** right behind the slot of the last value taken, with an empty END, and everything in front
    /// is cancelled: an endless source stops. A source that waits for its next value is not waited for. What runs in
    /// front runs ahead, as far as its rings reach: whether its closures see values behind the last one taken, and
    /// fail at them, is not determined; what comes out is. So dead letters and the ends of `tee`s in front get
    /// everything up to the last value taken, and something behind it or not. The model, which runs one stage after the
    /// other, wants a source that ends. If END comes first, it is as without `take`.
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, StreamsExt, pipeline};
    /// let odd = pipeline::<u64>().filter(|x| x % 2 == 1).take(2);
    /// assert_eq!(odd.model_slots(0..9), [None, Some(1), None, Some(3), None]);
    /// let beside = pipeline::<u64>().fanout(|p| p.take(1), |p| p);
    /// assert_eq!(beside.model_slots(0..3), [Some((0, 0)), None, None, None]);
    /// ```
    fn take(self, n: usize) -> Then<Self, FilterBy<Take<Self::Out>>> {
        Then::new(self, FilterBy::new(Take::new(n)))
    }

    /// The values before the first one that `wanted` refuses. As [`take`](StreamsExt::take): inside a body the rest is
    /// empty, and at the outer level the stream ends at the number of the value that was refused.
    ///
    /// ```
    /// use millstream_core::{ModelExt, StreamsExt, pipeline};
    /// assert_eq!(pipeline::<u64>().take_while(|x| x % 5 != 4).model(0..100), [0, 1, 2, 3]);
    /// ```
    fn take_while<F>(self, wanted: F) -> Then<Self, FilterBy<TakeWhile<Self::Out, F>>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, FilterBy::new(TakeWhile::new(wanted)))
    }

    /// All but the first `n` values, in the same slots; no value is copied.
    ///
    /// ```
    /// use millstream_core::{ModelExt, StreamsExt, pipeline};
    /// assert_eq!(pipeline::<char>().skip(1).model_slots(['a', 'b']), [None, Some('b'), None]);
    /// ```
    fn skip(self, n: usize) -> Then<Self, FilterBy<Skip<Self::Out>>> {
        Then::new(self, FilterBy::new(Skip::new(n)))
    }

    /// The values from the first one on that is not `unwanted`.
    fn skip_while<F>(self, unwanted: F) -> Then<Self, FilterBy<SkipWhile<Self::Out, F>>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        Then::new(self, FilterBy::new(SkipWhile::new(unwanted)))
    }

    /// The values that differ from the one before; a slot whose value is the same is left empty. No value is copied,
    /// apart from one of each run of equal ones, to compare the next with.
    ///
    /// ```
    /// use millstream_core::{ModelExt, StreamsExt, pipeline};
    /// assert_eq!(pipeline::<u64>().dedup().model([1, 1, 2, 1]), [1, 2, 1]);
    /// ```
    fn dedup(self) -> Then<Self, FilterBy<Dedup<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone + PartialEq>,
    {
        Then::new(self, FilterBy::new(Dedup::new()))
    }

    /// At every `n`-th value the last `n` of them; at END what is left, END's own value included. So it speaks where
    /// its input may be empty, and stands in no lane of a choice. Clones every value, and allocates once a chunk.
    ///
    /// ```
    /// use millstream_core::{ModelExt, StreamsExt, pipeline};
    /// let p = pipeline::<u64>().chunks(2);
    /// assert_eq!(p.model_slots([1, 2, 3]), [None, Some(vec![1, 2]), None, Some(vec![3])]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    fn chunks(self, n: usize) -> Then<Self, ScanBy<Chunks<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
    {
        Then::new(self, ScanBy::new(Chunks::new(n)))
    }

    /// At every value from the `n`-th on, the last `n`, the oldest first. Clones every value `n + 1` times, and
    /// allocates once a window: for large windows let a [`scan`](Arrow::scan) keep what it needs.
    ///
    /// ```
    /// use millstream_core::{ModelExt, StreamsExt, pipeline};
    /// let p = pipeline::<u64>().windows(2);
    /// assert_eq!(p.model_slots([1, 2, 3]), [None, Some(vec![1, 2]), Some(vec![2, 3]), None]);
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    fn windows(self, n: usize) -> Then<Self, ScanBy<Windows<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
    {
        Then::new(self, ScanBy::new(Windows::new(n)))
    }

    /// At every value the one before it and the value itself; empty at the first. Clones every value once.
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, StreamsExt, pipeline};
    /// let rises = pipeline::<u64>().pairwise().map(|(before, now)| now - before);
    /// assert_eq!(rises.model_slots([1, 2, 5]), [None, Some(1), Some(3), None]);
    /// ```
    fn pairwise(self) -> Then<Self, Annotate<Pairwise<Self::Out>>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
    {
        Then::new(self, Annotate::new(Pairwise::new()))
    }

    /// Every value's number, and the value. Not how many values there were: a slot that is empty counts as well. No
    /// value is copied.
    ///
    /// ```
    /// use millstream_core::{Arrow, ModelExt, StreamsExt, pipeline};
    /// let p = pipeline::<char>().filter(|c| *c != 'b').enumerate().map(|(number, c)| (number.0, *c));
    /// assert_eq!(p.model(['a', 'b', 'c']), [(0, 'a'), (2, 'c')]);
    /// ```
    fn enumerate(self) -> Then<Self, Annotate<Enumerate<Self::Out>>> {
        Then::new(self, Annotate::new(Enumerate::new()))
    }

    /// The same edge, and `f` sees every value, once, in the order of the numbers, and before the stages behind it do.
    /// No value is copied, and slots are as full as before.
    fn inspect<F>(self, f: F) -> Then<Self, Inspect<Self::Out, F>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
    {
        Then::new(self, Inspect::new(f))
    }

    /// As [`map`](Arrow::map), for a function that has **effects**: it writes to a file, counts in an atomic, asks a
    /// service. Haskell's `mapM`.
    ///
    /// `f` is called once for every value, in the order of the numbers, by one tasklet at a time, and so it cannot
    /// stand in a `shard`. That is all that is promised: what an effect is, when it happens as against the effects of
    /// other stages, and whether it happens for numbers behind a failure or behind what a later
    /// [`take`](StreamsExt::take) wants, is not covered by the promise that every deployment gives the same output;
    /// and neither is the output, if `f` lets it depend on anything but its value. State that the output depends on
    /// belongs in a [`scan`](Arrow::scan). If it may wait, say so: [`map_blocking`](Arrow::map_blocking), with no
    /// `shard` around it, makes the same promise.
    ///
    /// ```
    /// use millstream_core::{ModelExt, StreamsExt, pipeline};
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
    fn map_m<B, F>(self, f: F) -> Then<Self, ScanBy<MapM<Self::Out, F, B>>>
    where
        B: Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> B + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(MapM::new(f)))
    }
}

impl<P: Arrow> StreamsExt for P {}
