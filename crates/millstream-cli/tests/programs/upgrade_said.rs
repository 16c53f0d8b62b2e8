//! The last messages of a run whose text was replaced.

use crate::scene::{Input, PATIENCE, Scene, ended};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ends a process that a test has left.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

const OLD: &str = "let user = jsonl(\"users\"); let row = jsonl(\"-\");
    row | join(user, on: .user) | jsonl(\"joined\"); row | map(.n)";

/// Returns the exit code, and what was said after the address of the page.
fn said_by(args: &str) -> (Option<i32>, String) {
    let scene = Scene::new().file("p.mill", OLD).file("q.mill", format!("{OLD}; row | count | jsonl(\"count\")"));
    let scene = scene.file("users", "{\"user\":1}\n");
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", &format!("run {args} --page 127.0.0.1:0 --accept-upgrades p.mill"));
    let command = command.stdin(Stdio::piped()).stdout(out).stderr(Stdio::piped());
    let mut run = Run(command.spawn().expect("it starts"));
    let (mut stdin, mut stderr) = (run.0.stdin.take().expect("a pipe"), run.0.stderr.take().map(BufReader::new));
    let (stderr, mut line) = (stderr.as_mut().expect("a pipe"), String::new());
    while !line.contains(": the run is shown at http://") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it has no page");
    }
    let address = line.trim_end().trim_end_matches('/').rsplit('/').next().expect("an address");
    let begun = Instant::now();
    let mut shows = |rows: &str, all: &str| {
        stdin.write_all(rows.as_bytes()).expect("it reads");
        while fs::read_to_string(scene.path("out")).expect("text") != all {
            assert!(begun.elapsed() < PATIENCE, "{all}");
            sleep(Duration::from_millis(5));
        }
    };
    shows("{\"n\":1,\"user\":1}\n{\"n\":2,\"user\":2}\n", "1\n2\n");
    loop {
        let seen = scene.millstream(&format!("upgrade {address} q.mill"), Input::Nothing);
        if !seen.stderr.contains("the run has not begun") || begun.elapsed() > PATIENCE {
            assert_eq!((&*seen.stderr, seen.code), ("", Some(0)));
            break;
        }
        sleep(Duration::from_millis(5));
    }
    shows("{\"n\":3,\"user\":3}\n", "1\n2\n3\n");
    let signal = scene.command("kill", &format!("-TERM {}", run.0.id()));
    assert_eq!(scene.run(signal, Input::Nothing).code, Some(0));
    let (code, mut said) = (ended(&mut run.0).code(), String::new());
    stderr.read_to_string(&mut said).expect("text");
    (code, said)
}

/// The new text has a fold, and the old one had read two of the rows.
#[test]
fn a_replaced_text_is_the_one_that_the_end_is_about_with_the_rows_of_both() {
    for (args, how) in [
        ("", "interrupted within standard input, after 4 rows: the answers are those of these rows\n"),
        ("--state state", "interrupted: folds and windows have answered with the rows that had come;"),
    ] {
        let (code, said) = said_by(args);
        assert!(said.contains(&format!("\nmillstream run: {how}")), "{args}: {said}");
        assert!(said.contains("\nmillstream run: join: 2 of 3 rows found no partner\n"), "{args}: {said}");
        assert_eq!(code, Some(143), "{args}: {said}");
    }
}
