//! The worker, without sockets, threads or clocks: messages and the time go in, messages come out, and the caller runs
//! `evolve` in between.

use crate::message::{Answer, LONGEST_FAMILY, LONGEST_VALUE, Request, Spent, USUAL_MESSAGE, frame, nanos};
use crate::panics::attempt;
use crate::token::ByToken;
use crate::wire::{Body, Frame, put, put_as_bytes};
use crate::{Evolve, Token, Violation};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::time::Duration;

/// A batch is answered early once it has taken this long, so that the master knows its progress.
const LONG: Duration = Duration::from_millis(2);

/// A worker's states, and the master's requests.
#[derive(Debug)]
pub struct Worker<E: Evolve> {
    states: ByToken<E::State>,
    asked: VecDeque<Asked<E::Input>>,
    /// The items of the next answer.
    items: Vec<u8>,
    count: u32,
    /// When the first of these items began.
    batch_began: Option<Duration>,
    scratch: Vec<u8>,
    spent: Spent,
    /// When the worker last began or finished a state.
    since: Duration,
}

#[derive(Debug)]
struct Asked<I> {
    token: Token,
    /// `None` once the state was given back. If the state returns, the master asks for it again.
    input: Option<I>,
    backup: bool,
    last_of_batch: bool,
}

/// A state that is to evolve. The worker has no other copy of it meanwhile.
#[derive(Debug)]
pub struct Job<E: Evolve> {
    token: Token,
    state: E::State,
    input: E::Input,
    backup: bool,
    last_of_batch: bool,
    began: Duration,
}

impl<E: Evolve> Job<E> {
    /// The state's children, for [`Worker::finish`].
    pub fn run(&self, evolve: &E) -> Vec<(E::State, E::Output)> {
        evolve.evolve(&self.state, &self.input, &mut self.token.random())
    }

    /// The state's token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The state.
    pub fn state(&self) -> &E::State {
        &self.state
    }

    /// The state's input.
    pub fn input(&self) -> &E::Input {
        &self.input
    }
}

impl<E: Evolve> Worker<E> {
    /// A worker without states, that begins at this time.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Worker {
            states: ByToken::default(),
            asked: VecDeque::new(),
            items: Vec::new(),
            count: 0,
            batch_began: None,
            scratch: Vec::new(),
            spent: Spent::default(),
            since: now,
        }
    }

    /// Takes a message, also while a job runs. Appends the answer to `out`. Returns false once the master has ended.
    ///
    /// # Errors
    ///
    /// If the bytes are not a message of a master.
    pub fn receive(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<bool, Violation> {
        let mut body = Body::new(message);
        match body.get::<Request>()? {
            Request::EvolveStates { items, backup } => {
                for left in (0..items).rev() {
                    let token = body.get()?;
                    let input = read(token, "its input", body.bytes()?, out)?;
                    self.asked.push_back(Asked { token, input: Some(input), backup, last_of_batch: left == 0 });
                }
            }
            Request::AddStates { items } => {
                for _ in 0..items {
                    let token = body.get()?;
                    let state = read(token, "it", body.bytes()?, out)?;
                    self.states.insert(token, state);
                }
                frame(out, &Answer::StatesAdded { items }).end();
            }
            Request::RemoveStates { items, give_back } => self.remove(items, give_back, &mut body, out)?,
            Request::End => return Ok(false),
            Request::KeepAlive => (),
            Request::GivenUp => {
                return Err(Violation::new(format!("the master gives this worker up: {}", body.get::<&str>()?)));
            }
        }
        body.end()?;
        Ok(true)
    }

    /// States that have begun are not here any more, and stay. States that exceed a usual message stay too.
    fn remove(&mut self, items: u32, give_back: bool, body: &mut Body<'_>, out: &mut Vec<u8>) -> Result<(), Violation> {
        let (mut returned, mut count, mut looked_at) = (Vec::new(), 0, 0);
        if give_back {
            // A parent that evolves again makes a state again that has evolved here. The master has to know that it has
            // evolved before the copy is given back.
            self.answer(out);
        }
        for _ in 0..items {
            let token = body.get()?;
            if returned.len() >= USUAL_MESSAGE {
                continue;
            }
            looked_at += 1;
            let Some(state) = self.states.remove(&token) else { continue };
            if give_back {
                put(&mut returned, &token)?;
                let written = attempt(|| put_as_bytes(&mut returned, &mut self.scratch, &state));
                let written = written.and_then(|()| sendable(self.scratch.len()));
                written.map_err(|why| failed(token, &format!("it cannot be written: {why}"), out))?;
                count += 1;
            }
        }
        if give_back {
            frame(out, &Answer::StatesRemoved { items: count, looked_at }).put_raw(&returned).end();
        }
        if count > 0 {
            for asked in &mut self.asked {
                asked.input = asked.input.take().filter(|_| self.states.contains_key(&asked.token));
            }
        }
        Ok(())
    }

    /// The next state to evolve, if there is one.
    pub fn start(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<Job<E>> {
        while let Some(Asked { token, input, backup, last_of_batch }) = self.asked.pop_front() {
            // The state was given back to the master, or was asked for twice and has evolved already.
            let there = input.and_then(|input| Some((self.states.remove(&token)?, input)));
            let Some((state, input)) = there else {
                if last_of_batch {
                    self.answer(out);
                }
                continue;
            };
            self.spent.waiting += nanos(now.saturating_sub(self.since));
            self.since = now;
            self.batch_began.get_or_insert(now);
            return Some(Job { token, state, input, backup, last_of_batch, began: now });
        }
        self.answer(out);
        None
    }

    /// Takes the children of a job's state. If a state or an output has no encoding, panics in it, or takes too many
    /// bytes, the state [fails](Worker::fail).
    pub fn finish(&mut self, job: &Job<E>, children: Vec<(E::State, E::Output)>, now: Duration, out: &mut Vec<u8>) {
        let took = nanos(now.saturating_sub(job.began));
        self.spent.working = self.spent.working.saturating_add(took);
        self.since = now;
        let before = self.items.len();
        if let Err(why) = attempt(|| self.write(job, took, &children)) {
            self.items.truncate(before);
            return self.fail(job, &format!("its children cannot be written: {why}"), out);
        }
        for ((state, _), index) in children.into_iter().zip(0..) {
            self.states.insert(job.token.child(index), state);
        }
        self.count += 1;
        let long = self.batch_began.is_some_and(|began| now.saturating_sub(began) >= LONG);
        if job.last_of_batch || long || self.asked.is_empty() || self.items.len() >= USUAL_MESSAGE {
            self.answer(out);
        }
    }

    /// Writes an item of an answer.
    fn write(&mut self, job: &Job<E>, took: u64, children: &[(E::State, E::Output)]) -> Result<(), String> {
        let before = self.items.len();
        let said = |error: postcard::Error| error.to_string();
        let number = u32::try_from(children.len()).map_err(|_| format!("there are {}", children.len()))?;
        put(&mut self.items, &(job.token, took, job.backup, number)).map_err(said)?;
        for (state, output) in children {
            put_as_bytes(&mut self.items, &mut self.scratch, output).map_err(said)?;
            let output = self.scratch.len();
            if job.backup {
                put_as_bytes(&mut self.items, &mut self.scratch, state).map_err(said)?;
            }
            sendable(output.max(self.scratch.len()))?;
        }
        match self.items.len() - before {
            bytes if bytes > LONGEST_FAMILY => {
                Err(format!("together they take {bytes} bytes; at most {LONGEST_FAMILY} can be sent"))
            }
            _ => Ok(()),
        }
    }

    /// Reports that the evolution of a job's state panicked. This ends the round.
    pub fn fail(&mut self, job: &Job<E>, message: &str, out: &mut Vec<u8>) {
        failed(job.token, message, out);
    }

    /// The number of states on this worker, without the running job's.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states.len()
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        self.batch_began = None;
        if self.count == 0 {
            return;
        }
        let answer = Answer::StatesEvolved { items: self.count, spent: self.spent };
        let mut frame: Frame<'_> = frame(out, &answer);
        frame.put_raw(&self.items).end();
        self.items.clear();
        self.count = 0;
    }
}

/// Fails if this many bytes of one value cannot be sent.
fn sendable(bytes: usize) -> Result<(), String> {
    let too_long = || format!("a state or output takes {bytes} bytes; at most {LONGEST_VALUE} can be sent");
    if bytes > LONGEST_VALUE { Err(too_long()) } else { Ok(()) }
}

/// Reads a value of the program. A failure is reported to the master with the state's token.
fn read<T: DeserializeOwned>(token: Token, what: &str, bytes: &[u8], out: &mut Vec<u8>) -> Result<T, Violation> {
    let value = attempt(|| Body::new(bytes).get());
    value.map_err(|why| failed(token, &format!("{what} cannot be read: {why}"), out))
}

/// Reports to the master that a state failed, which ends the round.
fn failed(token: Token, why: &str, out: &mut Vec<u8>) -> Violation {
    frame(out, &Answer::Failed).put(&token).put(why).end();
    Violation::new(format!("the state {token} fails: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    struct Bytes;

    impl Evolve for Bytes {
        type State = Vec<u8>;
        type Input = ();
        type Output = ();

        fn evolve(&self, _: &Vec<u8>, (): &(), _: &mut Random) -> Vec<(Vec<u8>, ())> {
            Vec::new()
        }
    }

    /// Otherwise it would be evolved while the master does not wait for it, or was asked for it by another worker.
    #[test]
    fn a_state_that_returns_evolves_only_once_it_is_asked_for_again() {
        let (mut worker, mut out) = (Worker::<Bytes>::new(Duration::ZERO), Vec::new());
        let [first, second] = [0, 1].map(|index| Token::root(0, 0, index));
        let mut send = |worker: &mut Worker<Bytes>, request: Request, tokens: &[Token], with_bytes: bool| {
            let mut message = Vec::new();
            let mut written = frame(&mut message, &request);
            for token in tokens {
                written.put(token);
                if with_bytes {
                    written.put_bytes(&[0]);
                }
            }
            written.end();
            assert_eq!(worker.receive(&message[crate::wire::LENGTH..], &mut out), Ok(true));
        };
        let evolve = |items| Request::EvolveStates { items, backup: false };
        send(&mut worker, Request::AddStates { items: 2 }, &[first, second], true);
        send(&mut worker, evolve(2), &[first, second], true);
        let job = worker.start(Duration::ZERO, &mut Vec::new()).unwrap();
        assert_eq!(job.token(), first);
        send(&mut worker, Request::RemoveStates { items: 1, give_back: true }, &[second], false);
        send(&mut worker, Request::AddStates { items: 1 }, &[second], true);
        worker.finish(&job, Vec::new(), Duration::ZERO, &mut Vec::new());
        assert!(worker.start(Duration::ZERO, &mut Vec::new()).is_none());
        send(&mut worker, evolve(1), &[second], true);
        assert_eq!(worker.start(Duration::ZERO, &mut Vec::new()).map(|job| job.token()), Some(second));
    }

    /// The master could not send it to any worker.
    #[test]
    fn a_state_that_is_too_long_is_not_given_back() {
        let (mut worker, token) = (Worker::<Bytes>::new(Duration::ZERO), Token::root(0, 0, 0));
        let mut ask = |bytes: usize| {
            worker.states.insert(token, vec![0; bytes]);
            let (mut message, mut out) = (Vec::new(), Vec::new());
            frame(&mut message, &Request::RemoveStates { items: 1, give_back: true }).put(&token).end();
            let received = worker.receive(&message[crate::wire::LENGTH..], &mut out);
            (received, Body::new(&out[crate::wire::LENGTH..]).get::<Answer>().unwrap())
        };
        // The length of the list is a part of the state.
        let (received, answer) = ask(LONGEST_VALUE - 4);
        assert_eq!((received, answer), (Ok(true), Answer::StatesRemoved { items: 1, looked_at: 1 }));
        let (received, answer) = ask(LONGEST_VALUE + 1);
        assert_eq!(answer, Answer::Failed);
        let said = received.unwrap_err().to_string();
        assert!(said.contains(" fails: it cannot be written: a state or output takes "), "{said}");
    }
}
