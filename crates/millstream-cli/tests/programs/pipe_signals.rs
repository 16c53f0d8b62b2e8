//! `pipe` and signals: the input ends, and commands have a limited time to finish their work.

use crate::scene::{PATIENCE, Scene, ended};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn start(scene: &Scene, args: &str, script: &str) -> Child {
    let mut command = scene.command("millstream", args);
    command.args(["--", "sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn terminate(child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", child.id())).status();
    assert!(sent.expect("a shell").success());
}

fn wait_for(scene: &Scene, file: &str) {
    let start = Instant::now();
    while !scene.path(file).exists() {
        assert!(start.elapsed() < PATIENCE, "no {file}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn result(mut child: Child) -> (String, String, Option<i32>) {
    let code = ended(&mut child).code();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (stdout, stderr, code)
}

const DRAINING: &str = "millstream pipe: draining; a second signal stops at once\n";

/// One signal is enough: blocks that wait are not begun, and blocks that have begun come out.
#[test]
fn a_signal_begins_nothing_that_waits() {
    for (args, expected) in [
        ("pipe -j 1 --block 2", "1\n"),
        ("pipe -j 1 --block 2 --deploy inline", "1\n"),
        ("pipe -j 1 --block 2 --deploy queues", "1\n"),
        ("pipe -j 1 --shard line", "1\n"),
    ] {
        let scene = Scene::new();
        // The first line is answered when the test allows it; all others would take for ever.
        let script = "while read x; do test $x = 1 || exec sleep 1000; : > began; \
                      while ! test -e go; do sleep 0.01; done; echo $x; done";
        let mut child = start(&scene, &format!("{args} --grace 1000"), script);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"1\n2\n3\n4\n5\n6\n7\n8\n").unwrap();
        wait_for(&scene, "began");
        terminate(&child);
        let mut said = vec![0; DRAINING.len()];
        child.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(String::from_utf8_lossy(&said), DRAINING, "{args}");
        std::fs::write(scene.path("go"), "").unwrap();
        assert_eq!(result(child), (expected.to_owned(), String::new(), Some(143)), "{args}");
        drop(stdin);
    }
}

/// A failed block is not tried again either.
#[test]
fn a_signal_ends_the_tries_of_a_block() {
    for args in ["pipe -j 1", "pipe -j 1 --deploy inline", "pipe -j 1 --deploy queues"] {
        let scene = Scene::new();
        let script = "read x; test $x != 1 || { echo 1; exit; }; : > began; exit 1";
        let args = format!("{args} --block 2 --grace 1000 --retries 1000000000");
        let mut child = start(&scene, &args, script);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"1\n2\n3\n4\n").unwrap();
        wait_for(&scene, "began");
        terminate(&child);
        assert_eq!(result(child), ("1\n".to_owned(), DRAINING.to_owned(), Some(143)), "{args}");
        drop(stdin);
    }
}

/// A command that does not end is ended.
#[test]
fn the_time_to_drain_is_bounded() {
    for args in ["pipe --grace 0", "pipe --grace 0 --shard line", "pipe --grace 0 --quiet"] {
        let scene = Scene::new();
        let mut child = start(&scene, args, ": > began; exec sleep 1000");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"1\n").unwrap();
        // A block is complete when the input ends.
        if args.contains("line") {
            stdin.flush().unwrap()
        } else {
            drop(stdin)
        }
        wait_for(&scene, "began");
        terminate(&child);
        let (stdout, stderr, code) = result(child);
        assert_eq!((stdout.as_str(), code), ("", Some(143)), "{args}: {stderr}");
        let late = "millstream pipe: sh has not ended within 0 s (--grace), and is stopped\n";
        let said = if args.contains("quiet") { String::new() } else { format!("{DRAINING}{late}") };
        assert_eq!(stderr, said, "{args}");
    }
}

/// Commands that have ended are not to blame if the output is read slowly.
#[test]
fn a_slow_reader_gets_whole_lines() {
    let lines: Vec<String> = (0..3).map(|n| format!("{n} {}\n", "x".repeat(100_000))).collect();
    for args in ["pipe -j 3 --block 1 --grace 1", "pipe -j 1 --shard line --grace 1"] {
        let scene = Scene::new();
        let script = "while read n x; do echo $n $x; : > done$n; done";
        let mut child = start(&scene, args, script);
        child.stdin.take().unwrap().write_all(lines.concat().as_bytes()).unwrap();
        wait_for(&scene, "done2");
        wait_for(&scene, "done1");
        wait_for(&scene, "done0");
        terminate(&child);
        thread::sleep(Duration::from_secs(2));
        let mut stdout = String::new();
        child.stdout.as_mut().unwrap().read_to_string(&mut stdout).unwrap();
        assert!(stdout == lines.concat(), "{args}: {} bytes", stdout.len());
        let (_, stderr, code) = result(child);
        assert!(!stderr.contains("--grace") && code == Some(143), "{args}: {stderr}");
    }
}

/// Even if messages have no reader: standard error is a pipe that the command has filled.
#[test]
fn a_full_standard_error_holds_up_no_signal() {
    let scene = Scene::new();
    let script = "(yes >&2 &) ; : > began; exec sleep 1000";
    let mut child = start(&scene, "pipe --grace 1000", script);
    child.stdin.take().unwrap().write_all(b"1\n").unwrap();
    wait_for(&scene, "began");
    let stderr = child.stderr.take().unwrap();
    // Until the pipe is full.
    let (begun, mut last) = (Instant::now(), 0);
    loop {
        let held = rustix::io::ioctl_fionread(&stderr).unwrap();
        if held > 0 && held == last {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it is never full");
        last = held;
        thread::sleep(Duration::from_millis(50));
    }
    terminate(&child);
    let sent = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status();
    assert!(sent.expect("a shell").success());
    assert!([Some(130), Some(143)].contains(&ended(&mut child).code()));
    drop(stderr);
}

/// Whole lines that were read, and do not fill a block, go through the command as well.
#[test]
fn whole_lines_that_were_read_before_the_signal_come_out() {
    // Lines that wait for a process are not run. On the model all of them wait for the end of the input, and are.
    for how in ["rings", "inline", "queues", "model", "model --shard line"] {
        let scene = Scene::new();
        let mut child = start(&scene, &format!("pipe --deploy {how}"), "cat");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"first\nsecond\ncut off").unwrap();
        // The input has been read when the pipe is empty.
        wait_until_read(&stdin);
        terminate(&child);
        let (stdout, stderr, code) = result(child);
        assert_eq!((stdout.as_str(), code), ("first\nsecond\n", Some(143)), "{how}: {stderr}");
        drop(stdin);
    }
}

/// Waits until a pipe that was written is empty.
fn wait_until_read(pipe: &impl std::os::fd::AsFd) {
    let start = Instant::now();
    while rustix::io::ioctl_fionread(pipe).unwrap() > 0 {
        assert!(start.elapsed() < PATIENCE, "the text has no source");
        thread::sleep(Duration::from_millis(1));
    }
}
