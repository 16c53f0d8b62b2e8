//! `cargo xtask test`: runs everything that must hold, step by step.

use crate::cmd::{Cmd, Result, failure};
use crate::report::{Report, Step};
use crate::{fuzz, jaq, mutants, nats, postgres, tidy, tools};

/// The extent of the tests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Unit and integration tests without the longest, and with few random cases (minutes)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Many random cases, miri under both aliasing models, half a minute of fuzzing for each target, the mutants
    #[arg(long)]
    full: bool,
    /// Also check that every mutant of mutants/ is killed
    #[arg(long)]
    mutants: bool,
    /// The law alone: 10,000 random pipelines on rings, as many on durable rings, and on queues, are their models
    #[arg(long, conflicts_with_all = ["quick", "full", "mutants"])]
    law: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Quick,
    Normal,
    Full,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.law {
        return law();
    }
    let depth = match (args.quick, args.full) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Full,
        _ => Depth::Normal,
    };
    let mut report = Report::default();
    report.must("tidy", tidy::run);
    if tools::require_all() {
        // Tests of the page use these programs.
        for program in ["chromium", "prometheus"] {
            if let Err(reason) = tools::package(program) {
                eprintln!("{reason}");
            }
        }
        // And those of the log of NATS, and of rows in PostgreSQL, these servers.
        for server in [nats::installed(), postgres::installed()] {
            if let Err(reason) = server {
                eprintln!("{reason}");
            }
        }
    }
    if depth == Depth::Quick {
        report.must("tests", || tests(depth).run_tests());
    } else {
        report.must("build of the tests", || whole(&format!("--no-run {TESTS}")).run());
        // Tests wait more than they compute. Miri keeps one core busy, and gives way to them.
        report.beside(
            "miri",
            || miri(depth),
            |report| {
                report.must("tests", || tests(depth).run_tests());
                report.must("doctests", || whole("--no-fail-fast --doc").run_tests());
                report.must("jaq's tests", jaq::run);
                report.must("loom", loom);
            },
        );
    }
    if depth == Depth::Full {
        report.step("fuzz", || fuzz::smoke(30, tools::require_all()));
    }
    if args.mutants || depth == Depth::Full {
        report.must("mutants", || mutants::run(&mutants::Args::default()));
    }
    report.finish()
}

/// The tests that a quick run leaves out: each takes ten seconds or more.
const LONG: [&str; 9] = [
    "misuse_does_not_compile",
    "wrong_pipelines_do_not_compile",
    "no_item_allocates",
    "wc_is_the_same_wherever_it_runs",
    "every_program_is_the_same_everywhere",
    "every_call_of_every_stage_may_panic",
    "takes_no_processor_time",
    "the_rivals_put_headers_before_lines",
    "standard_output_has_result_lines_only_and_json_says_the_same",
];

/// The random cases of each property, unless `PROPTEST_CASES` is set.
fn cases(depth: Depth) -> &'static str {
    match depth {
        Depth::Quick => "64",
        Depth::Normal => "256",
        Depth::Full => "10000",
    }
}

/// The unit and integration tests, and those of the examples.
const TESTS: &str = "--tests --examples";

fn tests(depth: Depth) -> Cmd {
    let (targets, skipped) = match depth {
        Depth::Quick => ("--tests", LONG.iter().map(|name| format!(" --skip {name}")).collect()),
        _ => (TESTS, String::new()),
    };
    let tests = whole(&format!("--no-fail-fast {targets} --{skipped}")).env_default("PROPTEST_CASES", cases(depth));
    // Tests that take minutes run if this variable is set.
    if depth == Depth::Full { tests.env("MILLSTREAM_FULL", "1") } else { tests }
}

/// The tests of the law. The rings of the first one are also inline, or stepped by hand.
const LAW: [&str; 3] = [
    "pipelines::a_random_pipeline_on_rings_is_its_model",
    "changes::a_random_pipeline_on_durable_rings_goes_on_as_another_one",
    "pipelines::a_random_pipeline_on_queues_is_its_model",
];

/// Every deployment of every pipeline has the model's slots: with as many random pipelines as in a full run. Fails if a
/// test is no longer there: cargo runs none of an unknown name, and succeeds.
fn law() -> Result {
    let tests = "test -p millstream-testkit --all-features --test all --";
    let list = Cmd::cargo(&format!("{tests} --list")).output()?;
    let missing = LAW.iter().find(|test| !list.lines().any(|line| line.strip_suffix(": test") == Some(**test)));
    if let Some(missing) = missing {
        return Err(failure(format!("there is no test {missing}:\n{list}")));
    }
    let law = Cmd::cargo(&format!("{tests} --exact {}", LAW.join(" ")));
    without_backtraces(law).env_default("PROPTEST_CASES", cases(Depth::Full)).run_tests()
}

/// `cargo test` of the whole workspace, not incremental: to note what a later build could use again takes time, and
/// almost half of the bytes of a build (18 of 41 GB).
fn whole(args: &str) -> Cmd {
    without_backtraces(Cmd::cargo(&format!("test --workspace --all-features {args}")))
        .env_default("CARGO_INCREMENTAL", "0")
}

/// Tests make thousands of panics on purpose. A backtrace of each, which a variable may ask for, takes longer than the
/// tests; a test that fails says where without one.
fn without_backtraces(tests: Cmd) -> Cmd {
    tests.env("RUST_BACKTRACE", "0")
}

/// Every interleaving of the loom tests, up to two preemptions. Both crates are in one build, since most of the time
/// goes into their dependencies.
fn loom() -> Result {
    Cmd::cargo("test --profile loom -p millstream-ring -p millstream-exec --test loom")
        .own_target("loom")
        .env("RUSTFLAGS", "--cfg loom")
        .env_default("LOOM_MAX_PREEMPTIONS", "2")
        .run_tests()
}

/// The ring's unit tests, and those modules of its tests/all that are compiled for miri, under miri.
fn miri(depth: Depth) -> Result<Step> {
    if let Err(reason) = tools::miri() {
        return Ok(Step::Skipped(reason));
    }
    let models: &[&str] = match depth {
        Depth::Full => &["", " -Zmiri-tree-borrows"],
        _ => &[""],
    };
    for model in models {
        without_backtraces(Cmd::cargo("+nightly miri test -p millstream-ring --lib --test all"))
            .own_target("miri")
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation{model}"))
            .env("PROPTEST_CASES", "4") // a hundred times slower than the machine
            .gives_way()
            .run_then_show()?;
    }
    Ok(Step::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::{read, root};

    #[test]
    fn each_test_that_a_quick_run_leaves_out_is_there() {
        let mut gone = LONG.to_vec();
        for file in tidy::files(&root(), "rs").unwrap() {
            let code = read(&file).unwrap();
            gone.retain(|name| !code.lines().any(|line| line.contains("fn ") && line.contains(name)));
        }
        assert_eq!(gone, [""; 0]);
    }
}
