//! A value in the windows of its key, and what closes then.

use super::{Clock, LOOKS, OfKey, Open, OpenFolds, Rest, clamped};
use crate::failure::fail;
use crate::keys::{FoundKey, Key};
use crate::pipe::fold_windows::{FoldedWindow, Timing};
use crate::pipe::window::{Late, Overflow, Window, WindowShape};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The most windows of a key that are looked at for each value, beside those that contain it.
const FEW: usize = 4;

/// The windows, and where their results go.
pub(in crate::pipe::fold_windows) struct At<'s, K, S> {
    pub(super) folds: &'s mut OpenFolds<K, S>,
    pub(super) window: &'s Window,
    pub(super) results: &'s mut Vec<FoldedWindow<S, K>>,
}

impl<K: Key + Ord, S: Clone> At<'_, K, S> {
    /// Folds a value into its windows, and outputs the results that are known then.
    ///
    /// Returns whether it is in one: a value that comes late is dropped.
    #[inline]
    pub(in crate::pipe::fold_windows) fn value(
        mut self,
        key: impl FoundKey<Key = K>,
        time: u64,
        start: &S,
        add: impl Fn(&mut S),
        join: impl Fn(&mut S, S),
    ) -> bool {
        self.only_adds(&key, time, &add) || self.change(key.into_key(), time, start, add, join)
    }

    /// Folds a value into its window if nothing else is to do: most values come for the last window of their key, which
    /// is open, and close none. A session that grows stays listed as it is. Returns false, and has changed nothing, if
    /// there may be more to do.
    #[inline]
    fn only_adds(&mut self, key: &impl FoundKey<Key = K>, time: u64, add: impl Fn(&mut S)) -> bool {
        let window = self.window;
        // An upgrade may have lowered the bound.
        if window.early.is_some() || self.folds.kept() > window.most {
            return false;
        }
        let OpenFolds { keys, due, clock, .. } = &mut *self.folds;
        let Some(of_key) = key.look_up_mut(keys) else { return false };
        let clock = if window.by_key { &mut of_key.clock } else { clock };
        let mut after = *clock;
        after.see(time, window.lateness);
        if after.watermark > clock.watermark {
            let may_close = if window.by_key {
                of_key.windows.len() > FEW || of_key.windows.values().any(|open| open.due <= after.watermark)
            } else {
                due.first().is_none_or(|(when, ..)| *when <= after.watermark)
            };
            if may_close {
                return false;
            }
        }
        if let WindowShape::Sliding { size, every } = window.shape
            && size != every
        {
            let adds = adds_to_all(&mut of_key.windows, (size, every), time, clock.watermark, add);
            if adds {
                *clock = after;
            }
            return adds;
        }
        let Some(mut last) = of_key.windows.last_entry() else { return false };
        let (at, end) = (*last.key(), last.get().end);
        let end = match window.shape {
            // A shorter one, of earlier rules, is made longer in `change`.
            WindowShape::Sliding { size, every } if at == time - time % every && end >= end_of(at, size) => end,
            WindowShape::Session { gap } if at <= time && u128::from(time) < end => {
                end.max(u128::from(time) + u128::from(gap))
            }
            _ => return false,
        };
        let open = last.get_mut();
        if open.end <= clock.watermark {
            return false;
        }
        *clock = after;
        open.end = end;
        add(&mut open.state);
        open.values += 1;
        true
    }

    /// As [`value`](At::value), for values that may open or close windows, or come late.
    #[inline(never)]
    fn change(&mut self, key: K, time: u64, start: &S, add: impl Fn(&mut S), join: impl Fn(&mut S, S)) -> bool {
        let OpenFolds { keys, due, idle, clock: of_stream } = &mut *self.folds;
        let looks_before = of_stream.looks;
        let of_key = match keys.get_mut(&key) {
            Some(of_key) => of_key,
            None => keys.entry(key.clone()).or_insert(OfKey::NONE),
        };
        if std::mem::take(&mut of_key.rest) == Rest::Awake && of_key.windows.is_empty() && !idle.is_empty() {
            idle.remove(&(of_key.clock.watermark, key.clone()));
        }
        let clock = if self.window.by_key { &mut of_key.clock } else { &mut *of_stream };
        let before = *clock;
        clock.see(time, self.window.lateness);
        let mut of_value = OfValue { window: self.window, key: &key, of_key, due, results: self.results };
        let at = (time, before.watermark);
        let entered = match self.window.shape {
            WindowShape::Sliding { size, every } => of_value.slide((size, every), at, start, add),
            WindowShape::Session { gap } => of_value.session(gap, at, start, (add, join)),
        };
        if !entered {
            if self.window.late == Late::Fail {
                self.window.fail_late(time, before.watermark, before.greatest);
            }
            of_key.dropped += 1;
            settle(&key, of_key, self.window, idle, &mut of_stream.looks);
        }
        self.advance(&key);
        self.bound(time, start);
        if self.folds.clock.looks > looks_before && !self.window.by_key {
            self.folds.look();
        }
        entered
    }

    /// Outputs the windows that have closed, and forgets those that can no longer be refined: of the stream, or of this
    /// key if it has a watermark of its own.
    fn advance(&mut self, key: &K) {
        if self.window.by_key {
            let of_key = &self.folds.keys[key];
            let watermark = of_key.clock.watermark;
            let over = of_key.windows.iter().filter(|(_, open)| open.due <= watermark);
            let mut over: Vec<(u128, u64)> = over.map(|(at, open)| (open.due, *at)).collect();
            // They end in the order in which they begin, unless rules have changed.
            over.sort_unstable();
            for (when, at) in over {
                let listed = (when, key.clone(), at);
                self.folds.due.remove(&listed);
                self.turn(listed.1, at, watermark);
            }
        } else {
            let watermark = self.folds.clock.watermark;
            while self.folds.due.first().is_some_and(|(when, ..)| *when <= watermark) {
                let (_, key, at) = self.folds.due.pop_first().expect("it was found");
                self.turn(key, at, watermark);
            }
        }
    }

    /// Outputs a window that closes, or forgets it, or both.
    fn turn(&mut self, key: K, at: u64, watermark: u128) {
        let refine = u128::from(self.window.refine);
        let OpenFolds { keys, due, idle, clock: Clock { looks, .. } } = &mut *self.folds;
        let of_key = keys.get_mut(&key).expect("a window's key is known");
        let open = of_key.windows.get_mut(&at).expect("a window is due once");
        // The windows of a stream close in the order in which they are due.
        if open.is_put_off() && (open.due > watermark || !self.window.by_key) {
            due.insert((open.due, key, at));
            return;
        }
        let (end, output) = (open.end, open.output);
        let timing = if open.refines { Timing::Refined } else { Timing::OnTime };
        (open.output, open.refines) = (true, true);
        let state = if end + refine > watermark {
            open.due = end + refine;
            due.insert((open.due, key.clone(), at));
            open.state.clone()
        } else {
            let closed = of_key.windows.remove(&at).expect("it was found");
            // With its last window the key comes to rest, which counts as well.
            *looks += if of_key.windows.is_empty() { 0 } else { LOOKS };
            closed.state
        };
        if !output {
            self.results.push(of_key.result(key.clone(), at, end, state, timing));
        }
        settle(&key, of_key, self.window, idle, looks);
    }

    /// Makes room if more windows are kept than allowed.
    fn bound(&mut self, time: u64, start: &S) {
        let most = self.window.most;
        while self.folds.kept() > most {
            if self.window.overflow == Overflow::Fail {
                fail(format!(
                    "at a value of time {time}, there would be more than {most} windows: \
                     allow more with `Window::at_most`, or set less lateness"
                ));
            }
            let OpenFolds { keys, due, idle, clock, .. } = &mut *self.folds;
            if let Some((_, forgotten)) = idle.pop_first() {
                let mut of_key = keys.remove(&forgotten).expect("an idle key is known");
                let watermark = if self.window.by_key { of_key.clock.watermark } else { clock.watermark };
                if of_key.dropped > 0 {
                    let (at, state) = (clamped(watermark), start.clone());
                    self.results.push(of_key.result(forgotten, at, watermark, state, Timing::OnTime));
                }
                continue;
            }
            let (when, first, at) = due.first().cloned().expect("there are too many");
            let of_key = keys.get_mut(&first).expect("a window's key is known");
            let open = of_key.windows.get_mut(&at).expect("a window is due once");
            if open.is_put_off() {
                let later = (open.due, first, at);
                due.pop_first();
                due.insert(later);
                continue;
            }
            let clock = if self.window.by_key { &mut of_key.clock } else { clock };
            clock.watermark = clock.watermark.max(when);
            self.advance(&first);
        }
    }
}

/// A value's key, with its windows, and where they are listed and output.
struct OfValue<'v, K, S> {
    window: &'v Window,
    key: &'v K,
    of_key: &'v mut OfKey<S>,
    due: &'v mut BTreeSet<(u128, K, u64)>,
    results: &'v mut Vec<FoldedWindow<S, K>>,
}

impl<K: Ord + Clone, S: Clone> OfValue<'_, K, S> {
    /// Folds a value into the windows that contain it and are kept; returns whether there is one.
    fn slide(
        &mut self,
        (size, every): (u64, u64),
        (time, watermark): (u64, u128),
        start: &S,
        add: impl Fn(&mut S),
    ) -> bool {
        let OfValue { window, key, of_key, due, results } = self;
        let mut entered = false;
        for at in containing((size, every), time).map(|n| n * every) {
            let entry = of_key.windows.entry(at);
            let end = match &entry {
                // Under earlier rules it may have got another length.
                Entry::Occupied(open) => open.get().end.max(end_of(at, size)),
                Entry::Vacant(_) => end_of(at, size),
            };
            let (kept_until, closed) = (end + u128::from(window.refine), end <= watermark);
            if kept_until <= watermark {
                continue;
            }
            entered = true;
            let until = if closed { kept_until } else { end };
            let open = entry.or_insert_with(|| {
                due.insert((until, (*key).clone(), at));
                Open { end, due: until, values: 0, state: start.clone(), output: closed, refines: closed }
            });
            if open.end < end {
                // It gets longer, and if it has been output, it is output again: as a session that a value joins.
                due.remove(&(open.due, (*key).clone(), at));
                due.insert((until, (*key).clone(), at));
                (open.end, open.due, open.output) = (end, until, closed);
                open.refines |= closed;
            }
            add(&mut open.state);
            open.values += 1;
            if let Some(timing) = window.timing(closed, open.values) {
                let state = open.state.clone();
                results.push(of_key.result((*key).clone(), at, end, state, timing));
            }
        }
        entered
    }

    /// Folds a value into its session, which joins those that overlap it; returns false if it is late.
    fn session(
        &mut self,
        gap: u64,
        (time, watermark): (u64, u128),
        start: &S,
        (add, join): (impl Fn(&mut S), impl Fn(&mut S, S)),
    ) -> bool {
        let OfValue { window, key, of_key, due, results } = self;
        let refine = u128::from(window.refine);
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
            due.remove(&(other.due, (*key).clone(), other_at));
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
        due.insert((open.due, (*key).clone(), at));
        if let Some(timing) = window.timing(closed, open.values) {
            let state = open.state.clone();
            results.push(of_key.result((*key).clone(), at, end, state, timing));
        }
        of_key.windows.insert(at, open);
        true
    }
}

/// Where a window of this size ends that begins here.
#[inline]
fn end_of(at: u64, size: u64) -> u128 {
    u128::from(at) + u128::from(size)
}

/// The windows that contain a time: the multiples of `every` at which they begin.
#[inline]
fn containing((size, every): (u64, u64), time: u64) -> RangeInclusive<u64> {
    time.checked_sub(size).map_or(0, |before| before / every + 1)..=time / every
}

/// Folds a value into the windows that contain it, if all of them are there and open, and among the last ones. They are
/// side by side, and one search finds them.
#[inline]
fn adds_to_all<S>(
    windows: &mut BTreeMap<u64, Open<S>>,
    (size, every): (u64, u64),
    time: u64,
    watermark: u128,
    add: impl Fn(&mut S),
) -> bool {
    let starts = containing((size, every), time);
    let (oldest, newest) = (starts.start() * every, starts.end() * every);
    let mut missing = starts.end() - starts.start() + 1;
    let mut next = newest;
    // The newest first. An upgrade may have changed the rules, and left windows that begin elsewhere or are shorter.
    for (at, open) in windows.iter().rev().take((missing as usize).saturating_add(FEW)) {
        if *at > newest {
            continue;
        }
        if *at != next || open.end <= watermark || open.end < end_of(next, size) {
            return false;
        }
        missing -= 1;
        if missing == 0 {
            break;
        }
        next -= every;
    }
    if missing > 0 {
        return false;
    }
    for open in windows.range_mut(oldest..=newest).map(|(_, open)| open) {
        add(&mut open.state);
        open.values += 1;
    }
    true
}

/// A key without a window rests, unless it has a watermark or late values that no result has reported.
fn settle<K: Ord + Clone, S>(
    key: &K,
    of_key: &mut OfKey<S>,
    window: &Window,
    idle: &mut BTreeSet<(u128, K)>,
    looks: &mut usize,
) {
    if !of_key.windows.is_empty() {
        return;
    }
    if window.by_key || of_key.dropped > 0 {
        idle.insert((of_key.clock.watermark, key.clone()));
    } else {
        of_key.rest(looks);
    }
}

impl Window {
    /// The result of a window after a value was added: `None` if there is none.
    fn timing(&self, closed: bool, values: u64) -> Option<Timing> {
        let early = || self.early.is_some_and(|n| values.is_multiple_of(n)).then_some(Timing::Early);
        if closed { Some(Timing::Refined) } else { early() }
    }
}
