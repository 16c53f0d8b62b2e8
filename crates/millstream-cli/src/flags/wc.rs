use super::OverFiles;
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// Count lines, words and bytes, or what is asked for, as GNU wc does
///
/// Prints lines, words and bytes, or those counts that are asked for, always in the order lines, words, characters,
/// bytes, width. Lines, words and bytes are those of LC_ALL=C, in any locale; characters and widths are those of UTF-8
#[derive(Debug, Args)]
pub(crate) struct Wc {
    /// Count line feeds
    #[arg(short, long)]
    pub(crate) lines: bool,
    /// Count words: runs without white space that hold an ASCII character that can be printed
    #[arg(short, long)]
    pub(crate) words: bool,
    /// Count bytes
    #[arg(short = 'c', long)]
    pub(crate) bytes: bool,
    /// Count characters of UTF-8; a byte that is part of none does not count
    #[arg(short = 'm', long)]
    pub(crate) chars: bool,
    /// The width of the widest line on a terminal, with tabs to every eighth column
    #[arg(short = 'L', long = "max-line-length")]
    pub(crate) width: bool,
    /// Read the files' names from a file, where a NUL ends each, as `find -print0` writes them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) files0_from: Option<OsString>,
    /// When a line with the total is printed: auto is if there is more than one file, only is nothing else
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
