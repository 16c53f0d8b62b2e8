use super::Run;
use super::examples::PIPE;
use super::values::{size, status, tasklets, whole};
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// Every process must end with status 0, or one of --accept; standard error is passed through. At the first block that
/// fails the run ends, with what all blocks up to it have written; --keep-going goes on. A line that is longer than a
/// block is a block. What a process writes beyond four times a block waits in a temporary file (in TMPDIR) for its
/// turn. With `--shard line` a process must answer every line with one line before it is given the next, and treat
/// every line alike, since any of the processes may get it; one that holds its output back is told at each line that no
/// more come
///
/// SIGINT and SIGTERM end the input. Commands end what they have begun, none is started for what waits, and what comes
/// out is a whole number of blocks; after --grace seconds, or at a second signal, they are ended, too
#[derive(Debug, Args)]
#[command(after_long_help = PIPE)]
pub(crate) struct Pipe {
    /// How many processes at once, as `--shards N` [default: one for each usable core]
    #[arg(short, long, value_name = "N", value_parser = tasklets, conflicts_with = "shards")]
    pub(crate) jobs: Option<usize>,
    /// A new process for each block of whole lines, or processes that stay and get one line after the other
    #[arg(long, value_name = "WHAT", default_value = "block")]
    pub(crate) shard: ShardBy,
    /// Bytes in a block; K, M and G are powers of 1024 [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) block: Option<usize>,
    /// The longest line, with its end
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_line: usize,
    /// Milliseconds after which a process that has not answered its line is told that no more lines come [default:
    /// 5000]
    #[arg(long, value_name = "MS", value_parser = whole)]
    pub(crate) patience: Option<u64>,
    /// Exit statuses that are no failure, besides 0: grep and diff end with 1 where they find nothing, or a difference
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = status)]
    pub(crate) accept: Vec<u8>,
    /// Go on behind a block, or a line, that fails. What it has written is kept, standard error ends with how many
    /// failed, and the exit status is 1 if any did
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Seconds that commands may take to end what they have begun when a signal has come
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = whole)]
    pub(crate) grace: u64,
    #[command(flatten)]
    pub(crate) run: Run,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShardBy {
    Line,
    Block,
}
