use crate::pipe::{FoldWindows, JoinedBy, Key, NeverJoined, OneKey, OwnedKeys, ScanBy, Then, Window};
use crate::{Arrow, Item, Shape};

/// Windows of event time that aggregate: of each window a state is kept, and none of its values. For every [`Arrow`].
///
/// [`Window`] defines the windows, how long they wait for late values, and which results there are beside that of a
/// window that closes. [`windows_by`](crate::ClockExt::windows_by) yields the values themselves.
///
/// **Results.** The stage keeps its clock: the slot of a value's number holds a `Vec` of the
/// [results](crate::FoldedWindow) that became known at that value, and is empty if there are none.
/// [`flatten`](crate::ClockExt::flatten) makes a stream of the results; before that, two such stages join by number in
/// a `fanout`. Results that the value's own windows have come first, early or refined ones, in the order of their
/// starts. Then come windows that close, in the order of their ends; of equal ends in the order of the keys. At END all
/// open windows close. As a fold does, the stage may fill END's slot where its input is empty, so it can be in no lane
/// of a choice.
///
/// **Late values** are dropped, and the next result of their key has their count, even an early one. If none follows,
/// there is an empty window for the key at END, which begins and ends at the watermark and has the state `state`; all
/// such windows come last, in the order of the keys. [`Late::Fail`](crate::Late::Fail) ends the run instead.
///
/// **Memory**: a state for each window that is open or can still be refined, and two clones of its key. A key that has
/// lost its last window stays for a while, since most have the next one soon; at most as many stay as had windows.
/// [`Window::at_most`] bounds the number of these windows, of all keys together; it is 1,048,576 unless set. A key
/// without a window counts as one while it is remembered: with a watermark of its own always, and otherwise while it
/// has dropped values that no result has reported. Beyond the bound the run ends with an error, or, with
/// [`Overflow::CloseFirst`](crate::Overflow::CloseFirst), room is made at once, in two steps:
///
/// 1. Keys without a window are forgotten, the one with the earliest watermark first, and of equal ones the first key.
///    Its count of dropped values is output then. If it comes again, it is a new key.
/// 2. If there are none, the watermark moves on to where the next window closes or is forgotten: that of the stream, or
///    of the window's key.
///
/// ```
/// use millstream::prelude::*;
/// // The number and the sum of the values of each minute.
/// let minutes = pipeline::<(u64, f64)>().fold_windows(
///     Window::tumbling(60).lateness(5),
///     |(time, _)| *time,
///     (0, 0.0),
///     |(count, sum), (_, x)| { *count += 1; *sum += x; },
/// );
/// let means = minutes.flatten().map(|minute| (minute.start, minute.state.1 / f64::from(minute.state.0)));
/// assert_eq!(means.model([(3, 1.0), (62, 8.0), (59, 3.0), (70, 6.0)]), [(0, 2.0), (60, 7.0)]);
/// ```
pub trait WindowsExt: Arrow {
    /// Folds the values of each tumbling or sliding window of event time into a state, and yields it when the window
    /// closes.
    ///
    /// Every value is folded into the state of each window that contains its `time`; a window begins with a clone of
    /// `state`. The trait's docs say when results are output, and what is kept.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let tens = pipeline::<u64>().fold_windows(Window::tumbling(10), |time| *time, 0, |n, _| *n += 1);
    /// let counts = tens.map(|results| results.iter().map(|ten| (ten.start, ten.state)).collect::<Vec<_>>());
    /// // 25 closes the first ten. Nothing is between 10 and 20. 7 is late, and is counted with the next result.
    /// assert_eq!(counts.model_slots([1, 9, 25, 7]), [None, None, Some(vec![(0, 2)]), None, Some(vec![(20, 1)])]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the windows are sessions, which need [`fold_sessions`](WindowsExt::fold_sessions), or late values are to be
    /// [kept](crate::Late::Keep).
    #[doc(alias("aggregate", "tumbling", "sliding"))]
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn fold_windows<S, T, F>(
        self,
        window: Window,
        time: T,
        state: S,
        f: F,
    ) -> Then<Self, ScanBy<FoldWindows<Self::Out, S, OneKey, T, F, NeverJoined>>>
    where
        S: Item + Clone,
        T: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldWindows::new(window, OneKey, time, state, f, NeverJoined)))
    }

    /// Folds the values of each key and each tumbling or sliding window of event time into a state, and yields it when
    /// the window closes.
    ///
    /// As [`fold_windows`](WindowsExt::fold_windows), with windows of its own for each key. The watermark, which closes
    /// windows, is that of the stream: a window also closes at a value of another key. With
    /// [`Window::watermark_by_key`], each key has its own. One tasklet runs the stage.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let tens = |window| pipeline::<(char, u64)>()
    ///     .fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, 0, |n, _| *n += 1)
    ///     .flatten()
    ///     .map(|ten| (ten.key, ten.start, ten.state, ten.dropped));
    /// let values = [('b', 12), ('a', 3), ('a', 13), ('b', 25)];
    /// assert_eq!(tens(Window::tumbling(10)).model(values), [('a', 10, 1, 1), ('b', 10, 1, 0), ('b', 20, 1, 0)]);
    /// let by_key = Window::tumbling(10).watermark_by_key();
    /// assert_eq!(tens(by_key).model(values), [('a', 0, 1, 0), ('b', 10, 1, 0), ('a', 10, 1, 0), ('b', 20, 1, 0)]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`fold_windows`](WindowsExt::fold_windows).
    #[doc(alias("aggregate_by", "keyed_windows"))]
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn fold_windows_by<K, S, L, T, F>(
        self,
        key: L,
        window: Window,
        time: T,
        state: S,
        f: F,
    ) -> Then<Self, ScanBy<FoldWindows<Self::Out, S, OwnedKeys<K, L>, T, F, NeverJoined>>>
    where
        K: Key + Ord,
        S: Item + Clone,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        T: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldWindows::new(window, OwnedKeys::new(key), time, state, f, NeverJoined)))
    }

    /// Folds the values of each session of event time into a state, and yields it when the session ends.
    ///
    /// As [`fold_windows`](WindowsExt::fold_windows). A late value can come between two sessions and make them one:
    /// `join(earlier, later)` then adds the state of the later one to that of the earlier one, before the value itself
    /// is folded in. Three sessions join from the earliest to the latest.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let visits = pipeline::<u64>().fold_sessions(
    ///     Window::session(30).lateness(60),
    ///     |time| *time,
    ///     0,
    ///     |pages, _| *pages += 1,
    ///     |pages, later| *pages += later,
    /// );
    /// let visits = visits.flatten().map(|visit| (visit.start, visit.end, visit.state));
    /// // 40 is late, and joins the visits that began at 20 and at 60.
    /// assert_eq!(visits.model([20, 60, 40, 200]), [(20, 90, 3), (200, 230, 1)]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the windows are no sessions, or late values are to be [kept](crate::Late::Keep).
    #[doc(alias = "session")]
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn fold_sessions<S, T, F, J>(
        self,
        window: Window,
        time: T,
        state: S,
        f: F,
        join: J,
    ) -> Then<Self, ScanBy<FoldWindows<Self::Out, S, OneKey, T, F, JoinedBy<J>>>>
    where
        S: Item + Clone,
        T: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        J: Fn(&mut S, S) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldWindows::new(window, OneKey, time, state, f, JoinedBy(join))))
    }

    /// Folds the values of each key's sessions of event time into a state, and yields it when the session ends.
    ///
    /// As [`fold_sessions`](WindowsExt::fold_sessions), with sessions of its own for each key, and as
    /// [`fold_windows_by`](WindowsExt::fold_windows_by) in everything that concerns keys.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // How many pages each user sees in a visit, which ends after half an hour without one.
    /// let visits = pipeline::<(&str, u64)>().fold_sessions_by(
    ///     |(user, _)| *user,
    ///     Window::session(30),
    ///     |(_, minute)| *minute,
    ///     0,
    ///     |pages, _| *pages += 1,
    ///     |pages, later| *pages += later,
    /// );
    /// let visits = visits.flatten().map(|visit| (visit.key, visit.start, visit.state));
    /// let pages = [("ann", 0), ("bob", 10), ("ann", 25), ("bob", 45), ("ann", 80)];
    /// assert_eq!(visits.model(pages), [("bob", 10, 1), ("ann", 0, 2), ("bob", 45, 1), ("ann", 80, 1)]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`fold_sessions`](WindowsExt::fold_sessions).
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn fold_sessions_by<K, S, L, T, F, J>(
        self,
        key: L,
        window: Window,
        time: T,
        state: S,
        f: F,
        join: J,
    ) -> Then<Self, ScanBy<FoldWindows<Self::Out, S, OwnedKeys<K, L>, T, F, JoinedBy<J>>>>
    where
        K: Key + Ord,
        S: Item + Clone,
        L: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
        T: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> u64 + Send + Sync + 'static,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) + Send + Sync + 'static,
        J: Fn(&mut S, S) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(FoldWindows::new(window, OwnedKeys::new(key), time, state, f, JoinedBy(join))))
    }
}

impl<P: Arrow> WindowsExt for P {}
