//! The flags of `cluster` and `worker`.

use super::Tuning;
use super::examples::{CLUSTER, WORKER};
use super::values::{at_least_one, size, time};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Work for an application on a cluster: take the place of one of its replicas, and compute until its output is
/// complete
///
/// Start the same command on as many machines as you like. One worker appends to the output; the others compute the
/// same, and take over if it dies. A worker beyond the number of replicas waits for a place. It does not listen, and
/// connects to the servers alone. It exits with 0 when the output is complete, 2 if this is another pipeline than the
/// application's, the newest snapshot does not fit it, the servers do not take a batch of its size, its rings take more
/// memory than there is, or the application was removed, 3 if the pipeline failed, and 4 if the output edge has other
/// bytes than it computed; after these it is of no use to start it again
#[derive(Debug, Args)]
#[command(after_long_help = WORKER)]
pub(crate) struct Worker {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Print only failures on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

/// Run a pipeline on several machines, over NATS JetStream
///
/// `apply` makes an application of a program, `feed` brings text into its input edge, `millstream worker` computes,
/// `read` prints the output, `drain` ends the input and waits for the rest, and `rm` removes everything. Whatever dies
/// meanwhile, the output is the same, byte by byte
#[derive(Debug, Args)]
#[command(after_long_help = CLUSTER)]
pub(crate) struct Cluster<A: Args> {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand<A>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand<A: Args> {
    /// Make the application, or change those of its numbers that are given: streams, records, and the plan, by compare
    /// and set. Alarms about an output that differs end
    Apply(A),
    /// Append files, or standard input, to the input edge, line by line
    Feed(Feed),
    /// Print the output edge, until its end
    Read(Read),
    /// Show the replicas, how far they are, the edges and their leaders; exit with 4 if one has stopped with an
    /// alarm
    Status(Status),
    /// End the input, and wait until the output is complete
    Drain(Drain),
    /// Remove the application: its edges, its records and its snapshots
    Rm(Remove),
}

/// The application, its servers, and the login.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub(crate) struct Servers {
    /// The servers: nats://HOST:PORT, or tls://HOST:PORT, which is always encrypted; several are separated by commas
    /// [default: MILLSTREAM_NATS, or nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// The application: letters, digits, `-` and `_`
    #[arg(long, value_name = "NAME")]
    pub(crate) app: String,
    /// Log in as this user; the password is in MILLSTREAM_NATS_PASSWORD
    #[arg(long, value_name = "NAME", conflicts_with_all = ["nats_credentials", "nats_key"])]
    pub(crate) nats_user: Option<String>,
    /// Log in by this file of credentials (JWT and key)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "nats_key")]
    pub(crate) nats_credentials: Option<PathBuf>,
    /// Log in by the key (nkey) whose seed is in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) nats_key: Option<PathBuf>,
    /// Encrypt, and trust the authorities whose certificates are in this PEM file, in place of those of the machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_authority: Option<PathBuf>,
    /// Encrypt, and show this certificate, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The key of that certificate, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
}

/// The numbers of an application: one that is left out is what the application has, and the default of a new one.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Number of workers that compute everything; one of them appends the output [default: what the application has,
    /// or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) replicas: Option<u32>,
    /// Number of servers that keep each batch: 1; or 3 or 5 in a cluster of servers, so that the loss of 1 or 2 loses
    /// nothing [default: what the application has, or 1]
    #[arg(long, value_name = "N", value_parser = copies)]
    pub(crate) copies: Option<usize>,
    /// Number of batches that an edge holds; when it is full, its feed waits [default: what the application has, or
    /// 65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) capacity: Option<u32>,
    /// Number of batches between two snapshots; the input before a snapshot is dropped [default: what the application
    /// has; or 256, or an eighth of the capacity if that is less]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) snapshot_every: Option<u64>,
    /// Set this program's pipeline although the application has another one. It must compute the same output: a worker
    /// that computes another one stops with exit code 4, and one that a snapshot does not fit with 2
    #[arg(long)]
    pub(crate) force: bool,
}

/// A plan for one of the command's own programs.
#[derive(Debug, Args)]
pub(crate) struct ApplyProgram {
    /// The program
    pub(crate) program: ClusterProgram,
    #[command(flatten)]
    pub(crate) apply: Apply,
}

/// The programs that run on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClusterProgram {
    /// The lines, words and bytes of the whole input, at its end
    Wc,
    /// a to z as A to Z
    Uppercase,
    /// Each word with its count so far, `WORD COUNT`: counts by key
    Words,
}

#[derive(Debug, Args)]
pub(crate) struct Feed {
    /// Files to append, one after the other, as `cat` joins them: a file whose last line has no end goes on in the next
    /// one; `-`, or no file, is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Skip what the edge already has: for a feed that is started again with the same input, from its beginning. A last
    /// line without an end is fed only with `--end`, since more of it may come
    #[arg(long)]
    pub(crate) resume: bool,
    /// End the input after this feed: nothing can follow
    #[arg(long)]
    pub(crate) end: bool,
    /// Bytes of a batch at most, in whole lines; a longer line is a batch of its own. Lines that come slowly are not
    /// held back. K and M are powers of 1024
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "32K")]
    pub(crate) batch: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Begin with this batch; it is an error if it was dropped [default: the first that is kept]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) from: Option<usize>,
    /// Keep the place in this file, and go on there, exactly: standard output is a file opened with `>>`, and is cut to
    /// what this file notes. `--from` is for the first start
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) position: Option<PathBuf>,
    /// Print only what is there now, instead of waiting for the end of the output
    #[arg(long)]
    pub(crate) so_far: bool,
    /// Drop printed batches from the edge, so that it does not fill
    #[arg(long)]
    pub(crate) trim: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Drain {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Wait this long at most, and exit with 1 if the output is not complete by then [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) within: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Remove it even while workers are at work
    #[arg(long)]
    pub(crate) force: bool,
}

fn copies(text: &str) -> Result<usize, String> {
    match text {
        "1" | "3" | "5" => Ok(usize::from(text.as_bytes()[0] - b'0')),
        _ => Err("1, 3 or 5".to_owned()),
    }
}
