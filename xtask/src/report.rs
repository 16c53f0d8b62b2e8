//! A chore of several steps, with a heading and the time for each. Every step runs even if an earlier one failed, and a
//! summary comes at the end.

use std::time::{Duration, Instant};

use crate::cmd::{Result, failure};
use crate::tools::require_all;

/// The outcome of a step, if it did not fail.
#[derive(Debug)]
pub(crate) enum Step {
    Done,
    /// Something that the step needs is missing; with the reason.
    Skipped(String),
}

#[derive(Debug)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// The steps that have run so far.
#[derive(Debug)]
pub(crate) struct Report {
    steps: Vec<(String, Outcome, Duration)>,
    start: Instant,
}

impl Default for Report {
    fn default() -> Self {
        Report { steps: Vec::new(), start: Instant::now() }
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed())
}

impl Report {
    /// Runs one step, and records its outcome.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Result<Step>) {
        eprintln!("\n== {name}");
        let (result, took) = timed(run);
        self.note(name, result, took);
    }

    /// Runs a step on a thread of its own while `others` run. It should print nothing before its end.
    pub(crate) fn beside(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<Step> + Send,
        others: impl FnOnce(&mut Report),
    ) {
        eprintln!("\n== {name}, parallel to the next steps");
        let (result, took) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| timed(run));
            others(self);
            beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        self.note(name, result, took);
    }

    fn note(&mut self, name: &str, result: Result<Step>, took: Duration) {
        let outcome = match result {
            Ok(Step::Done) => Outcome::Passed,
            Ok(Step::Skipped(reason)) => {
                println!("SKIPPED {name}: {reason}");
                if require_all() {
                    Outcome::Failed(format!("MILLSTREAM_REQUIRE=all, but skipped: {reason}"))
                } else {
                    Outcome::Skipped(reason)
                }
            }
            Err(error) => Outcome::Failed(error.message),
        };
        if let Outcome::Failed(message) = &outcome {
            eprintln!("{name}: {message}");
        }
        eprintln!("-- {name}: {:.1} s", took.as_secs_f64());
        self.steps.push((name.to_owned(), outcome, took));
    }

    /// A step that consists of one action, and cannot be skipped.
    pub(crate) fn must(&mut self, name: &str, run: impl FnOnce() -> Result) {
        self.step(name, || run().map(|()| Step::Done));
    }

    /// Prints the summary. Fails if any step failed.
    pub(crate) fn finish(self) -> Result {
        eprintln!();
        let total = self.start.elapsed();
        let mut failed = Vec::new();
        for (name, outcome, took) in &self.steps {
            let seconds = took.as_secs_f64();
            match outcome {
                Outcome::Passed => println!("passed   {seconds:7.1} s  {name}"),
                Outcome::Skipped(reason) => println!("skipped  {seconds:7.1} s  {name}: {reason}"),
                Outcome::Failed(why) => {
                    println!("FAILED   {seconds:7.1} s  {name}: {why}");
                    failed.push(name.as_str());
                }
            }
        }
        println!("         {:7.1} s  in all", total.as_secs_f64());
        if failed.is_empty() {
            return Ok(());
        }
        Err(failure(format!("{} of {} steps failed: {}", failed.len(), self.steps.len(), failed.join(", "))))
    }
}
