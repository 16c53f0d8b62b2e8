//! How the tasklets of a group take their turns: one step each, in pipeline order. The tasklets of a loop take many
//! steps, and in timed rounds a tasklet that lags by a batch gets extra ones (`catch_up`).

use super::Pool;
use super::roster::Roster;
use crate::sink::SinkPauses;
use crate::task::{LONGEST, Task, looks_after};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How many times a feedback loop's tasklets take turns before other stages have theirs.
const TURNS: usize = 256;

/// How many of these turns are timed in a timed round, unless all are: reading the clock costs more than a step.
const TIMED_TURNS: usize = 16;

/// The time limit of catching up, measured from the beginning of the round. A round that took longer has no catch-up:
/// caches make no difference then, and other workers wait for the first tasklet's output.
const CATCH_UP: Duration = Duration::from_micros(100);

/// The result of a round or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// How many numbers moved.
    pub(crate) moved: usize,
    /// Whether another thread held one of the tasklets, which therefore was not stepped.
    pub(crate) met: bool,
}

impl Pool {
    /// The most numbers that one step moves.
    #[cfg(feature = "service")]
    pub(crate) fn batch(&self) -> usize {
        usize::try_from(self.batch).unwrap_or(usize::MAX)
    }

    /// One step of every tasklet in the group, with or without timing.
    pub(crate) fn round(&self, roster: &Roster, group: Range<usize>, timed: bool) -> Round {
        let mut round = Round::default();
        let begun = timed.then(Instant::now);
        let mut clock = begun;
        for together in &roster.cooperative[group.clone()] {
            match &together[..] {
                [task] => match self.step(roster, *task, &mut clock) {
                    Some(moved) => round.moved += moved,
                    None => round.met = true,
                },
                tasks => {
                    let Round { moved, met } = self.turns(roster, tasks, &mut clock);
                    round = Round { moved: round.moved + moved, met: round.met || met };
                }
            }
        }
        if let (Some(begun), Round { moved: 1.., met: false }) = (begun, round) {
            round.moved += self.catch_up(roster, group, begun + CATCH_UP, clock);
        }
        round
    }

    /// Lets the sinks among these tasks pause, if it is time. Returns whether it was.
    pub(crate) fn pause_sinks<'t>(
        &self,
        tasks: impl Iterator<Item = &'t Task>,
        now: Instant,
        pauses: &mut SinkPauses,
    ) -> bool {
        if !pauses.are_due(now) {
            return false;
        }
        for task in tasks {
            if task.pause(&self.shared).is_some_and(|progress| progress.done) {
                self.is_done(task);
            }
        }
        pauses.note(now, Instant::now());
        true
    }

    /// After a complete round, runs rounds without the group's first tasklet, until less than a batch waits between
    /// them or `until` is past. Tasklets that read from outside the group may get ahead by that time.
    ///
    /// A tasklet that waits for room lets its upstream fill its ring. As all tasklets move one batch a round, the ring
    /// stays full: a value is read a ring's length after it was written, from a slower cache. That costs a tenth of the
    /// speed of cheap stages.
    fn catch_up(&self, roster: &Roster, group: Range<usize>, until: Instant, mut clock: Option<Instant>) -> usize {
        let mut caught_up = 0;
        while clock < Some(until) {
            let mut moved = 0;
            for together in roster.cooperative[group.clone()].iter().skip(1) {
                let &[task] = &together[..] else { continue };
                if roster.tasks[task].backlog().is_some_and(|backlog| backlog >= self.batch) {
                    moved += self.step(roster, task, &mut clock).unwrap_or(0);
                }
            }
            if moved == 0 {
                break;
            }
            caught_up += moved;
        }
        caught_up
    }

    /// Steps a feedback loop's tasklets in turn, because one number at a time passes through the loop. Stops when
    /// nothing moves, after [`TURNS`], or if they take long. In a timed round the first turns are taken step by step,
    /// and the others together.
    fn turns(&self, roster: &Roster, tasks: &[usize], clock: &mut Option<Instant>) -> Round {
        let singly = match clock {
            _ if self.exact => TURNS,
            Some(_) => TIMED_TURNS,
            None => 0,
        };
        let mut moved = 0;
        let until = Instant::now() + LONGEST;
        for turn in 0..TURNS {
            if turn >= singly
                && let Some(many) = Task::turns(&roster.tasks, tasks, TURNS - turn, until, &self.shared)
            {
                many.done.into_iter().for_each(|index| self.is_done(&roster.tasks[index]));
                // The next step does not begin earlier.
                clock.as_mut().into_iter().for_each(|clock| *clock = Instant::now());
                moved += many.moved;
                break;
            }
            let before = moved;
            for task in tasks {
                let Some(step) = self.step(roster, *task, clock) else { return Round { moved, met: true } };
                moved += step;
            }
            if moved == before || looks_after(turn) && Instant::now() >= until {
                break;
            }
        }
        Round { moved, met: false }
    }

    /// One step of this task's tasklet. Returns how much moved, at least 1 if it became done; none if another thread
    /// holds the lock.
    pub(crate) fn step(&self, roster: &Roster, index: usize, clock: &mut Option<Instant>) -> Option<usize> {
        let task = &*roster.tasks[index];
        if task.done.load(Ordering::Relaxed) || self.shared.stopped() {
            return Some(0);
        }
        let progress = if task.cancelled(&self.shared) && is_over(roster, index)? {
            task.cancel(&self.shared)?
        } else {
            task.step(&self.shared, clock)?
        };
        if progress.done {
            self.is_done(task);
        }
        Some(progress.moved.max(usize::from(progress.done || progress.worked)))
    }

    /// Called when a task has become done. Others, such as a side output of a cancelled stream, wait for that, and no
    /// number comes that would wake them.
    fn is_done(&self, task: &Task) {
        if !task.done.swap(true, Ordering::Release) {
            self.left.fetch_sub(1, Ordering::Relaxed);
            self.shared.signal.notify();
            if task.is_left_over() {
                self.drop_left_over();
            }
        }
    }
}

/// Whether a cancelled tasklet may be dropped. A side output first finishes its input, and so does the loop it is part
/// of. None if another thread holds the lock.
fn is_over(roster: &Roster, index: usize) -> Option<bool> {
    if !roster.tasks[index].side_output {
        return Some(true);
    }
    let around = roster.around[index].clone();
    if !roster.tasks[..around.start].iter().all(|task| task.done.load(Ordering::Acquire)) {
        return Some(false);
    }
    // Locks the whole loop: otherwise a number that circulates could be missed, before it arrives at one task and
    // after it left another.
    let around: Option<Vec<_>> = roster.tasks[around].iter().map(|task| task.try_lock()).collect();
    Some(around?.iter().all(|occupant| occupant.as_ref().is_none_or(|tasklet| tasklet.backlog() == 0)))
}

#[cfg(test)]
mod tests {
    use super::Pool;
    use crate::placement::Controller;
    use crate::shared::Shared;
    use crate::task_probe::TaskProbe;
    use crate::tasklet::{Progress, Tasklet};
    use crate::wait::{IdleStrategy, Wait};
    use crate::watched::Role;
    use crate::wiring::Named;
    use millstream_core::Plan;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const SLOTS: u64 = 4;

    /// Moves one number a step from ring to ring while there is room.
    struct Mover {
        input: Option<Arc<AtomicU64>>,
        output: Option<Arc<AtomicU64>>,
        jammed: Arc<AtomicU64>,
    }

    impl Tasklet for Mover {
        fn step(&mut self, _: usize) -> Progress {
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
    fn a_timed_round_empties_the_rings_that_were_full() {
        let plan = Plan::default();
        let shared = Arc::new(Shared::new(IdleStrategy::of(Wait::Phased, 1)));
        let jammed = Arc::new(AtomicU64::new(1));
        let rings: Vec<_> = (0..3).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let mover = |at: usize| Mover {
            input: at.checked_sub(1).map(|before| rings[before].clone()),
            output: rings.get(at).cloned(),
            jammed: jammed.clone(),
        };
        let named = |at: usize| Named::apart(at.to_string(), Role::SideOutput, at, Box::new(mover(at)));
        let controller = Controller::fixed(1, String::new());
        let pool = Pool::new((0..4).map(named).collect(), 1, shared, controller, None, None, &plan);
        let waiting = || rings.iter().map(|ring| ring.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let rounds =
            |of: std::ops::Range<usize>, timed| while pool.round(&pool.roster(), of.clone(), timed).moved > 0 {};
        rounds(0..4, false);
        assert_eq!(waiting(), [SLOTS; 3]);
        jammed.store(0, Ordering::Relaxed);
        // Without catching up the rings stay full: every mover moves one number a round.
        for _ in 0..100 {
            assert!(pool.round(&pool.roster(), 0..4, false).moved > 0);
        }
        assert_eq!(waiting(), [SLOTS - 1; 3]);
        // A slow machine may need several rounds.
        let caught_up = |of: std::ops::Range<usize>, rings: std::ops::Range<usize>| {
            let all_empty = || waiting()[rings.clone()].iter().all(|waiting| *waiting == 0);
            let round = |_: &u64| {
                pool.round(&pool.roster(), of.clone(), true);
                all_empty()
            };
            (1..1000).find(round).expect("no round catches up")
        };
        // Input from outside the group does not prolong a round: the group's first mover moves one number a round.
        let rounds = caught_up(2..4, 2..3);
        assert_eq!(waiting(), [SLOTS - 1, SLOTS - 1 - rounds, 0]);
        caught_up(0..4, 0..3);
        assert_eq!(pool.round(&pool.roster(), 0..4, false).moved, 4);
    }
}
