//! Master and workers under random schedules, in simulated time. Messages take time; workers die, hang, send damaged
//! bytes and join. The result is the model's.

use crate::evolve::Children;
use crate::master::{Counts, Master, Outbox, Tuning};
use crate::population::is;
use crate::wire::{first_frame, put};
use crate::{Evolve, EvolveError, EvolveMany, Histogram, Job, Model, Random, Token, Worker};
use rand::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

mod makespans;
mod patience;
// The tests over sockets run the same rounds.
#[path = "../tests/all/support/rounds.rs"]
mod rounds;
mod schedules;

use rounds::go_on;

/// A state is its mean time in microseconds, and a number that is mixed with the state's random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Uneven;

impl Evolve for Uneven {
    type State = (u64, u64);
    type Input = u64;
    type Output = u64;

    fn evolve(&self, state: &(u64, u64), input: &u64, random: &mut Random) -> Vec<((u64, u64), u64)> {
        // One child on average, and now and then none or three.
        let children = [0, 0, 1, 1, 1, 1, 1, 3][random.random_range(0..8)];
        (0..children)
            .map(|_| {
                let mixed = state.1.rotate_left(7) ^ input ^ random.random::<u64>();
                ((state.0, mixed), mixed.wrapping_mul(3))
            })
            .collect()
    }
}

/// Faults. Each occurs once in this many messages that a worker receives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trouble {
    pub(crate) deaths: Option<u32>,
    pub(crate) hangs: Option<u32>,
    pub(crate) rubbish: Option<u32>,
    pub(crate) joins: Option<u32>,
    /// One byte of an answer is replaced, so that the answer may be wrong.
    pub(crate) garbled: Option<u32>,
}

/// An event of the simulation.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Bytes of the master arrive at a worker.
    ToWorker(usize, u64, Vec<u8>),
    ToMaster(usize, u64, Vec<u8>),
    Finished(usize, u64),
    /// The master notices the end of a connection.
    Gone(usize, u64),
    Look,
}

/// The time that a state takes, in microseconds.
fn cost(job: &Job<Uneven>) -> u64 {
    job.state().0 * (job.state().1 % 17) / 8
}

/// The bytes to be sent, by worker, and the workers with new bytes.
#[derive(Debug, Default)]
struct Post(Vec<Vec<u8>>, Vec<usize>);

impl Outbox for Post {
    fn to(&mut self, worker: usize) -> &mut Vec<u8> {
        if worker >= self.0.len() {
            self.0.resize(worker + 1, Vec::new());
        }
        self.1.push(worker);
        &mut self.0[worker]
    }
}

struct Simulated {
    /// A number that differs for each worker that has this index.
    life: u64,
    worker: Worker<Uneven>,
    job: Option<Job<Uneven>>,
    received: Vec<u8>,
    /// Bytes that have arrived at the master and were not taken.
    answered: Vec<u8>,
    hangs: bool,
    /// When the last bytes of the master arrived, and the longest time without any.
    heard: Duration,
    silence: Duration,
    /// When the last bytes to and from it arrive. Later bytes do not overtake them.
    last: [Duration; 2],
}

pub(crate) struct Simulation {
    master: Master,
    post: Post,
    workers: Vec<Option<Simulated>>,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    now: Duration,
    number: u64,
    random: Random,
    trouble: Trouble,
    delay: Duration,
    round: u64,
    resets: u64,
    looks: u64,
    /// Whether a new worker joins for each lost one.
    replaced: bool,
}

/// How often the master looks for workers that hang.
const LOOK: Duration = Duration::from_secs(10);

impl Simulation {
    pub(crate) fn new(tuning: Tuning, workers: usize, seed: u64, delay: Duration, trouble: Trouble) -> Self {
        let mut simulation = Simulation {
            master: Master::new(tuning),
            post: Post::default(),
            workers: Vec::new(),
            events: BinaryHeap::new(),
            now: Duration::ZERO,
            number: 0,
            random: Random::seed_from_u64(seed),
            trouble,
            delay,
            round: 0,
            resets: 0,
            looks: 0,
            replaced: true,
        };
        simulation.at(LOOK, Event::Look);
        (0..workers).for_each(|_| simulation.join());
        simulation
    }

    pub(crate) fn counts(&self) -> Counts {
        self.master.counts()
    }

    pub(crate) fn latency(&self) -> &Histogram {
        self.master.latency()
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    /// The number of states of each worker.
    pub(crate) fn states(&self) -> Vec<usize> {
        self.workers.iter().flatten().map(|one| one.worker.states()).collect()
    }

    fn join(&mut self) {
        let worker = self.master.add_worker(self.now);
        self.number += 1;
        let one = Simulated {
            life: self.number,
            worker: Worker::new(self.now),
            job: None,
            received: Vec::new(),
            answered: Vec::new(),
            hangs: false,
            heard: self.now,
            silence: Duration::ZERO,
            last: [self.now; 2],
        };
        if worker == self.workers.len() {
            self.workers.push(Some(one))
        } else {
            self.workers[worker] = Some(one)
        }
        self.post.to(worker).clear();
        self.master.join(worker, &mut self.post);
        self.send();
    }

    fn at(&mut self, after: Duration, event: Event) {
        self.number += 1;
        self.events.push(Reverse((self.now + after, self.number, event)));
    }

    /// Sends bytes in pieces, which arrive in order.
    fn travel(&mut self, worker: usize, bytes: &[u8], to_worker: bool) {
        let mut bytes = bytes.to_vec();
        if !to_worker && !bytes.is_empty() && self.chance(self.trouble.garbled) {
            let at = self.random.random_range(0..bytes.len());
            bytes[at] ^= self.random.random_range(1..=255_u8);
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(self.random.random_range(1..=rest.len()));
            rest = later;
            let delay = self.delay.mul_f64(self.random.random_range(0.5..1.5));
            let Some(one) = self.workers[worker].as_mut() else { return };
            let arrives = (self.now + delay).max(one.last[usize::from(to_worker)]);
            one.last[usize::from(to_worker)] = arrives;
            let (life, piece) = (one.life, piece.to_vec());
            let event =
                if to_worker { Event::ToWorker(worker, life, piece) } else { Event::ToMaster(worker, life, piece) };
            let after = arrives - self.now;
            self.at(after, event);
        }
    }

    fn send(&mut self) {
        while let Some(worker) = self.post.1.pop() {
            let bytes = std::mem::take(&mut self.post.0[worker]);
            self.travel(worker, &bytes, true);
            self.master.written(worker, self.now, self.now);
        }
    }

    fn chance(&mut self, one_in: Option<u32>) -> bool {
        one_in.is_some_and(|one_in| self.random.random_range(0..one_in) == 0)
    }

    fn step(&mut self) {
        let Reverse((now, _, event)) = self.events.pop().expect("something is under way while a round is not done");
        self.now = now;
        let lives = |workers: &[Option<Simulated>], worker: usize, life: u64| {
            workers[worker].as_ref().is_some_and(|one| one.life == life)
        };
        match event {
            Event::ToWorker(worker, life, bytes) if lives(&self.workers, worker, life) => self.receives(worker, &bytes),
            Event::Finished(worker, life) if lives(&self.workers, worker, life) => {
                let one = self.workers[worker].as_mut().expect("it lives");
                let mut out = Vec::new();
                let job = one.job.take().expect("a job is under way");
                one.worker.finish(&job, job.run(&Uneven), now, &mut out);
                self.travel(worker, &out, false);
                self.begins(worker);
            }
            Event::ToMaster(worker, life, bytes) if lives(&self.workers, worker, life) => self.arrived(worker, &bytes),
            Event::Gone(worker, life) if lives(&self.workers, worker, life) => self.lose(worker),
            Event::Look => {
                while let Some(worker) = self.master.overdue(now) {
                    self.lose(worker);
                }
                // A worker that hangs without work is never noticed; with more messages all workers would hang.
                if self.trouble.hangs.is_none() {
                    self.master.keep_alive(now, &mut self.post);
                }
                self.looks += 1;
                assert!(self.looks < 10_000, "a round does not end");
                self.at(LOOK, Event::Look);
            }
            _ => (),
        }
        self.send();
    }

    fn receives(&mut self, worker: usize, bytes: &[u8]) {
        if self.chance(self.trouble.joins) && self.workers.len() < 150 {
            self.join();
        }
        let life = self.workers[worker].as_ref().map_or(0, |one| one.life);
        if self.chance(self.trouble.deaths) {
            let delay = self.delay;
            // It no longer answers. The master notices this some time later.
            self.workers[worker].as_mut().expect("it lives").hangs = true;
            self.at(delay, Event::Gone(worker, life));
        }
        if self.chance(self.trouble.hangs) {
            self.workers[worker].as_mut().expect("it lives").hangs = true;
        }
        if self.chance(self.trouble.rubbish) {
            let rubbish: Vec<u8> = (0..self.random.random_range(1..40)).map(|_| self.random.random()).collect();
            self.travel(worker, &[&[rubbish.len() as u8, 0, 0, 0], &rubbish[..]].concat(), false);
        }
        let one = self.workers[worker].as_mut().expect("it lives");
        if one.hangs {
            return;
        }
        (one.silence, one.heard) = (one.silence.max(self.now - one.heard), self.now);
        one.received.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some((body, length)) = first_frame(&one.received, 1 << 20).expect("the master writes frames") {
            assert!(one.worker.receive(body, &mut out).expect("the master writes messages"));
            one.received.drain(..length);
        }
        self.travel(worker, &out, false);
        self.begins(worker);
    }

    fn begins(&mut self, worker: usize) {
        let one = self.workers[worker].as_mut().expect("it lives");
        if one.job.is_some() || one.hangs {
            return;
        }
        let mut out = Vec::new();
        one.job = one.worker.start(self.now, &mut out);
        let takes = one.job.as_ref().map(|job| Duration::from_micros(cost(job)));
        let life = one.life;
        self.travel(worker, &out, false);
        if let Some(takes) = takes {
            self.at(takes, Event::Finished(worker, life));
        }
    }

    fn arrived(&mut self, worker: usize, bytes: &[u8]) {
        let one = self.workers[worker].as_mut().expect("it lives");
        one.answered.extend_from_slice(bytes);
        let mut answered = std::mem::take(&mut one.answered);
        let fits = |bytes: &[u8], state: bool| if state { is::<(u64, u64)>(bytes) } else { is::<u64>(bytes) };
        loop {
            let taken = match first_frame(&answered, 1 << 20) {
                Ok(None) => break,
                Ok(Some((body, length))) => {
                    self.master.receive(worker, body, self.now, &fits, &mut self.post).map(|()| length)
                }
                Err(violation) => Err(violation),
            };
            match taken {
                Ok(length) => drop(answered.drain(..length)),
                Err(violation) => {
                    assert!(self.trouble.garbled.or(self.trouble.rubbish).is_some(), "an honest worker: {violation}");
                    return self.lose(worker);
                }
            }
        }
        self.workers[worker].as_mut().expect("it lives").answered = answered;
    }

    fn lose(&mut self, worker: usize) {
        self.workers[worker] = None;
        self.post.to(worker).clear();
        self.master.lost(worker, self.now, &mut self.post);
        if self.replaced {
            self.join();
        }
    }
}

impl EvolveMany<Uneven> for Simulation {
    fn reset_states(&mut self, states: Vec<(u64, u64)>) -> Result<Vec<Token>, EvolveError> {
        let mut bytes = Vec::new();
        let mut encoded = Vec::new();
        for (state, index) in states.iter().zip(0..) {
            let start = bytes.len();
            put(&mut bytes, state)?;
            encoded.push((Token::root(0, self.resets, index), start..bytes.len()));
        }
        self.resets += 1;
        let tokens = encoded.iter().map(|(token, _)| *token).collect();
        let states = encoded.into_iter().map(|(token, range)| (token, &bytes[range]));
        self.master.reset(states, self.now, &mut self.post)?;
        self.send();
        while !self.master.has_settled() {
            self.step();
        }
        Ok(tokens)
    }

    fn evolve_many(&mut self, inputs: BTreeMap<Token, u64>) -> Result<Children<u64>, EvolveError> {
        self.round += 1;
        self.master.begin(self.round, false);
        for (token, input) in inputs {
            self.master.task(token, |out| put(out, &input))?;
        }
        self.master.go(self.now, &mut self.post);
        self.send();
        while !self.master.is_done() {
            self.step();
            if let Some(failure) = self.master.failure() {
                return Err(failure);
            }
        }
        let number = |bytes: &[u8]| postcard::from_bytes(bytes).expect("a number");
        let children = self
            .master
            .results()
            .map(|(token, children)| (token, children.map(|(child, output)| (child, number(output))).collect()));
        let children = children.collect();
        self.master.settle();
        Ok(children)
    }
}

/// Runs some rounds of a population, each of which leaves some states out. Returns the children of each round.
pub(crate) fn rounds(many: &mut impl EvolveMany<Uneven>, states: u64, cost: u64, rounds: u64) -> Vec<Children<u64>> {
    let states = (0..states).map(|state| (cost, state)).collect();
    let tokens = many.reset_states(states).unwrap();
    go_on(many, tokens, 0..rounds)
}

/// The same rounds on the model.
pub(crate) fn modelled(states: u64, cost: u64, number: u64) -> Vec<Children<u64>> {
    rounds(&mut Model::new(Uneven, 0), states, cost, number)
}
