//! What can be written on the command line, and nothing else: no meaning, no defaults that depend on anything.

mod evolve;
mod examples;
mod pipe;
mod refusal;
mod shaped;
mod values;
mod wc;

pub(crate) use evolve::{Evolve, EvolveWorker, ModelName, Transport};
pub(crate) use pipe::{Pipe, ShardBy};
pub(crate) use refusal::{parse, refuse};
pub(crate) use shaped::shaped;
#[cfg(feature = "completions")]
pub(crate) use shaped::shaped_for_manual;
pub(crate) use wc::{Total, Wc};

use crate::command::Fanout;
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum, ValueHint};
use shaped::HOW_IT_RUNS;
use std::ffi::OsString;
#[cfg(any(feature = "page", feature = "top"))]
use values::address;
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

/// Whether what is said is coloured.
#[derive(Debug, Args)]
pub(crate) struct Colours {
    /// Whether help and messages about wrong use are coloured, and `top`: auto is on a terminal, if the environment has no
    /// NO_COLOR
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(after_long_help = examples::WC)]
    Wc(Wc),
    /// Turn a to z into A to Z, as LC_ALL=C tr a-z A-Z does
    #[command(after_long_help = examples::UPPERCASE)]
    Uppercase(OverFiles),
    /// Put in front of every line how many spaces it has, as `[spaces: N]`, or `[spaces: >6]`; a last line without end
    /// gets one
    #[command(after_long_help = examples::SPACES)]
    Spaces(OverLines),
    /// Five items through stages that sleep, two of them side by side: what overlaps, and what does not
    #[command(after_long_help = examples::SLEEP)]
    Sleep(Sleep),
    /// Numbers without end through three maps, the third of which panics: what a failure looks like
    #[command(after_long_help = examples::PANIC)]
    Panic(Panic),
    /// A pipeline whose source never gives a value: what waiting costs
    #[command(after_long_help = examples::IDLE)]
    Idle(Idle),
    /// Numbers that fan out two to twenty ways, and a map that reads all halves: what copying costs, and what none does
    #[command(after_long_help = examples::COPYING)]
    Copying(Copying),
    Pipe(Pipe),
    #[command(after_long_help = examples::EVOLVE)]
    Evolve(Evolve),
    #[command(after_long_help = examples::EVOLVE_WORKER)]
    EvolveWorker(EvolveWorker),
    #[command(after_long_help = examples::VERIFY)]
    Verify(Verify),
    /// Show the stages and rings of a program's pipeline, without running it
    #[command(after_long_help = examples::PLAN)]
    Plan(Plan),
    /// Draw a program's pipeline, without running it
    #[command(after_long_help = examples::GRAPH)]
    Graph(Graph),
    /// Show in the terminal what a program does that was started with `--page ADDR`
    #[cfg(feature = "top")]
    #[command(after_long_help = examples::TOP)]
    Top(Top),
    /// Print what a shell needs to complete this command's words
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
    /// Files to read, one after the other; `-` and no file at all mean standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// Read what is compressed by gzip or zstd decompressed, be it a file or a pipe: by its first bytes, whatever its
    /// name
    #[arg(long)]
    pub(crate) decompress: bool,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Args)]
pub(crate) struct OverLines {
    /// The longest line, with its end; K, M and G are powers of 1024. A longer one ends its file, and is told of
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_line: usize,
    #[command(flatten)]
    pub(crate) input: OverFiles,
}

#[derive(Debug, Args)]
pub(crate) struct Sleep {
    /// Two tasklets for each stage that sleeps, as `--shards 2`
    #[arg(long, conflicts_with = "shards")]
    pub(crate) sharded: bool,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Args)]
pub(crate) struct Panic {
    /// At which number
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
    /// How many ways
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) fanout: Fanout,
    /// How many numbers
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = whole)]
    pub(crate) items: u64,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// Run one input through a program on every deployment, with several sizes, and compare every edge
///
/// Prints `EDGE HASH COUNT` for every edge that is the same on all deployments; at the first that is not, says the
/// stage and the number, and exits with 4. Each edge is run some forty times over an input in memory, also with rings
/// and queues of one slot, which cost microseconds a line: of a large input, some megabytes tell as much
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Whose pipeline
    pub(crate) program: Program,
    /// What it reads, if it reads files; `-` and no file at all mean standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// The longest line of `spaces`, with its end, as when it is run
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_line: usize,
    /// Show no progress on a terminal
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// How a pipeline is run. None of these changes what comes out.
#[derive(Debug, Args)]
#[command(next_help_heading = HOW_IT_RUNS)]
pub(crate) struct Run {
    /// On lists that hold everything in memory, on this one thread, over queues, or over rings on several workers
    #[arg(long, value_name = "WHERE", default_value = "rings")]
    pub(crate) deploy: Deploy,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Write what the run did as JSON to a file; without one, or with `-`, to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) stats: Option<OsString>,
    /// As what
    #[arg(long, value_name = "FORMAT", default_value = "json", requires = "stats")]
    pub(crate) stats_format: StatsFormat,
    /// Look at the run while it goes on: `--stats` then tells latencies and what every stage waited for. On rings only
    #[arg(long)]
    pub(crate) observe: bool,
    /// Record the run as one picture to play and to step through: an SVG for any browser. Of a second run, as of `wc`
    /// with two files, the name gets `-2`. On rings only
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) record_picture: Option<OsString>,
    /// Show the run in the browser while it goes on, and tell it to Prometheus at `/metrics`: HOST:PORT, or a port of
    /// this machine alone; port 0 is any that is free. On rings only
    #[cfg(feature = "page")]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) page: Option<String>,
    /// Keep the page for this many seconds after the run has ended, or until a signal comes
    #[cfg(feature = "page")]
    #[arg(long, value_name = "SECONDS", requires = "page", value_parser = whole)]
    pub(crate) page_linger: Option<u64>,
    /// Say nothing on standard error but what failed and what was asked for: no progress on a terminal, no advice
    #[arg(long)]
    pub(crate) quiet: bool,
    /// End standard error with `hash HEX16 count N`, over the number and the bytes of every output. Files are always
    /// cut into the same blocks, so their outputs have the same numbers; what comes through a pipe is cut as it comes
    #[arg(long)]
    pub(crate) hash: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    Json,
    Table,
}

/// What can be tuned. The output is always the same.
#[derive(Debug, Args)]
#[command(next_help_heading = HOW_IT_RUNS)]
pub(crate) struct Tuning {
    /// Worker threads [default: as many as pay, at most one for each usable core]
    #[arg(long, value_name = "N", value_parser = tasklets)]
    pub(crate) workers: Option<usize>,
    /// Slots of each ring, a power of two [default: 16 where a slot holds a block of a file, 4096 where a number or
    /// a line, 4 for each process of `pipe`]
    #[arg(long, value_name = "N", value_parser = slots)]
    pub(crate) ring: Option<usize>,
    /// The most slots that a stage takes in one step
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) batch: Option<usize>,
    /// How many tasklets run the stateless stages at once [default: 1]
    #[arg(long, value_name = "N", value_parser = tasklets)]
    pub(crate) shards: Option<usize>,
    /// What a thread does that has nothing to do [default: phased]
    #[arg(long, value_name = "HOW")]
    pub(crate) wait: Option<Wait>,
    /// Keep every worker on a physical core of its own, hyperthread siblings last; `--stats` says where that cannot be
    #[arg(long)]
    pub(crate) pin: bool,
    /// Milliseconds that a stage's step may take; `--stats` names the stages that took longer [default: 100]
    #[arg(long, value_name = "MS", value_parser = whole)]
    pub(crate) step_budget: Option<u64>,
    /// Refuse to run if the rings take more; K, M and G are powers of 1024 [default: what the control group allows, or
    /// the machine's memory]. What values own, as blocks of text do, is no part of it. `--deploy model` ends when its
    /// lists, with all that was read, take more
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

/// What a thread without work does before it has some again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wait {
    /// Spins a little, yields a little, then parks until something happens
    Phased,
    /// Never gives its core away; where threads outnumber cores, phased instead, which is said
    BusySpin,
    /// Spins a little, then yields for ever
    Yielding,
    /// Spins and yields a little, then sleeps, longer every time, 512 microseconds at most
    Sleeping,
    /// Parks at once
    Blocking,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Whose pipeline
    pub(crate) program: Program,
    #[command(flatten)]
    pub(crate) how: Planning,
}

#[cfg(feature = "top")]
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Where its page is: HOST:PORT, or a port of this machine
    #[arg(value_parser = address)]
    pub(crate) address: String,
    /// Print what there is to be seen, and end: what happens anyway if the output is no terminal
    #[arg(long)]
    pub(crate) once: bool,
}

#[cfg(feature = "completions")]
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Whose words
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(feature = "completions")]
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Where to write millstream.1, millstream-wc.1 and so on; without it, millstream.1 is printed
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Whose pipeline
    pub(crate) program: Program,
    #[command(flatten)]
    pub(crate) how: Drawing,
}

/// How a graph is drawn.
#[derive(Debug, Args)]
pub(crate) struct Drawing {
    /// A picture for any browser, the language of Graphviz, or nodes and wires with where they stand
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

/// What is told of a plan.
#[derive(Debug, Args)]
pub(crate) struct Planning {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// With what would be decided when it runs on rings, and why
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    Wc,
    Uppercase,
    Spaces,
    Sleep,
    Panic,
    Idle,
    Copying,
    /// Blocks through `cat`
    Pipe,
    /// Numbers with the time added to them: not the same twice, and so refused by `verify`
    HiddenClock,
}

impl Program {
    /// Whether it reads files.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Program::Wc | Program::Uppercase | Program::Spaces | Program::Pipe)
    }
}
