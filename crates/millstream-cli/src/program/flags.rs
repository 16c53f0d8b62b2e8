//! The command line of a user's program.

#[cfg(feature = "cluster")]
use crate::flags::{Apply, Cluster, Worker};
use crate::flags::{Colours, Differ, Drawing, Look, Planning, Replay, Run, Snapshots, Upgrade};
use crate::input::Names;
use clap::{Args, Parser, Subcommand, ValueHint};
use std::ffi::OsString;

/// A Millstream pipeline over lines of text: the same output, number by number, wherever it runs.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true, args_override_self = true)]
pub(super) struct Flags {
    #[command(flatten)]
    _colours: Colours,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the pipeline over every line, and print a line for every output value
    Run(OverLines),
    /// Show the pipeline's stages and rings, without running it
    Plan(Planning),
    /// Draw the pipeline, without running it
    Graph(Drawing),
    /// Run one input on every deployment, with several sizes, and compare: EDGE HASH COUNT, or the stage and the number
    Verify(Files),
    /// Repeat the run of a state directory up to a number, and print what comes out on the way; store nothing
    Replay(Replay),
    /// Show the state of a stage at a number, as JSON
    State(Look),
    /// Find the first number at which two runs of this program differ
    Diff(Differ),
    /// List the snapshots of a state directory; check them, remove old ones, or go back to one
    #[command(after_long_help = crate::flags::COLUMNS)]
    Snapshots(Snapshots),
    #[cfg(feature = "cluster")]
    Worker(Box<Worker>),
    #[cfg(feature = "cluster")]
    Cluster(Box<Cluster<Apply>>),
    /// Say whether a running pipeline could be replaced by another one, from their plans
    Upgrade(Upgrade),
}

#[derive(Debug, Args)]
pub(super) struct OverLines {
    #[command(flatten)]
    pub(super) input: Files,
    #[command(flatten)]
    pub(super) run: Run,
}

#[derive(Debug, Args)]
pub(super) struct Files {
    /// Files to read, one after the other; `-`, or no file, is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<OsString>,
    /// Decompress gzip and zstd, from files and from pipes; the first bytes decide, not the name
    #[arg(long)]
    decompress: bool,
}

impl Files {
    /// The files to read.
    pub(super) fn names(self) -> Names {
        let files = if self.files.is_empty() { vec!["-".into()] } else { self.files };
        Names { files, decompress: self.decompress }
    }
}

impl Planning {
    /// Rings have this many slots, unless the flags set another number.
    pub(crate) fn with_slots(mut self, slots: usize) -> Self {
        self.tuning.ring.get_or_insert(slots);
        self
    }
}
