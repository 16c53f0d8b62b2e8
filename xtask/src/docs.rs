//! `cargo xtask docs`: the list of all combinators, the API documentation, with warnings as errors, and the book.

use crate::cmd::{Cmd, Result, root};
use crate::report::Report;
use crate::tools::require_all;
use crate::{book, combinators};

/// The extent of the build.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install mdbook if it is missing (minutes); without it the book is not built, and its links alone are checked
    #[arg(long)]
    book: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut report = Report::default();
    report.must("combinators", || combinators::write(&root()));
    report.must("api", || {
        Cmd::cargo("doc --workspace --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings").run()
    });
    report.must("book", book::check);
    report.step("mdbook", || book::build(args.book || require_all()));
    report.finish()
}
