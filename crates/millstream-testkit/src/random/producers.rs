//! Random producers, and the rules that join them.

use super::value::Value;
use millstream_core::SplitMix64;
use millstream_core::model::sources;
use millstream_exec::{FanIn, JoinError, MergeLog, Sender, fan_in};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn, yield_now};
use std::time::Duration;

/// Many producers: their values, and the rule that joins them.
#[derive(Clone, PartialEq, Eq)]
pub struct Producers {
    /// The values of each producer, in order; a list may be empty. If the rule is by time, lists are sorted by
    /// [`time_of`](Producers::time_of).
    pub lists: Vec<Vec<Value>>,
    /// The number of producers at the start, at least 1. Each further one is added by the one before it, in the middle
    /// of its list.
    pub first: usize,
    /// The most producers at a time.
    pub at_most: usize,
    /// The capacity of each ring, or of the one that all share: a power of two.
    pub slots: usize,
    /// The most values that are taken from one ring before the turn of the others.
    pub turn: usize,
    /// The rule that selects the next value.
    pub rule: Joining,
    /// The seed of each producer's waits and bursts. If the rule is determinate, the output does not depend on it.
    pub pace: u64,
    /// The producers whose threads panic after their last values, while they own their senders: a bit each. The output
    /// does not depend on it.
    pub dying: u64,
}

/// How the producers' values are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// As they arrive, in rings of their own.
    Arrival,
    /// As they arrive, in one ring.
    Shared,
    /// One of each in turn.
    RoundRobin,
    /// The earliest first.
    ByTime,
    /// The earliest first; a producer without a value for a millisecond is not waited for.
    ByTimeOrIdle,
}

impl Producers {
    /// A value's time, for the rules by time.
    #[must_use]
    pub fn time_of(value: &Value) -> u64 {
        value.digest().unsigned_abs() / 4
    }

    /// The merged values by the rule alone; `None` if the rule leaves them to chance.
    #[must_use]
    pub fn by_rule(&self) -> Option<Vec<Value>> {
        if self.first < self.lists.len() {
            return None;
        }
        match self.rule {
            Joining::RoundRobin => Some(sources::round_robin(self.lists.clone())),
            Joining::ByTime => Some(sources::by_timestamp(self.lists.clone(), Self::time_of)),
            Joining::Arrival | Joining::Shared | Joining::ByTimeOrIdle => None,
        }
    }

    /// The values of a merge with these choices; `None` if that is impossible.
    #[must_use]
    pub fn as_chosen(&self, choices: &MergeLog) -> Option<Vec<Value>> {
        sources::as_chosen(self.lists.clone(), choices.iter())
    }

    /// The fan-in that joins them.
    pub fn fan_in(&self) -> FanIn<Value> {
        let of = self.plain();
        match self.rule {
            Joining::Arrival => of.by_arrival(),
            Joining::Shared => of.shared(),
            Joining::RoundRobin => of.round_robin(),
            Joining::ByTime => of.by_timestamp(Self::time_of),
            Joining::ByTimeOrIdle => of.by_timestamp(Self::time_of).idle(Duration::from_millis(1)),
        }
    }

    /// The fan-in that repeats the recorded choices.
    pub fn replay(&self, choices: MergeLog) -> FanIn<Value> {
        self.plain().replay(choices)
    }

    fn plain(&self) -> FanIn<Value> {
        let of = fan_in(self.first).at_most(self.at_most).ring(self.slots).turn(self.turn);
        if self.dying == 0 { of } else { of.isolate_panics() }
    }

    /// Starts a thread for each sender. It sends its producer's list, and ends early if the run takes no more values.
    #[must_use]
    pub fn start(self: &Arc<Self>, senders: Vec<Sender<Value>>) -> Vec<JoinHandle<()>> {
        let starting = senders.into_iter().map(|sender| {
            let producers = self.clone();
            spawn(move || producers.send(sender))
        });
        starting.collect()
    }

    fn send(self: Arc<Self>, sender: Sender<Value>) {
        let k = sender.producer() as usize;
        let mut pace = Pace(SplitMix64::new(SplitMix64::at(self.pace, k as u64)));
        let adds = k + 1 >= self.first && k + 1 < self.lists.len();
        let list = &self.lists[k];
        let (before, after) = list.split_at(if adds { pace.below(list.len() + 1) } else { list.len() });
        let mut added = None;
        if self.send_unevenly(&sender, before, &mut pace) && adds {
            added = another(&sender).map(|next| {
                let producers = self.clone();
                spawn(move || producers.send(next))
            });
        }
        self.send_unevenly(&sender, after, &mut pace);
        self.go(sender);
        if let Some(Err(payload)) = added.map(JoinHandle::join) {
            resume_unwind(payload);
        }
    }

    /// Drops a producer's sender: in a panic, if its bit of `dying` is set.
    fn go(&self, sender: Sender<Value>) {
        if self.dying >> sender.producer() & 1 == 1 {
            let died = catch_unwind(AssertUnwindSafe(move || {
                let _owned = sender;
                resume_unwind(Box::new("meant to panic"))
            }));
            assert!(died.is_err(), "it has panicked");
        }
    }

    /// Sends one by one or many at once, and sometimes yields. Returns false if the run takes no more values.
    fn send_unevenly(&self, sender: &Sender<Value>, mut list: &[Value], pace: &mut Pace) -> bool {
        while let Some(value) = list.first() {
            let sent = match pace.below(6) {
                0 => {
                    yield_now();
                    continue;
                }
                1 => {
                    sender.advance(Self::time_of(value));
                    continue;
                }
                2 => 1 + pace.below(list.len()),
                _ => 1,
            };
            let (now, rest) = list.split_at(sent);
            let taken = match now {
                [one] => sender.send(one.clone()).is_ok(),
                many => sender.send_all(many.iter().cloned()).is_ok(),
            };
            if !taken {
                return false;
            }
            list = rest;
        }
        true
    }
}

/// Adds a producer, as soon as there is room for it; `None` if the run takes no more values.
fn another(sender: &Sender<Value>) -> Option<Sender<Value>> {
    loop {
        match sender.add_producer() {
            Ok(next) => return Some(next),
            Err(JoinError::Full(_)) => yield_now(),
            Err(_) => return None,
        }
    }
}

/// Decides how many values a producer sends at a time.
struct Pace(SplitMix64);

impl Pace {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit as u64) as usize
    }
}

/// One to five producers of at most `most` numbers each, joined in any way, in rings of 1 to 32 slots.
pub fn producers(most: usize) -> impl Strategy<Value = Producers> {
    let rule = prop_oneof![
        3 => Just(Joining::Arrival),
        2 => Just(Joining::Shared),
        2 => Just(Joining::RoundRobin),
        2 => Just(Joining::ByTime),
        1 => Just(Joining::ByTimeOrIdle),
    ];
    let lists = vec(vec((-20..100_i64).prop_map(Value::I), 0..=most), 1..=5);
    let turn = prop_oneof![1..=9_usize, Just(1024)];
    let dying = prop_oneof![2 => Just(0), 1 => 0..32_u64];
    (lists, rule, 0..5_usize, 0..5_usize, 0..=5_u32, turn, (any::<u64>(), dying)).prop_map(
        |(mut lists, rule, later, room, log, turn, (pace, dying))| {
            if matches!(rule, Joining::ByTime | Joining::ByTimeOrIdle) {
                lists.iter_mut().for_each(|list| list.sort_by_key(Producers::time_of));
            }
            let first = lists.len().saturating_sub(later).max(1);
            // A rule that waits for all producers cannot wait until one of them ends.
            let waits = !matches!(rule, Joining::Arrival | Joining::Shared);
            let at_most = if waits { lists.len() } else { (first.max(2) + room).min(lists.len()).max(first) };
            Producers { lists, first, at_most, slots: 1 << log, turn, rule, pace, dying }
        },
    )
}

impl fmt::Debug for Producers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Producers { lists, first, at_most, slots, turn, rule, pace, dying } = self;
        write!(f, "{rule:?} of {lists:?}, {first} to begin with, at most {at_most}, ring {slots}, ")?;
        write!(f, "turn {turn}, pace {pace}, dying {dying:b}")
    }
}
