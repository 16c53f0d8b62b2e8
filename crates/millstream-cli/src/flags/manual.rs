//! The command's completions for shells, and its pages for `man`.

use clap::{Args, ValueHint};
use std::ffi::OsString;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory for millstream.1, millstream-wc.1 and so on; without it, millstream.1 is printed
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<OsString>,
}
