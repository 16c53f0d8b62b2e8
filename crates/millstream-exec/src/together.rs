//! The thread of a source also runs the stages, if other processes use the cores.
//!
//! A ring of few slots hands few values over at a time. If other processes use the cores, a thread gets a core for a
//! time slice and then for some time none. So little goes through per slice, and source and stages take turns with
//! their neighbours instead of with each other. One thread that does both has no hand-over: it runs the stages after
//! every value, and the workers wait for `surplus`.
//!
//! That ends when the neighbours are gone, or when a full ring is worth a time slice. A worker looks every 20
//! milliseconds whether the thread still runs stages, and takes them back while it waits for its next value.

use crate::pool::Pool;
use crate::shared::Shared;
use crate::stages_here::StagesHere;
use crate::stages_on::StagesOn;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the source's thread checks whether other processes still use the cores.
const HOLD: Duration = Duration::from_millis(100);
/// They do if the thread has waited for a core for more than this fraction of the time between two checks.
const PART: u32 = 10;
/// A full ring with this much work, about a time slice, is worth a hand-over.
const SLICE: Duration = Duration::from_millis(3);
/// The cost of a value is the mean of this many.
const ENOUGH: u32 = 16;
/// If a hand-over pays, the workers run the stages for this long.
const REST: Duration = Duration::from_secs(1);

/// Decides which thread runs the stages.
#[derive(Debug)]
pub(crate) struct Turns {
    slots: u32,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// The workers run them, at least up to `until`.
    Apart { until: Option<Instant> },
    /// The source's thread runs them. Since `since`, `values` values took `spent` in the stages.
    Together { since: Instant, values: u32, spent: Duration },
}

impl Turns {
    /// For rings of `slots` slots.
    pub(crate) fn new(slots: usize) -> Self {
        Turns { slots: slots.try_into().unwrap_or(u32::MAX), phase: Phase::Apart { until: None } }
    }

    fn together(&self) -> bool {
        matches!(self.phase, Phase::Together { .. })
    }

    /// The source had to wait for room while others use the cores.
    fn waited(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Apart { until } if until.is_none_or(|until| now >= until)) {
            self.phase = Phase::Together { since: now, values: 0, spent: Duration::ZERO };
        }
    }

    /// A value took `time` in the stages. `delayed` returns how long the thread waited for a core since its last call;
    /// it is called every [`HOLD`].
    fn took(&mut self, now: Instant, time: Duration, delayed: impl FnOnce() -> Duration) {
        let Phase::Together { since, values, spent } = &mut self.phase else { return };
        (*values, *spent) = (*values + 1, *spent + time);
        if *values >= ENOUGH && *spent * self.slots / *values >= SLICE {
            self.phase = Phase::Apart { until: Some(now + REST) };
        } else if now.duration_since(*since) >= HOLD {
            match delayed() >= now.duration_since(*since) / PART {
                true => (*since, *values, *spent) = (now, 0, Duration::ZERO),
                false => self.part(),
            }
        }
    }

    fn part(&mut self) {
        self.phase = Phase::Apart { until: None };
    }
}

/// The means by which the source's thread runs the stages on shared cores.
pub(crate) struct Together {
    turns: Turns,
    stages: StagesHere,
}

impl Together {
    /// Called by the source's thread. None if only workers may run the stages, or if some stage has a thread of its
    /// own, since such a thread waits for the workers' signals.
    pub(crate) fn new(pool: &Arc<Pool>, slots: usize, on: StagesOn) -> Option<Self> {
        if on == StagesOn::Workers {
            return None;
        }
        StagesHere::new(pool).map(|stages| Together { turns: Turns::new(slots), stages })
    }

    /// Whether this thread runs the stages. A worker that sees no progress ends that.
    pub(crate) fn on(&mut self, shared: &Shared) -> bool {
        if self.turns.together() && !shared.together() {
            self.turns.part();
        }
        self.turns.together()
    }

    /// The workers run the stages from now on.
    pub(crate) fn part(&mut self, shared: &Shared) {
        if self.turns.together() {
            self.turns.part();
            self.stages.settle(Instant::now(), true);
            shared.end_together();
        }
    }

    /// A value was published; `waited` says whether it had to wait for room.
    pub(crate) fn published(&mut self, waited: bool, shared: &Shared) {
        if !self.turns.together() {
            if !waited || !shared.idle.contended() {
                return;
            }
            let now = Instant::now();
            self.turns.waited(now);
            if !self.turns.together() {
                return;
            }
            self.stages.settle(now, false);
            shared.begin_together(false);
        }
        let begun = Instant::now();
        let drained = self.stages.run();
        shared.took_turn();
        // Their steps have only notified early.
        shared.signal.notify_progress();
        let now = Instant::now();
        let Together { turns, stages } = self;
        turns.took(now, now.duration_since(begun), || stages.settle(now, true));
        if !drained {
            self.part(shared);
        } else if !self.turns.together() {
            self.stages.settle(now, true);
            shared.end_together();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{ENOUGH, HOLD, REST, SLICE, Turns};
    use crate::pool::Pool;
    use crate::source::few;
    use crate::{JobRefExt, Rings, Runner, StagesOn};
    use millstream_core::{Arrow, pipeline};
    use millstream_testkit::within;
    use std::sync::{Arc, OnceLock};
    use std::time::{Duration, Instant};

    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn a_source_that_waits_on_shared_cores_runs_cheap_stages_itself() {
        let (mut turns, mut now) = (Turns::new(4), Instant::now());
        assert!(!turns.together());
        turns.took(now, SLICE, || unreachable!("the workers run the stages"));
        turns.waited(now);
        // While the others use the cores.
        let mut asked = 0;
        for _ in 0..100_000 {
            now += 20 * MICROSECOND;
            turns.took(now, 10 * MICROSECOND, || {
                asked += 1;
                HOLD / 2
            });
            assert!(turns.together());
        }
        assert_eq!(asked, 20);
        now += HOLD;
        turns.took(now, MICROSECOND, || HOLD / 100);
        assert!(!turns.together(), "they are gone");
        turns.waited(now);
        assert!(turns.together(), "and back");
    }

    #[test]
    fn stages_that_are_worth_a_hand_over_are_handed_over() {
        let (mut turns, now) = (Turns::new(4), Instant::now());
        turns.waited(now);
        for value in 1..=ENOUGH {
            assert!(turns.together(), "{value}");
            turns.took(now, SLICE / 4, || HOLD);
        }
        assert!(!turns.together());
        turns.waited(now + REST - MICROSECOND);
        assert!(!turns.together());
        turns.waited(now + REST);
        assert!(turns.together());
        // A larger ring is worth a hand-over at a lower cost of a value.
        let mut large = Turns::new(4096);
        large.waited(now);
        (0..ENOUGH).for_each(|_| large.took(now, MICROSECOND, || HOLD));
        assert!(!large.together());
    }

    /// A run of `count` values that takes the cores for shared ones. Returns how many times its source's thread ran the
    /// stages.
    fn on_shared_cores(rings: Rings, count: u64) -> u64 {
        let pool: Arc<OnceLock<Arc<Pool>>> = Arc::default();
        let seen = pool.clone();
        let values = (0..count).inspect(move |value| {
            let shared = || seen.get().map(|pool| &pool.shared);
            while *value == 0 && !shared().is_some_and(|shared| shared.idle.contended()) {
                std::thread::yield_now();
            }
            // The next value takes long: a worker takes the stages back.
            while *value == count / 2 && shared().is_some_and(|shared| shared.together()) {
                std::thread::yield_now();
            }
        });
        let p = pipeline::<u64>().map(|x| x + 1).filter(|x| x % 3 > 0).scan(0, |sum: &mut u64, x: &u64| {
            *sum += x;
            *sum
        });
        let push = |all: &mut Vec<u64>, _, x: &u64| all.push(*x);
        let run = rings.start((&p).from(few::<4, _>(values)).to_fold(Vec::new(), push)).unwrap();
        let pool = pool.get_or_init(|| run.started.pool.clone());
        while !pool.finished() {
            pool.shared.idle.waited_for_core(Duration::from_secs(1));
            std::thread::yield_now();
        }
        let turns = pool.shared.turns();
        let sums = (1..=count).filter(|x| x % 3 > 0).scan(0, |sum, x| {
            *sum += x;
            Some(*sum)
        });
        assert_eq!(run.wait().unwrap().0, sums.collect::<Vec<_>>());
        turns
    }

    #[test]
    fn the_output_does_not_depend_on_the_thread_that_runs_the_stages() {
        for workers in [1, 2] {
            // The source may never have to wait for room; then the run is repeated.
            let together = move || while on_shared_cores(Rings::new().workers(workers), 20_000) == 0 {};
            within(Duration::from_secs(120), together).unwrap();
        }
    }

    #[test]
    fn a_sources_thread_runs_no_stages_if_they_are_for_the_workers() {
        for workers in [1, 2] {
            let rings = Rings::new().workers(workers).stages_on(StagesOn::Workers);
            let turns = within(Duration::from_secs(120), move || on_shared_cores(rings, 200)).unwrap();
            assert_eq!(turns, 0);
        }
    }
}
