//! How many shards a stage gets, decided from its measured load.
//!
//! The decision is a pure function of the windows that were measured, so a log of them replays to the same decisions.
//!
//! **The choice of controller.** A PID controller, which the author of the article tried, corrects by small steps what
//! it measures as an error. Shards are whole numbers, their effect comes late, and the error cannot be seen while the
//! input has no room; so it must be tuned for each pipeline, and oscillates if it is not. Flink's adaptive scheduler
//! takes all slots that there are, and does not look at load; its autoscaler is DS2. Heron's Dhalion diagnoses
//! symptoms, such as back-pressure, and tries one cure after the other, which takes many steps. DS2 (Kalavri et al.,
//! OSDI 2018) computes the parallelism at once: the *useful* time of a stage gives the rate that one shard can do, and
//! the rate that comes in divided by it is the number of shards. It takes at most three steps, since the rate of a
//! shard does not depend much on their number. This is DS2, with four additions:
//!
//! - If the ring before the stage is full, the incoming rate is the rate that the stage allows, and says nothing about
//!   the demand. The number of shards then doubles, which reaches any number in few steps.
//! - After a change, a stage that is busy all the time is not judged for as long as it was busy before the change: it
//!   works off the items that waited, which are no additional demand.
//! - Hysteresis: a number is raised if two windows in a row ask for it, and lowered if ten do, to the highest that one
//!   of them asks for. A window asks for more if the shards would be busy for more than 4/5 of the time. It asks for
//!   fewer, at most half as many, if those would be busy for less than 3/5. So no load asks for both, and no steady
//!   load undoes a doubling: a load that is too much for k shards keeps more than k busy for 3/5 of the time.
//!
//! - A raise that is soon taken back was wrong: if a machine stops now and then, for example, the items that waited
//!   meanwhile look like more load for a second. After each such raise the next one needs twice as many windows in a
//!   row, up to sixteen; a raise that lasts makes it two again.
//!
//! Useful time is the time of steps, times the share of it in which the threads had a core: on shared cores a step also
//! waits for others. More shards than cores are never asked for, unless they have threads of their own: those wait, as
//! for a disk or another machine, for most of their time, and that is useful time, whether there is a core or not.

mod drive;

pub use drive::ElasticRun;

use std::ops::RangeInclusive;
use std::time::Duration;

/// The share of its time in which a shard may be busy.
const BUSY: f64 = 0.8;

/// The share of their time in which fewer shards would be busy at most.
const IDLE: f64 = 0.6;

/// From this share of looks on that find the ring before the stage full, the demand is unknown.
const FULL: f64 = 0.5;

/// The share of its time from which on a shard has no rest.
const RESTLESS: f64 = 0.9;

/// How many windows in a row ask for more, or for fewer.
const RAISE: u32 = 2;
const LOWER: u32 = 10;

/// How many windows in a row ask for more at most, after raises that were taken back.
const MOST_RAISE: u32 = 16;

/// A raise that is undone within this many windows is taken back.
const LASTS: u32 = 40;

/// The shortest window: the counters are read twenty times in each.
const SHORTEST: Duration = Duration::from_millis(10);

/// How many windows after a change are not judged in any case.
const SETTLE: u32 = 2;

/// The number of shards of a stage, between two bounds, from its load.
///
/// [`Handle::elastic`](crate::Handle::elastic) changes a run by it.
///
/// ```
/// use millstream::exec::{Elastic, LoadWindow};
/// let mut elastic = Elastic::of("work", 1..=4);
/// // A shard is useful for 0.9 s of a second, and does 1,000 items.
/// let busy = LoadWindow { shards: 1, numbers: 1000, useful: 0.9, seconds: 1.0, full: 0.0, cores: 4 };
/// assert_eq!(elastic.decide(&busy), None, "one window is not enough");
/// let decision = elastic.decide(&busy).unwrap();
/// assert_eq!(decision.shards, 2);
/// assert_eq!(
///     decision.reason,
///     "`work` gets 2 shards instead of 1: 1000 numbers/s come in, and a shard can process 1111/s"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Elastic {
    stage: String,
    least: usize,
    most: usize,
    window: Duration,
    /// How many windows in a row have asked for more, or for fewer, and the most that they asked for.
    raises: u32,
    lowers: u32,
    asked: usize,
    /// How many windows in a row must ask for more.
    patience: u32,
    /// The windows since the last raise, and the number before it.
    raised: Option<(u32, usize)>,
    /// How many windows are not judged, and how many more if the stage has no rest in them.
    settles: u32,
    works_off: u32,
    /// For how many windows in a row it has had none.
    restless: u32,
}

/// What was measured of a stage over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LoadWindow {
    /// The number of its shards.
    pub shards: usize,
    /// The numbers that the stage moved.
    pub numbers: u64,
    /// The seconds of a core that all its shards used together.
    pub useful: f64,
    /// The length of the time.
    pub seconds: f64,
    /// The share of the time, from 0 to 1, in which the ring before the stage was full.
    pub full: f64,
    /// How many shards can work at once: as many as there are cores for the run, and workers if their number is set; or
    /// as many as the stage may have, if shards have threads of their own and wait rather than compute.
    pub cores: usize,
}

/// A decision, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElasticDecision {
    /// The number of shards from now on.
    pub shards: usize,
    /// Why, as a sentence with the figures.
    pub reason: String,
}

impl Elastic {
    /// Keeps the number of shards of the stage with this name in this range. If no stage has it, nothing changes.
    ///
    /// # Panics
    ///
    /// If the range is empty or begins with 0.
    #[must_use]
    pub fn of(stage: impl Into<String>, shards: RangeInclusive<usize>) -> Self {
        let (least, most) = shards.into_inner();
        assert!(least >= 1 && most >= least, "elastic({least}..={most}): a stage has at least one shard");
        let window = Duration::from_millis(500);
        let stage = stage.into();
        let (patience, raised) = (RAISE, None);
        let (raises, lowers, asked, settles, works_off, restless) = (0, 0, 0, 0, 0, 0);
        Elastic { stage, least, most, window, raises, lowers, asked, patience, raised, settles, works_off, restless }
    }

    /// Sets the time over which a load is measured, at least 10 ms: half a second.
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        Elastic { window: window.max(SHORTEST), ..self }
    }

    /// The name of the stage.
    #[must_use]
    pub fn stage(&self) -> &str {
        &self.stage
    }

    /// Returns another number of shards if this window and the earlier ones ask for it. Call it with every window in
    /// order, each with the number of shards that it was measured with.
    pub fn decide(&mut self, window: &LoadWindow) -> Option<ElasticDecision> {
        self.restless = if window.is_restless() { self.restless + 1 } else { 0 };
        self.raised = self.raised.map(|(since, from)| (since.saturating_add(1), from));
        if self.settles > 0 {
            self.settles -= 1;
            return None;
        }
        self.works_off = if self.restless > 0 { self.works_off } else { 0 };
        if self.works_off > 0 {
            self.works_off -= 1;
            return None;
        }
        let (most, shards) = (self.most.min(window.cores).max(self.least), window.shards);
        let full = window.full >= FULL;
        let raised = if full { shards * 2 } else { window.needs(BUSY) }.clamp(self.least, most);
        let lowered = if full { shards } else { window.needs(IDLE) }.clamp(self.least, most);
        (self.raises, self.lowers, self.asked) = match () {
            () if raised > shards => {
                (self.raises + 1, 0, if self.raises > 0 { self.asked.max(raised) } else { raised })
            }
            () if lowered * 2 <= shards || shards > self.most => {
                (0, self.lowers + 1, if self.lowers > 0 { self.asked.max(lowered) } else { lowered })
            }
            () => (0, 0, 0),
        };
        if self.raises < self.patience && self.lowers < LOWER {
            return None;
        }
        if self.asked > shards {
            self.raised = Some((0, shards));
        } else if let Some((since, from)) = self.raised
            && self.asked <= from
        {
            let taken_back = since < LASTS;
            (self.patience, self.raised) = (if taken_back { MOST_RAISE.min(2 * self.patience) } else { RAISE }, None);
        }
        let decision = ElasticDecision { shards: self.asked, reason: self.reason(window, full) };
        (self.raises, self.lowers, self.asked, self.settles) = (0, 0, 0, SETTLE);
        self.works_off = self.restless.saturating_sub(SETTLE);
        Some(decision)
    }

    fn reason(&self, window: &LoadWindow, full: bool) -> String {
        let LoadWindow { shards, seconds, numbers, .. } = window;
        let (comes, can) = (*numbers as f64 / seconds, window.capacity());
        let unit = if self.asked == 1 { "shard" } else { "shards" };
        let why = if full {
            format!("its input is full for {:.0}% of the time, at {comes:.0} numbers/s", window.full * 100.0)
        } else {
            format!("{comes:.0} numbers/s come in, and a shard can process {can:.0}/s")
        };
        format!("`{}` gets {} {unit} instead of {shards}: {why}", self.stage, self.asked)
    }
}

impl LoadWindow {
    /// The numbers that a shard can do in a second.
    fn capacity(&self) -> f64 {
        self.numbers as f64 / self.useful.max(1e-9)
    }

    /// Whether it could hardly have done more.
    fn is_restless(&self) -> bool {
        self.full >= FULL || self.useful >= RESTLESS * self.seconds * self.shards as f64
    }

    /// The shards that would be busy for this share of the time.
    fn needs(&self, busy: f64) -> usize {
        let needs = self.useful / self.seconds.max(1e-9) / busy;
        // A little more than a whole number is that number.
        (needs - 0.01).ceil().max(1.0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stage whose shards each do 1,000 numbers a second, at this demand; the remaining numbers wait.
    fn window(shards: usize, demand: f64) -> LoadWindow {
        let done = demand.min(shards as f64 * 1000.0);
        let full = if demand > done { 1.0 } else { 0.0 };
        LoadWindow { shards, numbers: done as u64, useful: done / 1000.0, seconds: 1.0, full, cores: 8 }
    }

    /// The numbers of shards, and when they were decided.
    fn decided(demands: impl Iterator<Item = f64>) -> Vec<(usize, usize)> {
        let (mut elastic, mut shards, mut decided) = (Elastic::of("work", 1..=8), 1, Vec::new());
        for (at, demand) in demands.enumerate() {
            if let Some(decision) = elastic.decide(&window(shards, demand)) {
                shards = decision.shards;
                decided.push((at, shards));
            }
        }
        decided
    }

    #[test]
    fn a_step_of_load_by_four_and_back_takes_few_decisions() {
        let steps = |n: usize| if (20..60).contains(&n) { 2000.0 } else { 500.0 };
        let decided = decided((0..1300).map(steps));
        let shards: Vec<_> = decided.iter().map(|(_, shards)| *shards).collect();
        assert_eq!(shards, [2, 3, 1], "{decided:?}");
        // Each way at most three, and none that is taken back in the time of steady load.
        assert!(decided[1].0 < 30 && decided[2].0 < 80, "{decided:?}");
    }

    /// Items that waited before a stage are soon worked off, and a step of load is not taken for a larger one.
    #[test]
    fn items_that_waited_are_not_taken_for_more_load() {
        for (slots, low) in [64, 1024].into_iter().flat_map(|slots| (50..2000).step_by(30).map(move |low| (slots, low)))
        {
            let low = f64::from(low) / 1000.0;
            let (mut elastic, mut shards, mut waits) = (Elastic::of("work", 1..=16), 1, 0.0);
            let mut decided = Vec::new();
            for at in 0..3000 {
                let (demand, before) = (if (200..1600).contains(&at) { 4.0 * low } else { low }, waits);
                // A shard does a thousand numbers a second, in windows of half a second.
                let comes: f64 = before + demand * 500.0;
                let done = comes.min(shards as f64 * 500.0);
                waits = comes - done;
                let full = f64::from(u8::from(before.min(waits) > 0.9 * f64::from(slots)));
                let numbers = done as u64;
                let load = LoadWindow { shards, numbers, useful: done / 1000.0, seconds: 0.5, full, cores: 16 };
                if let Some(decision) = elastic.decide(&load) {
                    decided.push((at, decision.shards > shards));
                    shards = decision.shards;
                }
            }
            let of = |range: std::ops::Range<i32>, raises| {
                decided.iter().filter(|(at, up)| range.contains(at) && *up == raises).count()
            };
            assert_eq!([of(0..200, false), of(200..1600, false), of(1600..3000, true)], [0; 3], "{low}: {decided:?}");
            assert!(of(200..1600, true) <= 3 && of(1600..3000, false) <= 3, "{low}: {decided:?}");
        }
    }

    /// A machine that stops for some seconds, and a stage that then works off what has waited.
    #[test]
    fn a_machine_that_stops_now_and_then_changes_little() {
        let mut elastic = Elastic::of("work", 1..=8).window(Duration::from_millis(500));
        let (mut shards, mut waits, mut changes) = (1, 0.0, Vec::new());
        for at in 0..1200 {
            // Two seconds in thirty.
            let works = if at % 60 < 4 { 0.0 } else { shards as f64 * 250.0 };
            let comes: f64 = waits + 450.0;
            let done = comes.min(works);
            waits = comes - done;
            let full = f64::from(u8::from(waits > 64.0));
            let load = LoadWindow { shards, numbers: done as u64, useful: done / 500.0, seconds: 0.5, full, cores: 8 };
            if let Some(decision) = elastic.decide(&load) {
                changes.push((at, decision.shards));
                shards = decision.shards;
            }
        }
        let raises = changes.windows(2).filter(|two| two[1].1 > two[0].1).count();
        assert!(raises <= 6, "{raises} raises: {changes:?}");
        assert!(changes.iter().all(|(at, _)| *at < 600), "it has learned: {changes:?}");
    }

    #[test]
    fn steady_load_asks_for_one_number_however_near_it_is_to_a_bound() {
        for demand in (100..8000).step_by(7) {
            // A noise of 5%.
            let noisy = |n: usize| f64::from(demand) * (1.0 + 0.05 * f64::from((n * 7919 % 201) as u32) / 100.0 - 0.05);
            let decided = decided((0..1200).map(noisy));
            assert!(decided.len() <= 4, "{demand}: {decided:?}");
            assert!(decided.windows(2).all(|two| two[0].1 < two[1].1), "{demand}: {decided:?}");
        }
    }

    #[test]
    fn there_are_no_more_shards_than_cores() {
        let mut elastic = Elastic::of("work", 1..=8);
        let two = LoadWindow { cores: 2, ..window(2, 9000.0) };
        assert!((0..20).all(|_| elastic.decide(&two).is_none()));
        let mut elastic = Elastic::of("work", 3..=8);
        assert_eq!(elastic.decide(&LoadWindow { cores: 2, ..window(1, 9000.0) }), None);
        let raised = elastic.decide(&LoadWindow { cores: 2, ..window(1, 9000.0) }).expect("the least");
        assert_eq!(raised.shards, 3);
        let why = "`work` gets 3 shards instead of 1: its input is full for 100% of the time, at 1000 numbers/s";
        assert_eq!(raised.reason, why);
    }

    #[test]
    fn more_shards_than_the_most_are_too_many() {
        let mut elastic = Elastic::of("work", 1..=4);
        let decided: Vec<_> = (0..LOWER).filter_map(|_| elastic.decide(&window(5, 3500.0))).collect();
        assert_eq!(decided.iter().map(|decision| decision.shards).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_window_is_no_shorter_than_ten_milliseconds() {
        let window = |ms| Elastic::of("work", 1..=4).window(Duration::from_millis(ms));
        assert_eq!([0, 10].map(window), [10; 2].map(window));
        assert_ne!(window(11), window(10));
    }

    #[test]
    fn an_idle_stage_gets_the_least_number() {
        let mut elastic = Elastic::of("work", 1..=4);
        let idle = LoadWindow { numbers: 0, useful: 0.0, ..window(4, 0.0) };
        let decided: Vec<_> =
            (0..LOWER).filter_map(|_| elastic.decide(&idle)).map(|decision| decision.shards).collect();
        assert_eq!(decided, [1]);
    }
}
