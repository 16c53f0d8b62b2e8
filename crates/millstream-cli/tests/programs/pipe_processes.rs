//! `pipe` and its processes: how they end, and where their output goes.

use crate::scene::{Input, PATIENCE, Scene, ended, resident_peak};
use millstream_testkit::programs::skipped;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn start(scene: &Scene, args: &str, script: &str) -> Child {
    // Under `nohup` the tests, and therefore the program, would ignore the signal.
    let mut command = scene.command("env", "--default-signal=HUP");
    command.arg(env!("CARGO_BIN_EXE_millstream")).args(args.split(' '));
    command.args(["--", "sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", child.id())).status();
    assert!(sent.expect("a shell").success());
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether the process has ended, waited for or not.
fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")))
}

#[test]
fn the_second_signal_ends_the_commands() {
    if !Path::new("/proc/self/stat").exists() {
        return skipped("the_second_signal_ends_the_commands", "the system does not list its processes");
    }
    // The first script dies of SIGTERM; the second one ignores it.
    for script in ["echo $$ > new; mv new pid; sleep 1000", "trap '' TERM; echo $$ > new; mv new pid; sleep 1000"] {
        for args in ["pipe -j 2 --block 2", "pipe -j 2 --shard line", "pipe -j 2 --deploy queues"] {
            let scene = Scene::new();
            let mut child = start(&scene, args, script);
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"1\n").unwrap();
            drop(stdin);
            wait_until("the command does not start", || scene.path("pid").exists());
            send("INT", &child);
            send("TERM", &child);
            let code = ended(&mut child).code();
            let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            assert!([Some(130), Some(143)].contains(&code), "{args}: {code:?} {stderr}");
            assert!(!stderr.contains("by signal"), "{args}: {stderr}");
            let pid = fs::read_to_string(scene.path("pid")).unwrap();
            wait_until("the command does not end", || is_gone(pid.trim()));
        }
    }
}

/// A terminal that is closed ends the commands as well, but not under `nohup`.
#[test]
fn a_closed_terminal_ends_the_commands() {
    if !Path::new("/proc/self/stat").exists() {
        return skipped("a_closed_terminal_ends_the_commands", "the system does not list its processes");
    }
    for args in ["pipe -j 2 --block 2", "pipe -j 2 --shard line"] {
        let scene = Scene::new();
        let mut child = start(&scene, args, "echo $$ > new; mv new pid; exec sleep 1000");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"1\n2\n").unwrap();
        wait_until("the command does not start", || scene.path("pid").exists());
        send("HUP", &child);
        assert_eq!(ended(&mut child).signal(), Some(1), "{args}");
        let pid = fs::read_to_string(scene.path("pid")).unwrap();
        wait_until("the command does not end", || is_gone(pid.trim()));
    }
    let scene = Scene::new();
    let mut command = scene.command("sh", "");
    let script = format!("trap '' HUP; exec '{}' pipe -- cat", env!("CARGO_BIN_EXE_millstream"));
    command.arg("-c").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/comm", child.id());
    wait_until("it does not start", || fs::read_to_string(&status).is_ok_and(|name| name.trim() == "millstream"));
    send("HUP", &child);
    child.stdin.take().unwrap().write_all(b"1\n").unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!((out.as_str(), ended(&mut child).code()), ("1\n", Some(0)));
}

/// An output without a reader, or without room, ends them, too.
#[test]
fn an_output_that_cannot_be_written_ends_the_commands() {
    if !Path::new("/proc/self/stat").exists() || !Path::new("/dev/full").exists() {
        return skipped(
            "an_output_that_cannot_be_written_ends_the_commands",
            "the system has no /proc, or no /dev/full",
        );
    }
    for args in ["pipe -j 2 --block 2", "pipe -j 2 --shard line", "pipe -j 2 --block 2 --deploy queues"] {
        for full in [false, true] {
            let scene = Scene::new();
            let script = "read n; if [ $n = 2 ]; then echo $$ > new; mv new pid; exec sleep 1000; fi; \
                          until test -e pid; do sleep 0.01; done; echo $n";
            let mut command = scene.command("millstream", args);
            command.args(["--", "sh", "-c", script]).stdin(Stdio::piped()).stderr(Stdio::null());
            if full {
                command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
            } else {
                let (reader, writer) = std::io::pipe().unwrap();
                command.stdout(writer);
                drop(reader);
            }
            let mut child = command.spawn().expect("the program starts");
            child.stdin.take().unwrap().write_all(b"1\n2\n").unwrap();
            assert_eq!(ended(&mut child).code(), Some(if full { 1 } else { 0 }), "{args}");
            let pid = fs::read_to_string(scene.path("pid")).unwrap();
            wait_until("the command does not end", || is_gone(pid.trim()));
        }
    }
}

const LARGE: usize = 100_000;

/// More than stays in memory for a block of this size.
#[test]
fn large_answers_come_out_in_order() {
    let script = format!("read x; head -c {LARGE} /dev/zero | tr '\\0' $x");
    let expected: Vec<u8> = b"1234567".iter().flat_map(|byte| [*byte].repeat(LARGE)).collect();
    let mut hashes = Vec::new();
    for way in ["-j 2", "-j 1 --deploy inline", "-j 3 --deploy queues", "-j 2 --deploy model"] {
        let scene = Scene::new();
        let mut command = scene.command("millstream", &format!("pipe --block 2 --hash {way}"));
        command.args(["--", "sh", "-c", &script]);
        let seen = scene.run(command, Input::Pipe(b"1\n2\n3\n4\n5\n6\n7\n", 100));
        assert_eq!(seen.code, Some(0), "{way}: {}", seen.stderr);
        assert!(seen.stdout == expected, "{way}: other bytes");
        hashes.push(seen.stderr);
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
}

#[test]
fn an_answer_of_any_size_takes_bounded_memory() {
    const ZEROS: u64 = 300_000_000;
    let scene = Scene::new();
    let mut child = start(&scene, "pipe -j 1 --block 64K", &format!("head -c {ZEROS} /dev/zero"));
    child.stdin.take().unwrap().write_all(b"1\n").unwrap();
    let (mut output, mut buffer, mut length, mut peak) = (child.stdout.take().unwrap(), vec![0; 1 << 20], 0, None);
    loop {
        match output.read(&mut buffer).unwrap() {
            0 => break,
            read => length += read as u64,
        }
        peak = peak.max(resident_peak(child.id()));
    }
    assert_eq!((length, ended(&mut child).code()), (ZEROS, Some(0)));
    let Some(peak) = peak else {
        return skipped(
            "an_answer_of_any_size_takes_bounded_memory",
            "the system does not report the memory of a process",
        );
    };
    assert!(peak < 64_000_000, "{peak} bytes");
}

#[test]
fn an_answer_that_cannot_be_kept_is_reported() {
    let scene = Scene::new();
    let mut command = scene.command("millstream", "pipe --block 2 -- head -c 100000 /dev/zero");
    command.env("TMPDIR", scene.path("nosuch"));
    let seen = scene.run(command, Input::Pipe(b"1\n", 2));
    assert_eq!((seen.stdout.len(), seen.code), (0, Some(3)));
    let cause = "cannot keep the output of head, 65536 bytes or more, in a temporary file: No such file or directory";
    assert!(seen.stderr.starts_with(&format!("millstream: stage \"pipe\", number 0: {cause}")), "{}", seen.stderr);
}
