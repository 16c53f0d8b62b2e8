use crate::machine::Account;
use crate::pool::{Helping, Pool, Round};
use crate::sink::SinkPauses;
use crate::source::InSource;
use std::sync::{Arc, Weak};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// The means by which a thread that feeds the run also runs the stages.
pub(crate) struct StagesHere {
    /// Weak: the source's iterator may keep this long after the run has ended.
    pool: Weak<Pool>,
    /// None for a thread that does other things as well.
    account: Option<Account>,
    rounds: u32,
    pauses: SinkPauses,
    /// Whether it also runs them up to a mark at which nothing is carried out.
    passes_cuts: bool,
}

/// How many times a quick thread, or one that sends batches, looks whether a worker has left a tasklet.
const MOST_TRIES: u32 = 100;

/// The steps of one round in `TIMED` are timed.
const TIMED: u32 = 16;

impl StagesHere {
    /// Called by the source's thread. None if some stage has a thread of its own, since such a thread waits for the
    /// workers' signals.
    pub(crate) fn new(pool: &Arc<Pool>) -> Option<Self> {
        let shared = !pool.roster().has_own_threads();
        shared.then(|| {
            pool.source_thread.is_here();
            StagesHere { account: Some(Account::open()), passes_cuts: false, ..StagesHere::for_batches(pool) }
        })
    }

    /// For a thread of the program that sends batches, each with a mark at its end. It makes a
    /// [`Visit`](crate::pool::Visit).
    pub(crate) fn for_batches(pool: &Arc<Pool>) -> Self {
        StagesHere {
            pool: Arc::downgrade(pool),
            account: None,
            rounds: 0,
            pauses: SinkPauses::default(),
            passes_cuts: true,
        }
    }

    /// Runs rounds of all shared tasklets until nothing is left to do. Returns false if a tasklet has input but no room
    /// in its output, and if the run is over.
    pub(crate) fn run(&mut self) -> bool {
        self.pool.upgrade().is_some_and(|pool| self.run_of(&pool))
    }

    fn run_of(&mut self, pool: &Pool) -> bool {
        let _stages = InSource::none();
        let Some(_helping) = Helping::of(pool) else { return false };
        let roster = pool.roster();
        if roster.has_own_threads() {
            // They came with a new version of the pipeline.
            return false;
        }
        let mut tries = 0;
        loop {
            // The end of a run does not wait for this thread: a worker carries changes out.
            let marks = &pool.shared.marks;
            if marks.under_way() && !(self.passes_cuts && marks.only_cuts()) {
                return false;
            }
            self.rounds = self.rounds.wrapping_add(1);
            let timed = self.rounds.is_multiple_of(TIMED);
            let Round { moved, met } = pool.round(&roster, roster.everything(), timed);
            if timed {
                pool.pause_sinks(roster.tasks_of(roster.everything()), Instant::now(), &mut self.pauses);
            }
            if met && (self.passes_cuts || pool.shared.is_quick()) {
                // A worker ends its last round.
                tries += 1;
                if tries > MOST_TRIES {
                    return false;
                }
                yield_now();
                continue;
            }
            if met {
                // A worker holds one of the tasklets. Wakes it to look once more.
                pool.shared.wake();
                return true;
            }
            if moved == 0 {
                return !roster.tasks.iter().any(|task| task.backlog().is_some_and(|waiting| waiting > 0));
            }
        }
    }

    /// Settles the thread's account, and returns how long it waited for a core since the last call. With `counts` the
    /// time since then is charged to the run: the thread ran the stages.
    pub(crate) fn settle(&mut self, now: Instant, counts: bool) -> Duration {
        let (Some(pool), Some(account)) = (self.pool.upgrade(), &mut self.account) else { return Duration::ZERO };
        let thread = if counts { pool.source_account() } else { usize::MAX };
        account.settle(now, thread, &pool.accounts)
    }
}
