use super::OverFiles;
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// Count lines, words and bytes, or the chosen counts, as GNU wc does
///
/// Prints lines, words and bytes, or the chosen counts, always in the order lines, words, characters, bytes, width.
/// Lines, words and bytes are those of LC_ALL=C, in any locale; characters and widths are those of UTF-8
#[derive(Debug, Args)]
#[command(after_long_help = super::examples::WC)]
pub(crate) struct Wc {
    /// Count line feeds
    #[arg(short, long)]
    pub(crate) lines: bool,
    /// Count words: runs without white space that contain a printable ASCII character
    #[arg(short, long)]
    pub(crate) words: bool,
    /// Count bytes
    #[arg(short = 'c', long)]
    pub(crate) bytes: bool,
    /// Count characters of UTF-8; an invalid byte does not count
    #[arg(short = 'm', long)]
    pub(crate) chars: bool,
    /// Print the width of the widest line on a terminal, with tabs to every eighth column
    #[arg(short = 'L', long = "max-line-length")]
    pub(crate) width: bool,
    /// Read the files' names from a file, each ended by a NUL, as `find -print0` writes them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) files0_from: Option<OsString>,
    /// When to print a line with the total: auto does if there is more than one file, only prints nothing else
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) total: Total,
    #[command(flatten)]
    pub(crate) input: OverFiles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Total {
    Auto,
    Always,
    Only,
    Never,
}
