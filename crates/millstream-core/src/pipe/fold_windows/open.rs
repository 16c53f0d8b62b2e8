use super::{FoldedWindow, Timing};
use crate::failure::fail;
use crate::pipe::window::{Late, Overflow, Window, WindowShape};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The windows in memory: those that are open, and those that can still be refined.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(deserialize = "K: serde::Deserialize<'de> + Ord, S: serde::Deserialize<'de>"))
)]
pub struct OpenFolds<K, S> {
    keys: BTreeMap<K, OfKey<S>>,
    /// Each window with its key, and when it is due: to be output, or after that to be forgotten.
    due: BTreeSet<(u128, K, u64)>,
    /// The keys without a window, by their own watermark.
    idle: BTreeSet<(u128, K)>,
    /// The clock of the stream.
    clock: Clock,
}

/// A key is here while it has a window, late values that no result has reported, or a watermark.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct OfKey<S> {
    /// The windows by start, and therefore by end.
    windows: BTreeMap<u64, Open<S>>,
    /// Of no effect unless each key has a watermark.
    clock: Clock,
    dropped: u64,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Clock {
    greatest: u64,
    /// Windows that end here or before have closed.
    watermark: u128,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Open<S> {
    /// The first time after it. It may exceed every time.
    end: u128,
    /// The watermark at which it is output, or after that forgotten. An upgrade may change the rules, but not this.
    due: u128,
    values: u64,
    state: S,
    /// Whether it has been output since it closed.
    output: bool,
    /// Whether some of its values have been output since they were in a window that closed.
    refines: bool,
}

impl Clock {
    const START: Clock = Clock { greatest: 0, watermark: 0 };

    fn see(&mut self, time: u64, lateness: u64) {
        self.greatest = self.greatest.max(time);
        self.watermark = self.watermark.max(u128::from(self.greatest.saturating_sub(lateness)));
    }
}

impl<S> OfKey<S> {
    fn result<K>(&mut self, key: K, start: u64, end: u128, state: S, timing: Timing) -> FoldedWindow<S, K> {
        FoldedWindow { key, start, end: clamped(end), state, timing, dropped: std::mem::take(&mut self.dropped) }
    }
}

fn clamped(time: u128) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// The windows, and where their results go.
pub(super) struct At<'s, K, S> {
    folds: &'s mut OpenFolds<K, S>,
    window: &'s Window,
    results: &'s mut Vec<FoldedWindow<S, K>>,
}

impl<K: Ord + Clone, S: Clone> OpenFolds<K, S> {
    pub(super) fn new() -> Self {
        OpenFolds { keys: BTreeMap::new(), due: BTreeSet::new(), idle: BTreeSet::new(), clock: Clock::START }
    }

    pub(super) fn on<'s>(&'s mut self, window: &'s Window, results: &'s mut Vec<FoldedWindow<S, K>>) -> At<'s, K, S> {
        At { folds: self, window, results }
    }

    /// The greatest time of the values so far; 0 before the first one.
    #[must_use]
    pub fn greatest(&self) -> u64 {
        self.clock.greatest
    }

    /// Forgets that values of this key came late, for a stage that tells of each of them itself: no result counts them,
    /// and a key without a window is not kept, unless it has a watermark of its own.
    pub fn forget_late(&mut self, window: &Window, key: &K) {
        let Some(of_key) = self.keys.get_mut(key) else { return };
        of_key.dropped = 0;
        if of_key.windows.is_empty() && !window.by_key {
            self.idle.remove(&(of_key.clock.watermark, key.clone()));
            self.keys.remove(key);
        }
    }

    /// How many windows it keeps, and keys without one: what [`Window::at_most`] bounds.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.due.len() + self.idle.len()
    }

    /// Outputs all windows, and then what no window has reported, in the order of the keys.
    pub(super) fn finish(mut self, window: &Window, start: &S, results: &mut Vec<FoldedWindow<S, K>>) {
        let left = self.clock.watermark;
        for (_, key, at) in std::mem::take(&mut self.due) {
            let of_key = self.keys.get_mut(&key).expect("a window's key is known");
            let open = of_key.windows.remove(&at).expect("a window is due once");
            if !open.output {
                let timing = if open.refines { Timing::Refined } else { Timing::OnTime };
                results.push(of_key.result(key, at, open.end, open.state, timing));
            }
        }
        for (key, mut of_key) in std::mem::take(&mut self.keys) {
            let watermark = if window.by_key { of_key.clock.watermark } else { left };
            if of_key.dropped > 0 {
                results.push(of_key.result(key, clamped(watermark), watermark, start.clone(), Timing::OnTime));
            }
        }
    }
}

impl<K: Ord + Clone, S: Clone> At<'_, K, S> {
    /// Folds a value into its windows, and outputs the results that are known then.
    ///
    /// Returns whether it is in one: a value that comes late is dropped.
    #[inline]
    pub(super) fn value(
        mut self,
        key: K,
        time: u64,
        start: &S,
        add: impl Fn(&mut S),
        join: impl Fn(&mut S, S),
    ) -> bool {
        self.only_adds(&key, time, &add) || self.change(key, time, start, add, join)
    }

    /// Folds a value into its window if nothing else is to do: most values of tumbling windows come for the last window
    /// of their key, which is open, and close none. Returns false, and has changed nothing, if there may be more to do.
    #[inline]
    fn only_adds(&mut self, key: &K, time: u64, add: impl Fn(&mut S)) -> bool {
        let window = self.window;
        let WindowShape::Sliding { size, every } = window.shape else { return false };
        let OpenFolds { keys, due, idle, clock } = &mut *self.folds;
        // An upgrade may have lowered the bound.
        if size != every || window.early.is_some() || due.len() + idle.len() > window.most {
            return false;
        }
        let Some(of_key) = keys.get_mut(key) else { return false };
        let clock = if window.by_key { &mut of_key.clock } else { clock };
        let mut after = *clock;
        after.see(time, window.lateness);
        let later = after.watermark > clock.watermark;
        if later && (window.by_key || due.first().is_none_or(|(when, ..)| *when <= after.watermark)) {
            return false;
        }
        let Some(mut last) = of_key.windows.last_entry() else { return false };
        let is_open = last.get().end > clock.watermark;
        if *last.key() != time - time % every || !is_open {
            return false;
        }
        *clock = after;
        let open = last.get_mut();
        add(&mut open.state);
        open.values += 1;
        true
    }

    /// As [`value`](At::value), for values that may open or close windows, or come late.
    #[inline(never)]
    fn change(&mut self, key: K, time: u64, start: &S, add: impl Fn(&mut S), join: impl Fn(&mut S, S)) -> bool {
        let none = || OfKey { windows: BTreeMap::new(), clock: Clock::START, dropped: 0 };
        let OpenFolds { keys, idle, clock, .. } = &mut *self.folds;
        let of_key = match keys.get_mut(&key) {
            Some(of_key) => of_key,
            None => keys.entry(key.clone()).or_insert_with(none),
        };
        if of_key.windows.is_empty() && !idle.is_empty() {
            idle.remove(&(of_key.clock.watermark, key.clone()));
        }
        let clock = if self.window.by_key { &mut of_key.clock } else { clock };
        let (before, lateness) = (*clock, self.window.lateness);
        clock.see(time, lateness);
        let entered = match self.window.shape {
            WindowShape::Sliding { size, every } => {
                self.slide(&key, (size, every), (time, before.watermark), start, add)
            }
            WindowShape::Session { gap } => self.session(&key, gap, (time, before.watermark), start, (add, join)),
        };
        if !entered {
            if self.window.late == Late::Fail {
                self.window.fail_late(time, before.watermark, before.greatest);
            }
            self.of(&key).dropped += 1;
            self.settle(&key);
        }
        self.advance(&key);
        self.bound(time, start);
        entered
    }

    fn of(&mut self, key: &K) -> &mut OfKey<S> {
        self.folds.keys.get_mut(key).expect("the key of a value or a window is known")
    }

    /// Folds a value into the windows that contain it and are kept; returns whether there is one.
    fn slide(
        &mut self,
        key: &K,
        (size, every): (u64, u64),
        (time, watermark): (u64, u128),
        start: &S,
        add: impl Fn(&mut S),
    ) -> bool {
        let OpenFolds { keys, due, .. } = &mut *self.folds;
        let of_key = keys.get_mut(key).expect("it is the value's");
        let oldest = time.checked_sub(size).map_or(0, |before| before / every + 1);
        let mut entered = false;
        for at in (oldest..=time / every).map(|n| n * every) {
            let entry = of_key.windows.entry(at);
            let end = match &entry {
                Entry::Occupied(open) => open.get().end,
                Entry::Vacant(_) => u128::from(at) + u128::from(size),
            };
            let (kept_until, closed) = (end + u128::from(self.window.refine), end <= watermark);
            if kept_until <= watermark {
                continue;
            }
            entered = true;
            let open = entry.or_insert_with(|| {
                let until = if closed { kept_until } else { end };
                due.insert((until, key.clone(), at));
                Open { end, due: until, values: 0, state: start.clone(), output: closed, refines: closed }
            });
            add(&mut open.state);
            open.values += 1;
            if let Some(timing) = self.window.timing(closed, open.values) {
                let state = open.state.clone();
                self.results.push(of_key.result(key.clone(), at, end, state, timing));
            }
        }
        entered
    }

    /// Folds a value into its session, which joins those that overlap it; returns false if it is late.
    fn session(
        &mut self,
        key: &K,
        gap: u64,
        (time, watermark): (u64, u128),
        start: &S,
        (add, join): (impl Fn(&mut S), impl Fn(&mut S, S)),
    ) -> bool {
        let OpenFolds { keys, due, .. } = &mut *self.folds;
        let of_key = keys.get_mut(key).expect("it is the value's");
        let refine = u128::from(self.window.refine);
        let (mut at, mut end) = (time, u128::from(time) + u128::from(gap));
        // Sessions do not overlap. Those that overlap this one are therefore the last ones that begin before its end.
        let near = of_key.windows.range(..=clamped(end - 1)).rev().take_while(|(_, open)| open.end > u128::from(time));
        let mut near: Vec<u64> = near.map(|(at, _)| *at).collect();
        if near.is_empty() && end + refine <= watermark {
            return false;
        }
        near.reverse();
        let mut joined: Option<Open<S>> = None;
        for other_at in near {
            let other = of_key.windows.remove(&other_at).expect("it was found");
            due.remove(&(other.due, key.clone(), other_at));
            (at, end) = (at.min(other_at), end.max(other.end));
            match &mut joined {
                None => joined = Some(other),
                Some(earlier) => {
                    earlier.values += other.values;
                    earlier.refines |= other.refines;
                    join(&mut earlier.state, other.state);
                }
            }
        }
        let none = || Open { end, due: end, values: 0, state: start.clone(), output: false, refines: false };
        let mut open = joined.unwrap_or_else(none);
        add(&mut open.state);
        let closed = end <= watermark;
        (open.end, open.values, open.output, open.refines) = (end, open.values + 1, closed, open.refines || closed);
        open.due = if closed { end + refine } else { end };
        due.insert((open.due, key.clone(), at));
        if let Some(timing) = self.window.timing(closed, open.values) {
            let state = open.state.clone();
            self.results.push(of_key.result(key.clone(), at, end, state, timing));
        }
        of_key.windows.insert(at, open);
        true
    }

    /// Outputs the windows that have closed, and forgets those that can no longer be refined: of the stream, or of this
    /// key if it has a watermark of its own.
    fn advance(&mut self, key: &K) {
        if self.window.by_key {
            let of_key = self.of(key);
            let watermark = of_key.clock.watermark;
            let over = of_key.windows.iter().filter(|(_, open)| open.due <= watermark);
            let over: Vec<(u128, u64)> = over.map(|(at, open)| (open.due, *at)).collect();
            for (when, at) in over {
                self.folds.due.remove(&(when, key.clone(), at));
                self.turn(key, at, watermark);
            }
        } else {
            let watermark = self.folds.clock.watermark;
            while self.folds.due.first().is_some_and(|(when, ..)| *when <= watermark) {
                let (_, key, at) = self.folds.due.pop_first().expect("it was found");
                self.turn(&key, at, watermark);
            }
        }
    }

    /// Outputs a window that closes, or forgets it, or both.
    fn turn(&mut self, key: &K, at: u64, watermark: u128) {
        let refine = u128::from(self.window.refine);
        let OpenFolds { keys, due, .. } = &mut *self.folds;
        let of_key = keys.get_mut(key).expect("a window's key is known");
        let open = of_key.windows.get_mut(&at).expect("a window is due once");
        let (end, output) = (open.end, open.output);
        let timing = if open.refines { Timing::Refined } else { Timing::OnTime };
        (open.output, open.refines) = (true, true);
        let state = if end + refine > watermark {
            open.due = end + refine;
            due.insert((open.due, key.clone(), at));
            open.state.clone()
        } else {
            of_key.windows.remove(&at).expect("it was found").state
        };
        if !output {
            self.results.push(of_key.result(key.clone(), at, end, state, timing));
        }
        self.settle(key);
    }

    /// Forgets a key without a window, unless it has a watermark or late values that no result has reported.
    fn settle(&mut self, key: &K) {
        let OpenFolds { keys, idle, .. } = &mut *self.folds;
        let Some(of_key) = keys.get(key).filter(|of_key| of_key.windows.is_empty()) else { return };
        if self.window.by_key || of_key.dropped > 0 {
            idle.insert((of_key.clock.watermark, key.clone()));
        } else {
            keys.remove(key);
        }
    }

    /// Makes room if more windows are kept than allowed.
    fn bound(&mut self, time: u64, start: &S) {
        let most = self.window.most;
        while self.folds.due.len() + self.folds.idle.len() > most {
            if self.window.overflow == Overflow::Fail {
                fail(format!(
                    "at a value of time {time}, there would be more than {most} windows: \
                     allow more, or set less lateness"
                ));
            }
            let OpenFolds { keys, due, idle, clock } = &mut *self.folds;
            if let Some((_, forgotten)) = idle.pop_first() {
                let mut of_key = keys.remove(&forgotten).expect("an idle key is known");
                let watermark = if self.window.by_key { of_key.clock.watermark } else { clock.watermark };
                if of_key.dropped > 0 {
                    let (at, state) = (clamped(watermark), start.clone());
                    self.results.push(of_key.result(forgotten, at, watermark, state, Timing::OnTime));
                }
                continue;
            }
            let (when, first, _) = due.first().cloned().expect("there are too many");
            let of_key = keys.get_mut(&first).expect("a window's key is known");
            let clock = if self.window.by_key { &mut of_key.clock } else { clock };
            clock.watermark = clock.watermark.max(when);
            self.advance(&first);
        }
    }
}

impl Window {
    /// What the result of a window is, after a value was added: `None` if there is none.
    fn timing(&self, closed: bool, values: u64) -> Option<Timing> {
        let early = || self.early.is_some_and(|n| values.is_multiple_of(n)).then_some(Timing::Early);
        if closed { Some(Timing::Refined) } else { early() }
    }
}
