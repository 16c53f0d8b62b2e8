//! A thread that measures a run, asks for a number of shards, and upgrades the run to it.

use super::{Elastic, ElasticDecision, LoadWindow};
use crate::bottleneck::{Load, Scales};
use crate::handle::Upgrader;
use crate::keeps::{RingBackend, RingRunner};
use crate::observer::{Counters, Observer};
use crate::pool::Pool;
use crate::pool::placing::note;
use crate::{Handle, RingShape, Upgrade, UpgradeError};
use millstream_core::{Arrow, Deploy, Item, Val};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a window looks at the ring before the stage.
const LOOKS: u32 = 20;

/// Changes a run by its load, until it is dropped or the run ends.
#[must_use = "dropping it ends the changes"]
pub struct ElasticRun {
    ends: Arc<Ends>,
    /// Weak: this may outlive the run.
    pool: Weak<Pool>,
    thread: Option<JoinHandle<Result<(), UpgradeError>>>,
}

#[derive(Debug, Default)]
struct Ends {
    unwanted: Mutex<bool>,
    changed: Condvar,
}

impl Ends {
    /// Waits for some time. Returns whether changes are still wanted.
    fn wait(&self, time: Duration) -> bool {
        let (until, mut unwanted) =
            (Instant::now() + time, self.unwanted.lock().unwrap_or_else(PoisonError::into_inner));
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if *unwanted || left.is_zero() {
                return !*unwanted;
            }
            unwanted = self.changed.wait_timeout(unwanted, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl ElasticRun {
    /// Ends the changes; the run goes on. This waits for a change that is under way, as a drop does: the calling thread
    /// must not be the one that takes what the sink sends. A drop in a closure of the run does not wait.
    ///
    /// # Errors
    ///
    /// If an upgrade was refused. The run has gone on with the shards that it had, and no change was made since.
    ///
    /// # Panics
    ///
    /// In a closure of the run, for which the change would wait.
    pub fn finish(mut self) -> Result<(), UpgradeError> {
        self.pool.upgrade().iter().for_each(|pool| pool.assert_outside());
        self.end()
    }

    fn end(&mut self) -> Result<(), UpgradeError> {
        *self.ends.unwanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ends.changed.notify_all();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // Its change may wait for the closure that drops this. It ends by itself.
        if self.pool.upgrade().is_some_and(|pool| pool.worker_calls()) {
            return Ok(());
        }
        thread.join().unwrap_or_else(|payload| {
            let why = millstream_core::failure::into_message(payload);
            Err(UpgradeError::Panicked(why))
        })
    }
}

impl Drop for ElasticRun {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl std::fmt::Debug for ElasticRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ElasticRun").finish_non_exhaustive()
    }
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Changes a stage's number of shards with its load, as [`Elastic`] decides. `version` makes the pipeline for a
    /// number of shards. The run begins with the least number, and each change replaces its pipeline, as
    /// [`upgrade`](Handle::upgrade) does. Keys go to their new shards with their states. Each decision is in the
    /// report, with its reason.
    ///
    /// ```
    /// use millstream::{exec::Elastic, prelude::*};
    /// let version = |shards| pipeline::<u64>().shard(shards, |p| p.map(|x| x * 2).named("work"));
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(version(1).from(receiver).to(sink::collect()))?;
    /// let elastic = run.elastic(Elastic::of("work", 1..=4), version)?;
    /// sender.send_all(0..100)?;
    /// elastic.finish().unwrap();
    /// drop(sender);
    /// assert_eq!(run.wait()?.0.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the thread could not be started.
    pub fn elastic<T: Item, P>(
        &self,
        elastic: Elastic,
        version: impl Fn(usize) -> P + Send + 'static,
    ) -> std::io::Result<ElasticRun>
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let ends = Arc::new(Ends::default());
        let driver = Driver {
            elastic,
            observer: self.observer(),
            before: Counters::default(),
            now: Counters::default(),
            upgrader: self.upgrader(),
            ends: ends.clone(),
        };
        let pool = Arc::downgrade(&self.started.pool);
        let thread = std::thread::Builder::new().name("millstream-elastic".to_owned());
        Ok(ElasticRun { ends, pool, thread: Some(thread.spawn(move || driver.drive(version))?) })
    }
}

struct Driver<R: RingRunner> {
    elastic: Elastic,
    observer: Observer,
    before: Counters,
    now: Counters,
    upgrader: Upgrader<R>,
    ends: Arc<Ends>,
}

impl<R: RingRunner> Driver<R> {
    fn drive<T: Item, P>(mut self, version: impl Fn(usize) -> P) -> Result<(), UpgradeError>
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        self.observer.read(&mut self.before);
        loop {
            let Some(window) = self.window() else { return Ok(()) };
            let Some(ElasticDecision { shards, reason }) = window.and_then(|window| self.elastic.decide(&window))
            else {
                continue;
            };
            let next = Upgrade::to(version(shards)).because(reason.clone());
            match self.upgrader.upgrade(next) {
                Ok(at) => note(&self.upgrader.pool, format!("{reason}; from number {at} on")),
                // Another change is under way: the next windows are of another version.
                Err(UpgradeError::UnderWay) => {}
                Err(UpgradeError::Ended | UpgradeError::Draining) => return Ok(()),
                Err(error) => {
                    note(&self.upgrader.pool, format!("{reason}; refused: {error}"));
                    return Err(error);
                }
            }
        }
    }

    /// Measures a window; none of it if the pipeline was replaced meanwhile. None if there will be none.
    fn window(&mut self) -> Option<Option<LoadWindow>> {
        let plan = self.observer.plan();
        let stage = plan.stages.iter().position(|stage| stage.name == self.elastic.stage);
        let input = stage.and_then(|stage| plan.stages[stage].reads.first().copied());
        let mut full = 0;
        for _ in 0..LOOKS {
            if !self.ends.wait(self.elastic.window / LOOKS) || self.observer.is_finished() {
                return None;
            }
            self.observer.read(&mut self.now);
            let ring = input.and_then(|input| self.now.rings.get(input));
            full += u32::from(ring.is_some_and(|ring| ring.occupied() * 10 >= ring.capacity * 9));
        }
        if let Some(next) = self.observer.successor() {
            self.observer = next;
            self.observer.read(&mut self.before);
            return Some(None);
        }
        let loads = self.observer.loads(&self.before, &self.now, None);
        // An end can have the name of the stage.
        let of_stage = |load: &&Load| load.stage == self.elastic.stage && load.scales != Scales::End;
        let load = loads.stages.iter().find(of_stage);
        let workers = self.upgrader.pool.controller().most();
        let on_core = loads.threads.map_or(1.0, |threads| {
            let runnable = threads.ran + threads.waited;
            if runnable > 0.0 { threads.ran / runnable } else { 1.0 }
        });
        let window = load.map(|load| LoadWindow {
            shards: load.busy.len(),
            numbers: load.numbers,
            // A shard that waits for a disk does not wait for a core meanwhile, however much others want one.
            useful: load.busy.iter().sum::<f64>() * if load.own_thread { 1.0 } else { on_core },
            seconds: loads.seconds,
            full: f64::from(full) / f64::from(LOOKS),
            // Shards with threads of their own wait for something other than a core.
            cores: if load.own_thread { self.elastic.most } else { loads.cores.min(workers) },
        });
        std::mem::swap(&mut self.before, &mut self.now);
        Some(window)
    }
}
