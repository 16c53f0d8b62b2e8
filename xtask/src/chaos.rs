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
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 48))]
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
    /// `serve` and `ingest`: the seconds between two snapshots; without it 0.05
    #[arg(long, value_name = "S")]
    snapshot_every: Option<String>,
    /// A command that was built before, and not a release build of this tree; of `state`, with `--sink file`
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The input of `cluster`, in millions of bytes; without it 100
    #[arg(long, value_name = "N")]
    megabytes: Option<u64>,
    /// `cluster`: each server and a worker are a host, a network namespace of this machine, whose network is cut and
    /// healed, too. Needs Linux, `ip` and root
    #[arg(long)]
    hosts: bool,
    /// `cluster`: a gigabyte
    #[arg(long, conflicts_with = "megabytes")]
    full: bool,
}

impl Args {
    /// Refuses flags that would be ignored.
    fn have_an_effect(&self) -> Result {
        let set: [(bool, &str, &[&str]); 7] = [
            (self.change, "--change", &["serve", "ingest"]),
            (self.snapshot_every.is_some(), "--snapshot-every", &["serve", "ingest"]),
            (self.accounts > 0, "--accounts", &["serve"]),
            (self.sink.is_some(), "--sink", &["state"]),
            (self.hosts, "--hosts", &["cluster"]),
            (self.megabytes.is_some(), "--megabytes", &["cluster"]),
            (self.full, "--full", &["cluster"]),
        ];
        let ignored = set.iter().find(|(is_set, _, of)| *is_set && !of.contains(&&*self.what));
        if let Some((_, flag, of)) = ignored {
            return Err(failure(format!("{flag} works only with `{}`", of.join("` and `"))));
        }
        if self.what == "state" && self.program.is_some() && self.sink.as_deref() != Some("file") {
            return Err(failure("--program works with `state` only beside `--sink file`"));
        }
        Ok(())
    }

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
    args.have_an_effect()?;
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
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_flag_that_has_no_effect_is_refused() {
        let refused = |line: &str| {
            let parsed = Cli::try_parse_from(["chaos"].into_iter().chain(line.split(' ')));
            let Cli { args } = parsed.unwrap_or_else(|error| panic!("{error}"));
            args.have_an_effect().err().map(|failure| failure.message)
        };
        for line in [
            "evolve --program x",
            "state --program x --sink file",
            "cluster --program x --megabytes 3 --hosts",
            "serve --change --accounts 3 --snapshot-every 1",
            "ingest --change --upgrades 3 --nginx",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
        for line in [
            "state --program x",
            "state --program x --sink sqlite",
            "state --megabytes 100",
            "serve --full",
            "cluster --snapshot-every 0.05",
            "ingest --sink file",
            "ingest --change --accounts 3",
            "evolve --change",
            "state --hosts",
        ] {
            assert!(refused(line).is_some(), "{line}");
        }
        assert_eq!(refused("evolve --change").unwrap(), "--change works only with `serve` and `ingest`");
        assert!(Cli::try_parse_from(["chaos", "serve", "--seed", "18446744073709551615"]).is_err());
    }

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
