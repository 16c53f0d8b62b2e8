//! A run whose state is kept goes on in a new process: `--take-over`.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn appends(scene: &Scene, args: &str) -> Command {
    let out = File::options().append(true).create(true).open(scene.path("out")).unwrap();
    let mut command = scene.command("millstream", args);
    command.stdout(out).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn out(scene: &Scene) -> String {
    fs::read_to_string(scene.path("out")).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(2));
    }
}

fn follows(scene: &Scene, text: &str, more: &str) -> Child {
    let mut command = appends(scene, "run --state state --snapshot-every 0.05s");
    command.args(more.split_whitespace()).args(["-e", text]).spawn().unwrap()
}

const TEXT: &str = "lines(\"log\", follow: true) | skip(3)";

#[test]
fn a_run_that_follows_a_file_is_taken_over_again_and_again() {
    let scene = Scene::new().file("log", "");
    let mut log = File::options().append(true).open(scene.path("log")).unwrap();
    let mut present = follows(&scene, TEXT, "");
    let (mut lines, mut expected) = (0, String::new());
    for round in 0..6 {
        for _ in 0..50 {
            let line = format!("line {lines}\n");
            log.write_all(line.as_bytes()).unwrap();
            if lines >= 3 {
                expected += &line;
            }
            lines += 1;
        }
        if round % 2 == 0 {
            until("all lines", || out(&scene) == expected);
        }
        let next = follows(&scene, TEXT, "--take-over");
        assert_eq!(ended(&mut present).code(), Some(0));
        let seen = Seen::of(std::mem::replace(&mut present, next).wait_with_output().unwrap());
        assert!(seen.stderr.contains("--take-over: retired at number "), "{}", seen.stderr);
    }
    until("all lines", || out(&scene) == expected);
    let other = follows(&scene, "lines(\"log\", follow: true) | skip(4)", "--take-over");
    let other = Seen::of(other.wait_with_output().unwrap());
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("has the state of another text"), "{}", other.stderr);
    let kill = scene.command("kill", &format!("-TERM {}", present.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    let seen = Seen::of(present.wait_with_output().unwrap());
    assert_eq!(seen.code, Some(143), "{}", seen.stderr);
    assert!(seen.stderr.contains("took over from process ") && !seen.stderr.contains("goes on:"), "{}", seen.stderr);
    assert_eq!(out(&scene), expected);
}

/// The rest of the line that has `before`.
fn said(stderr: &mut BufReader<ChildStderr>, before: &str) -> String {
    let mut line = String::new();
    while !line.contains(before) {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "not said: {before}");
    }
    line.trim().split_once(before).unwrap().1.to_owned()
}

/// No snapshot is behind the last line of the users, so each process reads it again.
#[test]
fn a_run_is_taken_over_while_the_last_line_of_a_file_has_no_end() {
    let users = "{\"id\":1,\"name\":\"one\"}\n{\"id\":2,\"name\":\"two\"}";
    let scene = Scene::new().file("users", users).file("log", "");
    let text = "let u = jsonl(\"users\"); jsonl(\"log\", follow: true) | join(u, on: .id) | map(.name)";
    let mut old = follows(&scene, text, "");
    until("the old process", || scene.path("state/take-over").exists());
    // Time to read the file.
    sleep(Duration::from_millis(200));
    let mut new = follows(&scene, text, "--take-over");
    said(&mut BufReader::new(new.stderr.take().unwrap()), ": took over from process ");
    fs::write(scene.path("log"), "{\"id\":2}\n").unwrap();
    assert_eq!(ended(&mut old).code(), Some(0));
    until("a row", || out(&scene) == "\"two\"\n");
    let kill = scene.command("kill", &format!("-TERM {}", new.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut new).code(), Some(143));
}

#[test]
fn the_page_of_a_new_process_opens_where_that_of_the_old_one_was() {
    let scene = Scene::new().file("log", "one\n");
    let shown = ": the run is shown at http://";
    // The old page does not stay: its address is for the new one.
    let mut old = follows(&scene, TEXT, "--page 127.0.0.1:0 --page-linger 1000");
    let mut stderr = BufReader::new(old.stderr.take().unwrap());
    let address = said(&mut stderr, shown).trim_end_matches('/').to_owned();
    let stranger = follows(&scene, TEXT, &format!("--page {address}"));
    let stranger = Seen::of(stranger.wait_with_output().unwrap());
    assert!(stranger.code == Some(1) && stranger.stderr.contains("in use"), "{}", stranger.stderr);
    let mut new = follows(&scene, TEXT, &format!("--take-over --page {address}"));
    assert_eq!(ended(&mut old).code(), Some(0));
    let mut stderr = BufReader::new(new.stderr.take().unwrap());
    said(&mut stderr, ": took over from process ");
    assert_eq!(said(&mut stderr, shown), format!("{address}/"));
    until("the stages of the new process", || {
        let mut page = TcpStream::connect(&address).unwrap();
        write!(page, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut metrics = String::new();
        page.read_to_string(&mut metrics).unwrap();
        assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
        metrics.contains("\nmillstream_stage_rows_total")
    });
    let kill = scene.command("kill", &format!("-TERM {}", new.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut new).code(), Some(143));
}

#[test]
fn a_page_whose_address_is_of_no_run_that_was_taken_over_does_not_wait() {
    let scene = Scene::new().file("log", "one\n");
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    let args = format!("--take-over --page {address}");
    let waits = format!(": --page {address}: the address is in use: the page opens once it is free");
    let fails = format!(": --page {address}: Address already in use");
    let mut old = follows(&scene, TEXT, &args);
    let mut stderr = BufReader::new(old.stderr.take().unwrap());
    for message in [&*waits, ", so nothing is taken over", &fails] {
        said(&mut stderr, message);
    }
    // Another run may have the address until it has ended.
    let mut new = follows(&scene, TEXT, &args);
    let mut stderr = BufReader::new(new.stderr.take().unwrap());
    for message in [&*waits, ": took over from process "] {
        said(&mut stderr, message);
    }
    assert_eq!(ended(&mut old).code(), Some(1));
    said(&mut stderr, &fails);
    let kill = scene.command("kill", &format!("-TERM {}", new.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut new).code(), Some(143));
}

#[test]
fn a_run_that_reads_standard_input_is_not_taken_over() {
    let scene = Scene::new();
    let mut old = appends(&scene, "uppercase --state state").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = old.stdin.take().unwrap();
    stdin.write_all(b"one\n").unwrap();
    until("a line", || out(&scene) == "ONE\n");
    let new = Seen::of(appends(&scene, "uppercase --state state --take-over").output().unwrap());
    assert_eq!(new.code, Some(1), "{}", new.stderr);
    assert!(new.stderr.contains("--take-over: the other process: it reads its standard input"), "{}", new.stderr);
    stdin.write_all(b"two\n").unwrap();
    drop(stdin);
    assert_eq!(ended(&mut old).code(), Some(0));
    assert_eq!(out(&scene), "ONE\nTWO\n");
}
