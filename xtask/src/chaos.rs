//! `cargo xtask chaos`: kills processes while they work, and checks that the result stays the same.

mod change;
mod clients;
mod cluster;
mod evolve;
mod http;
mod ingest;
mod lives;
mod processes;
mod serve;
mod state;

use crate::cmd::{Cmd, Result, failure, target_dir};
use processes::io;
use std::path::PathBuf;

/// The program to disturb, and how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `evolve`: kill workers of a population, and now and then its master. `state`: kill programs that keep their
    /// state, and start them again; exit with 4 at the first byte of output, or the first row, that differs.
    /// `cluster`: kill and stop the workers, the feed, the reader and the three servers of a word count on NATS, and
    /// start them again; exit with 4 if the output is not the model's. `serve`: kill a ledger whose clients repeat what
    /// was not answered; exit with 4 if a request was done twice or by half, or an answered one is lost; with
    /// `--change`, after 100 new processes have taken over, of which no client may see anything. `ingest`: the same
    /// with a run over posted rows; exit with 4 if an acknowledged row is lost or there twice, if a row is there that
    /// was not taken, or if an output is not that of one run
    #[arg(value_parser = ["cluster", "evolve", "ingest", "serve", "state"])]
    what: String,
    /// The seed of the work, and of the choice and times of kills as far as these are determined
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The number of processes to kill; of `state`, for each sink
    #[arg(long, value_name = "N", default_value_t = 100)]
    kills: u64,
    /// `serve` and `ingest`: let new processes take over from old ones, and kill both
    #[arg(long)]
    change: bool,
    /// `state`: where the output goes; without it, to each that is there in turn. A server of PostgreSQL is killed now
    /// and then as well
    #[arg(long, value_parser = ["file", "sqlite", "postgres"])]
    sink: Option<String>,
    /// `serve --change`: N accounts are there before. A large state takes long to restore
    #[arg(long, value_name = "N", default_value_t = 0, requires = "change")]
    accounts: u64,
    /// With `--change`: the upgrades that nothing disturbs
    #[arg(long, value_name = "N", default_value_t = 100, requires = "change")]
    upgrades: u64,
    /// With `--change`: the same clients behind nginx, too, which is reloaded as often as there are upgrades
    #[arg(long, requires = "change")]
    nginx: bool,
    /// `serve` and `ingest`: the seconds between two snapshots
    #[arg(long, value_name = "S", default_value = "0.05")]
    snapshot_every: String,
    /// `cluster`, `serve` and `ingest`: a command that was built before, and not a release build of this tree
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The input of `cluster`, in millions of bytes
    #[arg(long, value_name = "N", default_value_t = 100)]
    megabytes: u64,
    /// `cluster`: each server and a worker are a host, a network namespace of this machine, whose network is cut and
    /// healed, too. Needs Linux, `ip` and root
    #[arg(long)]
    hosts: bool,
    /// A gigabyte
    #[arg(long, conflicts_with = "megabytes")]
    full: bool,
}

impl Args {
    /// The command to disturb.
    fn built(&self) -> Result<PathBuf> {
        if let Some(program) = &self.program {
            return std::path::absolute(program).map_err(io("find the program"));
        }
        Cmd::cargo("build --release --quiet -p millstream-cli").run()?;
        Ok(target_dir().join("release/millstream"))
    }
}

pub(crate) fn run(args: &Args) -> Result {
    if args.change && !["ingest", "serve"].contains(&&*args.what) {
        return Err(failure("--change works only with `serve` and `ingest`"));
    }
    if args.accounts > 0 && args.what != "serve" {
        return Err(failure("--accounts works only with `serve`"));
    }
    if args.sink.is_some() && args.what != "state" {
        return Err(failure("--sink works only with `state`"));
    }
    if args.hosts && args.what != "cluster" {
        return Err(failure("--hosts works only with `cluster`"));
    }
    match &*args.what {
        "state" => state::run(args),
        "cluster" => cluster::run(args),
        "ingest" => ingest::run(args),
        "serve" => serve::run(args),
        _ => evolve::run(args),
    }
}

/// Xorshift, from the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = (self.0 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 ^= self.0 >> 29;
        self.0 % most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides() {
        let of = |seed| {
            let mut random = Random(seed);
            (0..50).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert!((0..10).all(|number| of(7).contains(&number)), "{:?}", of(7));
    }
}
