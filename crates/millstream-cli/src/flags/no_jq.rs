use super::examples::NO_JQ;
use clap::Args;
use std::ffi::OsString;

/// Filter JSON with a program of jq, on all cores; in builds with the feature `jq`, which this one lacks
#[derive(Debug, Args)]
#[command(after_long_help = NO_JQ)]
pub(crate) struct Jq {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}
