//! The chores of the Millstream workspace: `cargo xtask --help`.
//!
//! One subcommand is one file. Results go to standard output, the rest to standard error. A failure names the command
//! and its exit status.
#![expect(clippy::print_stdout, reason = "a program: its results go to standard output")]
#![warn(clippy::exit, reason = "what a chore has started would go on: no destructor runs")]

mod bench;
mod book;
mod chaos;
mod cmd;
mod combinators;
mod docs;
mod failures;
mod fuzz;
mod jaq;
mod lint;
mod mutants;
mod nats;
mod package;
mod patch;
mod postgres;
mod profile;
mod report;
mod rows;
mod screenshots;
mod test;
mod tidy;
mod tools;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cmd::Failure;

/// The chores of the Millstream workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Run everything that must hold: tidy, tests, loom, miri
    Test(test::Args),
    /// Check format, clippy, tidy rules, licences and sources of dependencies
    Lint(lint::Args),
    /// Build the API documentation, with warnings as errors, and the book
    Docs(docs::Args),
    /// Run benches; every argument goes to millstream-bench
    Bench(bench::Args),
    /// Kill processes while they work, and check that the result stays the same
    Chaos(chaos::Args),
    /// Say where a server of NATS is, and build one if there is none
    Nats,
    /// Say where a server of PostgreSQL is, and install one if there is none
    Postgres,
    /// Run the tests of jaq through `millstream jq`
    Jaq,
    /// Fuzz every parser that reads untrusted bytes
    Fuzz(fuzz::Args),
    /// Record a bench with perf, and draw its flame graph
    Profile(profile::Args),
    /// Make the pictures of docs/book from real runs, with chromium
    Screenshots(screenshots::Args),
    /// Show where each requirement of docs/requirements.md is shown to hold
    Rows(rows::Args),
    /// Apply each patch of mutants/ to a copy, and check that a test fails
    Mutants(mutants::Args),
    /// Make the archives of all crates, as publishing them would
    Package(package::Args),
    /// Check the rules about files that no other tool checks
    Tidy,
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Test(args) => test::run(&args),
        Chore::Lint(args) => lint::run(&args),
        Chore::Docs(args) => docs::run(&args),
        Chore::Bench(args) => bench::run(&args),
        Chore::Chaos(args) => chaos::run(&args),
        Chore::Nats => nats::run(),
        Chore::Postgres => postgres::run(),
        Chore::Jaq => jaq::run(),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Profile(args) => profile::run(&args),
        Chore::Screenshots(args) => screenshots::run(&args),
        Chore::Rows(args) => rows::run(&args),
        Chore::Mutants(args) => mutants::run(&args),
        Chore::Package(args) => package::run(&args),
        Chore::Tidy => tidy::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            eprintln!("xtask: {message}");
            ExitCode::from(code)
        }
    }
}
