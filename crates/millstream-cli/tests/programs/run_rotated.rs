//! `run` of a file that is rotated in the middle of a line.

use crate::run_changed::text_of;
use crate::scene::{Input, PATIENCE, Scene, ended};
use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The rows that a source of this kind makes of a file and then another one of its name.
fn rows(source: &str, files: [&str; 2], state: &str) -> (Vec<String>, String) {
    let text = format!("{source}(\"log\", follow: true, dead: \"bad\") | jsonl(\"out\")");
    let scene = Scene::new().file("p.mill", text).file("log", files[0]).file("bad", "");
    let mut command = scene.command("millstream", &format!("run --quiet {state} p.mill"));
    let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
    let waits_for = |what: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < PATIENCE, "{source} {state}: it waits");
            sleep(Duration::from_millis(5));
        }
    };
    let count = |file: &str| fs::read_to_string(scene.path(file)).unwrap_or_default().lines().count();
    waits_for(&|| count("out") > 0);
    fs::rename(scene.path("log"), scene.path("log.1")).expect("it is there");
    fs::write(scene.path("log"), files[1]).expect("a file");
    // Long after it has looked.
    sleep(Duration::from_millis(500));
    let kill = scene.command("kill", &format!("-TERM {}", child.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut child).code(), Some(143), "{source} {state}");
    (text_of(&scene, "out").lines().map(str::to_owned).collect(), text_of(&scene, "bad"))
}

#[test]
fn a_last_line_without_an_end_is_not_joined_to_the_next_file() {
    for state in ["", "--state state"] {
        let (out, bad) = rows("jsonl", ["{\"n\":1}\n{\"n\":2}", "{\"n\":3}\n{\"n\":4}\n"], state);
        assert_eq!(out, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}"], "{state}: {bad}");
        let (out, bad) = rows("lines", ["a\nb", "c\n"], state);
        assert_eq!(out, ["\"a\"", "\"b\"", "\"c\""], "{state}: {bad}");
        let (out, bad) = rows("csv", ["id,k\n1,x\n2,y", "id,k\n3,z\n"], state);
        let row = |id: u8, k: &str| format!("{{\"id\":{id},\"k\":\"{k}\"}}");
        assert_eq!(out, [row(1, "x"), row(2, "y"), row(3, "z")], "{state}: {bad}");
        // The quote was never closed, so that row is none, and all others are.
        let (out, bad) = rows("csv", ["id,k\n1,x\n2,\"y", "id,k\n3,z\n4,\"w\"\n"], state);
        assert_eq!(out, [row(1, "x"), row(3, "z"), row(4, "w")], "{state}: {bad}");
        assert_eq!(bad.lines().count(), 1, "{state}: {bad}");
    }
}

#[test]
fn the_next_file_has_a_header_of_its_own() {
    for state in ["", "--state state"] {
        let row = |from: &str, to: &str| format!("{{\"from\":\"{from}\",\"to\":\"{to}\"}}");
        let turned = "{\"to\":\"cy\",\"from\":\"dan\"}".to_owned();
        let (out, bad) = rows("csv", ["from,to\nann,bob\n", "to,from\ncy,dan\n"], state);
        assert_eq!(out, [row("ann", "bob"), turned], "{state}: {bad}");
        let (out, bad) = rows("csv", ["from,to\nann,bob\n", "from,to,n\ncy,dan,1\n"], state);
        assert_eq!(out, [row("ann", "bob"), "{\"from\":\"cy\",\"to\":\"dan\",\"n\":1}".to_owned()], "{state}: {bad}");
        // As of a file that was emptied, whose writer goes on.
        let (out, bad) = rows("csv", ["from,to\nann,bob\n", "cy,dan\n"], state);
        assert_eq!(out, [row("ann", "bob"), row("cy", "dan")], "{state}: {bad}");
    }
}

/// As while its sink is slow.
#[test]
fn a_file_that_was_rotated_twice_while_the_process_was_stopped_is_read() {
    for state in ["", "--state state --snapshot-every 1"] {
        let scene = Scene::new().file("p.mill", "lines(\"log\", follow: true) | lines(\"out\")").file("log", "1\n");
        let mut command = scene.command("millstream", &format!("run --quiet {state} p.mill"));
        let mut child = KilledAtLast(command.stdin(Stdio::null()).spawn().expect("it starts"));
        let until = |expected: &str| {
            let begun = Instant::now();
            while fs::read_to_string(scene.path("out")).unwrap_or_default() != expected {
                assert!(begun.elapsed() < PATIENCE, "{state}: {}", text_of(&scene, "out"));
                sleep(Duration::from_millis(5));
            }
        };
        let signal = |name: &str| {
            let kill = scene.command("kill", &format!("-{name} {}", child.0.id()));
            assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
        };
        until("1\n");
        // It looks at least once more.
        sleep(Duration::from_millis(300));
        signal("STOP");
        let rename = |from: &str, to: &str| fs::rename(scene.path(from), scene.path(to)).expect("it is there");
        rename("log", "log.2");
        fs::write(scene.path("log"), "2\n").expect("a file");
        rename("log", "log.1");
        fs::write(scene.path("log"), "3\n").expect("a file");
        signal("CONT");
        until("1\n2\n3\n");
        signal("TERM");
        assert_eq!(ended(&mut child.0).code(), Some(143), "{state}");
    }
}

/// Also if the test fails.
struct KilledAtLast(Child);

impl Drop for KilledAtLast {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}
