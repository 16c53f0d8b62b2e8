//! `run --state` while its snapshots cannot be stored, and when its output cannot be written.

use crate::scene::{PATIENCE, Scene, Seen, ended};
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn with_output(scene: &Scene, mut command: Command) -> Command {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    command.stdin(Stdio::null()).stdout(out);
    command
}

/// A run whose messages go to the file `said`.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

impl Run {
    fn start(scene: &Scene, args: &str) -> Self {
        let said = File::create(scene.path("said")).expect("a file");
        let mut command = with_output(scene, scene.command("millstream", args));
        Run(command.stderr(said).spawn().expect("it starts"))
    }
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_quiet_run_says_that_snapshots_fail_and_that_they_are_stored_again() {
    let scene = Scene::new().file("log", "").file("p.mill", "jsonl(\"log\", follow: true) | map(.n)");
    let mut run = Run::start(&scene, "run --quiet p.mill --state state --snapshot-every 0.01s");
    let append = |n: u32| {
        let mut log = File::options().append(true).open(scene.path("log")).expect("the log");
        writeln!(log, "{{\"n\":{n}}}").expect("it can be written");
        let out = || fs::read_to_string(scene.path("out")).unwrap_or_default();
        until("the row", || out().lines().last() == Some(&*n.to_string()));
    };
    append(0);
    // Without this file the directory is not known to be the run's.
    let (job, gone) = (scene.path("state/job"), scene.path("state/gone"));
    let said = || fs::read_to_string(scene.path("said")).expect("text");
    for (round, n) in [(1, 1), (2, 3)] {
        fs::rename(&job, &gone).expect("the file");
        append(n);
        until("it fails", || said().matches(": a snapshot could not be stored").count() == round);
        fs::rename(&gone, &job).expect("the file");
        append(n + 1);
        until("it is stored", || said().matches(": snapshots are stored again, the first at number ").count() == round);
    }
    run.0.kill().expect("it runs");
    ended(&mut run.0);
    let said = said();
    assert!(said.starts_with("millstream run: --state: a snapshot could not be stored, and the run goes on"), "{said}");
    assert_eq!(said.lines().count(), 4, "{said}");
}

/// No file of the process may have more than 100 blocks.
#[test]
fn an_output_that_cannot_be_written_is_not_blamed_on_the_pipeline() {
    let rows: String = (0..20_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    for text in ["jsonl(\"rows\") | where(.n >= 0)", "jsonl(\"rows\") | jsonl(\"sink\")"] {
        let scene = Scene::new().file("rows", &rows).file("p.mill", text);
        let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" run --quiet p.mill --state state";
        let mut command = with_output(&scene, scene.command("sh", "-c"));
        command.arg(script).arg(env!("CARGO_BIN_EXE_millstream"));
        let seen = Seen::of(command.stderr(Stdio::piped()).output().expect("it ends"));
        assert!(seen.stderr.contains("stage \"sink\", number ") && seen.stderr.contains("File too large"), "{seen:?}");
        assert!(!seen.stderr.contains("to repeat the failure"), "{}", seen.stderr);
        assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    }
}
