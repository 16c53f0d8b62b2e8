use super::Run;
use super::values::size;
use clap::{Args, ValueHint};
use std::ffi::OsString;

/// Run a program that is written as text: `SOURCE | STAGE | SINK`
///
/// The text reads JSON lines, tables and lines, filters and maps them by expressions of jq, folds them by key and by
/// windows of event time, joins them, and writes them. The book has the words (page "Programs as text"), and `stages`
/// lists the stages
///
/// A row that does not fit its types, or for which a stage fails, is a dead letter: it goes to the file that its source
/// names, or to a message. Exit codes: 0 done, 1 an input or output failed or a row had no dead-letter file, 2 wrong
/// use or a wrong text, 3 a stage failed
///
/// With --state it goes on where it was when it is started again, after a crash, too: the files of its sinks and dead
/// letters, and that of standard output, then have the bytes of one run
#[derive(Debug, Args)]
pub(crate) struct RunText {
    /// The text itself; without it the first file has the text
    #[arg(short = 'e', long = "text", value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The file with the text, unless -e gives it; then the files that a source without a name reads, one after the
    /// other; `-`, or no file, is standard input
    #[arg(value_name = "FILE", required_unless_present = "text", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// The longest allowed row, with its end; K, M and G are powers of 1024. A longer one ends its file, with a message
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_row: usize,
    /// Let `upgrade ADDR FILE.mill` put another text in the place of this one while it runs, at the address of --page.
    /// A text writes the files that it names: who can reach the page can have this process write any file. From other
    /// machines it is reached only with a token in MILLSTREAM_TOKEN, which a change then has to show
    #[cfg(feature = "page")]
    #[arg(long, requires = "page")]
    pub(crate) accept_upgrades: bool,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// Check programs that are written as text, without running them
///
/// Prints a line for each that is right, and all mistakes of those that are wrong, with their places. Exits with 2 if
/// one is wrong, and with 1 if one cannot be read
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The text itself
    #[arg(short = 'e', long = "text", value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Files with a text each; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "text", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
}

/// List the stages that programs as text can name, and their parameters
#[derive(Debug, Args)]
pub(crate) struct Stages {
    /// Print JSON, for editors
    #[arg(long)]
    pub(crate) json: bool,
}
