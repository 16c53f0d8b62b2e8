//! The target of the fuzzer: malformed input from any peer crashes no process, and no worker's bad message reaches
//! another worker.

use crate::hello::{self, Secret};
use crate::master::{Master, Outbox, Tuning};
use crate::received::Received;
use crate::wire::{first_frame, put};
use crate::{Evolve, Random, Token, Worker};
use std::time::Duration;

/// Any bytes. The first one selects the target: a master that greets, a worker, or a master with three workers. For the
/// third target the bytes select which worker acts, and which byte of its answer is damaged.
pub fn throw(bytes: &[u8]) {
    let Some((to, rest)) = bytes.split_first() else { return };
    match to % 3 {
        0 => greeting(rest),
        1 => orders(rest),
        _ => Population::begin().suffer(rest),
    }
}

/// A program whose states are a number and a text, so that damage has many forms.
struct Texts;

impl Evolve for Texts {
    type State = (u8, String);
    type Input = u8;
    type Output = Option<String>;

    fn evolve(&self, (number, text): &(u8, String), input: &u8, _: &mut Random) -> Vec<((u8, String), Option<String>)> {
        let sum = number.wrapping_mul(5).wrapping_add(*input);
        (0..sum % 3).map(|child| ((sum ^ child, text.clone()), (child > 0).then(|| text.clone()))).collect()
    }
}

/// Both sides of a greeting.
fn greeting(bytes: &[u8]) {
    let (secret, nonce, mut out) = (Secret::new("s"), [7; 32], Vec::new());
    let (mut received, mut from) = (Received::new(hello::LONGEST), bytes);
    while received.read(&mut from).is_ok_and(|read| read > 0) {
        while let Ok(Some(message)) = received.next() {
            let judged = hello::judge(message, &secret, &nonce, b"program", &mut out);
            assert!(judged.is_err(), "random bytes do not show knowledge of the secret");
            let _ = hello::answer(message, &secret, nonce, &mut out);
            let accepted = hello::accept(message, &secret, &nonce, &nonce);
            assert!(accepted.is_err(), "random bytes do not show knowledge of the secret");
        }
    }
}

/// The next piece: one byte of length, then the piece, which ends early if the bytes do.
fn piece<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first()?;
    let (piece, rest) = rest.split_at(usize::from(*length).min(rest.len()));
    *bytes = rest;
    Some(piece)
}

fn orders(mut bytes: &[u8]) {
    let (mut worker, mut out) = (Worker::<Texts>::new(Duration::ZERO), Vec::new());
    while let Some(message) = piece(&mut bytes) {
        if !worker.receive(message, &mut out).unwrap_or(false) {
            return;
        }
        work(&mut worker, Duration::ZERO, &mut out);
    }
}

fn work(worker: &mut Worker<Texts>, now: Duration, out: &mut Vec<u8>) {
    if let Some(job) = worker.start(now, out) {
        worker.finish(&job, job.run(&Texts), now, out);
    }
}

#[derive(Default)]
struct Posts(Vec<Vec<u8>>);

impl Outbox for Posts {
    fn to(&mut self, worker: usize) -> &mut Vec<u8> {
        &mut self.0[worker]
    }
}

const WORKERS: usize = 3;

struct Population {
    master: Master,
    posts: Posts,
    workers: Vec<Worker<Texts>>,
    now: Duration,
    resets: u64,
    round: u64,
}

impl Population {
    fn begin() -> Self {
        let tuning = Tuning { backup_every: 3, patience: Duration::from_secs(1), ..Tuning::default() };
        let mut population = Population {
            master: Master::new(tuning),
            posts: Posts(vec![Vec::new(); WORKERS]),
            workers: Vec::new(),
            now: Duration::ZERO,
            resets: 0,
            round: 0,
        };
        for worker in 0..WORKERS {
            population.workers.push(Worker::new(Duration::ZERO));
            assert_eq!(population.master.add_worker(Duration::ZERO), worker);
            population.master.join(worker, &mut population.posts);
        }
        population.reset();
        population
    }

    fn reset(&mut self) {
        let states: Vec<_> = (0..12_u8)
            .map(|number| {
                let mut state = Vec::new();
                put(&mut state, &(number, "state")).expect("texts have an encoding");
                (Token::root(1, self.resets, u64::from(number)), state)
            })
            .collect();
        self.resets += 1;
        let named = states.iter().map(|(token, state)| (*token, state.as_slice()));
        self.master.reset(named, self.now, &mut self.posts).expect("their names differ");
        self.go(states.iter().map(|(token, _)| *token).collect());
    }

    /// Begins a round of these tokens. Some tokens are left out.
    fn go(&mut self, tokens: Vec<Token>) {
        self.round += 1;
        self.master.begin(self.round, false);
        for (token, input) in tokens.into_iter().take(40).zip(1_u8..) {
            if input % 7 > 0 {
                self.master.task(token, |out| put(out, &input)).expect("it is of the population");
            }
        }
        self.master.go(self.now, &mut self.posts);
    }

    fn suffer(mut self, mut bytes: &[u8]) {
        while let Some(([what, worker], rest)) = bytes.split_first_chunk() {
            (bytes, self.now) = (rest, self.now + Duration::from_millis(1));
            let worker = usize::from(*worker) % WORKERS;
            match what % 8 {
                0..=3 => self.step(worker, None),
                4 | 5 => {
                    let Some(([at, change], rest)) = bytes.split_first_chunk() else { return };
                    bytes = rest;
                    self.step(worker, Some((usize::from(*at), *change)));
                }
                6 => {
                    let Some(message) = piece(&mut bytes) else { return };
                    self.hear(worker, message);
                }
                _ => {
                    self.now += Duration::from_millis(300);
                    match self.master.overdue(self.now) {
                        Some(late) => self.lose(late),
                        None => self.lose(worker),
                    }
                }
            }
            self.next_round();
        }
    }

    /// A worker receives its messages, works, and answers. `damage` replaces one byte of the answer.
    fn step(&mut self, worker: usize, damage: Option<(usize, u8)>) {
        let (sent, mut out) = (std::mem::take(&mut self.posts.0[worker]), Vec::new());
        self.master.written(worker, self.now, self.now);
        let mut rest = sent.as_slice();
        while let Some((message, length)) = first_frame(rest, usize::MAX).expect("a master's frames are whole") {
            let goes_on = self.workers[worker].receive(message, &mut out);
            assert!(goes_on.expect("a damaged answer reaches no other worker"));
            rest = &rest[length..];
        }
        assert!(rest.is_empty(), "a master's frames are whole");
        work(&mut self.workers[worker], self.now, &mut out);
        if let Some((at, change)) = damage.filter(|_| !out.is_empty()) {
            let length = out.len();
            out[at % length] ^= change;
        }
        let mut rest = out.as_slice();
        while !rest.is_empty() {
            match first_frame(rest, 1 << 16) {
                Ok(Some((message, length))) => {
                    rest = &rest[length..];
                    if !self.hear(worker, message) {
                        return;
                    }
                }
                // Otherwise the master would wait for this worker until its patience is over.
                _ => return self.lose(worker),
            }
        }
    }

    fn hear(&mut self, worker: usize, message: &[u8]) -> bool {
        let fits = |bytes: &[u8], state: bool| {
            let whole = |rest: &[u8]| rest.is_empty();
            if state {
                postcard::take_from_bytes::<(u8, String)>(bytes).is_ok_and(|(_, rest)| whole(rest))
            } else {
                postcard::take_from_bytes::<Option<String>>(bytes).is_ok_and(|(_, rest)| whole(rest))
            }
        };
        let taken = self.master.receive(worker, message, self.now, &fits, &mut self.posts);
        if taken.is_err() {
            self.lose(worker);
        }
        taken.is_ok()
    }

    /// Loses a worker, and adds another one in its place.
    fn lose(&mut self, worker: usize) {
        self.posts.0[worker].clear();
        self.master.lost(worker, self.now, &mut self.posts);
        self.posts.0[worker].clear();
        self.workers[worker] = Worker::new(self.now);
        assert_eq!(self.master.add_worker(self.now), worker);
        self.master.join(worker, &mut self.posts);
    }

    fn next_round(&mut self) {
        if self.master.failure().is_some() {
            return self.reset();
        }
        if !self.master.is_done() {
            return;
        }
        let children = self.master.results().flat_map(|(_, children)| children.map(|(child, _)| child));
        let tokens: Vec<_> = children.collect();
        self.master.settle();
        if tokens.is_empty() { self.reset() } else { self.go(tokens) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_may_come(to in 0..3_u8, bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            throw(&[&[to][..], &bytes].concat());
        }
    }

    /// The fuzzer's seeds, and the inputs with which it reached new code.
    #[test]
    fn the_corpus_is_survived() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/stranger");
        let files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(!files.is_empty());
        files.iter().for_each(|file| throw(&std::fs::read(file).unwrap()));
    }

    /// Two states that took more nanoseconds than 64 bits hold.
    #[test]
    fn a_worker_may_report_any_time() {
        let mut population = Population::begin();
        let (sent, mut out) = (std::mem::take(&mut population.posts.0[0]), Vec::new());
        let worker = &mut population.workers[0];
        let mut rest = sent.as_slice();
        while let Some((message, length)) = first_frame(rest, usize::MAX).unwrap() {
            assert!(worker.receive(message, &mut out).unwrap());
            rest = &rest[length..];
        }
        let mut jobs = 0;
        // The answer is sent once the worker has nothing left to do.
        while let Some(job) = worker.start(Duration::ZERO, &mut out) {
            worker.finish(&job, job.run(&Texts), Duration::MAX, &mut out);
            jobs += 1;
        }
        assert!(jobs >= 2, "{jobs}");
        let mut rest = out.as_slice();
        while let Some((message, length)) = first_frame(rest, usize::MAX).unwrap() {
            assert!(population.hear(0, message));
            rest = &rest[length..];
        }
    }

    #[test]
    fn rounds_go_by() {
        let mut population = Population::begin();
        let steps: Vec<u8> = (0..3_000_u16).flat_map(|step| [0, (step % 3) as u8]).collect();
        let rounds = |population: &Population| population.round;
        assert_eq!(rounds(&population), 1);
        for chunk in steps.chunks(2) {
            population.step(usize::from(chunk[1]), None);
            population.next_round();
        }
        assert!(rounds(&population) > 20, "{}", rounds(&population));
    }
}
