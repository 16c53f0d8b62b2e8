//! A pipeline, its input and the way it runs, and what came of it.

use millstream_exec::{Counters, Handle, Queues, Rings, RunError, Sender, fan_in};
use millstream_testkit::random::{Built, Pipe, Value};
use millstream_testkit::{Call, Deployment, Feeding, SABOTAGE, Saboteur, deployments, within};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::thread::spawn;
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// How a pipeline runs, and how it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// From a list to its end.
    Rings(Deployment),
    Queues {
        capacity: usize,
        ready: bool,
    },
    /// From a sender, to one of the endings.
    Fed {
        ring: usize,
        batch: usize,
        workers: usize,
        joined: bool,
        ending: RunOutcome,
    },
    /// As an iterator, of which so many values are taken.
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

/// All of them.
pub(crate) fn ways() -> impl Strategy<Value = Way> {
    let through = (0..=4_u32, 1..=3_usize, 0..30_usize).prop_map(|(log, workers, taken)| Way::Through {
        ring: 1 << log,
        workers,
        taken,
    });
    prop_oneof![
        3 => deployments().prop_map(Way::Rings),
        1 => (1..=8_usize, any::<bool>()).prop_map(|(capacity, ready)| Way::Queues { capacity, ready }),
        2 => fed(),
        1 => through,
    ]
}

/// Those that are fed from outside.
pub(crate) fn fed() -> impl Strategy<Value = Way> {
    (0..=4_u32, 1..=8_usize, 1..=3_usize, any::<bool>(), proptest::sample::select(&ENDINGS[..]))
        .prop_map(|(log, batch, workers, joined, ending)| Way::Fed { ring: 1 << log, batch, workers, joined, ending })
}

impl Way {
    /// Each of them, with the smallest rings.
    pub(crate) fn smallest() -> Vec<Way> {
        let feedings = [Feeding::Inline, Feeding::Stepped(3), Feeding::Ready, Feeding::Waiting];
        let rings = feedings.map(|feeding| Way::Rings(Deployment { ring: 2, batch: 2, workers: 2, feeding }));
        let fed = |joined| ENDINGS.map(|ending| Way::Fed { ring: 2, batch: 2, workers: 1, joined, ending });
        let others = [Way::Queues { capacity: 2, ready: false }, Way::Through { ring: 2, workers: 1, taken: 2 }];
        rings.into_iter().chain(fed(false)).chain(fed(true)).chain(others).collect()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) tree: Pipe,
    pub(crate) length: usize,
    pub(crate) way: Way,
}

/// What is done with a run before it gets its values.
type Arm = Box<dyn FnOnce(&Arc<Sender<Value>>, &Handle<u64>) + Send>;

/// What came of a run.
enum Came {
    /// It went to its end.
    Whole(Vec<Option<Value>>),
    /// It was ended, or it has no slots to look at.
    Part,
    Failed(RunError),
}

/// What a closure gave, or the message of the panic that left it.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(_) => "another panic".to_owned(),
    })
}

impl Case {
    /// How many such calls there are if nothing goes wrong. With more than one thread a little more or less.
    pub(crate) fn calls(&self, call: Call) -> u64 {
        let saboteur = Saboteur::panics(call, 0);
        if let Err(wrong) = self.hit_by(&saboteur) {
            panic!("{self:?}: {wrong}");
        }
        saboteur.calls()
    }

    /// What is wrong with a run one of whose calls panics, if anything is.
    pub(crate) fn hit_by(&self, saboteur: &Saboteur) -> Result<(), String> {
        silence();
        self.run(saboteur, Box::new(|_, _| ()))
    }

    /// What is wrong with a run one of whose calls uses what runs it, if anything is.
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
        self.run(saboteur, arm)
    }

    fn run(&self, saboteur: &Saboteur, arm: Arm) -> Result<(), String> {
        let built = self.tree.build();
        // Nothing goes wrong in the expectation.
        let plain = Saboteur::new(Call::Closure, 0);
        let model = built.model_slots(self.values(&plain));
        let came = self.came(&built, saboteur, arm);
        // What this test does with the values from here on is not the run's.
        saboteur.disarm();
        let came = came?;
        let wrong = self.judge(&built, saboteur, &model, came);
        let start = Instant::now();
        while saboteur.alive() > 0 && start.elapsed() < LONG {
            std::thread::yield_now(); // The source's thread may be the last to drop what it holds.
        }
        if saboteur.alive() > self.may_leak(saboteur) || saboteur.dropped_twice() > 0 {
            return Err(format!("{} values leak, {} dropped twice", saboteur.alive(), saboteur.dropped_twice()));
        }
        wrong
    }

    /// Whether a stage goes on behind a panic, which is one of its failures.
    fn survives(&self) -> bool {
        let tree = self.tree.to_string();
        ["try_map", "dead_letter", "park"].iter().any(|stage| tree.contains(stage))
    }

    /// How many values may leak. A `HashMap` of which a key's drop panics forgets its other keys.
    fn may_leak(&self, saboteur: &Saboteur) -> usize {
        let tree = self.tree.to_string();
        let keys = ["shard_by", "park"].iter().any(|stage| tree.contains(stage));
        if keys && saboteur.call() == Call::Drop && saboteur.acted() { 2 * self.length } else { 0 }
    }

    fn values(&self, saboteur: &Saboteur) -> Vec<Value> {
        (0..self.length as i64).map(|n| Value::Sabotaged(saboteur.value(n * 7 % 11))).collect()
    }

    /// Runs it, on a thread of its own.
    fn came(&self, built: &Built, saboteur: &Saboteur, arm: Arm) -> Result<Came, String> {
        let (built, saboteur, case) = (built.clone(), saboteur.clone(), self.clone());
        let running = move || caught(|| case.go(&built, &saboteur, arm));
        match within(LONG, running) {
            Err(hung) => Err(hung.to_string()),
            Ok(Err(message)) => Err(format!("it unwinds: {message}")),
            Ok(Ok(came)) => Ok(came),
        }
    }

    fn go(&self, built: &Built, saboteur: &Saboteur, arm: Arm) -> Came {
        let whole = |slots: Result<_, _>| slots.map_or_else(Came::Failed, Came::Whole);
        let values = self.values(saboteur);
        match self.way {
            Way::Rings(deployment) => whole(built.collect_slots(values, deployment)),
            Way::Queues { capacity, ready } => {
                whole(built.collect_on_queues(values, Queues::new().capacity(capacity), ready))
            }
            Way::Through { ring, workers, taken } => {
                let iterator = built.through(Rings::new().ring(ring).workers(workers), values);
                // A run that fails makes the iterator panic, and says why.
                match caught(|| iterator.take(taken).for_each(drop)) {
                    Err(message) if !message.contains(SABOTAGE) => panic!("{message}"),
                    _ => Came::Part,
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
    ) -> Came {
        let started = match joined {
            true => built.start_fan_in(rings, fan_in(2)),
            false => built.start_fed(rings).map(|(sender, run)| (vec![sender], run)),
        };
        let (senders, run) = started.expect("it starts");
        let senders: Vec<_> = senders.into_iter().map(Arc::new).collect();
        arm(&senders[0], &run);
        let feeder = spawn(move || {
            // What a sender gives back is dropped here.
            let _ = caught(|| senders[0].send_all(values).map_err(drop));
            drop(senders);
        });
        let came = match ending {
            RunOutcome::End => run.wait(),
            RunOutcome::Drain => run.drain(LONG),
            RunOutcome::DrainAtOnce => run.drain(Duration::ZERO),
            RunOutcome::Stop => run.stop_now(),
            RunOutcome::Drop => {
                drop(run);
                feeder.join().expect("it catches what it meets");
                return Came::Part;
            }
        };
        feeder.join().expect("it catches what it meets");
        match came {
            Err(RunError::DrainTimeout { .. }) if ending == RunOutcome::DrainAtOnce => Came::Part,
            Err(failure) => Came::Failed(failure),
            Ok(_) => Came::Part,
        }
    }

    fn judge(&self, built: &Built, saboteur: &Saboteur, model: &[Option<Value>], came: Came) -> Result<(), String> {
        let digests = |slots: &[Option<Value>]| {
            let mut digests: Vec<_> = slots.iter().map(|slot| slot.as_ref().map(Value::digest)).collect();
            if self.tree.gives_order_up() {
                digests.sort_unstable();
            }
            digests
        };
        match came {
            Came::Whole(_) if self.survives() && saboteur.acted() => Ok(()),
            Came::Part => Ok(()),
            Came::Whole(slots) if digests(&slots) != digests(model) => {
                Err(format!("{slots:?}, and the model has {model:?}"))
            }
            Came::Whole(_) => Ok(()),
            Came::Failed(RunError::Stage { stage, cause, .. }) => {
                // The ends, and what queues need besides the plan's stages.
                let names = "source sink copier splitter zipper router collector dealer gatherer drain lens";
                let planned = || built.plan().stages.iter().any(|planned| stage.starts_with(&planned.name));
                let known = names.split(' ').any(|name| stage.starts_with(name)) || planned();
                match known && cause.contains(SABOTAGE) && saboteur.acted() {
                    true => Ok(()),
                    false => Err(format!("it says {stage:?}: {cause}")),
                }
            }
            Came::Failed(error) => Err(error.to_string()),
        }
    }
}

/// Silences the panics that these tests mean.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let meant = |message: &String| message.contains(SABOTAGE) && !message.starts_with("Case");
            if !info.payload().downcast_ref::<String>().is_some_and(meant) {
                hook(info);
            }
        }));
    });
}
