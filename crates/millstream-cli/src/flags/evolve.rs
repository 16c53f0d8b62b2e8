#[cfg(feature = "page")]
use super::values::address;
use super::values::{at_least_one, index, tasklets, whole};
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// Follow something hidden by a population of particles, on many workers, by one of three models
///
/// Prints a line for every round: its number, what was hidden, what was seen, the estimate, and the exact answer where there
/// is one; and how far these are apart. The result is the same for any number of workers, and whatever happens to them.
/// Workers that run as processes are started again if a signal ends them; others can join by `millstream evolve-worker`
/// with the same MILLSTREAM_SECRET
#[derive(Debug, Args)]
pub(crate) struct Evolve {
    /// What is hidden: a number that is pushed about, a volatility, or how many are ill
    #[arg(long, value_name = "NAME")]
    pub(crate) model: ModelName,
    /// Particles
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = particles)]
    pub(crate) states: u32,
    /// Observations
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = whole)]
    pub(crate) rounds: u64,
    /// Where all random numbers come from
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole)]
    pub(crate) seed: u64,
    /// So many workers; 0 with a socket means that all of them join by themselves, with your MILLSTREAM_SECRET
    /// [default: one a physical core]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(crate) workers: Option<usize>,
    /// Where workers are: in threads, or in processes over a socket
    #[arg(long, value_name = "HOW", default_value = "threads")]
    pub(crate) transport: Transport,
    /// Where to listen for workers: HOST:PORT, or a socket's file [default: a free port of this machine, a temporary file]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Keep a checkpoint of every round in this directory, and go on from the last one that is there
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<OsString>,
    /// States handed out at once [default: 5, and more where they take little time]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) batch: Option<usize>,
    /// Rounds after which the master keeps all states, in case a worker is lost
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub(crate) backup_every: u64,
    /// Seconds after which a worker that owes an answer and says nothing is given up
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = positive)]
    pub(crate) patience: u64,
    /// Leave states where they are, also where others have nothing to do
    #[arg(long)]
    pub(crate) no_steal: bool,
    /// Let the system choose cores, and do not keep each worker on a physical core of its own
    #[arg(long)]
    pub(crate) no_pin: bool,
    /// Random numbers that every particle draws for nothing, to be dearer; a million take some 5 ms
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole)]
    pub(crate) work: u64,
    /// Draw estimate and truth, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<OsString>,
    /// Write what master and workers did as JSON to a file; without one, or with `-`, to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) stats: Option<OsString>,
    /// Show master and workers in the browser while they go on; port 0 is any that is free
    #[cfg(feature = "page")]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) page: Option<String>,
    /// Say nothing on standard error but what failed and what was asked for
    #[arg(long)]
    pub(crate) quiet: bool,
    /// End standard error with `hash HEX16 count N`, over every particle of every round
    #[arg(long)]
    pub(crate) hash: bool,
}

/// Join a population that `evolve --transport tcp` or `unix` computes, here or on another machine
///
/// Ends when the population is done, with 0, or when the master is gone, with 1
#[derive(Debug, Args)]
pub(crate) struct EvolveWorker {
    /// The master: HOST:PORT, or a socket's file. MILLSTREAM_SECRET has the secret
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: String,
    /// Keep to the N-th physical core, from 0
    #[arg(long, value_name = "N", value_parser = index)]
    pub(crate) pin: Option<usize>,
    /// Give up a master that says nothing for so long, as one that was stopped; it says something every 10 s; 0 never does.
    /// To be let in takes 10 s at most
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

fn particles(text: &str) -> Result<u32, String> {
    at_least_one(text).and_then(|number| u32::try_from(number).map_err(|_| format!("must be at most {}", u32::MAX)))
}

fn workers(text: &str) -> Result<usize, String> {
    if text == "0" { Ok(0) } else { tasklets(text) }
}
