//! How the tasklets of a group take their turns: one step each, in pipeline order. The tasklets of a loop take many
//! steps, and in timed rounds a tasklet that lags by a batch gets extra ones (`catch_up`).

use super::Pool;
use crate::task::Task;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often a feedback loop goes round before other stages have their turn.
const TURNS: usize = 256;

/// Behind a round that took longer nobody catches up: caches make no difference there, and others wait for what the first
/// tasklet gives. Nor does it go on for longer than that since the round began.
const CATCH_UP: Duration = Duration::from_micros(100);

/// What a round, or a part of it, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// How much moved.
    pub(crate) moved: usize,
    /// Whether somebody else was at one of the tasklets, which so had no step.
    pub(crate) met: bool,
}

impl Pool {
    /// One step of every tasklet in the group, timed or not.
    pub(crate) fn round(&self, group: Range<usize>, timed: bool) -> Round {
        let mut round = Round::default();
        let begun = timed.then(Instant::now);
        let mut clock = begun;
        for together in &self.cooperative[group.clone()] {
            match &together[..] {
                [task] => match self.step(*task, &mut clock) {
                    Some(moved) => round.moved += moved,
                    None => round.met = true,
                },
                tasks => {
                    let Round { moved, met } = self.turns(tasks, &mut clock);
                    round = Round { moved: round.moved + moved, met: round.met || met };
                }
            }
        }
        if let (Some(begun), Round { moved: 1.., met: false }) = (begun, round) {
            round.moved += self.catch_up(group, begun + CATCH_UP, clock);
        }
        round
    }

    /// After a whole timed round, rounds without the group's first tasklet, until less than a batch waits between them or
    /// it takes too long. (Some of them may have their input from elsewhere: they get ahead by that much.)
    ///
    /// Where a tasklet had to wait for room, those before it have filled its ring. As all move a batch per round, the ring
    /// stays full, and each value is read a ring later than it was written, out of a farther cache: `chain3` was a tenth
    /// slower for the rest of a run after one trial of a second worker.
    fn catch_up(&self, group: Range<usize>, until: Instant, mut clock: Option<Instant>) -> usize {
        let mut caught_up = 0;
        while clock < Some(until) {
            let mut moved = 0;
            for together in self.cooperative[group.clone()].iter().skip(1) {
                let &[task] = &together[..] else { continue };
                if self.tasks[task].backlog().is_some_and(|backlog| backlog >= self.batch) {
                    moved += self.step(task, &mut clock).unwrap_or(0);
                }
            }
            if moved == 0 {
                break;
            }
            caught_up += moved;
        }
        caught_up
    }

    /// Steps of a feedback loop's tasklets, round and round, since one number at a time goes through it; as long as
    /// something moves, up to a bound.
    fn turns(&self, tasks: &[usize], clock: &mut Option<Instant>) -> Round {
        let mut moved = 0;
        for _ in 0..TURNS {
            let before = moved;
            for task in tasks {
                let Some(step) = self.step(*task, clock) else { return Round { moved, met: true } };
                moved += step;
            }
            if moved == before {
                break;
            }
        }
        Round { moved, met: false }
    }

    /// One step of the tasklet in this task. How much moved, 1 at least if it is done now; none if somebody else is
    /// at it.
    pub(crate) fn step(&self, task: usize, clock: &mut Option<Instant>) -> Option<usize> {
        let task = &self.tasks[task];
        if task.done.load(Ordering::Relaxed) || self.shared.stopped() {
            return Some(0);
        }
        let progress = if task.cancelled(&self.shared) && self.is_over(task)? {
            task.cancel(&self.shared)?
        } else {
            task.step(&self.shared, clock)?
        };
        if progress.done && !task.done.swap(true, Ordering::Release) {
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
        Some(progress.moved.max(usize::from(progress.done || progress.worked)))
    }

    /// Whether a cancelled tasklet may be given up: one that stands aside first does what there is to do, and so does
    /// the loop that it is in. None if somebody else is at it.
    fn is_over(&self, task: &Task) -> Option<bool> {
        if !task.side_output {
            return Some(true);
        }
        let before = &self.tasks[..task.around.start];
        if !before.iter().all(|task| task.done.load(Ordering::Acquire)) {
            return Some(false);
        }
        // All at once: a number that goes round would not be seen where it has not come yet, nor where it has been.
        let around: Option<Vec<_>> = self.tasks[task.around.clone()].iter().map(Task::try_lock).collect();
        Some(around?.iter().all(|occupant| occupant.as_ref().is_none_or(|tasklet| tasklet.backlog() == 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;
    use crate::latency_markers::LatencyMarkers;
    use crate::placement::Controller;
    use crate::shared::Shared;
    use crate::task_probe::TaskProbe;
    use crate::tasklet::{Progress, Tasklet};
    use crate::wait::{IdleStrategy, Wait};
    use crate::watched::Role;
    use crate::wiring::{Home, Named};
    use millstream_core::Plan;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const SLOTS: u64 = 4;

    /// Moves one number a step from ring to ring, as long as there is room.
    struct Mover {
        input: Option<Arc<AtomicU64>>,
        output: Option<Arc<AtomicU64>>,
        jammed: Arc<AtomicU64>,
    }

    impl Tasklet for Mover {
        fn step(&mut self) -> Progress {
            let full = self.output.as_ref().is_some_and(|waiting| waiting.load(Ordering::Relaxed) == SLOTS);
            let empty = self.input.as_ref().is_some_and(|waiting| waiting.load(Ordering::Relaxed) == 0);
            let jammed = self.output.is_none() && self.jammed.load(Ordering::Relaxed) == 1;
            if full || empty || jammed {
                return Progress::NONE;
            }
            self.input.iter().for_each(|waiting| _ = waiting.fetch_sub(1, Ordering::Relaxed));
            self.output.iter().for_each(|waiting| _ = waiting.fetch_add(1, Ordering::Relaxed));
            Progress::moved(1)
        }

        fn failed_at(&self) -> Option<u64> {
            None
        }

        fn backlog(&self) -> u64 {
            self.input.as_ref().map_or(0, |waiting| waiting.load(Ordering::Relaxed))
        }

        fn probe(&self) -> TaskProbe {
            TaskProbe::default()
        }
    }

    #[test]
    fn what_had_to_wait_for_room_is_caught_up_with() {
        let plan = Plan { stages: Vec::new(), rings: Vec::new(), output: Vec::new(), warnings: Vec::new() };
        let shared = Arc::new(Shared::new(IdleStrategy::of(Wait::Phased, 1), LatencyMarkers::of(&plan)));
        let jammed = Arc::new(AtomicU64::new(1));
        let rings: Vec<_> = (0..3).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let mover = |at: usize| Mover {
            input: at.checked_sub(1).map(|before| rings[before].clone()),
            output: rings.get(at).cloned(),
            jammed: jammed.clone(),
        };
        let named = |at: usize| Named {
            name: at.to_string(),
            role: Role::SideOutput,
            tasklet: Box::new(mover(at)),
            home: Home::Workers,
            side_output: false,
            around: None,
            keys: None,
            calls: None,
        };
        let controller = Controller::fixed(1, String::new());
        let pool = Pool::new((0..4).map(named).collect(), 1, shared, controller, None, None, &plan);
        let waiting = || rings.iter().map(|ring| ring.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let rounds = |of: std::ops::Range<usize>, timed| while pool.round(of.clone(), timed).moved > 0 {};
        rounds(0..4, false);
        assert_eq!(waiting(), [SLOTS; 3]);
        jammed.store(0, Ordering::Relaxed);
        // By itself it never comes to that: all move one number a round.
        for _ in 0..100 {
            assert!(pool.round(0..4, false).moved > 0);
        }
        assert_eq!(waiting(), [SLOTS - 1; 3]);
        // Not all at once on a machine that is slow just then.
        let caught_up = |of: std::ops::Range<usize>, rings: std::ops::Range<usize>| {
            let all_empty = || waiting()[rings.clone()].iter().all(|waiting| *waiting == 0);
            let round = |_: &u64| {
                pool.round(of.clone(), true);
                all_empty()
            };
            (1..1000).find(round).expect("nobody catches up")
        };
        // What comes from outside of the group is no reason to go on: its first one moves one number a round.
        let rounds = caught_up(2..4, 2..3);
        assert_eq!(waiting(), [SLOTS - 1, SLOTS - 1 - rounds, 0]);
        caught_up(0..4, 0..3);
        assert_eq!(pool.round(0..4, false).moved, 4);
    }
}
