//! The thread of a caller runs the stages, if a request takes little time.
//!
//! A request that wakes a worker, and an answer that wakes its caller, cost two switches of threads: more than most
//! services work for. And a worker that stays awake between two requests takes a core from their callers. So a caller
//! runs the stages on its own thread, and the answer is there when it looks. That is flat combining (Hendler, Incze,
//! Shavit, Tzafrir, 2010): one thread at a time works, and the callers that come meanwhile leave their requests to it.
//!
//! The workers run the stages if that pays: if a request takes long, if more requests come than one thread answers, if
//! a stage has a thread of its own or waits for futures, and while a mark is under way.

use crate::baton::Baton;
use crate::pool::roster::Roster;
use crate::pool::{Pool, Round, Visit};
use crate::source::InSource;
use crate::watched::Role;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The stages of one request may take this long together, on average. A switch of threads costs about as much.
const CHEAP: Duration = Duration::from_micros(20);
/// A thread that finds new requests after this number of turns leaves them to the workers: its own caller waits.
const TURNS: u32 = 64;
/// For how long the workers then run the stages.
const REST: Duration = Duration::from_secs(1);
/// For how long they run them before the cost of a request is looked at again.
const SOON: Duration = Duration::from_millis(5);
/// The workers run the stages if most of this number of requests were not cheap. A few look expensive, since the system
/// may take the core from a thread in the middle of a turn.
const ENOUGH: u32 = 256;
/// The steps of one turn in `TIMED` are timed.
const TIMED: u32 = 16;

/// Runs the stages of a service on the threads of its callers.
pub(super) struct Callers {
    /// Weak: a client may be kept long after the run has ended.
    pool: Weak<Pool>,
    began: Instant,
    /// Nanoseconds after `began`, before which the workers run the stages.
    rests_until: AtomicU64,
    baton: Baton,
    turns: AtomicU32,
    cost: Mutex<Cost>,
}

/// The last requests.
#[derive(Default)]
struct Cost {
    requests: u32,
    /// How many of them were in turns that took too long.
    expensive: u32,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing is left to do.
    Done,
    /// The workers go on.
    Left,
    /// The workers go on, and run the stages for some time.
    LeftForLong,
}

impl Callers {
    pub(super) fn of(pool: &Arc<Pool>) -> Self {
        Callers {
            pool: Arc::downgrade(pool),
            began: Instant::now(),
            rests_until: AtomicU64::new(0),
            baton: Baton::new(),
            turns: AtomicU32::new(0),
            cost: Mutex::default(),
        }
    }

    /// Whether the caller of a request that is about to be published will run the stages, or wait for another caller
    /// that runs them. If not, a worker has to be woken.
    pub(super) fn attend(&self) -> bool {
        self.pool.upgrade().is_some_and(|pool| self.may_run(&pool, Instant::now()))
    }

    /// Called after a request was published. Runs the stages, unless another caller is running them. Returns false if a
    /// worker has to be woken instead.
    pub(super) fn run(&self) -> bool {
        let Some(pool) = self.pool.upgrade() else { return false };
        let began = Instant::now();
        if !self.may_run(&pool, began) {
            return false;
        }
        let Some(_visit) = Visit::of(&pool) else { return false };
        if self.baton.take() {
            self.work(&pool, began);
        }
        true
    }

    fn may_run(&self, pool: &Pool, now: Instant) -> bool {
        let since = now.duration_since(self.began).as_nanos() as u64;
        if pool.shared.stopped() || since < self.rests_until.load(Ordering::Relaxed) {
            return false;
        }
        if pool.shared.together() {
            return true;
        }
        let cheap = cheap(pool);
        if cheap == Some(false) {
            self.rest(now, SOON);
        }
        pool.started() > 0 && cheap == Some(true)
    }

    /// The workers run the stages for this time.
    fn rest(&self, now: Instant, time: Duration) {
        let until = (now + time).duration_since(self.began).as_nanos() as u64;
        self.rests_until.store(until, Ordering::Relaxed);
    }

    /// Runs the stages until no caller has left a request.
    fn work(&self, pool: &Pool, began: Instant) {
        // The caller may be in the source of another run.
        let _stages = InSource::none();
        let mut at_work = AtWork { baton: &self.baton, pool, leaves: true };
        if !pool.shared.together() {
            pool.shared.begin_together(false);
        }
        pool.shared.took_turn();
        let (mut seen, mut since, mut left) = (0, began, TURNS);
        let ended = loop {
            let held = self.baton.held();
            let turn = turn(pool, self.turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(TIMED));
            let now = Instant::now();
            left -= 1;
            if turn == Turn::Done && (left == 0 || !self.pays(held - seen, now - since)) {
                break Turn::LeftForLong;
            }
            (seen, since) = (held, now);
            // Once the baton is passed, another thread may be at work.
            if turn != Turn::Done || self.baton.pass(held) {
                break turn;
            }
        };
        at_work.leaves = ended != Turn::Done;
        if ended == Turn::LeftForLong {
            self.rest(since, REST);
        }
        drop(at_work);
        // Callers may wait for room.
        pool.shared.signal.notify_progress();
    }

    /// Counts requests that took this time. Returns whether most still cost little.
    fn pays(&self, requests: u32, took: Duration) -> bool {
        let mut cost = self.cost.lock().unwrap_or_else(PoisonError::into_inner);
        cost.requests += requests;
        if took > CHEAP * requests {
            cost.expensive += requests;
        }
        if cost.requests < ENOUGH {
            return true;
        }
        let Cost { requests, expensive } = std::mem::take(&mut *cost);
        expensive * 2 < requests
    }
}

/// Whether a request costs little in all stages together; none if no step was timed yet.
fn cheap(pool: &Pool) -> Option<bool> {
    let roster = pool.roster();
    if roster.has_own_threads() {
        return Some(false);
    }
    let ns: f64 = roster.tasks.iter().filter_map(|task| task.cost()).sum();
    (ns > 0.0).then(|| ns < CHEAP.as_nanos() as f64)
}

/// Runs rounds of all tasklets until nothing is left to do.
fn turn(pool: &Pool, timed: bool) -> Turn {
    let roster = pool.roster();
    if roster.has_own_threads() {
        // They came with a new version of the pipeline.
        return Turn::LeftForLong;
    }
    loop {
        // A worker carries changes out.
        if pool.shared.marks.under_way() {
            return Turn::Left;
        }
        let Round { moved, met } = pool.round(&roster, roster.everything(), timed);
        if met {
            // A worker holds one of the tasklets, and may have looked at it before this request came.
            pool.shared.wake();
            return Turn::Done;
        }
        if moved < pool.batch() && is_through(&roster) {
            return Turn::Done;
        }
        if moved == 0 {
            let waits = roster.tasks.iter().any(|task| task.watched.probe.waits());
            return if waits { Turn::LeftForLong } else { Turn::Done };
        }
    }
}

/// Whether the sink has read all that the source has published.
fn is_through(roster: &Roster) -> bool {
    let of = |role| roster.tasks.iter().find(|task| task.watched.role == role).map(|task| &task.watched.probe);
    let published = of(Role::Source).and_then(|source| source.output()).map(|output| output.published());
    published.zip(of(Role::Sink)).is_some_and(|(published, sink)| sink.has_passed(published, false))
}

/// The one thread that works. When it is dropped, even by a panic, it lets the next caller work, or wakes the workers.
struct AtWork<'c> {
    baton: &'c Baton,
    pool: &'c Pool,
    leaves: bool,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if self.leaves {
            // In this order: a caller that comes in between works itself, and the workers see the requests of those
            // that came before.
            self.baton.drop_it();
            self.pool.shared.end_together();
        }
    }
}
