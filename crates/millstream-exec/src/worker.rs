//! A worker steps its tasklets in pipeline order, so that the next tasklet reads from cache what the one before wrote.
//! It waits when none of them can do anything.

use crate::Ticket;
use crate::activity::Activity;
use crate::batching_delay::{BatchingDelay, linger_until};
use crate::machine::{Account, MigrationBackoff};
use crate::pool::Pool;
use crate::pool::placing::review;
use crate::pool::roster::Roster;
use crate::shared::Shared;
use crate::sink::SinkPauses;
use crate::task::{LONGEST, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The placement is reviewed in one round of `REVIEWED`, and after a long round.
const REVIEWED: u32 = 8;

/// The steps of one round in `TIMED` are timed.
const TIMED: u32 = 16;
/// A round that takes longer makes the next rounds timed, step by step.
const LONG: Duration = Duration::from_millis(1);
/// The number of rounds timed at the start and after a long round.
const CLOSELY: u32 = 64;

/// A source's thread that has run no stage for this long waits for its next value.
const NOTHING: Duration = Duration::from_millis(20);

/// The same, of a source whose values came fast. A block of them takes a quarter of it.
const SOON: Duration = Duration::from_micros(200);

/// How long a called worker stands by.
const AT_HAND: Duration = Duration::from_millis(1);

/// The longest first park of a worker that found a tasklet locked: another worker may hold it for long, if the tasklet
/// was moved here. Further ones become longer, up to [`MET_OFTEN`] times as long: on a busy machine, a hundred looks a
/// second take a hundredth of a core.
const MET: Duration = Duration::from_millis(10);
const MET_OFTEN: u32 = 10;
/// How many times a thread looks that has a single tasklet, before it parks.
const MET_LOOKS: u32 = 100;

/// Decides which rounds are timed. Reading the clock at every step would cost a tenth of the speed of cheap stages; it
/// is read once a round.
struct Watch {
    last: Option<Instant>,
    closely: u32,
    too_long: bool,
}

impl Watch {
    fn times(&self, rounds: u32) -> bool {
        self.closely > 0 || rounds.is_multiple_of(TIMED)
    }

    /// Whether the last round was a long one.
    fn was_long(&self) -> bool {
        self.closely == CLOSELY
    }

    /// Whether a step of the last round may have taken longer than steps are to take.
    fn was_too_long(&self) -> bool {
        self.too_long
    }

    /// Reads the clock at the end of a round.
    fn look(&mut self) -> Instant {
        let before = self.last;
        let now = self.begins();
        let took = before.map_or(Duration::ZERO, |before| now.duration_since(before));
        self.closely = if took > LONG { CLOSELY } else { self.closely.saturating_sub(1) };
        self.too_long = took > LONGEST;
        now
    }

    /// Reads the clock where the next round begins.
    fn begins(&mut self) -> Instant {
        let now = Instant::now();
        self.last = Some(now);
        now
    }
}

/// Runs this worker's group until everything is done or the run is stopped.
pub(crate) fn work(pool: &Arc<Pool>, worker: usize) {
    let signal = &pool.shared.signal;
    let mut version = pool.version();
    let (mut roster, mut group) = pool.group(worker);
    let (mut idle, mut met, mut rounds) = (0_u32, 0_u32, 0_u32);
    let mut linger = BatchingDelay::new();
    // Whether this worker was last reported as busy.
    let mut busy = true;
    let mut moves = MigrationBackoff::new();
    let mut watch = Watch { last: None, closely: CLOSELY, too_long: false };
    let (mut account, mut pauses) = (Account::open(), SinkPauses::default());
    while !pool.finished() {
        if pool.version() != version {
            version = pool.version();
            (roster, group) = pool.group(worker);
            moves = MigrationBackoff::new();
        }
        if pool.shared.together() && pool.shared.is_quick() {
            // A step of this worker would be in the way of the source's thread.
            pool.does(worker, Activity::Parked);
            linger.forget();
            leave_to_source(pool, worker);
            busy = begins(pool, worker);
            continue;
        }
        let timed = pool.exact || watch.times(rounds);
        match pool.round(&roster, group.clone(), timed).moved {
            0 if group.is_empty() => {
                busy = false;
                watch.last = None;
                if pool.standby.calls(worker) {
                    pool.spread(worker, &mut moves, Instant::now());
                    account.settle(Instant::now(), worker, &pool.accounts);
                    stand_by(pool, worker, version);
                    continue;
                }
                pool.does(worker, Activity::Parked);
                let ticket = pool.shared.surplus.announce();
                if pool.finished() || pool.version() != version || pool.standby.calls(worker) {
                    pool.shared.surplus.withdraw(ticket);
                } else {
                    pool.shared.surplus.park(ticket);
                    busy = begins(pool, worker);
                }
            }
            0 => {
                if std::mem::take(&mut busy) {
                    pool.does(worker, Activity::Idle);
                }
                idle = idle.saturating_add(1);
                watch.last = None;
                let contended = pool.shared.idle.contended();
                if !pool.shared.together() && pool.shared.idle.wait(idle) {
                    continue;
                }
                // Ends a trial at once if its workers have to wait for cores.
                if !contended && pool.shared.idle.contended() {
                    account.settle(Instant::now(), worker, &pool.accounts);
                    review(pool);
                } else if contended && account.look(Instant::now(), worker, &pool.accounts) {
                    review(pool);
                }
                let together = pool.shared.together();
                let wakes = if together { &pool.shared.surplus } else { signal };
                let ticket = wakes.announce();
                let round = pool.round(&roster, group.clone(), true);
                let stays = pool.version() == version && pool.shared.together() == together;
                if round.moved == 0 && !pool.finished() && stays {
                    pool.does(worker, Activity::Parked);
                    linger.forget();
                    // The thread that holds a tasklet of this group may have looked before its work arrived, and it
                    // leaves without a notification.
                    match (together, round.met) {
                        (true, _) => wait_for_source(pool, worker, ticket),
                        (false, true) => wakes.park_timeout(ticket, MET * met.max(1)),
                        (false, false) => wakes.park(ticket),
                    }
                    busy = begins(pool, worker);
                } else {
                    wakes.withdraw(ticket);
                    signal.notify_progress();
                }
                // During another thread's long step this worker parks again at once, without spinning in between.
                (idle, met) = if round.met { (idle, MET_OFTEN.min(met + 1)) } else { (0, 0) };
            }
            moved => {
                if !busy {
                    pool.does(worker, Activity::Busy);
                    busy = true;
                }
                (idle, met) = (0, 0);
                signal.notify_progress();
                rounds = rounds.wrapping_add(1);
                let mut now = watch.look();
                if watch.was_too_long() && !timed {
                    roster.tasks_of(group.clone()).for_each(Task::limit_again);
                }
                if pool.pause_sinks(roster.tasks_of(group.clone()), now, &mut pauses) {
                    now = watch.begins();
                }
                if watch.was_long() {
                    let waited = account.settle(now, worker, &pool.accounts);
                    pool.shared.idle.waited_for_core(waited);
                } else {
                    account.look(now, worker, &pool.accounts);
                }
                // A thread is most likely to share a core right after its start.
                if rounds < REVIEWED || rounds.is_multiple_of(REVIEWED) {
                    pool.spread(worker, &mut moves, now);
                }
                if rounds.is_multiple_of(REVIEWED) || watch.was_long() {
                    review(pool);
                }
                if pool.shared.idle.lingers()
                    && let Some(time) = linger.after(moved)
                {
                    linger_until(Instant::now() + time);
                }
            }
        }
    }
    pool.does(worker, Activity::Parked);
    account.settle(Instant::now(), worker, &pool.accounts);
    // Wakes threads that wait for the tasklets that ended here.
    signal.notify();
    pool.shared.surplus.notify();
}

/// Reports a worker that was woken as busy, since its first round can be a long one.
fn begins(pool: &Pool, worker: usize) -> bool {
    pool.does(worker, Activity::Busy);
    true
}

/// Waits while the thread of a source whose values come fast runs the stages.
fn leave_to_source(pool: &Pool, worker: usize) {
    let Shared { surplus, .. } = &*pool.shared;
    let goes_on = || pool.shared.together() && !pool.finished();
    while goes_on() {
        let ticket = surplus.announce();
        if goes_on() {
            wait_for_source(pool, worker, ticket);
        } else {
            surplus.withdraw(ticket);
        }
    }
}

/// Waits while the source's thread runs the stages. If that thread ran none for some time, it waits for its next value,
/// and the workers run the stages again.
fn wait_for_source(pool: &Pool, worker: usize, ticket: Ticket) {
    // One worker looks often.
    let most = if worker == 0 && pool.shared.is_quick() { SOON } else { NOTHING };
    let (begun, before) = (Instant::now(), pool.shared.turns());
    pool.shared.surplus.park_timeout(ticket, most);
    if pool.shared.together() && pool.shared.turns() == before && begun.elapsed() >= most {
        pool.shared.end_together();
        pool.source_thread.publish_gathered();
    }
}

/// Answers a call, and stays awake for [`AT_HAND`] if there is a core for this worker.
fn stand_by(pool: &Pool, worker: usize, version: u64) {
    pool.does(worker, Activity::Idle);
    pool.standby.answer(worker);
    let until = Instant::now() + AT_HAND;
    let waits = || pool.standby.wants(worker) && pool.version() == version && !pool.finished();
    while pool.shared.idle.stands_by(worker) && waits() && Instant::now() < until {
        std::thread::yield_now();
    }
}

/// Runs one tasklet that may block, until it is done or the run is stopped.
pub(crate) fn work_alone(pool: &Arc<Pool>, roster: &Roster, index: usize) {
    let task = &roster.tasks[index];
    let (mut met, mut pauses) = (0, SinkPauses::default());
    let moved = || match pool.step(roster, index, &mut Some(Instant::now())) {
        // A new version of the pipeline may have replaced it.
        Some(0) if !task.done.load(Ordering::Relaxed) => None,
        moved => Some(moved),
    };
    let input = task.watched.probe.reads();
    while !task.done.load(Ordering::Relaxed) {
        match pool.shared.wait_for_if(moved, input.as_ref()) {
            Some(Some(_)) => {
                met = 0;
                pool.shared.signal.notify_progress();
                pool.pause_sinks(std::iter::once(&**task), Instant::now(), &mut pauses);
            }
            Some(None) => {
                met = (MET_LOOKS + MET_OFTEN).min(met + 1);
                wait_for_lock(pool, met);
            }
            None => break,
        }
    }
    pool.shared.signal.notify();
    pool.shared.surplus.notify();
}

/// Waits a while for the lock of a tasklet. A thread that only looks at the tasklet holds it for a moment; one that
/// hands its state over holds it for as long as a migration takes.
fn wait_for_lock(pool: &Pool, met: u32) {
    let Some(often @ 1..) = met.checked_sub(MET_LOOKS) else { return std::thread::yield_now() };
    let signal = &pool.shared.signal;
    let ticket = signal.announce();
    if pool.finished() { signal.withdraw(ticket) } else { signal.park_timeout(ticket, MET * often) }
}
