//! Pipes that are slow, or closed too early.

use crate::scene::{Input, PATIENCE, Scene, ended, prose, resident_peak};
use millstream_testkit::programs::skipped;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

fn start(scene: &Scene, args: &str) -> Child {
    let mut command = scene.command("millstream", args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// The first line of a program's output as soon as it comes. After that the output is closed.
fn one_line(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(&mut { output }).read_line(&mut line).expect("the output is text");
        send.send(line.trim_end().to_owned())
    });
    receive
}

/// The lines of a program's output as they come.
fn lines(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if send.send(line.expect("the output is text")).is_err() {
                break;
            }
        }
    });
    receive
}

#[test]
fn a_line_comes_out_before_the_next_goes_in() {
    for args in [
        "uppercase",
        "uppercase --shards 2",
        "uppercase --deploy inline",
        "uppercase --deploy queues",
        "uppercase --ring 1",
        "uppercase --batch 64",
    ] {
        let scene = Scene::new();
        let mut child = start(&scene, args);
        let mut stdin = child.stdin.take().unwrap();
        let output = lines(child.stdout.take().unwrap());
        for (line, expected) in [("first\n", "FIRST"), ("second\n", "SECOND")] {
            stdin.write_all(line.as_bytes()).unwrap();
            assert_eq!(output.recv_timeout(PATIENCE).as_deref(), Ok(expected), "{args}");
        }
        drop(stdin);
        assert_eq!(ended(&mut child).code(), Some(0), "{args}");
    }
}

#[test]
fn an_output_closed_by_its_reader_ends_it_quietly() {
    let scene = Scene::new().file("big", prose(10_000_000));
    for args in [
        "uppercase big",
        "uppercase --shards 2 big",
        "uppercase --deploy inline big",
        "uppercase --deploy queues big",
        "uppercase --deploy model big",
    ] {
        let mut child = start(&scene, args);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "LINE 0 OF THE TEXT, WITH WHEAT IN IT\n");
        drop(output);
        assert_eq!(ended(&mut child).code(), Some(0), "{args}");
        assert_eq!(std::io::read_to_string(child.stderr.take().unwrap()).unwrap(), "", "{args}");
    }
}

/// Nor does it have that of an earlier run.
#[test]
fn a_run_that_its_output_ends_has_no_report() {
    let scene = Scene::new().file("big", prose(10_000_000));
    for earlier in [false, true] {
        if earlier {
            assert_eq!(scene.millstream("wc --stats=report big", Input::Nothing).code, Some(0));
            assert!(scene.path("report").exists());
        }
        let mut child = start(&scene, "uppercase --stats=report big");
        drop(child.stdout.take());
        assert_eq!(ended(&mut child).code(), Some(0));
        assert!(!scene.path("report").exists(), "{earlier}");
    }
}

#[test]
fn counts_without_a_reader_are_no_failure() {
    let scene = Scene::new();
    let mut child = start(&scene, "wc");
    drop(child.stdout.take());
    drop(child.stdin.take());
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(std::io::read_to_string(child.stderr.take().unwrap()).unwrap(), "");
}

#[test]
fn a_closed_output_is_noticed_while_the_input_stays_open() {
    let scene = Scene::new();
    let mut child = start(&scene, "uppercase");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"first\n").unwrap();
    let output = one_line(child.stdout.take().unwrap());
    assert_eq!(output.recv_timeout(PATIENCE).as_deref(), Ok("FIRST"));
    // A process that another test starts holds the output open between its fork and its exec: one line may be taken.
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
        _ = stdin.write_all(b"this is not read\n");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(ended(&mut child).code(), Some(0));
}

#[test]
fn a_full_disk_is_a_failed_output() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return skipped("a_full_disk_is_a_failed_output", "there is no /dev/full");
    };
    let scene = Scene::new().file("text", "a\n");
    for (program, args) in [
        ("uppercase", "uppercase text"),
        ("wc", "wc text"),
        ("plan", "plan wc"),
        ("pipe", "pipe -- cat"),
        ("pipe", "pipe --block 2 -- head -c 100000 /dev/zero"),
        ("pipe", "pipe --shard line -- cat"),
    ] {
        let mut command = scene.command("millstream", args);
        command.stdin(File::open(scene.path("text")).unwrap()).stdout(full.try_clone().unwrap()).stderr(Stdio::piped());
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message, format!("millstream {program}: write error: No space left on device\n"));
        assert_eq!(output.status.code(), Some(1), "{args}");
    }
    for args in ["uppercase --hash text", "spaces --deploy model --hash text", "wc --hash text text", "copying --hash"]
    {
        let mut command = scene.command("millstream", args);
        let output = command.stdout(full.try_clone().unwrap()).stderr(Stdio::piped()).output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = messages.lines().collect();
        assert!(lines[0].ends_with("write error: No space left on device"), "{args}: {messages}");
        assert!(lines[1].starts_with("hash ") && lines.len() == 2, "{args}: {messages}");
        assert_eq!(output.status.code(), Some(1), "{args}");
    }
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let scene = Scene::new().file("small", prose(4_000_000)).file("large", prose(64_000_000));
    let [small, large] = ["small", "large"].map(|file| peak_memory(&scene, &format!("uppercase {file}")));
    let (Some(small), Some(large)) = (small, large) else {
        return skipped("memory_does_not_grow_with_the_input", "the system does not report the memory of a process");
    };
    assert!(large < small + 16_000_000, "{small} bytes for 4 MB, {large} for 64 MB");
}

/// Peak resident bytes of a run, as the kernel counts them; `None` if it does not report them.
fn peak_memory(scene: &Scene, args: &str) -> Option<u64> {
    let mut child = start(scene, args);
    let (mut output, mut peak) = (child.stdout.take().unwrap(), None);
    let mut buffer = vec![0; 1 << 20];
    while output.read(&mut buffer).unwrap() > 0 {
        peak = peak.max(resident_peak(child.id()));
    }
    assert!(ended(&mut child).success());
    peak
}

#[test]
fn standard_input_may_be_empty() {
    let scene = Scene::new();
    assert_eq!(scene.millstream("uppercase", Input::Nothing).stdout, b"");
    assert_eq!(scene.millstream("wc", Input::Pipe(b"", 1)).text(), "      0       0       0\n");
}

#[test]
fn an_output_is_not_read_as_input() {
    let text = prose(100_000);
    for args in [
        "uppercase text",
        "uppercase --deploy inline text",
        "spaces text",
        "uppercase",
        "pipe cat",
        "uppercase --state kept text",
        #[cfg(feature = "jq")]
        "jq -R . text",
        #[cfg(feature = "run")]
        "run -e lines text",
    ] {
        let scene = Scene::new().file("text", &text);
        let append = File::options().append(true).open(scene.path("text")).unwrap();
        let mut command = scene.command("millstream", args);
        command.stdin(File::open(scene.path("text")).unwrap()).stdout(append).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let code = ended(&mut child).code();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(stderr.contains("standard output goes to the same file"), "{args}: {stderr}");
        assert_eq!(code, Some(if args.contains("--state") { 2 } else { 1 }), "{args}");
        assert_eq!(std::fs::read(scene.path("text")).unwrap(), text, "{args}");
    }
    // An answer that comes at the end may be appended, and a file may be overwritten as it is read.
    let scene = Scene::new().file("text", "to be\n");
    let append = File::options().append(true).open(scene.path("text")).unwrap();
    assert!(scene.command("millstream", "wc -l text").stdout(append).status().unwrap().success());
    let over = File::options().write(true).open(scene.path("text")).unwrap();
    assert!(scene.command("millstream", "uppercase text").stdout(over).status().unwrap().success());
    assert_eq!(std::fs::read_to_string(scene.path("text")).unwrap(), "TO BE\n1 TEXT\n");
}
