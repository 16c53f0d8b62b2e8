//! Windows of event time that aggregate, one map of windows for each key.

use super::ModelSlots;
use crate::pipe::{FoldWindows, FoldedWindow, JoinStates, Late, Overflow, Timing, WindowKey, WindowShape};
use crate::{Item, Shape};
use std::collections::{BTreeMap, BTreeSet};

/// The results of one number.
type Results<S, K> = Vec<FoldedWindow<S, K>>;

/// The first time in a window, and the first time after it. That may exceed every time.
type Span = (u128, u128);

/// A window that is open, or can still be refined.
struct Held<S> {
    end: u128,
    values: u64,
    state: S,
    /// Whether it was output when it closed.
    closed: bool,
    /// Whether one of its values has been in a window that closed.
    refines: bool,
}

struct Known<S> {
    /// By start. Only sessions can be joined, and no two of them have a time in common.
    held: BTreeMap<u128, Held<S>>,
    /// The watermarks at which a window may close or be forgotten, with its start. It may have become longer since, or
    /// be gone.
    agenda: BTreeSet<(u128, u128)>,
    /// For the key alone: the greatest time, and the watermark.
    own: (u64, u128),
    dropped: u64,
}

struct Folded<K, S> {
    keys: BTreeMap<K, Known<S>>,
    /// The same for the stream.
    all: (u64, u128),
    /// The keys that may have a window that closes, or is forgotten, at this watermark.
    agenda: BTreeMap<u128, BTreeSet<K>>,
    /// The number of windows.
    windows: usize,
    /// The keys without one, each with its own watermark.
    idle: BTreeSet<(u128, K)>,
    given: Results<S, K>,
}

/// Processes one value after another. It enters each window that contains it and can take it. Then the watermark moves:
/// windows that end there or before close, in the order of their ends and their keys. While there are too many, the
/// watermark moves on to where the next one closes or is forgotten.
///
/// Of the windows only those that a value enters or joins, and those that close or are forgotten, are looked at. So the
/// time is that of the values, once for each window that they are in.
pub(crate) fn folded_windows<A: Shape, S: Item + Clone, L, T, F, J>(
    rules: &FoldWindows<A, S, L, T, F, J>,
    slots: ModelSlots<'_, A>,
) -> Vec<Option<Results<S, L::Key>>>
where
    L: WindowKey<A>,
    T: for<'a> Fn(A::Ref<'a>) -> u64,
    F: for<'a> Fn(&mut S, A::Ref<'a>),
    J: JoinStates<S>,
{
    let mut folded = Folded {
        keys: BTreeMap::new(),
        all: (0, 0),
        agenda: BTreeMap::new(),
        windows: 0,
        idle: BTreeSet::new(),
        given: Vec::new(),
    };
    slots.map(|slot, end| {
        if let Some(value) = slot {
            let (time, key) = ((rules.time)(value), rules.key.key(value));
            if !folded.enter(rules, &key, time, value) {
                assert!(rules.window.late != Late::Fail, "a value of time {time} is late");
                folded.keys.get_mut(&key).expect("it entered").dropped += 1;
            }
            let watermark = folded.watermark(rules.window.by_key, &key);
            watermark.0 = watermark.0.max(time);
            watermark.1 = watermark.1.max(watermark.0.saturating_sub(rules.window.lateness).into());
            folded.close(rules, &key);
            while folded.windows + folded.idle.len() > rules.window.most {
                assert!(rules.window.overflow == Overflow::CloseFirst, "there would be more than allowed");
                folded.make_room(rules);
            }
        }
        if end {
            let keys: Vec<L::Key> = folded.keys.keys().cloned().collect();
            folded.close_all(rules, keys.clone(), u128::MAX);
            for key in keys {
                folded.report(rules, &key);
            }
        }
        let given = std::mem::take(&mut folded.given);
        (!given.is_empty()).then_some(given)
    })
}

impl<K: Ord + Clone, S: Item + Clone> Folded<K, S> {
    /// The greatest time and the watermark that hold for this key.
    fn watermark(&mut self, by_key: bool, key: &K) -> &mut (u64, u128) {
        if by_key { &mut self.keys.get_mut(key).expect("it is known").own } else { &mut self.all }
    }

    fn give(&mut self, key: &K, span: Span, state: S, timing: Timing) {
        let dropped = std::mem::take(&mut self.keys.get_mut(key).expect("it is known").dropped);
        let [start, end] = [span.0, span.1].map(|time| time.min(u64::MAX.into()) as u64);
        self.given.push(FoldedWindow { key: key.clone(), start, end, state, timing, dropped });
    }

    /// Puts a value into the windows that can take it. Whether there is one.
    fn enter<A: Shape, L: WindowKey<A, Key = K>, T, F, J: JoinStates<S>>(
        &mut self,
        rules: &FoldWindows<A, S, L, T, F, J>,
        key: &K,
        time: u64,
        value: A::Ref<'_>,
    ) -> bool
    where
        F: for<'a> Fn(&mut S, A::Ref<'a>),
    {
        let nothing = || Known { held: BTreeMap::new(), agenda: BTreeSet::new(), own: (0, 0), dropped: 0 };
        self.idle.remove(&(self.keys.entry(key.clone()).or_insert_with(nothing).own.1, key.clone()));
        let (_, watermark) = *self.watermark(rules.window.by_key, key);
        let refine = u128::from(rules.window.refine);
        let mut lies_in: Vec<Span> = match rules.window.shape {
            WindowShape::Sliding { size, every } => {
                let starts = (0..=time / every).rev().map(|k| k * every).take_while(|start| time - start < size);
                starts.map(|start| (u128::from(start), u128::from(start) + u128::from(size))).collect()
            }
            WindowShape::Session { gap } => vec![(u128::from(time), u128::from(time) + u128::from(gap))],
        };
        lies_in.reverse();
        let mut entered = false;
        for (mut start, mut end) in lies_in {
            let held = &mut self.keys.get_mut(key).expect("it is known").held;
            let mut same: Vec<u128> = match rules.window.shape {
                WindowShape::Sliding { .. } => held.range(start..=start).map(|(at, _)| *at).collect(),
                WindowShape::Session { .. } => {
                    held.range(..end).rev().take_while(|(_, other)| other.end > start).map(|(at, _)| *at).collect()
                }
            };
            same.reverse();
            let (mut values, mut refines, mut state) = (0, false, None);
            for at in same {
                let window = held.remove(&at).expect("it was found");
                self.windows -= 1;
                (start, end) = (start.min(at), end.max(window.end));
                (values, refines) = (values + window.values, refines || window.refines);
                match &mut state {
                    None => state = Some(window.state),
                    Some(state) => rules.join.join(state, window.state),
                }
            }
            if end + refine <= watermark {
                // None was there: it would have been forgotten.
                continue;
            }
            let (mut state, closed) = (state.unwrap_or_else(|| rules.state.clone()), end <= watermark);
            (rules.f)(&mut state, value);
            values += 1;
            let early = !closed && rules.window.early.is_some_and(|n| values % n == 0);
            if closed || early {
                let timing = if closed { Timing::Refined } else { Timing::Early };
                self.give(key, (start, end), state.clone(), timing);
            }
            let known = self.keys.get_mut(key).expect("it is known");
            known.held.insert(start, Held { end, values, state, closed, refines: refines || closed });
            self.windows += 1;
            for when in [end, end + refine] {
                known.agenda.insert((when, start));
                self.agenda.entry(when).or_default().insert(key.clone());
            }
            entered = true;
        }
        entered
    }

    /// Closes the windows that end after the watermark of this key has moved.
    fn close<A: Shape, L: WindowKey<A, Key = K>, T, F, J: JoinStates<S>>(
        &mut self,
        rules: &FoldWindows<A, S, L, T, F, J>,
        key: &K,
    ) {
        let (_, watermark) = *self.watermark(rules.window.by_key, key);
        let mut keys = BTreeSet::from([key.clone()]);
        if !rules.window.by_key {
            let later = self.agenda.split_off(&(watermark + 1));
            keys.extend(std::mem::replace(&mut self.agenda, later).into_values().flatten());
        }
        self.close_all(rules, keys.into_iter().collect(), watermark);
    }

    fn close_all<A: Shape, L: WindowKey<A, Key = K>, T, F, J: JoinStates<S>>(
        &mut self,
        rules: &FoldWindows<A, S, L, T, F, J>,
        keys: Vec<K>,
        watermark: u128,
    ) {
        let mut over = Vec::new();
        for key in &keys {
            let Some(known) = self.keys.get_mut(key) else { continue };
            let later = known.agenda.split_off(&(watermark.saturating_add(1), 0));
            for (_, start) in std::mem::replace(&mut known.agenda, later) {
                let Some(window) = known.held.get_mut(&start) else { continue };
                if window.end <= watermark && !window.closed {
                    let timing = if window.refines { Timing::Refined } else { Timing::OnTime };
                    over.push(((window.end, key, start), window.state.clone(), timing));
                    (window.closed, window.refines) = (true, true);
                }
                if window.end.saturating_add(rules.window.refine.into()) <= watermark {
                    known.held.remove(&start);
                    self.windows -= 1;
                }
            }
        }
        over.sort_by_key(|(place, ..)| *place);
        for ((end, key, start), state, timing) in over {
            self.give(key, (start, end), state, timing);
        }
        for key in keys {
            let Some(known) = self.keys.get(&key).filter(|known| known.held.is_empty()) else { continue };
            if rules.window.by_key || known.dropped > 0 {
                self.idle.insert((known.own.1, key));
            } else {
                self.keys.remove(&key);
            }
        }
    }

    /// Forgets a key without a window, or moves a watermark on.
    fn make_room<A: Shape, L: WindowKey<A, Key = K>, T, F, J: JoinStates<S>>(
        &mut self,
        rules: &FoldWindows<A, S, L, T, F, J>,
    ) {
        if let Some((_, key)) = self.idle.pop_first() {
            self.report(rules, &key);
            self.keys.remove(&key);
            return;
        }
        let due = |window: &Held<S>| window.end + if window.closed { rules.window.refine.into() } else { 0 };
        let (when, key) = loop {
            let mut first = self.agenda.first_entry().expect("there are windows");
            let when = *first.key();
            let Some(key) = first.get().first().cloned() else {
                first.remove();
                continue;
            };
            let is_due = |known: &Known<S>| {
                let mut starts = known.agenda.range((when, 0)..=(when, u128::MAX)).map(|(_, start)| start);
                starts.any(|start| known.held.get(start).is_some_and(|window| due(window) == when))
            };
            if self.keys.get(&key).is_some_and(is_due) {
                break (when, key);
            }
            // The window has become longer since, or is gone.
            first.get_mut().remove(&key);
        };
        self.watermark(rules.window.by_key, &key).1 = when;
        self.close(rules, &key);
    }

    /// An empty window with the number of values that were dropped, if there are any.
    fn report<A: Shape, L: WindowKey<A, Key = K>, T, F, J: JoinStates<S>>(
        &mut self,
        rules: &FoldWindows<A, S, L, T, F, J>,
        key: &K,
    ) {
        if self.keys.get(key).is_some_and(|known| known.dropped > 0) {
            let (_, watermark) = *self.watermark(rules.window.by_key, key);
            self.give(key, (watermark, watermark), rules.state.clone(), Timing::OnTime);
        }
    }
}
