use super::lane::Lane;
use super::merge_log::MergeLog;
use super::registry::Registry;
use millstream_core::Item;
use std::time::Duration;

/// Whose values come next.
pub(super) enum Rule<T> {
    Arrival,
    RoundRobin,
    ByTime { time: Box<dyn Fn(&T) -> u64 + Send>, idle: Option<Duration> },
    Replay { runs: Box<dyn Iterator<Item = (u32, u64)> + Send>, now: Option<(u32, u64)> },
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// So many values of this lane at most.
    Take { lane: usize, most: usize },
    /// Nothing for now.
    Nothing,
    /// Nothing any more.
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

    pub(super) fn idle(self, bound: Duration) -> Self {
        match self {
            Rule::ByTime { time, .. } => Rule::ByTime { time, idle: Some(bound) },
            other => other,
        }
    }

    /// So many values were taken of the lane that it chose.
    pub(super) fn took(&mut self, count: u64) {
        if let Rule::Replay { now, .. } = self {
            *now = now.map(|(producer, left)| (producer, left - count)).filter(|(_, left)| *left > 0);
        }
    }

    pub(super) fn idle_bound(&self) -> Option<Duration> {
        match self {
            Rule::ByTime { idle, .. } => *idle,
            _ => None,
        }
    }
}

/// The lanes that have not ended, in the order of their producers, and whose turn it is.
pub(super) struct Lanes<T: Item> {
    pub(super) all: Vec<Lane<T>>,
    next: usize,
    turn: usize,
    /// For a replay: those below have been among them.
    met: u32,
}

impl<T: Item> Lanes<T> {
    pub(super) fn new(turn: usize) -> Self {
        Lanes { all: Vec::new(), next: 0, turn, met: 0 }
    }

    /// What comes next, if there is room for so many values.
    pub(super) fn choose(&mut self, rule: &mut Rule<T>, room: usize, registry: &Registry<T>) -> Result<Choice, String> {
        let choice = match rule {
            Rule::Arrival => self.whoever_is_there(room, registry),
            Rule::RoundRobin => self.whose_turn_it_is(registry),
            Rule::ByTime { time, idle } => self.the_earliest(&**time, *idle, registry)?,
            Rule::Replay { runs, now } => return self.as_recorded(runs, now, room, registry),
        };
        Ok(match choice {
            Choice::Nothing if self.all.is_empty() && registry.over() => Choice::Ended,
            choice => choice,
        })
    }

    /// How many values wait.
    pub(super) fn backlog(&self) -> u64 {
        self.all.iter().map(|lane| lane.receiver.backlog()).sum()
    }

    /// Lane `at` has ended, and the next one is in its place.
    fn remove(&mut self, at: usize, registry: &Registry<T>) {
        self.all.remove(at);
        registry.emptied();
    }

    fn whoever_is_there(&mut self, room: usize, registry: &Registry<T>) -> Choice {
        for _ in 0..self.all.len() {
            if self.next >= self.all.len() {
                self.next = 0;
            }
            let lane = self.next;
            let Some(whose) = self.all.get_mut(lane) else { break };
            if whose.receiver.head().is_some() {
                self.next = lane + 1;
                return Choice::Take { lane, most: self.turn.min(room) };
            }
            if whose.ended() {
                self.remove(lane, registry);
            } else {
                self.next = lane + 1;
            }
        }
        Choice::Nothing
    }

    fn whose_turn_it_is(&mut self, registry: &Registry<T>) -> Choice {
        while !self.all.is_empty() {
            if self.next >= self.all.len() {
                self.next = 0;
            }
            let (lane, whose) = (self.next, &mut self.all[self.next]);
            if whose.receiver.head().is_some() {
                self.next = lane + 1;
                return Choice::Take { lane, most: 1 };
            }
            if !whose.ended() {
                break;
            }
            self.remove(lane, registry);
        }
        Choice::Nothing
    }

    fn the_earliest(
        &mut self,
        time: &dyn Fn(&T) -> u64,
        idle: Option<Duration>,
        registry: &Registry<T>,
    ) -> Result<Choice, String> {
        let mut earliest: Option<(u64, usize)> = None;
        // The least (watermark, lane) of those that have nothing.
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
        let Some((producer, left)) = now.take().or_else(|| runs.next()) else { return Ok(Choice::Ended) };
        *now = Some((producer, left));
        // Who has just been met is the last.
        self.met = self.all.last().map_or(self.met, |last| self.met.max(last.producer + 1));
        let Some(lane) = self.all.iter().position(|lane| lane.producer == producer) else {
            return self.of_another(producer, left, registry);
        };
        let whose = &mut self.all[lane];
        let ready = whose.receiver.ready().min(left).min(room as u64);
        if ready == 0 {
            if whose.ended() {
                let given = whose.receiver.taken();
                return Err(format!(
                    "the record has {left} more values of producer {producer}, which has ended behind {given}"
                ));
            }
            self.leave_empty(producer, registry);
            return Ok(Choice::Nothing);
        }
        Ok(Choice::Take { lane, most: ready as usize })
    }

    /// A record asks for a producer who has no lane: it comes yet, or has gone, or never comes.
    fn of_another(&mut self, producer: u32, left: u64, registry: &Registry<T>) -> Result<Choice, String> {
        if producer < self.met {
            return Err(format!("the record has {left} more values of producer {producer}, which has ended"));
        }
        self.leave_empty(producer, registry);
        if registry.has_begun(producer) || !registry.over() {
            return Ok(Choice::Nothing);
        }
        Err(format!("the record has {left} values of producer {producer}, and there is none"))
    }

    /// Lanes that have ended and are empty, but for this producer's, make room for those that come.
    fn leave_empty(&mut self, but: u32, registry: &Registry<T>) {
        for at in (0..self.all.len()).rev() {
            if self.all[at].producer != but && self.all[at].ended() {
                self.remove(at, registry);
            }
        }
    }
}
