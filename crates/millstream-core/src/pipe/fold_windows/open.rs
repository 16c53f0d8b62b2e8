mod at;
#[cfg(test)]
mod tests;

use super::{FoldedWindow, Timing};
use crate::keys::{Key, Quick};
use crate::pipe::window::Window;
use at::At;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// The windows in memory: those that are open, and those that can still be refined.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "K: serde::Serialize + Ord, S: serde::Serialize",
        deserialize = "K: serde::Deserialize<'de> + Ord + Hash, S: serde::Deserialize<'de>"
    ))
)]
pub struct OpenFolds<K, S> {
    /// They are hashed, since each value looks its key up. What is output or written down is in the order of the keys.
    #[cfg_attr(feature = "serde", serde(serialize_with = "without_resting"))]
    keys: HashMap<K, OfKey<S>, Quick>,
    /// Each window with its key, and when it is due: to be output, or after that to be forgotten. A session that has
    /// grown since may be due later.
    due: BTreeSet<(u128, K, u64)>,
    /// The keys without a window, by their own watermark.
    idle: BTreeSet<(u128, K)>,
    /// The clock of the stream.
    clock: Clock,
}

/// A key is here while it has a window, late values that no result has reported, or a watermark; and after that as long
/// as it is resting.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct OfKey<S> {
    /// The windows by start, and therefore by end, unless an upgrade has changed how long they are.
    windows: BTreeMap<u64, Open<S>>,
    /// Of no effect unless each key has a watermark.
    clock: Clock,
    dropped: u64,
    /// It is not written down.
    #[cfg_attr(feature = "serde", serde(skip))]
    rest: Rest,
}

/// Whether a key is as if it were not here: it has nothing, and waits for its next window. Most keys have windows again
/// and again, and to remove a key and insert it again costs more than a window does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rest {
    #[default]
    Awake,
    Resting,
    /// It rested already when the keys were looked at. If it still does at the next time, it is forgotten.
    Seen,
}

/// How many keys are looked at for a window that closes, and for a key that comes to rest. So all keys are looked at
/// once a quarter as many windows have closed, and at most half of the keys rest, unless many came to rest at once.
const LOOKS: usize = 4;

#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Clock {
    greatest: u64,
    /// How many keys may be looked at, to forget those that rest: of the stream's clock alone, which has room for it.
    /// Not while each key has a watermark: then none rests.
    #[cfg_attr(feature = "serde", serde(skip))]
    looks: usize,
    /// Windows that end here or before have closed.
    watermark: u128,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Open<S> {
    /// The first time after it. It may exceed every time.
    end: u128,
    /// The watermark under which it is in the list of what is due: at which it is output, or after that forgotten. An
    /// upgrade may change the rules, but not this.
    due: u128,
    values: u64,
    state: S,
    /// Whether it has been output since it closed.
    output: bool,
    /// Whether some of its values have been output since they were in a window that closed.
    refines: bool,
}

impl Clock {
    const START: Clock = Clock { greatest: 0, looks: 0, watermark: 0 };

    #[inline]
    fn see(&mut self, time: u64, lateness: u64) {
        self.greatest = self.greatest.max(time);
        self.watermark = self.watermark.max(u128::from(self.greatest.saturating_sub(lateness)));
    }
}

impl<S> Open<S> {
    /// Whether it is due later than was listed, since values have moved its end. It has to be listed again then.
    fn is_put_off(&mut self) -> bool {
        let later = !self.output && self.due < self.end;
        if later {
            self.due = self.end;
        }
        later
    }

    fn map_state<T>(self, f: impl FnOnce(S) -> T) -> Open<T> {
        let Open { end, due, values, state, output, refines } = self;
        Open { end, due, values, state: f(state), output, refines }
    }
}

impl<K: Ord + Hash, S> OpenFolds<K, S> {
    /// The same windows with the states that `f` makes of theirs, in the order of the keys: for a migration of a fold
    /// by window whose states have another type in the new version. `f` is called for windows that are open, and for
    /// those that late values can still refine.
    #[must_use]
    pub fn map_states<T>(self, mut f: impl FnMut(S) -> T) -> OpenFolds<K, T> {
        let OpenFolds { keys, due, idle, clock } = self;
        let keys = in_order(keys).into_iter().map(|(key, OfKey { windows, clock, dropped, rest })| {
            let windows = windows.into_iter().map(|(start, open)| (start, open.map_state(&mut f))).collect();
            (key, OfKey { windows, clock, dropped, rest })
        });
        OpenFolds { keys: keys.collect(), due, idle, clock }
    }
}

impl<S> OfKey<S> {
    const NONE: Self = OfKey { windows: BTreeMap::new(), clock: Clock::START, dropped: 0, rest: Rest::Awake };

    /// Called when it has nothing any more.
    fn rest(&mut self, looks: &mut usize) {
        if std::mem::replace(&mut self.rest, Rest::Resting) == Rest::Awake {
            *looks += LOOKS;
        }
    }

    fn result<K>(&mut self, key: K, start: u64, end: u128, state: S, timing: Timing) -> FoldedWindow<S, K> {
        FoldedWindow { key, start, end: clamped(end), state, timing, dropped: std::mem::take(&mut self.dropped) }
    }
}

/// Writes the keys down.
#[cfg(feature = "serde")]
fn without_resting<K, S, W>(keys: &HashMap<K, OfKey<S>, Quick>, to: W) -> Result<W::Ok, W::Error>
where
    K: serde::Serialize + Ord,
    S: serde::Serialize,
    W: serde::Serializer,
{
    use serde::ser::SerializeMap;
    let known = in_order(keys.iter().filter(|(_, of_key)| of_key.rest == Rest::Awake));
    let mut map = to.serialize_map(Some(known.len()))?;
    known.into_iter().try_for_each(|(key, of_key)| map.serialize_entry(key, of_key))?;
    map.end()
}

fn in_order<K: Ord, V>(keys: impl IntoIterator<Item = (K, V)>) -> Vec<(K, V)> {
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    keys
}

fn clamped(time: u128) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
}

impl<K: Key + Ord, S: Clone> OpenFolds<K, S> {
    pub(super) fn new() -> Self {
        let keys = HashMap::default();
        OpenFolds { keys, due: BTreeSet::new(), idle: BTreeSet::new(), clock: Clock::START }
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
            of_key.rest(&mut self.clock.looks);
            self.look();
        }
    }

    /// Looks at the keys, if it may, after windows were closed or keys have come to rest.
    fn look(&mut self) {
        if let Some(left) = self.clock.looks.checked_sub(self.keys.len()) {
            self.keys.retain(|_, of_key| match of_key.rest {
                Rest::Awake => true,
                Rest::Resting => {
                    of_key.rest = Rest::Seen;
                    true
                }
                Rest::Seen => false,
            });
            // To look at the keys costs what their map has room for.
            if self.keys.capacity() / 8 > self.keys.len() {
                self.keys.shrink_to(2 * self.keys.len());
            }
            // Of very many that come to rest at once, enough is left to forget them at the next time.
            self.clock.looks = left.min(self.keys.len());
        }
    }

    /// How many windows it keeps, and keys without one: what [`Window::at_most`] bounds.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.due.len() + self.idle.len()
    }

    /// Outputs all windows, and then the late values that no window has reported, in the order of the keys.
    pub(super) fn finish(mut self, window: &Window, start: &S, results: &mut Vec<FoldedWindow<S, K>>) {
        let left = self.clock.watermark;
        let listed = std::mem::take(&mut self.due).into_iter().map(|(when, key, at)| {
            let open = self.keys.get_mut(&key).and_then(|of_key| of_key.windows.get_mut(&at));
            (open.map_or(when, |open| if open.is_put_off() { open.due } else { when }), key, at)
        });
        // No set is made of them: it would forget those that it has if the comparison of two keys panicked.
        let mut listed: Vec<_> = listed.collect();
        listed.sort_unstable();
        for (_, key, at) in listed {
            let of_key = self.keys.get_mut(&key).expect("a window's key is known");
            let open = of_key.windows.remove(&at).expect("a window is due once");
            if !open.output {
                let timing = if open.refines { Timing::Refined } else { Timing::OnTime };
                results.push(of_key.result(key, at, open.end, open.state, timing));
            }
        }
        for (key, mut of_key) in in_order(std::mem::take(&mut self.keys)) {
            let watermark = if window.by_key { of_key.clock.watermark } else { left };
            if of_key.dropped > 0 {
                results.push(of_key.result(key, clamped(watermark), watermark, start.clone(), Timing::OnTime));
            }
        }
    }
}
