use super::join::{Bound, Unmatched};
use millstream_core::Joined;
use millstream_core::failure::fail;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The values of a join of two sources.
#[derive(Debug)]
pub struct Matches<I: Iterator, J: Iterator, K, F, G> {
    first: Input<I, K, F>,
    second: Input<J, K, G>,
    /// The kept values of both sources, the oldest first.
    order: VecDeque<Kept<K>>,
    /// How many of them have found their only match, and are kept no more.
    gone: usize,
    out: VecDeque<Joined<I::Item, J::Item>>,
    bound: Bound,
}

/// One of the sources.
#[derive(Debug)]
struct Input<I: Iterator, K, F> {
    /// None once it has ended.
    values: Option<I>,
    place: F,
    /// The next value, if it was requested.
    head: Option<Placed<I::Item, K>>,
    /// The number of the value after the head.
    number: u64,
    /// The earliest position of the value after the head.
    earliest: u64,
    /// The kept values, the oldest first.
    kept: HashMap<K, VecDeque<Waiting<I::Item>>>,
}

#[derive(Debug)]
struct Placed<V, K> {
    value: V,
    key: K,
    at: u64,
}

#[derive(Debug)]
struct Waiting<V> {
    value: V,
    number: u64,
    matched: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    First,
    Second,
}

#[derive(Debug)]
struct Kept<K> {
    side: Side,
    key: K,
    number: u64,
    at: u64,
}

impl<I: Iterator, K: Eq + Hash, F: Fn(u64, &I::Item) -> (K, u64)> Input<I, K, F> {
    fn new(values: I, place: F) -> Self {
        Input { values: Some(values), place, head: None, number: 0, earliest: 0, kept: HashMap::new() }
    }

    fn ask(&mut self, source: usize, bound: Bound) {
        let Some(value) = self.values.as_mut().and_then(Iterator::next) else {
            self.values = None;
            return;
        };
        let ((key, at), number) = ((self.place)(self.number, &value), self.number);
        if at < self.earliest {
            let last = self.earliest;
            fail(format!(
                "source {source}, its number {number}: a value of time {at} after one of time {last}; sort the source"
            ));
        }
        self.number += 1;
        self.earliest = if bound.by_number { self.number } else { at };
        self.head = Some(Placed { value, key, at });
    }

    /// Whether none of its values can be in a pair any more.
    fn spent(&self) -> bool {
        self.values.is_none() && self.head.is_none() && self.kept.is_empty()
    }

    /// Takes the oldest value of this key out, if there is one.
    fn take(&mut self, key: &K) -> Option<Waiting<I::Item>> {
        let of_key = self.kept.get_mut(key)?;
        let oldest = of_key.pop_front();
        if of_key.is_empty() {
            self.kept.remove(key);
        }
        oldest
    }

    /// Whether the value of this key and number is kept.
    fn has(&self, key: &K, number: u64) -> bool {
        let is_in = |of_key: &VecDeque<Waiting<_>>| of_key.binary_search_by_key(&number, |kept| kept.number).is_ok();
        self.kept.get(key).is_some_and(is_in)
    }
}

/// At least this many entries of values that are gone stand in the order before it is cleared of them.
const GONE: usize = 16;

impl<I: Iterator, J: Iterator, K, F, G> Matches<I, J, K, F, G>
where
    I::Item: Clone,
    J::Item: Clone,
    K: Eq + Hash + Clone,
    F: Fn(u64, &I::Item) -> (K, u64),
    G: Fn(u64, &J::Item) -> (K, u64),
{
    pub(super) fn new(first: (I, F), second: (J, G), bound: Bound) -> Self {
        Matches {
            first: Input::new(first.0, first.1),
            second: Input::new(second.0, second.1),
            order: VecDeque::new(),
            gone: 0,
            out: VecDeque::new(),
            bound,
        }
    }

    /// The source of the next value, if there is one and it matters. A source is read only if that cannot be decided
    /// otherwise.
    fn next_side(&mut self) -> Option<Side> {
        loop {
            if self.is_over() {
                return None;
            }
            let (first, second) = (&self.first, &self.second);
            let ask = match (&first.head, &second.head) {
                (Some(a), Some(b)) => return Some(if a.at <= b.at { Side::First } else { Side::Second }),
                (Some(a), None) if second.values.is_none() || a.at <= second.earliest => return Some(Side::First),
                (None, Some(b)) if first.values.is_none() || b.at < first.earliest => return Some(Side::Second),
                (Some(_), None) => Side::Second,
                (None, Some(_)) => Side::First,
                (None, None) => match (&first.values, &second.values) {
                    (None, None) => return None,
                    (Some(_), None) => Side::First,
                    (None, Some(_)) => Side::Second,
                    (Some(_), Some(_)) if first.earliest <= second.earliest => Side::First,
                    (Some(_), Some(_)) => Side::Second,
                },
            };
            match ask {
                Side::First => self.first.ask(0, self.bound),
                Side::Second => self.second.ask(1, self.bound),
            }
        }
    }

    /// Whether the rest can have no pairs, and unmatched values are dropped.
    fn is_over(&self) -> bool {
        self.bound.unmatched == Unmatched::Drop && (self.first.spent() || self.second.spent())
    }

    /// Processes the next value. Returns false if there is none.
    fn step(&mut self) -> bool {
        let Some(side) = self.next_side() else {
            while self.drop_oldest() {}
            return false;
        };
        match side {
            Side::First => {
                let Placed { value, key, at } = self.first.head.take().expect("it is the next one");
                self.expire(at);
                if self.bound.one_to_one
                    && let Some(other) = self.second.take(&key)
                {
                    self.out.push_back(Joined::Both(value, other.value));
                    self.one_is_gone();
                    return true;
                }
                let others = self.second.kept.get_mut(&key);
                let matched = pair(others, |other| self.out.push_back(Joined::Both(value.clone(), other)));
                let number = self.first.number - 1;
                self.make_room(0, number);
                self.order.push_back(Kept { side, key: key.clone(), number, at });
                self.first.kept.entry(key).or_default().push_back(Waiting { value, number, matched });
            }
            Side::Second => {
                let Placed { value, key, at } = self.second.head.take().expect("it is the next one");
                self.expire(at);
                if self.bound.one_to_one
                    && let Some(other) = self.first.take(&key)
                {
                    self.out.push_back(Joined::Both(other.value, value));
                    self.one_is_gone();
                    return true;
                }
                let others = self.first.kept.get_mut(&key);
                let matched = pair(others, |other| self.out.push_back(Joined::Both(other, value.clone())));
                let number = self.second.number - 1;
                self.make_room(1, number);
                self.order.push_back(Kept { side, key: key.clone(), number, at });
                self.second.kept.entry(key).or_default().push_back(Waiting { value, number, matched });
            }
        }
        true
    }

    /// Removes values that are too far from `at`.
    fn expire(&mut self, at: u64) {
        self.pass_gone();
        while self.order.front().is_some_and(|oldest| at - oldest.at > self.bound.distance) {
            self.drop_oldest();
            self.pass_gone();
        }
    }

    fn make_room(&mut self, source: usize, number: u64) {
        if self.order.len() - self.gone < self.bound.most {
            return;
        }
        if !self.bound.forget {
            let most = self.bound.most;
            fail(format!(
                "source {source}, its number {number}: {most} values are kept already; \
                 allow more, use a shorter distance, or call `forget_oldest`"
            ));
        }
        self.drop_oldest();
    }

    fn is_kept(&self, Kept { side, key, number, .. }: &Kept<K>) -> bool {
        match side {
            Side::First => self.first.has(key, *number),
            Side::Second => self.second.has(key, *number),
        }
    }

    /// A kept value has found its only match. The order forgets such values when they are most of it.
    fn one_is_gone(&mut self) {
        self.gone += 1;
        if self.gone > GONE && 2 * self.gone > self.order.len() {
            let order = std::mem::take(&mut self.order);
            self.order = order.into_iter().filter(|entry| self.is_kept(entry)).collect();
            self.gone = 0;
        }
    }

    /// Removes the values from the front of the order that are gone.
    fn pass_gone(&mut self) {
        while self.gone > 0 && self.order.front().is_some_and(|oldest| !self.is_kept(oldest)) {
            self.order.pop_front();
            self.gone -= 1;
        }
    }

    /// Removes the oldest value from the bound. Returns false if there is none.
    fn drop_oldest(&mut self) -> bool {
        self.pass_gone();
        let Some(Kept { side, key, .. }) = self.order.pop_front() else { return false };
        let (joined, source, number) = match side {
            Side::First => match self.first.take(&key).expect("it is in the order") {
                Waiting { matched: true, .. } => return true,
                Waiting { value, number, .. } => (Joined::First(value), 0, number),
            },
            Side::Second => match self.second.take(&key).expect("it is in the order") {
                Waiting { matched: true, .. } => return true,
                Waiting { value, number, .. } => (Joined::Second(value), 1, number),
            },
        };
        match self.bound.unmatched {
            Unmatched::Drop => {}
            Unmatched::Keep => self.out.push_back(joined),
            Unmatched::Fail => {
                fail(format!("source {source}, its number {number}: this value has no match in the other source"))
            }
        }
        true
    }
}

/// Pairs a value with all of these. Returns false if there are none.
fn pair<V: Clone>(others: Option<&mut VecDeque<Waiting<V>>>, mut put: impl FnMut(V)) -> bool {
    let Some(others) = others else { return false };
    for other in others {
        other.matched = true;
        put(other.value.clone());
    }
    true
}

impl<I: Iterator, J: Iterator, K, F, G> Iterator for Matches<I, J, K, F, G>
where
    I::Item: Clone,
    J::Item: Clone,
    K: Eq + Hash + Clone,
    F: Fn(u64, &I::Item) -> (K, u64),
    G: Fn(u64, &J::Item) -> (K, u64),
{
    type Item = Joined<I::Item, J::Item>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(joined) = self.out.pop_front() {
                return Some(joined);
            }
            if !self.step() && self.out.is_empty() {
                return None;
            }
        }
    }
}
