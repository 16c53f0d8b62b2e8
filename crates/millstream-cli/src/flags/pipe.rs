use super::Run;
use super::examples::PIPE;
use super::values::{Jobs, index, jobs, size, status, time, whole};
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::time::Duration;

/// Send standard input through several processes of a command, and keep the order, as parallel --pipe -k does
///
/// Every process must end with status 0, or one of --accept; standard error is passed through. The run ends at the
/// first block that fails, with the output of all blocks up to it; --keep-going continues. A line longer than a block
/// is a block of its own. Output of four times a block or more (at least 64K) waits in a temporary file (in TMPDIR) for
/// its turn. A process finds the number of its block, from 0, in MILLSTREAM_BLOCK. With `--shard line` a process must
/// answer every line with one line before it gets the next, and treat all lines alike, since each process gets only
/// some of them; if a process holds its output back, its input is closed after each line
///
/// SIGINT and SIGTERM end the input. Running commands finish their work, no further one is started, and the output is a
/// whole number of blocks; after --grace seconds, or at a second signal, the commands are ended, too
#[derive(Debug, Args)]
#[command(after_long_help = PIPE)]
pub(crate) struct Pipe {
    /// Number of processes, the same as `--shards N`; N%, +N and -N are relative to the usable cores [default: 100%]
    #[arg(short, long, value_name = "N", value_parser = jobs, conflicts_with = "shards")]
    pub(crate) jobs: Option<Jobs>,
    /// Start a process for each block of whole lines, or keep processes that get one line after another
    #[arg(long, value_name = "WHAT", default_value = "block")]
    pub(crate) shard: ShardBy,
    /// Bytes in a block: K, M and G are powers of 1024, kB, MB and GB of 1000 [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) block: Option<usize>,
    /// The longest allowed line, counting its end; one that fits into a block is always allowed
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_line: usize,
    /// Milliseconds for a process to answer a line; after that its input is closed [default: 5000]
    #[arg(long, value_name = "MS", value_parser = whole)]
    pub(crate) patience: Option<u64>,
    /// Exit statuses that are not failures, besides 0: grep exits with 1 if it finds nothing, diff if it finds a
    /// difference
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = status)]
    pub(crate) accept: Vec<u8>,
    /// Continue after a block, or a line, that fails. Its output is kept. Standard error ends with the number of
    /// failures, and the exit status is 1 if there were any
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Time limit of a block, as 10, 500ms, 1.5s, 2m or 1h. A command that takes longer is ended with its process
    /// group, by SIGTERM and half a second later by SIGKILL, and its block has failed
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) timeout: Option<Duration>,
    /// How often to try a failed block again. The output of earlier tries is dropped
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole)]
    pub(crate) retries: u64,
    /// Write a line for every process to a file, with the columns of GNU parallel: the block's number, when it began,
    /// how many seconds it took, bytes sent and received, exit status, signal, command
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) joblog: Option<OsString>,
    /// Begin every line of the output with the number of its block, or of its line, and a tab
    #[arg(long)]
    pub(crate) tag: bool,
    /// Lines end in NUL instead of line feeds: in the input, and with --shard line or --tag in the output
    #[arg(short = '0', long)]
    pub(crate) null: bool,
    /// Begin every block with the first N lines of the input, which are not in a block of their own
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = index)]
    pub(crate) header: usize,
    /// Accepted because GNU parallel has it: output is always in the order of the input
    #[arg(short = 'k', long = "keep-order", hide = true)]
    _keep_order: bool,
    /// Accepted because GNU parallel has it: blocks are always those of standard input
    #[arg(long = "pipe", hide = true)]
    _pipe: bool,
    /// Seconds that commands may take to finish their work after a signal. A slow reader of the output may take longer
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = whole)]
    pub(crate) grace: u64,
    #[command(flatten)]
    pub(crate) run: Run,
    /// Run this line by `sh -c`, in place of a command
    #[arg(long, value_name = "LINE", conflicts_with = "command")]
    pub(crate) shell: Option<OsString>,
    /// The command and its arguments, even those that look like flags; `--` before it is needed only after a bare
    /// --stats
    #[arg(trailing_var_arg = true, required_unless_present = "shell", value_name = "COMMAND")]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShardBy {
    Line,
    Block,
}
