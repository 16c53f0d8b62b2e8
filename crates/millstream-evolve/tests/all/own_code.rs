//! A population whose program's own code panics, or never ends.

use millstream_evolve::{Evolve, EvolveError, EvolveMany, Model, Options, Population, Random, ServeError, connect};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A number that can panic in each operation of a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fragile(u64);

const UNREADABLE: u64 = 1 << 32;
const UNWRITABLE: u64 = 2 << 32;
const UNDROPPABLE: u64 = 3 << 32;

impl Serialize for Fragile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, UNWRITABLE, "no bytes for it");
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        assert_ne!(number, UNREADABLE, "no value for it");
        Ok(Fragile(number))
    }
}

/// A state that may panic when it is dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State(Fragile);

impl Drop for State {
    fn drop(&mut self) {
        let worker = std::thread::current().name().is_some_and(|name| name.starts_with("evolve"));
        assert!(self.0.0 != UNDROPPABLE || !worker || std::thread::panicking(), "it stays");
    }
}

struct Adds;

impl Evolve for Adds {
    type State = State;
    type Input = Fragile;
    type Output = Fragile;

    fn evolve(&self, state: &State, input: &Fragile, _: &mut Random) -> Vec<(State, Fragile)> {
        vec![(state.clone(), Fragile(state.0.0 + input.0))]
    }
}

/// Panics if the call takes longer than a minute.
fn within_a_minute<R: Send + 'static>(what: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, is_done) = channel();
    let thread = std::thread::spawn(move || drop(done.send(what())));
    let result = is_done.recv_timeout(Duration::from_secs(60));
    result.unwrap_or_else(|error| panic!("{error}: {:?}", thread.is_finished()))
}

/// Options without patience for workers that do not join.
fn hasty() -> Options {
    Options { join_within: Duration::from_millis(50), ..Options::new(millstream_evolve::Secret::new("s")) }
}

fn two_threads() -> Population<Adds> {
    let mut population = Population::new(7, hasty()).unwrap();
    population.add_threads(&Arc::new(Adds), 2).unwrap();
    population
}

/// Runs one round of these states, each with the same input. Drops the population.
fn round(states: &'static [u64], input: u64) -> Result<usize, EvolveError> {
    within_a_minute(move || {
        let mut population = two_threads();
        let tokens = population.reset_states(states.iter().map(|state| State(Fragile(*state))).collect())?;
        let children = population.evolve_many(tokens.into_iter().map(|token| (token, Fragile(input))).collect())?;
        Ok(children.len())
    })
}

#[track_caller]
fn fails(ended: Result<usize, EvolveError>, why: &str) {
    assert!(matches!(&ended, Err(EvolveError::Panicked { message, .. }) if message == why), "{ended:?}, not {why}");
}

#[test]
fn a_state_that_cannot_be_read_is_named() {
    fails(
        round(&[1, 2, UNREADABLE, 4], 1),
        "it cannot be read: assertion `left != right` failed: no value for it\n  left: \
         4294967296\n right: 4294967296",
    );
}

/// Not only the round after it fails. The worker ends at once, and then owes nothing.
#[test]
fn a_population_does_not_begin_with_a_state_that_cannot_be_read() {
    for _ in 0..20 {
        let ended = within_a_minute(|| two_threads().reset_states([1, UNREADABLE].map(|n| State(Fragile(n))).to_vec()));
        assert!(matches!(ended, Err(EvolveError::Panicked { .. })), "{ended:?}");
    }
}

#[test]
fn an_input_that_cannot_be_read_is_named() {
    fails(
        round(&[1, 2], UNREADABLE),
        "its input cannot be read: assertion `left != right` failed: no value for it\n  left: \
         4294967296\n right: 4294967296",
    );
}

#[test]
fn a_child_that_cannot_be_written_is_named() {
    fails(
        round(&[1, UNWRITABLE - 1], 1),
        "its children cannot be written: assertion `left != right` failed: no bytes for it\n  left: \
         8589934592\n right: 8589934592",
    );
}

/// The worker ends, and another worker evolves its states.
#[test]
fn a_state_that_cannot_be_dropped_ends_its_worker() {
    within_a_minute(|| {
        let mut population = two_threads();
        let states = |many: &mut dyn FnMut(Vec<State>) -> Vec<millstream_evolve::Token>| {
            many([UNDROPPABLE, 1, 2, 3].map(|state| State(Fragile(state))).to_vec())
        };
        let tokens = states(&mut |states| population.reset_states(states).unwrap());
        let mut model = Model::new(Adds, 7);
        assert_eq!(states(&mut |states| model.reset_states(states).unwrap()), tokens);
        // The round forgets the first state.
        let inputs = || tokens[1..].iter().map(|token| (*token, Fragile(1))).collect();
        assert_eq!(population.evolve_many(inputs()).unwrap(), model.evolve_many(inputs()).unwrap());
        while population.counts().lost == 0 {
            population.wait_for(3).unwrap_err();
        }
        let said = population.wait_for(3).unwrap_err().to_string();
        assert!(said.contains("(the last one that was lost: it ended: it stays)"), "{said}");
    });
}

/// A caller of [`connect`] receives the panic's text. A round forgets the state that cannot be dropped, or it is left
/// when the worker ends.
#[test]
fn a_worker_that_ends_by_a_panic_says_so() {
    for forgotten in [true, false] {
        ends_by_a_panic(forgotten);
    }
}

fn ends_by_a_panic(forgotten: bool) {
    within_a_minute(move || {
        let mut population = Population::<Adds>::new(7, hasty()).unwrap();
        let at = population.listen(&millstream_evolve::Address::Tcp("127.0.0.1:0".to_owned())).unwrap();
        let worker = std::thread::Builder::new().name("evolve by hand".to_owned());
        let worker = worker.spawn(move || {
            connect(&at, &millstream_evolve::Secret::new("s")).unwrap().serve(&Adds).map_err(|error| match error {
                ServeError::Panicked(why) => why,
                other => format!("something else: {other}"),
            })
        });
        // The options' time to join is short, so the first calls may fail.
        while population.wait_for(1).is_err() {}
        let tokens = population.reset_states([UNDROPPABLE, 1].map(|state| State(Fragile(state))).to_vec()).unwrap();
        if forgotten {
            drop(population.evolve_many([(tokens[1], Fragile(1))].into()));
        }
        drop(population);
        assert_eq!(worker.unwrap().join().unwrap(), Err("it stays".to_owned()));
    });
}

/// A state that evolves until the test releases it.
struct Waits(Mutex<Receiver<()>>, Arc<AtomicBool>);

impl Evolve for Waits {
    type State = u64;
    type Input = u64;
    type Output = u64;

    fn evolve(&self, _: &u64, _: &u64, _: &mut Random) -> Vec<(u64, u64)> {
        let _ = self.0.lock().unwrap().recv();
        self.1.store(true, Ordering::Release);
        Vec::new()
    }
}

#[test]
fn a_thread_that_never_ends_is_detached() {
    let ended = Arc::new(AtomicBool::new(false));
    let (let_go, waits) = channel::<()>();
    let evolve = Arc::new(Waits(Mutex::new(waits), Arc::clone(&ended)));
    within_a_minute(move || {
        let mut options = hasty();
        options.tuning.patience = Duration::from_millis(10);
        let mut population = Population::new(7, options).unwrap();
        population.add_threads(&evolve, 1).unwrap();
        let tokens = population.reset_states(vec![1]).unwrap();
        let said = population.evolve_many([(tokens[0], 1)].into()).unwrap_err().to_string();
        let why = "(the last one that was lost: it was silent for too long: it may be stopped, or hang, \
                   or its state takes longer than the patience)";
        assert!(said.ends_with(why), "{said}");
        drop(population);
    });
    assert!(!ended.load(Ordering::Acquire));
    drop(let_go);
    while !ended.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}
