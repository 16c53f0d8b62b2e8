//! `run --state` with tables whose header comes after empty lines, more than a block of them.

use crate::run_state::{appending, start};
use crate::scene::{Input, PATIENCE, Scene, ended};
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A table with one row, behind empty lines.
fn table() -> String {
    "\n".repeat(200_000) + "a\n12345\n"
}

/// Waits until this is true of the output.
fn wait_for(scene: &Scene, is_there: impl Fn(&str) -> bool) {
    let started = Instant::now();
    while !is_there(&fs::read_to_string(scene.path("out")).unwrap_or_default()) {
        assert!(started.elapsed() < PATIENCE, "{:?}", fs::read_to_string(scene.path("out")));
        sleep(Duration::from_millis(2));
    }
}

/// Kills a run once a snapshot behind its row is stored.
fn kill_behind_the_row(scene: &Scene, mut child: Child) {
    wait_for(scene, |out| out == "12345\n");
    wait_for(scene, |_| scene.millstream("snapshots state --json", Input::Nothing).text().contains("\"rows\":1"));
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

#[test]
fn no_row_of_a_followed_table_is_read_twice() {
    let scene = Scene::new().file("log", table());
    let text = "csv(\"log\", follow: true, schema: {a: int}) | map(.a)";
    let args = ["--quiet", "-e", text, "--state", "state", "--snapshot-every", "0.02s"];
    kill_behind_the_row(&scene, start(&scene, &args));
    let scene = scene.file("log", table() + "6\n");
    let mut child = start(&scene, &args);
    wait_for(&scene, |out| out.ends_with("\n6\n"));
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(fs::read_to_string(scene.path("out")).expect("an output"), "12345\n6\n");
}

#[test]
fn no_row_of_a_journal_is_read_twice() {
    let scene = Scene::new();
    let args = ["-e", "csv(schema: {a: int}) | map(.a)", "--state", "state", "--snapshot-every", "0.02s"];
    let piped = |input: &str| {
        let mut child = appending(&scene, &args).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("it is read");
        (child, stdin)
    };
    let (child, stdin) = piped(&table());
    kill_behind_the_row(&scene, child);
    drop(stdin);
    let (mut child, stdin) = piped("6\n");
    drop(stdin);
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(fs::read_to_string(scene.path("out")).expect("an output"), "12345\n6\n");
}
