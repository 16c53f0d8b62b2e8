//! `cargo xtask docs`: the API documentation, with warnings as errors.

use crate::cmd::{Cmd, Result};

pub(crate) fn run() -> Result {
    Cmd::cargo("doc --workspace --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings").run()
}
