//! Windows of event time that aggregate, one list of windows for each key.

use super::ModelSlots;
use crate::pipe::{FoldWindows, FoldedWindow, JoinStates, Late, Overflow, Timing, WindowKey, WindowShape};
use crate::{Item, Shape};
use std::collections::{BTreeMap, BTreeSet};

/// The results of one number.
type Results<S, K> = Vec<FoldedWindow<S, K>>;

/// A window that is open, or can still be refined.
struct Held<S> {
    start: u64,
    /// It may exceed every time.
    end: u128,
    values: u64,
    state: S,
    /// Whether it was output when it closed.
    closed: bool,
    /// Whether one of its values has been in a window that closed.
    refines: bool,
}

struct Known<S> {
    held: Vec<Held<S>>,
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

    fn give(&mut self, key: &K, (start, end): (u64, u128), state: S, timing: Timing) {
        let dropped = std::mem::take(&mut self.keys.get_mut(key).expect("it is known").dropped);
        let end = end.min(u64::MAX.into()) as u64;
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
        let nothing = || Known { held: Vec::new(), own: (0, 0), dropped: 0 };
        self.idle.remove(&(self.keys.entry(key.clone()).or_insert_with(nothing).own.1, key.clone()));
        let (_, watermark) = *self.watermark(rules.window.by_key, key);
        let mut lies_in: Vec<(u64, u128)> = match rules.window.shape {
            WindowShape::Sliding { size, every } => {
                let starts = (0..=time / every).rev().map(|k| k * every).take_while(|start| time - start < size);
                starts.map(|start| (start, u128::from(start) + u128::from(size))).collect()
            }
            WindowShape::Session { gap } => vec![(time, u128::from(time) + u128::from(gap))],
        };
        lies_in.reverse();
        let mut entered = false;
        for (mut start, mut end) in lies_in {
            let held = std::mem::take(&mut self.keys.get_mut(key).expect("it is known").held);
            self.windows -= held.len();
            let same = |other: &Held<S>| match rules.window.shape {
                WindowShape::Sliding { .. } => other.start == start,
                WindowShape::Session { .. } => u128::from(other.start) < end && u128::from(start) < other.end,
            };
            let (mut same, mut held): (Vec<_>, Vec<_>) = held.into_iter().partition(same);
            same.sort_by_key(|window| window.start);
            for window in &same {
                (start, end) = (start.min(window.start), end.max(window.end));
            }
            if end + u128::from(rules.window.refine) > watermark {
                let (mut values, closed) = (0, end <= watermark);
                let (mut refines, mut state) = (closed, None);
                for window in same {
                    (values, refines) = (values + window.values, refines || window.refines);
                    match &mut state {
                        None => state = Some(window.state),
                        Some(state) => rules.join.join(state, window.state),
                    }
                }
                let mut state = state.unwrap_or_else(|| rules.state.clone());
                (rules.f)(&mut state, value);
                let early = !closed && rules.window.early.is_some_and(|n| (values + 1) % n == 0);
                if closed || early {
                    let timing = if closed { Timing::Refined } else { Timing::Early };
                    self.give(key, (start, end), state.clone(), timing);
                }
                held.push(Held { start, end, values: values + 1, state, closed, refines });
                for when in [end, end + u128::from(rules.window.refine)] {
                    self.agenda.entry(when).or_default().insert(key.clone());
                }
                entered = true;
            }
            self.windows += held.len();
            self.keys.get_mut(key).expect("it is known").held = held;
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
            self.windows -= known.held.len();
            for window in &mut known.held {
                if window.end <= watermark && !window.closed {
                    let timing = if window.refines { Timing::Refined } else { Timing::OnTime };
                    over.push(((window.end, key, window.start), window.state.clone(), timing));
                    (window.closed, window.refines) = (true, true);
                }
            }
            known.held.retain(|window| window.end.saturating_add(rules.window.refine.into()) > watermark);
            self.windows += known.held.len();
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
            let known = self.keys.get(&key);
            if known.is_some_and(|known| known.held.iter().any(|window| due(window) == when)) {
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
            let at = watermark.min(u64::MAX.into());
            self.give(key, (at as u64, at), rules.state.clone(), Timing::OnTime);
        }
    }
}
