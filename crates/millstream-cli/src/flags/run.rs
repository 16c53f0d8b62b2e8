use super::Run;
use super::values::size;
use clap::{Args, ValueHint};
use std::ffi::OsString;

/// Run a program that is written as text: `SOURCE | STAGE | SINK`
///
/// A program reads JSON lines, tables or lines; filters and maps them by expressions of jq; folds them by key and by
/// windows of event time; joins them; and writes them. The book explains the language (page "Programs as text"), and
/// `stages` lists the stages
///
/// A row that does not fit its types, or for which a stage fails, is a dead letter: it goes to the file that its source
/// names, or else is printed in a message. Exit codes: 0 done, 1 an input or output failed or a dead letter had no
/// file, 2 wrong use or a wrong text, 3 a stage failed
///
/// With --state it goes on where it was when you start it again, even after a crash. Standard output, and the files of
/// sinks and dead letters, then have the bytes of one run. You may edit the text in between: rows that were read went
/// through the old text, the states of its stages go on, and `upgrade` explains which changes are possible. With
/// --accept-upgrades the text can be replaced while it runs
#[derive(Debug, Args)]
pub(crate) struct RunText {
    /// The text itself; without this flag, the first file has the text
    #[arg(short = 'e', long = "text", value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The file with the text, unless -e has it; then the files that a source without a name reads, one after the
    /// other; `-`, or no file, is standard input
    #[arg(value_name = "FILE", required_unless_present = "text", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<OsString>,
    /// The longest allowed row, counting its end; K, M and G are powers of 1024. A longer row ends its file, with a
    /// message
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub(crate) max_row: usize,
    /// Let `upgrade ADDR FILE.mill` replace this text while it runs, at the address of --page. With --state the new
    /// text is stored with the states; start the run again with that text. A text writes the files that it names, so
    /// anyone who can reach the page can make this process write any file. An address that other machines can reach
    /// needs a token in MILLSTREAM_TOKEN, which `upgrade` then must have, too
    #[cfg(feature = "page")]
    #[arg(long, requires = "page")]
    pub(crate) accept_upgrades: bool,
    /// If the state is of another text, keep the state of this stage although it reads something else or has other
    /// parameters; `keep STAGE;` in the text does the same
    #[arg(long = "keep", value_name = "STAGE", requires = "state")]
    pub(crate) kept: Vec<String>,
    /// If the state is of another text, let the state of this stage be lost
    #[arg(long = "drop", value_name = "STAGE", requires = "state")]
    pub(crate) dropped: Vec<String>,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// Check programs that are written as text, without running them
///
/// Prints a line for each text that is right, and all mistakes of each text that is wrong, with their places. Exits
/// with 2 if a text is wrong, and with 1 if a file cannot be read
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The text itself
    #[arg(short = 'e', long = "text", value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Files with one text each; `-` is standard input
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
