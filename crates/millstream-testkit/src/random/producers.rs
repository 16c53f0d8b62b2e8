//! Producers that nobody wrote, and what joins them.

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

/// Many producers: what each sends, and how that is joined.
#[derive(Clone, PartialEq, Eq)]
pub struct Producers {
    /// What each one sends, in order; some send nothing. In the order of [`time_of`](Producers::time_of), if the rule is by
    /// time.
    pub lists: Vec<Vec<Value>>,
    /// How many are there to begin with, at least 1. Each other one is added by the one before it, in the middle of its list.
    pub first: usize,
    /// The most that are there at a time.
    pub at_most: usize,
    /// Slots of each ring, or of the one that all share: a power of two.
    pub slots: usize,
    /// The most that is taken of one ring before the others' turn has come.
    pub turn: usize,
    /// Whose values come next.
    pub rule: Joining,
    /// When each one waits and when it hurries; nothing that comes out depends on it where the rule is determinate.
    pub pace: u64,
    /// Whose threads panic, with the senders in their hands, behind their last values: a bit each. What comes out does
    /// not depend on it.
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
    /// The earliest first, and who says nothing for a millisecond is not waited for.
    ByTimeOrIdle,
}

impl Producers {
    /// A value's time, for the rules that ask for it.
    #[must_use]
    pub fn time_of(value: &Value) -> u64 {
        value.digest().unsigned_abs() / 4
    }

    /// What the rule alone says is given; nothing where it leaves that to chance, and so to what was recorded.
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

    /// What is given by a merge that chose so; nothing if that cannot be.
    #[must_use]
    pub fn as_chosen(&self, choices: &MergeLog) -> Option<Vec<Value>> {
        sources::as_chosen(self.lists.clone(), choices.iter())
    }

    /// What joins them.
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

    /// What joins them as it was done before.
    pub fn replay(&self, choices: MergeLog) -> FanIn<Value> {
        self.plain().replay(choices)
    }

    fn plain(&self) -> FanIn<Value> {
        let of = fan_in(self.first).at_most(self.at_most).ring(self.slots).turn(self.turn);
        if self.dying == 0 { of } else { of.isolate_panics() }
    }

    /// Each of them sends what is its, on a thread of its own, until it has or nobody takes it any more.
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
        let (before, behind) = list.split_at(if adds { pace.below(list.len() + 1) } else { list.len() });
        let mut added = None;
        if self.send_unevenly(&sender, before, &mut pace) && adds {
            added = another(&sender).map(|next| {
                let producers = self.clone();
                spawn(move || producers.send(next))
            });
        }
        self.send_unevenly(&sender, behind, &mut pace);
        self.go(sender);
        if let Some(Err(payload)) = added.map(JoinHandle::join) {
            resume_unwind(payload);
        }
    }

    /// A producer goes, in peace or not.
    fn go(&self, sender: Sender<Value>) {
        if self.dying >> sender.producer() & 1 == 1 {
            let died = catch_unwind(AssertUnwindSafe(move || {
                let _in_its_hands = sender;
                resume_unwind(Box::new("as it was meant to"))
            }));
            assert!(died.is_err(), "it has panicked");
        }
    }

    /// One by one, or many at once, and sometimes somebody else first. False if nobody takes it any more.
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

/// One more, as soon as there is room for it; none if nobody takes its values.
fn another(sender: &Sender<Value>) -> Option<Sender<Value>> {
    loop {
        match sender.add_producer() {
            Ok(next) => return Some(next),
            Err(JoinError::Full(_)) => yield_now(),
            Err(_) => return None,
        }
    }
}

/// Decides who sends how much at a time.
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
            // Where others are waited for, nobody may wait for one of them to go.
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
