//! `run --state` with files that are followed.

use crate::run_changed::text_of;
use crate::run_state::start;
use crate::scene::{PATIENCE, Scene, ended};
use std::fs;
use std::io::Read;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_file_that_is_rotated_before_the_second_snapshot_is_read_from_its_beginning() {
    let scene = Scene::new().file("log", "a,b\n1,x\n2,y\n");
    let text = "csv(\"log\", follow: true) | map(.a)";
    for expected in ["1\n2\n", "1\n2\n3\n"] {
        let mut child = start(&scene, &["--quiet", "-e", text, "--state", "state", "--snapshot-every", "1000000"]);
        let since = Instant::now();
        while fs::read_to_string(scene.path("out")).unwrap_or_default() != expected {
            assert!(since.elapsed() < PATIENCE, "{:?}", fs::read_to_string(scene.path("out")));
            sleep(Duration::from_millis(2));
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let _ = fs::rename(scene.path("log"), scene.path("log.1"));
        fs::write(scene.path("log"), "3,z\n").expect("a new log");
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let scene = Scene::new();
    let made = Command::new("mkfifo").arg(scene.path("pipe")).status();
    assert!(made.expect("mkfifo").success());
    for (text, why) in [
        ("csv(\"pipe\", follow: true) | map(.a)", "only a regular file can be followed"),
        ("csv(\"pipe\") | map(.a)", "it is not a regular file"),
    ] {
        let state = text.len().to_string();
        let mut child = start(&scene, &["--quiet", "-e", text, "--state", &state]);
        let status = ended(&mut child);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("a text");
        assert!(said.contains(why) && status.code() == Some(1), "{status}: {said}");
    }
}

/// Started, and killed or else ended with its message once a file is as expected.
#[track_caller]
fn until(scene: &Scene, args: &[&str], file: &str, expected: &str) {
    let (mut child, since) = (start(scene, args), Instant::now());
    while fs::read_to_string(scene.path(file)).unwrap_or_default() != expected {
        assert!(since.elapsed() < PATIENCE, "{:?}", fs::read_to_string(scene.path(file)));
        assert!(child.try_wait().expect("a child").is_none(), "it has ended: {expected}");
        sleep(Duration::from_millis(2));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

/// Started to its end by itself, with exit code 1 and this message. Its output is as it was.
#[track_caller]
fn fails(scene: &Scene, args: &[&str], file: &str, why: &str) {
    let before = text_of(scene, file);
    let mut child = start(scene, args);
    let status = ended(&mut child);
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("a text");
    assert!(said.contains(why) && status.code() == Some(1), "{status}: {said}");
    assert_eq!(text_of(scene, file), before);
}

const JOINED: &str = "let u = jsonl(\"users\"); let l = jsonl(\"log\", follow: true); \
                      l | join(u, on: .u) | map(.n) | lines(\"joined\")";

fn row(n: u32) -> String {
    format!("{{\"u\":1,\"n\":{n}}}\n")
}

#[test]
fn a_file_that_is_followed_after_another_one_is_found_when_it_is_rotated_before_its_first_snapshot() {
    let scene = Scene::new().file("users", "{\"u\":1}\n").file("log", row(1) + &row(2));
    let args = ["--quiet", "-e", JOINED, "--state", "state", "--snapshot-every", "60s"];
    until(&scene, &args, "joined", "1\n2\n");
    for (n, to, expected) in [(3, "log.2", "1\n2\n3\n"), (4, "log.1", "1\n2\n3\n4\n")] {
        fs::rename(scene.path("log"), scene.path(to)).expect("it is there");
        sleep(Duration::from_millis(20));
        fs::write(scene.path("log"), row(n)).expect("a new log");
        until(&scene, &args, "joined", expected);
    }
    fs::remove_file(scene.path("log.2")).expect("it is there");
    fails(&scene, &args, "joined", "log: the file that was read, of inode ");
}

#[test]
fn a_file_that_comes_after_the_start_is_found_although_it_is_followed_after_another_one() {
    let scene = Scene::new().file("users", "{\"u\":1}\n");
    let args = ["--quiet", "-e", JOINED, "--state", "state", "--snapshot-every", "60s"];
    let mut child = start(&scene, &args);
    let (since, all) = (Instant::now(), scene.path("state/snapshots"));
    let is_whole = |entry: fs::DirEntry| entry.path().extension().is_some_and(|kind| kind == "snapshot");
    while !fs::read_dir(&all).into_iter().flatten().flatten().any(is_whole) {
        assert!(since.elapsed() < PATIENCE);
        sleep(Duration::from_millis(2));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    sleep(Duration::from_millis(50));
    fs::write(scene.path("log"), row(1)).expect("a log");
    fs::rename(scene.path("log"), scene.path("log.1")).expect("it is there");
    fs::write(scene.path("log"), row(2)).expect("a new log");
    until(&scene, &args, "joined", "1\n2\n");
}

/// The rows that came of it would be cut from the output, and never come again.
#[test]
fn a_file_that_is_emptied_before_the_first_snapshot_within_it_is_refused() {
    let scene = Scene::new().file("log", "1\n2\n");
    let text = "lines(\"log\", follow: true) | lines(\"copy\")";
    let args = ["--quiet", "-e", text, "--state", "state", "--snapshot-every", "60s"];
    until(&scene, &args, "copy", "1\n2\n");
    fs::write(scene.path("log"), "6\n7\n8\n").expect("it is emptied");
    fails(&scene, &args, "copy", "log: its bytes before byte 4 have changed since a snapshot was taken");
}
