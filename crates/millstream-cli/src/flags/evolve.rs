#[cfg(feature = "page")]
use super::values::address;
use super::values::{at_least_one, index, tasklets, whole};
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// Track something hidden by a population of particles, on many workers, by one of three models
///
/// Prints a line for every round: its number, the truth, the observation, the estimate, and the exact estimate if there
/// is one; then the root mean square differences between these. The result is the same for any number of workers, even
/// if some of them fail. Worker processes that a signal ends are started again. Other workers can join by
/// `millstream evolve-worker`, with the same MILLSTREAM_SECRET
#[derive(Debug, Args)]
#[command(after_long_help = super::examples::EVOLVE)]
pub(crate) struct Evolve {
    /// What is hidden: a number on a random walk, a volatility, or the number of infected people
    #[arg(long, value_name = "NAME")]
    pub(crate) model: ModelName,
    /// Number of particles
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = particles)]
    pub(crate) states: u32,
    /// Number of observations
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = rounds)]
    pub(crate) rounds: u64,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole)]
    pub(crate) seed: u64,
    /// Number of workers to start; with 0 and a socket, all workers join by themselves, with your MILLSTREAM_SECRET
    /// [default: one for each physical core]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(crate) workers: Option<usize>,
    /// Run workers in threads, or in processes over a socket
    #[arg(long, value_name = "HOW", default_value = "threads")]
    pub(crate) transport: Transport,
    /// Where to listen for workers: HOST:PORT, or the file of a socket [default: a free port of this machine, or a
    /// temporary file]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<OsString>,
    /// Keep a checkpoint of every round in this directory, and continue after the last checkpoint there
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<OsString>,
    /// States to hand out at once [default: 5, and more if they take little time]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) batch: Option<usize>,
    /// Number of rounds after which the master keeps all states, in case a worker is lost
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub(crate) backup_every: u64,
    /// Seconds of silence after which the master gives up a worker that owes an answer. It is also silent while it
    /// evolves one particle, so choose more than that takes
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = positive)]
    pub(crate) patience: u64,
    /// Do not move states to workers that have nothing to do
    #[arg(long)]
    pub(crate) no_steal: bool,
    /// Let the system choose cores, instead of a physical core for each worker
    #[arg(long)]
    pub(crate) no_pin: bool,
    /// Random numbers that every particle draws just to take time; a million take about 5 ms
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole)]
    pub(crate) work: u64,
    /// Draw the estimate and the truth after the last round, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<OsString>,
    /// Write a report of master and workers as JSON to a file; without one, or with `-`, to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) stats: Option<OsString>,
    /// Show master and workers in the browser; port 0 is any free port
    #[cfg(feature = "page")]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) page: Option<String>,
    /// Print only failures and requested reports on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
    /// End standard error with `hash HEX16 count N`, over every particle of every round
    #[arg(long)]
    pub(crate) hash: bool,
}

/// Join a population that `evolve --transport tcp` or `unix` computes, here or on another machine
///
/// Exits with 0 when the population is done, or with 1 when the master is gone
#[derive(Debug, Args)]
#[command(after_long_help = super::examples::EVOLVE_WORKER)]
pub(crate) struct EvolveWorker {
    /// The master: HOST:PORT, or the file of a socket. The secret is in MILLSTREAM_SECRET
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: OsString,
    /// Run on the N-th physical core, from 0
    #[arg(long, value_name = "N", value_parser = index)]
    pub(crate) pin: Option<usize>,
    /// Give up a master that is silent for this many seconds; 0 never gives up. A running master sends something every
    /// 10 s. Unless this is 0, joining takes at most 10 s
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = whole)]
    pub(crate) patience: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelName {
    /// Linear and Gaussian; the Kalman filter is exact
    Linear,
    /// Stochastic volatility; a sum over a grid is nearly exact
    Volatility,
    /// An epidemic in a town of 10,000
    Epidemic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Threads,
    Tcp,
    Unix,
}

fn positive(text: &str) -> Result<u64, String> {
    at_least_one(text).map(|number| number as u64)
}

/// The observations of all rounds are in memory.
const MOST_ROUNDS: u64 = 1_000_000;

fn rounds(text: &str) -> Result<u64, String> {
    match whole(text)? {
        rounds if rounds > MOST_ROUNDS => Err(format!("must be at most {MOST_ROUNDS}")),
        rounds => Ok(rounds),
    }
}

fn particles(text: &str) -> Result<u32, String> {
    at_least_one(text).and_then(|number| u32::try_from(number).map_err(|_| format!("must be at most {}", u32::MAX)))
}

fn workers(text: &str) -> Result<usize, String> {
    if text == "0" { Ok(0) } else { tasklets(text) }
}
