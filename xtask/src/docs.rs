//! `cargo xtask docs`: the list of all combinators, the API documentation, with warnings as errors, and the book.

use crate::cmd::{Cmd, Result, root};
use crate::report::Report;
use crate::{book, combinators};

/// The extent of the build.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install mdbook if it is missing (minutes), and build the book; its links and examples are checked in any case
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
    if args.book || crate::tools::mdbook(false).is_ok() {
        report.step("mdbook", || book::build(args.book));
    }
    report.finish()
}
