//! Rounds of a population on workers that wait, in either design.

use crate::failure::Failure;
use crate::load::processor_time;
use crate::waiting::{Costs, SECRET, Waits, start};
use millstream_evolve::{
    Address, EvolveError, EvolveMany, Histogram, Locked, Options, Population, Secret, Token, Tuning,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Design {
    /// One master thread, as in this library.
    OneThread,
    /// A thread for each worker, and a lock around the master.
    Locked,
}

/// The results of some rounds.
#[derive(Debug)]
pub(super) struct Rounds {
    /// The time with a scheduler that takes no time, divided by the measured time.
    pub(super) efficiency: f64,
    pub(super) seconds: f64,
    /// Batches handed out in a second.
    pub(super) batches: f64,
    /// Processor seconds of the master's process for each batch.
    pub(super) processor: f64,
    /// The share of the workers' time that they wait.
    pub(super) idle: f64,
    pub(super) latency: Histogram,
}

/// The operations of both designs.
trait Measured: EvolveMany<Waits> {
    fn batches(&self) -> u64;
    fn taken_latency(&mut self) -> Histogram;
    /// The working and waiting time of all workers.
    fn spent(&self) -> (Duration, Duration);
}

fn sum(spent: impl Iterator<Item = (usize, Duration, Duration, u64)>) -> (Duration, Duration) {
    spent.fold((Duration::ZERO, Duration::ZERO), |(work, wait), one| (work + one.1, wait + one.2))
}

impl Measured for Population<Waits> {
    fn batches(&self) -> u64 {
        self.counts().batches
    }

    fn taken_latency(&mut self) -> Histogram {
        let latency = self.latency().clone();
        self.forget_latency();
        latency
    }

    fn spent(&self) -> (Duration, Duration) {
        sum(self.spent().into_iter())
    }
}

impl Measured for Locked<Waits> {
    fn batches(&self) -> u64 {
        self.counts().batches
    }

    fn taken_latency(&mut self) -> Histogram {
        let latency = self.latency();
        self.forget_latency();
        latency
    }

    fn spent(&self) -> (Duration, Duration) {
        sum(self.spent().into_iter())
    }
}

/// Runs one unmeasured round, then the measured ones.
pub(super) fn measure(
    design: Design,
    tuning: &Tuning,
    workers: usize,
    states: u64,
    costs: Costs,
    rounds: u32,
) -> Result<Rounds, Failure> {
    let (secret, tuning) = (Secret::new(SECRET), tuning.clone());
    let mut waiting;
    let measured = match design {
        Design::OneThread => {
            let mut population = Population::new(1, Options { tuning, ..Options::new(secret) })?;
            let at = population.listen(&Address::Tcp("127.0.0.1:0".to_owned()))?;
            waiting = start(&at.to_string(), workers)?;
            population.wait_for(workers)?;
            of(&mut population, workers, states, costs, rounds)?
        }
        Design::Locked => {
            let (mut population, at) = Locked::new(1, tuning, secret)?;
            waiting = start(&at.to_string(), workers)?;
            population.accept(workers)?;
            of(&mut population, workers, states, costs, rounds)?
        }
    };
    let ended = waiting.wait().map_err(Failure::io("the process of the workers"))?;
    if ended.success() {
        Ok(measured)
    } else {
        Err(Failure::Program("workers that wait".to_owned(), ended.to_string()))
    }
}

fn of(
    population: &mut impl Measured,
    workers: usize,
    states: u64,
    costs: Costs,
    rounds: u32,
) -> Result<Rounds, Failure> {
    let mut tokens = population.reset_states((0..states).collect())?;
    tokens = round(population, &tokens, costs)?;
    population.taken_latency();
    let (batches, spent, processor) = (population.batches(), population.spent(), processor_time());
    let (mut free, mut took) = (0.0, 0.0);
    for _ in 0..rounds {
        free += free_scheduler(&tokens, workers, costs);
        let began = Instant::now();
        tokens = round(population, &tokens, costs)?;
        took += began.elapsed().as_secs_f64();
    }
    if tokens.len() as u64 != states {
        return Err(Failure::Answer("the population", tokens.len()));
    }
    let batches = (population.batches() - batches) as f64;
    let (work, wait) = population.spent();
    let (work, wait) = ((work - spent.0).as_secs_f64(), (wait - spent.1).as_secs_f64());
    Ok(Rounds {
        efficiency: free / took,
        seconds: took / f64::from(rounds),
        batches: batches / took,
        processor: (processor_time() - processor).as_secs_f64() / batches,
        idle: wait / (work + wait),
        latency: population.taken_latency(),
    })
}

/// Runs one round. Returns the tokens of the children, one for each state.
fn round(population: &mut impl Measured, tokens: &[Token], costs: Costs) -> Result<Vec<Token>, EvolveError> {
    let results = population.evolve_many(tokens.iter().map(|token| (*token, costs)).collect())?;
    let mut children: Vec<_> = results.into_values().flatten().map(|(token, _)| token).collect();
    children.sort_unstable();
    Ok(children)
}

/// The time of a round if each free worker takes the next state, and nothing else takes time.
fn free_scheduler(tokens: &[Token], workers: usize, costs: Costs) -> f64 {
    let mut free: BinaryHeap<_> = (0..workers).map(|_| Reverse(Duration::ZERO)).collect();
    let mut last = Duration::ZERO;
    for token in tokens {
        let Reverse(now) = free.pop().expect("there are workers");
        last = last.max(now + costs.of(*token));
        free.push(Reverse(now + costs.of(*token)));
    }
    last.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_scheduler_wastes_nothing_but_the_end() {
        let tokens: Vec<_> = (0..9).map(|index| Token::root(1, 1, index)).collect();
        let even = Costs { micros: 1_000_000, uneven: 0 };
        assert_eq!([1, 2, 4, 9].map(|workers| free_scheduler(&tokens, workers, even)), [9.0, 5.0, 3.0, 1.0]);
    }
}
