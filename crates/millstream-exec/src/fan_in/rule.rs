use super::lane::Lane;
use super::merge_log::MergeLog;
use super::registry::Registry;
use millstream_core::Item;
use std::time::Duration;

/// Decides which producer's values come next.
pub(super) enum Rule<T> {
    Arrival,
    RoundRobin,
    ByTime { time: Box<dyn Fn(&T) -> u64 + Send>, idle: Option<Duration> },
    Replay { runs: Box<dyn Iterator<Item = (u32, u64)> + Send>, now: Option<(u32, u64)> },
}

/// The decision of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// At most `most` values of this lane.
    Take { lane: usize, most: usize },
    /// Nothing for now.
    Nothing,
    /// The stream has ended.
    Ended,
}

impl<T: Item> Rule<T> {
    pub(super) fn round_robin() -> Self {
        Rule::RoundRobin
    }

    pub(super) fn by_time(time: Box<dyn Fn(&T) -> u64 + Send>) -> Self {
        Rule::ByTime { time, idle: None }
    }

    pub(super) fn replay(choices: MergeLog) -> Self {
        Rule::Replay { runs: Box::new(choices.into_runs()), now: None }
    }

    /// As it is with this bound of a producer's silence. Only the rule by time looks at a clock.
    pub(super) fn with_bound(self, idle: Option<Duration>) -> Self {
        match self {
            Rule::ByTime { time, .. } => Rule::ByTime { time, idle },
            other => other,
        }
    }

    /// Records that `count` values of the chosen lane were taken.
    pub(super) fn took(&mut self, count: u64) {
        if let Rule::Replay { now, .. } = self {
            *now = now.map(|(producer, left)| (producer, left - count)).filter(|(_, left)| *left > 0);
        }
    }
}

/// The lanes that have not ended, in the order of their producers, and the next one in turn.
pub(super) struct Lanes<T: Item> {
    pub(super) all: Vec<Lane<T>>,
    next: usize,
    turn: usize,
    /// For a replay: producers below this number have had a lane.
    met: u32,
}

impl<T: Item> Lanes<T> {
    pub(super) fn new(turn: usize) -> Self {
        Lanes { all: Vec::new(), next: 0, turn, met: 0 }
    }

    /// The next choice, with room for `room` values.
    pub(super) fn choose(&mut self, rule: &mut Rule<T>, room: usize, registry: &Registry<T>) -> Result<Choice, String> {
        let choice = match rule {
            Rule::Arrival => self.by_arrival(room, registry),
            Rule::RoundRobin => self.round_robin(registry),
            Rule::ByTime { time, idle } => self.earliest(&**time, *idle, registry)?,
            Rule::Replay { runs, now } => return self.as_recorded(runs, now, room, registry),
        };
        Ok(match choice {
            Choice::Nothing if self.all.is_empty() && registry.over() => Choice::Ended,
            choice => choice,
        })
    }

    /// The lane of this producer.
    pub(super) fn of(&self, producer: u32) -> Option<&Lane<T>> {
        self.all.iter().find(|lane| lane.producer == producer)
    }

    /// How many values wait.
    pub(super) fn backlog(&self) -> u64 {
        self.all.iter().map(|lane| lane.receiver.backlog()).sum()
    }

    /// Removes lane `at`, which has ended; the next one takes its place. The turn stays with its lane.
    fn remove(&mut self, at: usize, registry: &Registry<T>) {
        self.all.remove(at);
        self.next -= usize::from(at < self.next);
        registry.emptied();
    }

    fn by_arrival(&mut self, room: usize, registry: &Registry<T>) -> Choice {
        for _ in 0..self.all.len() {
            if self.next >= self.all.len() {
                self.next = 0;
            }
            let lane = self.next;
            let Some(candidate) = self.all.get_mut(lane) else { break };
            if candidate.receiver.head().is_some() {
                self.next = lane + 1;
                return Choice::Take { lane, most: self.turn.min(room) };
            }
            if candidate.ended() {
                self.remove(lane, registry);
            } else {
                self.next = lane + 1;
            }
        }
        Choice::Nothing
    }

    fn round_robin(&mut self, registry: &Registry<T>) -> Choice {
        while !self.all.is_empty() {
            if self.next >= self.all.len() {
                self.next = 0;
            }
            let (lane, candidate) = (self.next, &mut self.all[self.next]);
            if candidate.receiver.head().is_some() {
                self.next = lane + 1;
                return Choice::Take { lane, most: 1 };
            }
            if !candidate.ended() {
                let silent = candidate.producer;
                self.remove_empty(silent, registry);
                break;
            }
            self.remove(lane, registry);
        }
        Choice::Nothing
    }

    fn earliest(
        &mut self,
        time: &dyn Fn(&T) -> u64,
        idle: Option<Duration>,
        registry: &Registry<T>,
    ) -> Result<Choice, String> {
        let mut earliest: Option<(u64, usize)> = None;
        // The least (watermark, lane) of the lanes without a value.
        let mut held: Option<(u64, usize)> = None;
        let mut lane = 0;
        while lane < self.all.len() {
            let watermark = self.all[lane].watermark();
            match self.all[lane].time(time)? {
                Some(at) => earliest = Some(earliest.map_or((at, lane), |before| before.min((at, lane)))),
                None if self.all[lane].ended() => {
                    self.remove(lane, registry);
                    continue;
                }
                None if idle.is_some_and(|bound| self.all[lane].silent_since().elapsed() >= bound) => (),
                None => held = Some(held.map_or((watermark, lane), |before| before.min((watermark, lane)))),
            }
            lane += 1;
        }
        // Lanes are in the order of their producers.
        Ok(match earliest {
            Some((at, lane)) if held.is_none_or(|held| held > (at, lane)) => {
                self.all[lane].passed();
                Choice::Take { lane, most: 1 }
            }
            _ => Choice::Nothing,
        })
    }

    fn as_recorded(
        &mut self,
        runs: &mut dyn Iterator<Item = (u32, u64)>,
        now: &mut Option<(u32, u64)>,
        room: usize,
        registry: &Registry<T>,
    ) -> Result<Choice, String> {
        // Loaded first: what was accepted is visible then.
        let ended = registry.is_ended();
        loop {
            let Some((producer, left)) = now.take().or_else(|| runs.next()) else { return Ok(Choice::Ended) };
            *now = Some((producer, left));
            // New lanes are appended.
            self.met = self.all.last().map_or(self.met, |last| self.met.max(last.producer + 1));
            let lane = self.all.iter().position(|lane| lane.producer == producer);
            let ready = lane.map_or(0, |lane| self.all[lane].receiver.ready().min(left));
            match lane {
                Some(lane) if ready > 0 => {
                    return Ok(Choice::Take { lane, most: ready.min(room as u64) as usize });
                }
                // The producer was cut off before it had sent them. What others have sent comes in their order.
                _ if ended => *now = None,
                Some(lane) => return self.without_value(lane, left, registry),
                None => return self.without_lane(producer, left, registry),
            }
        }
    }

    /// The record names a producer of which no value is there.
    fn without_value(&mut self, lane: usize, left: u64, registry: &Registry<T>) -> Result<Choice, String> {
        let candidate = &mut self.all[lane];
        let producer = candidate.producer;
        // The run may have ended its ring just now.
        if candidate.ended() && !registry.is_ended() {
            let given = candidate.receiver.taken();
            return Err(format!("the record has {left} more values of producer {producer}, which ended after {given}"));
        }
        self.remove_empty(producer, registry);
        Ok(Choice::Nothing)
    }

    /// The record names a producer without a lane: it is still to come, or is gone, or never comes.
    fn without_lane(&mut self, producer: u32, left: u64, registry: &Registry<T>) -> Result<Choice, String> {
        if producer < self.met && !registry.is_ended() {
            return Err(format!("the record has {left} more values of producer {producer}, which has ended"));
        }
        self.remove_empty(producer, registry);
        if registry.has_begun(producer) || !registry.over() || registry.is_ended() {
            return Ok(Choice::Nothing);
        }
        Err(format!("the record has {left} values of producer {producer}, which does not exist"))
    }

    /// Removes the ended and empty lanes of all other producers, which makes room for new ones.
    fn remove_empty(&mut self, but: u32, registry: &Registry<T>) {
        for at in (0..self.all.len()).rev() {
            if self.all[at].producer != but && self.all[at].ended() {
                self.remove(at, registry);
            }
        }
    }
}
