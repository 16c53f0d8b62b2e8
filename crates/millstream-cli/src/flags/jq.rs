use super::Run;
use super::examples::JQ;
use super::values::{indent, size};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, ValueHint};
use std::ffi::OsString;

/// Filter JSON with a program of jq, on all cores; the output is in the order of the input
///
/// Reads JSON values one after the other, whether they span lines or share a line, and writes what the filter makes of
/// each. The language is jq's, as jaq implements it, without the names whose output would depend on more than the
/// value: the clock, the environment, the time zone, and later inputs (`input`, `inputs`)
///
/// If the filter fails for a value, it reports the value's file, line and number, and goes on with the next one. A file
/// ends at the first bytes that are not JSON, also with a report. A signal ends the input, and a filter that then makes
/// no answer for a second. Exit codes: 0 done, 1 an input failed or is not JSON, 2 wrong use, 3 the filter is wrong, 5
/// the filter failed for a value or called `halt_error`, which may name another code; with -e also 1 if the last output
/// is false or null, and 4 if there is no output
#[derive(Debug, Args)]
#[command(after_long_help = JQ)]
pub(crate) struct Jq {
    /// Read the filter from a file
    #[arg(short = 'f', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_file: Option<OsString>,
    /// Read nothing, also with -R or -s, and run the filter once, on null
    #[arg(short = 'n', long)]
    pub(crate) null_input: bool,
    /// Read each line as a string; with -s all of them as one string
    #[arg(short = 'R', long)]
    pub(crate) raw_input: bool,
    /// Read all values of all files as one array. The array is in memory as a whole, and one core works on it
    #[arg(short = 's', long)]
    pub(crate) slurp: bool,
    /// Write each output on one line
    #[arg(short = 'c', long, overrides_with_all = ["tab", "indent"])]
    pub(crate) compact_output: bool,
    /// Write an output that is a string as it is, without quotes
    #[arg(short = 'r', long)]
    pub(crate) raw_output: bool,
    /// As -r, and write nothing between outputs
    #[arg(short = 'j', long)]
    pub(crate) join_output: bool,
    /// Write the keys of objects in order
    #[arg(short = 'S', long)]
    pub(crate) sort_keys: bool,
    /// Indent by tabs
    #[arg(long, overrides_with_all = ["compact_output", "indent"])]
    pub(crate) tab: bool,
    /// Indent by this many spaces, at most 7; 0 is the same as -c [default: 2]
    #[arg(long, value_name = "N", value_parser = indent, overrides_with_all = ["compact_output", "tab"])]
    pub(crate) indent: Option<usize>,
    /// Colour values, with the colours of JQ_COLORS if it is set [default: on a terminal, unless NO_COLOR is set]
    #[arg(short = 'C', long, overrides_with = "monochrome_output")]
    pub(crate) color_output: bool,
    /// Colour nothing
    #[arg(short = 'M', long, overrides_with = "color_output")]
    pub(crate) monochrome_output: bool,
    /// Exit with 1 if the last output is false or null, and with 4 if there is no output
    #[arg(short = 'e', long)]
    pub(crate) exit_status: bool,
    /// Set $NAME to a text
    #[arg(long, value_names = ["NAME", "TEXT"], num_args = 2, action = clap::ArgAction::Append)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) arg: Vec<String>,
    /// Set $NAME to a JSON value
    #[arg(long, value_names = ["NAME", "JSON"], num_args = 2, action = clap::ArgAction::Append)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) argjson: Vec<String>,
    /// Set $NAME to an array of the values in a file
    #[arg(long, value_names = ["NAME", "FILE"], num_args = 2, action = clap::ArgAction::Append)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) slurpfile: Vec<OsString>,
    /// Set $NAME to the bytes of a file, as a string
    #[arg(long, value_names = ["NAME", "FILE"], num_args = 2, action = clap::ArgAction::Append)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) rawfile: Vec<OsString>,
    #[command(flatten)]
    pub(crate) words: Words,
    /// Accepted because jq has it: output is never held back
    #[arg(long, hide = true)]
    _unbuffered: bool,
    /// The largest allowed value, or line; K, M and G are powers of 1024. A larger one ends its file, with a message
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    pub(crate) max_value: usize,
    /// Decompress gzip and zstd, from files and from pipes; the first bytes decide, not the name
    #[arg(long)]
    pub(crate) decompress: bool,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// The words that belong to no flag. Their order says which of them are files.
#[derive(Debug)]
pub(crate) struct Words {
    /// Those before `--args`, or all: the filter, unless a file has it, and files.
    pub(crate) first: Vec<OsString>,
    /// Those after `--args`.
    pub(crate) positional: Vec<OsString>,
}

#[derive(Debug, Args)]
struct Declared {
    /// The filter [default: `.`]; with -f it is the first file instead
    filter: Option<OsString>,
    /// Files to read, one after the other; `-`, or no file, is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<OsString>,
    /// Put the words that follow, without the filter, into $ARGS.positional; they are not files
    #[arg(long)]
    args: bool,
}

impl FromArgMatches for Words {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Declared { filter, files, args } = Declared::from_arg_matches(matches)?;
        let mut first: Vec<OsString> = filter.into_iter().chain(files).collect();
        let places = ["filter", "files"].into_iter().filter_map(|name| matches.indices_of(name)).flatten();
        let end = matches.index_of("args").filter(|_| args).unwrap_or(usize::MAX);
        let positional = first.split_off(places.filter(|place| *place < end).count());
        Ok(Words { first, positional })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Words {
    fn augment_args(command: Command) -> Command {
        Declared::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Declared::augment_args_for_update(command)
    }
}
