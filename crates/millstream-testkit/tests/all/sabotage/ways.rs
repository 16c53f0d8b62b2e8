//! A pipeline, its input, its way to run, and the result.

use crate::silence::silence;
use millstream_exec::{Counters, Handle, Queues, Rings, RunError, Sender, fan_in};
use millstream_testkit::random::{Built, Pipe, QUEUE_HELPERS, Value};
use millstream_testkit::{Call, Deployment, Feeding, QueueFeeding, SABOTAGE, Saboteur, deployments, within};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::spawn;
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// How long values that may leak are waited for.
const SHORT: Duration = Duration::from_millis(100);

/// The way a pipeline runs, and how it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// From a list, to its end.
    Rings(Deployment),
    /// The same, but an equal pipeline replaces the pipeline at this number.
    Upgraded(Deployment, u64),
    Queues {
        capacity: usize,
        feeding: QueueFeeding,
    },
    /// From a sender, to one of the endings.
    Fed {
        ring: usize,
        batch: usize,
        workers: usize,
        joined: bool,
        ending: RunOutcome,
    },
    /// As an iterator, from which this many values are taken.
    Through {
        ring: usize,
        workers: usize,
        taken: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    End,
    Drain,
    DrainAtOnce,
    Stop,
    Drop,
}

const ENDINGS: [RunOutcome; 5] =
    [RunOutcome::End, RunOutcome::Drain, RunOutcome::DrainAtOnce, RunOutcome::Stop, RunOutcome::Drop];

/// All ways.
pub(crate) fn ways() -> impl Strategy<Value = Way> {
    let through = (0..=4_u32, 1..=3_usize, 0..30_usize).prop_map(|(log, workers, taken)| Way::Through {
        ring: 1 << log,
        workers,
        taken,
    });
    prop_oneof![
        3 => deployments().prop_map(Way::Rings),
        2 => (deployments(), 0..24_u64).prop_map(|(deployment, at)| Way::Upgraded(deployment, at)),
        1 => (1..=8_usize, 0..3_usize).prop_map(|(capacity, feeding)| {
            let feedings = [QueueFeeding::Ready, QueueFeeding::Waiting, QueueFeeding::Channel];
            Way::Queues { capacity, feeding: feedings[feeding] }
        }),
        2 => fed(),
        1 => through,
    ]
}

/// The ways with a sender.
pub(crate) fn fed() -> impl Strategy<Value = Way> {
    (0..=4_u32, 1..=8_usize, 1..=3_usize, any::<bool>(), proptest::sample::select(&ENDINGS[..]))
        .prop_map(|(log, batch, workers, joined, ending)| Way::Fed { ring: 1 << log, batch, workers, joined, ending })
}

impl Way {
    /// Each way, with the smallest rings.
    pub(crate) fn smallest() -> Vec<Way> {
        let feedings = Feeding::each(3);
        let deployment = |feeding| Deployment { ring: 2, batch: 2, workers: 2, feeding };
        let rings = feedings.map(|feeding| Way::Rings(deployment(feeding)));
        let upgraded = [Feeding::Inline, Feeding::Ready].map(|feeding| Way::Upgraded(deployment(feeding), 2));
        let fed = |joined| ENDINGS.map(|ending| Way::Fed { ring: 2, batch: 2, workers: 1, joined, ending });
        let others = [
            Way::Queues { capacity: 2, feeding: QueueFeeding::Waiting },
            Way::Through { ring: 2, workers: 1, taken: 2 },
        ];
        rings.into_iter().chain(upgraded).chain(fed(false)).chain(fed(true)).chain(others).collect()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) tree: Pipe,
    pub(crate) length: usize,
    pub(crate) way: Way,
}

/// Prepares a run before it gets its values.
type Arm = Box<dyn FnOnce(&Arc<Sender<Value>>, &Handle<u64>) + Send>;

/// What the faulty call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Panics,
    CallsBack,
}

/// The result of a run.
enum Outcome {
    /// It reached its end.
    Whole(Vec<Option<Value>>),
    /// It reached its end, or was drained, with the first values of its input: how many of these there were, and how
    /// many values came out.
    Counted {
        sent: usize,
        values: u64,
    },
    /// These values were taken from it.
    Taken(Vec<Value>),
    /// It was ended early, or it has no slots to compare.
    Part,
    Failed(RunError),
}

/// The result of a closure, or the message of its panic.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(_) => "another panic".to_owned(),
    })
}

impl Case {
    /// The number of such calls without a fault. With more than one thread it varies a little.
    pub(crate) fn calls(&self, call: Call) -> u64 {
        let saboteur = Saboteur::panics(call, 0);
        if let Err(wrong) = self.hit_by(&saboteur) {
            panic!("{self:?}: {wrong}");
        }
        saboteur.calls()
    }

    /// The fault of a run with a call that panics, if there is one.
    pub(crate) fn hit_by(&self, saboteur: &Saboteur) -> Result<(), String> {
        silence();
        self.run(saboteur, Act::Panics, Box::new(|_, _| ()))
    }

    /// The fault of a run with a call that uses the run itself, if there is one.
    pub(crate) fn called_back_by(&self, saboteur: &Saboteur) -> Result<(), String> {
        let saboteur_of_run = saboteur.clone();
        let arm: Arm = Box::new(move |sender, handle| {
            let (sender, stopper, observer) = (Arc::downgrade(sender), handle.stopper(), handle.observer());
            let again = saboteur_of_run.clone();
            saboteur_of_run.then(move || {
                let mut counters = Counters::default();
                observer.read(&mut counters);
                let _ = stopper.unfinished();
                if let Some(sender) = sender.upgrade() {
                    let _ = sender.free();
                    let _ = sender.try_send(Value::Sabotaged(again.value(77)));
                }
                if counters.rings.len() % 2 == 0 { stopper.drain() } else { stopper.stop_now() }
            });
        });
        self.run(saboteur, Act::CallsBack, arm)
    }

    fn run(&self, saboteur: &Saboteur, act: Act, arm: Arm) -> Result<(), String> {
        let built = self.tree.build();
        let model = self.model(&built, self.length);
        let outcome = self.outcome(&built, saboteur, arm);
        // From here on this test uses the values, not the run.
        saboteur.disarm();
        let outcome = outcome?;
        let wrong = self.judge((&built, &model), (saboteur, act), outcome);
        drop(built); // Its named sinks keep their values.
        let (start, may_leak) = (Instant::now(), self.may_leak(saboteur));
        // The source's thread may be the last to drop its values. For those that may leak it is not waited long.
        let most = |alive| if alive > may_leak { LONG } else { SHORT };
        while saboteur.alive() > 0 && start.elapsed() < most(saboteur.alive()) {
            std::thread::yield_now();
        }
        if saboteur.alive() > may_leak || saboteur.dropped_twice() > 0 {
            return Err(format!("{} values leak, {} dropped twice", saboteur.alive(), saboteur.dropped_twice()));
        }
        wrong
    }

    /// The expectation for the first values, which has no faulty call.
    fn model(&self, built: &Built, sent: usize) -> Vec<Option<Value>> {
        let plain = Saboteur::new(Call::Closure, 0);
        built.model_slots(self.values(&plain).into_iter().take(sent).collect())
    }

    /// Whether a stage continues after a panic, which is one of its failures.
    fn survives(&self) -> bool {
        let tree = self.tree.to_string();
        ["try_map", "dead_letter", "park", "try_scan", "row"].iter().any(|stage| tree.contains(stage))
    }

    /// How many values may leak. A `HashMap` of which a key or a state panics in its drop forgets the others.
    fn may_leak(&self, saboteur: &Saboteur) -> usize {
        let tree = self.tree.to_string();
        let keys = ["shard_by", "park", "fold_windows_by", "fold_sessions_by"].iter().any(|stage| tree.contains(stage));
        if keys && saboteur.call() == Call::Drop && saboteur.acted() { 2 * self.length } else { 0 }
    }

    fn values(&self, saboteur: &Saboteur) -> Vec<Value> {
        (0..self.length as i64).map(|n| Value::Sabotaged(saboteur.value(n * 7 % 11))).collect()
    }

    /// Runs it on its own thread.
    fn outcome(&self, built: &Built, saboteur: &Saboteur, arm: Arm) -> Result<Outcome, String> {
        let (built, saboteur, case) = (built.clone(), saboteur.clone(), self.clone());
        let running = move || caught(|| case.go(&built, &saboteur, arm));
        match within(LONG, running) {
            Err(hung) => Err(hung.to_string()),
            Ok(Err(message)) => Err(format!("it unwinds: {message}")),
            Ok(Ok(outcome)) => Ok(outcome),
        }
    }

    fn go(&self, built: &Built, saboteur: &Saboteur, arm: Arm) -> Outcome {
        let whole = |slots: Result<_, _>| slots.map_or_else(Outcome::Failed, Outcome::Whole);
        let values = self.values(saboteur);
        match self.way {
            Way::Rings(deployment) => whole(built.collect_slots(values, deployment)),
            Way::Upgraded(deployment, at) => whole(built.collect_upgraded(values, deployment, at)),
            Way::Queues { capacity, feeding } => {
                whole(built.collect_on_queues(values, Queues::new().capacity(capacity), feeding))
            }
            Way::Through { ring, workers, taken } => {
                let iterator = built.through(Rings::new().ring(ring).workers(workers), values);
                // A run that fails makes the iterator panic with its message.
                match caught(|| iterator.take(taken).collect()) {
                    Err(message) if !message.contains(SABOTAGE) => panic!("{message}"),
                    Err(_) => Outcome::Part,
                    Ok(values) => Outcome::Taken(values),
                }
            }
            Way::Fed { ring, batch, workers, joined, ending } => {
                let rings = Rings::new().ring(ring).batch(batch).workers(workers);
                self.fed(built, &rings, values, joined, ending, arm)
            }
        }
    }

    fn fed(
        &self,
        built: &Built,
        rings: &Rings,
        values: Vec<Value>,
        joined: bool,
        ending: RunOutcome,
        arm: Arm,
    ) -> Outcome {
        let started = match joined {
            true => built.start_fan_in(rings, fan_in(2)),
            false => built.start_fed(rings).map(|(sender, run)| (vec![sender], run)),
        };
        let (senders, run) = started.expect("it starts");
        let senders: Vec<_> = senders.into_iter().map(Arc::new).collect();
        arm(&senders[0], &run);
        let feeder = spawn(move || {
            // Values that the sender returns are dropped here.
            let _ = caught(|| senders[0].send_all(values).map_err(drop));
            let sent = senders[0].sent();
            drop(senders);
            sent as usize
        });
        let outcome = match ending {
            RunOutcome::End => run.wait(),
            RunOutcome::Drain => run.drain(LONG),
            RunOutcome::DrainAtOnce => run.drain(Duration::ZERO),
            RunOutcome::Stop => run.stop_now(),
            RunOutcome::Drop => {
                drop(run);
                feeder.join().expect("it catches its panics");
                return Outcome::Part;
            }
        };
        let sent = feeder.join().expect("it catches its panics");
        match outcome {
            Err(RunError::DrainTimeout { .. }) if ending == RunOutcome::DrainAtOnce => Outcome::Part,
            Err(failure) => Outcome::Failed(failure),
            Ok(_) if ending == RunOutcome::Stop => Outcome::Part,
            Ok((values, _)) => Outcome::Counted { sent, values },
        }
    }

    /// Whether a run that was hit and says nothing of it is right. What is behind the end of a stream is not wanted.
    fn may_hide(&self, saboteur: &Saboteur, act: Act) -> bool {
        act == Act::CallsBack || saboteur.call() == Call::Drop || self.survives() || self.tree.ends()
    }

    fn judge(
        &self,
        (built, model): (&Built, &[Option<Value>]),
        (saboteur, act): (&Saboteur, Act),
        outcome: Outcome,
    ) -> Result<(), String> {
        // Later calls are those of this test.
        let acted = saboteur.acted();
        let digests = |slots: &[Option<Value>]| {
            let mut digests: Vec<_> = slots.iter().map(|slot| slot.as_ref().map(Value::digest)).collect();
            if self.tree.gives_order_up() {
                digests.sort_unstable();
            }
            digests
        };
        match outcome {
            Outcome::Whole(_) | Outcome::Counted { .. } if acted && !self.may_hide(saboteur, act) => {
                Err("it was hit, and says that it came to its end".to_owned())
            }
            Outcome::Part => Ok(()),
            Outcome::Whole(_) if self.survives() && acted => Ok(()),
            Outcome::Counted { .. } | Outcome::Taken(_) if acted => Ok(()),
            Outcome::Whole(slots) if digests(&slots) != digests(model) => {
                Err(format!("{slots:?}, but the model has {model:?}"))
            }
            Outcome::Whole(_) => Ok(()),
            Outcome::Counted { sent, values } => {
                let whole = matches!(self.way, Way::Fed { ending: RunOutcome::End, .. });
                let model = self.model(&self.tree.build(), if whole { self.length } else { sent });
                match model.iter().flatten().count() as u64 == values {
                    true => Ok(()),
                    false => Err(format!("{values} values of {sent} sent, but the model has {model:?}")),
                }
            }
            Outcome::Taken(values) => {
                let Way::Through { taken, .. } = self.way else { unreachable!("no other way takes values") };
                let first = || model.iter().flatten().take(taken);
                let same = match self.tree.gives_order_up() {
                    true => values.len() == first().count(),
                    false => values.iter().map(Value::digest).eq(first().map(Value::digest)),
                };
                if same { Ok(()) } else { Err(format!("{values:?} were taken, but the model has {model:?}")) }
            }
            Outcome::Failed(RunError::Stage { stage, cause, .. }) => {
                // The ends, named sinks, and the threads that queues add to the plan's stages.
                let mut names = ["source", "sink", "kept"].iter().chain(QUEUE_HELPERS);
                let planned = || built.plan().stages.iter().any(|planned| stage.starts_with(&planned.name));
                let known = names.any(|name| stage.starts_with(name)) || planned();
                match known && cause.contains(SABOTAGE) && acted {
                    true => Ok(()),
                    false => Err(format!("it says {stage:?}: {cause}")),
                }
            }
            // The user's code has panicked while the new pipeline was wired.
            Outcome::Failed(RunError::Upgrade(error)) if acted && error.to_string().contains(SABOTAGE) => Ok(()),
            Outcome::Failed(error) => Err(error.to_string()),
        }
    }
}
