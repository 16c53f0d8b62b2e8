//! The syntax of the command line alone: no meaning, and no defaults that depend on anything.

#[cfg(feature = "cluster")]
mod cluster;
mod evolve;
mod examples;
#[cfg_attr(not(feature = "jq"), path = "flags/no_jq.rs")]
mod jq;
mod keeping;
#[cfg(feature = "completions")]
mod manual;
mod pipe;
mod program;
mod refusal;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "serve")]
mod serve;
mod shaped;
mod upgrade;
mod values;
mod ways;
mod wc;

#[cfg(feature = "cluster")]
pub(crate) use cluster::{Apply, ApplyProgram, Cluster, ClusterCommand, ClusterProgram, Feed, Read, Servers, Worker};
pub(crate) use evolve::{Evolve, EvolveWorker, ModelName, Transport};
pub(crate) use jq::Jq;
pub(crate) use keeping::{COLUMNS, Differ, Keeping, Look, Replay, Snapshots, Upgrade, When};
#[cfg(feature = "completions")]
pub(crate) use manual::{Completions, Man};
pub(crate) use pipe::{Pipe, ShardBy};
pub(crate) use program::{Program, ProgramName};
pub(crate) use refusal::{parse, refuse, unread};
#[cfg(feature = "run")]
pub(crate) use run::{Check, RunText, Stages};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use shaped::shaped;
#[cfg(feature = "completions")]
pub(crate) use shaped::{shaped_for_completions, shaped_for_manual};
pub(crate) use upgrade::UpgradeRun;
pub(crate) use ways::Fanout;
pub(crate) use wc::{Total, Wc};

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum, ValueHint};
use shaped::HOW_IT_RUNS;
use std::ffi::OsString;
#[cfg(any(feature = "page", feature = "run", feature = "top"))]
pub(crate) use values::address;
use values::{at_least_one, bytes, size, slots, tasklets, whole};

/// Typed determinate stream pipelines: the same output, number by number, wherever they run.
#[derive(Debug, Parser)]
#[command(name = "millstream", version, arg_required_else_help = true, args_override_self = true)]
#[command(after_long_help = examples::MILLSTREAM)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) colours: Colours,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Whether messages are coloured.
#[derive(Debug, Args)]
pub(crate) struct Colours {
    /// Colour help, messages about wrong use, and `top`: auto does on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Wc(Wc),
    /// Turn a to z into A to Z, as LC_ALL=C tr a-z A-Z does
    #[command(after_long_help = examples::UPPERCASE)]
    Uppercase(OverFiles),
    /// Begin every line with its number of spaces, as `[spaces: N]` or `[spaces: >6]`; the last one gets its end, too
    #[command(after_long_help = examples::SPACES)]
    Spaces(OverLines),
    /// Run five items through stages that sleep, two of them in parallel, to show what overlaps
    #[command(after_long_help = examples::SLEEP)]
    Sleep(Sleep),
    /// Run endless numbers through three maps, the third of which panics, to show a failure
    #[command(after_long_help = examples::PANIC)]
    Panic(Panic),
    /// Run a pipeline whose source never yields a value, to show what waiting costs
    #[command(after_long_help = examples::IDLE)]
    Idle(Idle),
    /// Fan numbers out two to twenty ways, and read all of them in one map, to show what copying costs, and what
    /// sharing costs
    #[command(after_long_help = examples::COPYING)]
    Copying(Copying),
    Pipe(Pipe),
    Jq(Jq),
    #[cfg(feature = "run")]
    #[command(after_long_help = examples::RUN)]
    Run(RunText),
    #[cfg(feature = "run")]
    #[command(after_long_help = examples::CHECK)]
    Check(Check),
    #[cfg(feature = "run")]
    #[command(after_long_help = examples::STAGES)]
    Stages(Stages),
    #[cfg(feature = "serve")]
    #[command(after_long_help = examples::SERVE)]
    Serve(Box<Serve>),
    #[cfg(feature = "cluster")]
    Cluster(Cluster<ApplyProgram>),
    #[cfg(feature = "cluster")]
    Worker(Box<Worker>),
    Evolve(Evolve),
    EvolveWorker(EvolveWorker),
    #[command(after_long_help = examples::VERIFY)]
    Verify(Verify),
    /// Show the stages and rings of a program's pipeline, without running it
    #[command(after_long_help = examples::PLAN)]
    Plan(Plan),
    /// Draw a program's pipeline, without running it
    #[command(after_long_help = examples::GRAPH)]
    Graph(Graph),
    /// Repeat the run of a state directory up to a number, and print what comes out on the way; store nothing
    #[command(after_long_help = examples::REPLAY)]
    Replay(Replay),
    /// Show the state of a stage at a number, as JSON
    #[command(after_long_help = examples::STATE)]
    State(Look),
    /// List the snapshots of a state directory; check them, remove old ones, or go back to one
    #[command(after_long_help = examples::SNAPSHOTS)]
    Snapshots(Snapshots),
    /// Find the first number at which the states of two runs of one program differ, and the stage
    #[command(after_long_help = examples::DIFF)]
    Diff(Differ),
    #[command(after_long_help = examples::UPGRADE)]
    Upgrade(UpgradeRun),
    /// Show in the terminal a program that was started with `--page ADDR`
    #[cfg(feature = "top")]
    #[command(after_long_help = examples::TOP)]
    Top(Top),
    /// Print the completion script for a shell
    #[cfg(feature = "completions")]
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page, or write one for each subcommand to a directory
    #[cfg(feature = "completions")]
    #[command(after_long_help = examples::MAN)]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct OverFiles {
    /// Files to read, one after the other; `-`, or no file, is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// Decompress gzip and zstd, from files and from pipes; the first bytes decide, not the name
    #[arg(long)]
    pub(crate) decompress: bool,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Args)]
pub(crate) struct OverLines {
    /// The longest allowed line, counting its end; K, M and G are powers of 1024. A longer line ends its file, with a
    /// message
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_line: usize,
    #[command(flatten)]
    pub(crate) input: OverFiles,
}

#[derive(Debug, Args)]
pub(crate) struct Sleep {
    /// Run two tasklets for each stage that sleeps, the same as `--shards 2`
    #[arg(long, conflicts_with = "shards")]
    pub(crate) sharded: bool,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Args)]
pub(crate) struct Panic {
    /// The number at which the map panics
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) at: u64,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Args)]
pub(crate) struct Idle {
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Args)]
pub(crate) struct Copying {
    /// Number of ways
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) fanout: Fanout,
    /// How many numbers to send
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = whole)]
    pub(crate) items: u64,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// Run one input through a program on every deployment, with several sizes, and compare every edge
///
/// Prints `EDGE HASH COUNT` for every edge that is the same on all deployments. At the first difference it prints the
/// stage and the number, and exits with 4. Each edge runs about forty times over the input, which is in memory. Some
/// runs have rings and queues of one slot, which cost microseconds a line, so a few megabytes of a large input are
/// enough
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The program to verify, or a file with a program as text, `*.mill`
    #[arg(value_parser = program::Parser)]
    pub(crate) program: ProgramName,
    /// Files to read, if the program reads files; `-`, or no file, is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// The longest allowed line of `spaces`, counting its end
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_line: usize,
    /// Show no progress on a terminal
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// How to run a pipeline. None of these flags changes the output.
#[derive(Debug, Args)]
#[command(next_help_heading = HOW_IT_RUNS)]
pub(crate) struct Run {
    /// Where to run: on lists that hold everything in memory, on one thread, on queues, or on rings with several
    /// workers
    #[arg(long, value_name = "WHERE", default_value = "rings")]
    pub(crate) deploy: Deploy,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Write a report of the run to a file; without one, or with `-`, to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) stats: Option<OsString>,
    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "json", requires = "stats")]
    pub(crate) stats_format: StatsFormat,
    /// Observe the run: `--stats` then also has latencies, and what every stage waited for. On rings only
    #[arg(long)]
    pub(crate) observe: bool,
    /// Record the run as a picture to play and to step through: an SVG for any browser. If there is a second run, as
    /// for `wc` with two files, its file gets `-2` in its name. On rings only
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) record_picture: Option<OsString>,
    /// Show the run in the browser, and to Prometheus at `/metrics`, at HOST:PORT, or at a port of this machine alone;
    /// port 0 is any free port. On rings only
    #[cfg(feature = "page")]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) page: Option<String>,
    /// Keep the page for this many seconds after the run, or until a signal comes
    #[cfg(feature = "page")]
    #[arg(long, value_name = "SECONDS", requires = "page", value_parser = whole)]
    pub(crate) page_linger: Option<u64>,
    /// Print only failures and requested reports on standard error: no progress on a terminal, no advice
    #[arg(long)]
    pub(crate) quiet: bool,
    /// End standard error with `hash HEX16 count N`, over the number and the bytes of every output. A file is always
    /// cut into the same blocks, so its outputs always have the same numbers; the blocks of a pipe depend on how it is
    /// read
    #[arg(long)]
    pub(crate) hash: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    Json,
    Table,
}

/// Tuning flags. None of them changes the output.
#[derive(Debug, Args)]
#[command(next_help_heading = HOW_IT_RUNS)]
pub(crate) struct Tuning {
    /// Worker threads [default: as many as improve throughput, at most one for each usable core]
    #[arg(long, value_name = "N", value_parser = tasklets)]
    pub(crate) workers: Option<usize>,
    /// Slots of each ring, a power of two; for blocks of a file at most 4 [default: 16; 1024 for lines of a file; 4096
    /// for parsed lines, requests, and numbers of `copying`; 4 for each process of `pipe`; 2 for each shard of `run`
    /// and `jq`, at least 4]
    #[arg(long, value_name = "N", value_parser = slots)]
    pub(crate) ring: Option<usize>,
    /// The most slots that a stage processes in one step
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) batch: Option<usize>,
    /// Tasklets for the stateless stages [default: 1; for `pipe` --jobs; for `run` and `jq` --workers or usable cores]
    #[arg(long, value_name = "N", value_parser = tasklets)]
    pub(crate) shards: Option<usize>,
    /// What a thread without work does [default: phased]
    #[arg(long, value_name = "HOW")]
    pub(crate) wait: Option<Wait>,
    /// Keep every worker on a physical core of its own, and use hyperthread siblings last; `--stats` says if this fails
    #[arg(long)]
    pub(crate) pin: bool,
    /// Milliseconds that a stage's step may take; `--stats` names the stages that took longer [default: 100]
    #[arg(long, value_name = "MS", value_parser = whole)]
    pub(crate) step_budget: Option<u64>,
    /// Refuse to run if the rings need more; K, M and G are powers of 1024 [default: the control group's limit, or the
    /// machine's memory]. Memory that values own, such as blocks of text, does not count. `--deploy model` fails if its
    /// lists and the whole input need more
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deploy {
    Model,
    Inline,
    Queues,
    Rings,
}

/// What a thread without work does until it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wait {
    /// Spin a little, yield a little, then park until something happens
    Phased,
    /// Never yield the core; if threads outnumber cores, phased instead, with a message
    BusySpin,
    /// Spin a little, then keep yielding
    Yielding,
    /// Spin and yield a little, then sleep, longer each time, at most 512 microseconds
    Sleeping,
    /// Park at once
    Blocking,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The program, or a file with one as text, `*.mill`
    #[arg(value_parser = program::Parser)]
    pub(crate) program: ProgramName,
    #[command(flatten)]
    pub(crate) how: Planning,
}

#[cfg(feature = "top")]
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The address of its page: HOST:PORT, or a port of this machine
    #[arg(value_parser = address)]
    pub(crate) address: String,
    /// Print the current state and exit; the default if the output is not a terminal
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The program, or a file with one as text, `*.mill`
    #[arg(value_parser = program::Parser)]
    pub(crate) program: ProgramName,
    #[command(flatten)]
    pub(crate) how: Drawing,
}

/// How to draw a graph.
#[derive(Debug, Args)]
pub(crate) struct Drawing {
    /// The format: a picture for any browser, the language of Graphviz, or nodes and wires with their positions as JSON
    #[arg(long, value_name = "FORMAT", default_value = "svg")]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Svg,
    Dot,
    Json,
}

/// What to show of a plan.
#[derive(Debug, Args)]
pub(crate) struct Planning {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also show the decisions of a run on rings, and their reasons
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show what changed since the plan in this file, which `--json` wrote; `-` is standard input
    #[arg(long, value_name = "OLD.json", conflicts_with = "explain", value_hint = ValueHint::FilePath)]
    pub(crate) diff: Option<OsString>,
    /// Check that every stage with a state has a name that its author set, so that another process can find the state
    #[arg(long)]
    pub(crate) durable: bool,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}
