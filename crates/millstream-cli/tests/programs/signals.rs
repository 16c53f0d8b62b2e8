//! SIGINT and SIGTERM: the first signal drains, the second one stops now.

use crate::scene::{PATIENCE, Scene, ended};
use millstream_testkit::programs::skipped;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The message of an interrupted `wc`.
const PARTIAL: &str = "millstream wc: interrupted: the counts cover the input that was read\n";

const WAYS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

fn start(args: &str) -> Child {
    let mut command = Scene::new().command("millstream", args);
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", child.id())).status();
    assert!(sent.expect("a shell").success());
}

/// Whether the system reports the signals that a program catches. If not, prints that the test `name` did not run.
fn can_watch(name: &str) -> bool {
    let can = mask(std::process::id()).is_some();
    if !can {
        skipped(name, "the system does not report the signals that a program catches");
    }
    can
}

/// The signals that a process catches.
fn mask(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Waits until the program listens to SIGINT and SIGTERM. It catches them a moment before: one that comes then is lost.
fn listens(child: &Child) {
    let start = Instant::now();
    while !has_thread(child.id(), "signals") {
        assert!(start.elapsed() < PATIENCE, "the program does not listen to signals");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a thread of this name runs in the process.
fn has_thread(process: u32, name: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| thread.path().join("comm"))
        .any(|comm| fs::read_to_string(comm).is_ok_and(|comm| comm.trim() == name))
}

/// The rest of the program's output, and its exit code.
fn result(child: &mut Child) -> (String, String, Option<i32>) {
    let code = ended(child).code();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (stdout, stderr, code)
}

/// The first line of the output, while the program runs.
fn first_line(child: &mut Child) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    let output = child.stdout.as_mut().unwrap();
    while !line.ends_with(b"\n") {
        output.read_exact(&mut byte).expect("a line");
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

#[test]
fn an_endless_pipe_is_counted_up_to_the_signal() {
    for (signal, code) in WAYS {
        for args in
            ["wc", "wc --shards 2", "wc --workers 2", "wc --wait blocking", "wc --deploy inline", "wc --deploy queues"]
        {
            let mut child = start(args);
            let mut stdin = child.stdin.take().unwrap();
            // More than a pipe holds, so that some of it has been read.
            stdin.write_all(&b"y\n".repeat(500_000)).unwrap();
            let feeding = thread::spawn(move || while stdin.write_all(&b"y\n".repeat(1000)).is_ok() {});
            send(signal, &child);
            let (stdout, stderr, seen) = result(&mut child);
            assert_eq!((stderr.as_str(), seen), (PARTIAL, Some(code)), "{args}");
            let counts: Vec<u64> = stdout.split_whitespace().map(|count| count.parse().unwrap()).collect();
            assert!(counts[2] > 0 && counts[0].abs_diff(counts[2] / 2) <= 1, "{args}: {stdout}");
            feeding.join().unwrap();
        }
    }
}

#[test]
fn a_read_without_input_delays_no_signal() {
    if !can_watch("a_read_without_input_delays_no_signal") {
        return;
    }
    for (signal, code) in WAYS {
        for args in [
            "wc",
            "wc --shards 3 --workers 2",
            "wc --ring 1",
            "wc --deploy queues",
            "wc --deploy inline",
            "wc --deploy model",
        ] {
            let mut child = start(args);
            // Stays open.
            let stdin = child.stdin.take().unwrap();
            listens(&child);
            send(signal, &child);
            assert_eq!(result(&mut child), ("      0       0       0\n".into(), PARTIAL.into(), Some(code)), "{args}");
            drop(stdin);
        }
    }
}

#[test]
fn a_sum_of_some_numbers_does_not_pass_for_that_of_all() {
    if !can_watch("a_sum_of_some_numbers_does_not_pass_for_that_of_all") {
        return;
    }
    let mut child = start("copying --items 1000000000000000");
    listens(&child);
    send("INT", &child);
    let (_, stderr, code) = result(&mut child);
    let said = "millstream copying: interrupted: the sum is that of the numbers that were sent\n";
    assert_eq!((stderr.as_str(), code), (said, Some(130)));
}

#[test]
fn a_fifo_without_a_writer_delays_no_signal() {
    if !can_watch("a_fifo_without_a_writer_delays_no_signal") {
        return;
    }
    let scene = Scene::new();
    let made = Command::new("mkfifo").arg(scene.path("fifo")).status();
    assert!(made.expect("mkfifo").success());
    for (args, expected) in [("wc fifo", ""), ("uppercase fifo", ""), ("wc /dev/null fifo", "total")] {
        let mut command = scene.command("millstream", args);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the program starts");
        listens(&child);
        send("INT", &child);
        let (stdout, stderr, code) = result(&mut child);
        let said = if args.starts_with("wc") { PARTIAL } else { "" };
        assert_eq!((stderr.as_str(), code), (said, Some(130)), "{args}");
        assert!(stdout.contains(expected) && !stdout.contains("fifo"), "{stdout}");
    }
}

#[test]
fn accepted_input_comes_out() {
    let others = "uppercase --deploy inline";
    for args in ["uppercase", "uppercase --shards 2", "uppercase --ring 1 --workers 2", others] {
        let mut child = start(args);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"first\n").unwrap();
        assert_eq!(first_line(&mut child), "FIRST\n");
        send("INT", &child);
        assert_eq!(result(&mut child), (String::new(), String::new(), Some(130)), "{args}");
        drop(stdin);
    }
    let mut child = start("sleep");
    assert_eq!(first_line(&mut child), "2\n");
    send("TERM", &child);
    assert_eq!(result(&mut child), ("6\n12\n20\n30\n".into(), String::new(), Some(143)));
}

#[cfg(feature = "run")]
#[test]
fn a_program_as_text_says_how_far_it_came() {
    let windows = "windows that were still open have answered with the rows that had come";
    for (fold, says) in [
        ("count(every: 10s, at: .t)", windows),
        ("count", "the answers are those of these rows"),
        ("where(.t > 2)", "the output is that of these rows"),
    ] {
        let scene =
            Scene::new().file("p.mill", format!("let row = jsonl; row | map(.t); row | {fold} | jsonl(\"out\")"));
        let mut command = scene.command("millstream", "run p.mill");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"{\"t\":1}\n{\"t\":2}\n").unwrap();
        assert_eq!(first_line(&mut child), "1\n");
        send("INT", &child);
        let said = format!("millstream run: interrupted within standard input, after 2 rows: {says}\n");
        assert_eq!(result(&mut child), ("2\n".to_owned(), said, Some(130)), "{fold}");
        drop(stdin);
    }
}

#[cfg(feature = "run")]
#[test]
fn a_program_with_a_state_says_how_it_goes_on() {
    if !can_watch("a_program_with_a_state_says_how_it_goes_on") {
        return;
    }
    for (stage, says) in [("count", "the next start takes these answers back"), ("skip(1)", "the next start goes on")] {
        let scene = Scene::new().file("p.mill", format!("jsonl | {stage} | jsonl(\"out\")"));
        let mut command = scene.command("millstream", "run p.mill --state kept");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take().unwrap();
        listens(&child);
        send("INT", &child);
        let (_, stderr, code) = result(&mut child);
        assert!(stderr.contains("millstream run: interrupted: ") && stderr.contains(says), "{stderr}");
        assert_eq!(code, Some(130));
        drop(stdin);
    }
}

#[test]
fn files_after_the_signal_are_left_out() {
    let mut child = start("wc /dev/null - /dev/null");
    let stdin = child.stdin.take().unwrap();
    assert_eq!(first_line(&mut child), "      0       0       0 /dev/null\n");
    send("INT", &child);
    let (stdout, stderr, code) = result(&mut child);
    assert_eq!((stderr.as_str(), code), (PARTIAL, Some(130)));
    let (pipe, total) = ("      0       0       0 -\n", "      0       0       0 total\n");
    // The signal may come before the pipe is read.
    assert!([total.to_owned(), format!("{pipe}{total}")].contains(&stdout), "{stdout}");
    drop(stdin);
}

/// The exit codes after an INT and a TERM at once. If a process has both before it runs again, the handler of the later
/// one interrupts that of the earlier one, so that the program meets the later one first.
const IN_ANY_ORDER: [Option<i32>; 2] = [Some(130), Some(143)];

#[test]
fn the_second_signal_stops_what_would_take_longer() {
    // A machine may be too slow to send two signals before the last item is out.
    let stopped_early = || {
        let mut child = start("sleep --stats -");
        assert_eq!(first_line(&mut child), "2\n");
        send("INT", &child);
        send("TERM", &child);
        let (stdout, stderr, code) = result(&mut child);
        assert!(IN_ANY_ORDER.contains(&code), "{code:?}");
        assert!("6\n12\n20\n30\n".starts_with(&stdout), "{stdout}");
        stdout.len() < 12 && stderr.contains("\"stopped\"")
    };
    assert!((0..5).any(|_| stopped_early()), "every item came out");
}

#[test]
fn the_second_signal_ends_a_blocked_write() {
    let mut child = start("uppercase");
    let mut stdin = child.stdin.take().unwrap();
    let feeding = thread::spawn(move || while stdin.write_all(&[b'x'; 4096]).is_ok() {});
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    // Two signals of one kind could count as one.
    send("INT", &child);
    send("TERM", &child);
    let code = ended(&mut child).code();
    assert!(IN_ANY_ORDER.contains(&code), "{code:?}");
    feeding.join().unwrap();
}

#[test]
fn the_second_signal_ends_a_program_whose_messages_have_no_room() {
    if !can_watch("the_second_signal_ends_a_program_whose_messages_have_no_room") {
        return;
    }
    let (mut full, unread) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    let error = loop {
        if let Err(error) = full.write(&[b'.'; 4096]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    full.set_nonblocking(false).unwrap();
    let (stdout, stderr) = (OwnedFd::from(full.try_clone().unwrap()), OwnedFd::from(full));
    let mut command = Scene::new().command("millstream", "uppercase");
    command.current_dir("/").stdin(Stdio::piped()).stdout(stdout).stderr(stderr);
    let mut child = command.spawn().unwrap();
    listens(&child);
    // More than a pipe holds, so that some of it has been read, and is written.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&[b'x'; 100_000]).unwrap();
    send("INT", &child);
    send("TERM", &child);
    let code = ended(&mut child).code();
    assert!(IN_ANY_ORDER.contains(&code), "{code:?}");
    drop((stdin, unread));
}

#[test]
fn idling_ends_by_a_signal_wherever_it_runs() {
    if !can_watch("idling_ends_by_a_signal_wherever_it_runs") {
        return;
    }
    for (signal, code) in WAYS {
        for deploy in ["rings", "inline", "model"] {
            let mut child = start(&format!("idle --deploy {deploy}"));
            listens(&child);
            send(signal, &child);
            assert_eq!(result(&mut child), (String::new(), String::new(), Some(code)), "{deploy}");
        }
    }
}

/// Measures processor time, not wall time: a busy machine changes nothing.
#[test]
fn idling_takes_no_processor_time() {
    if !can_watch("idling_takes_no_processor_time") {
        return;
    }
    const WATCHED: Duration = Duration::from_secs(10);
    let mut child = start("idle");
    listens(&child);
    let before = processor_ns(&child);
    thread::sleep(WATCHED);
    let after = processor_ns(&child);
    send("INT", &child);
    assert_eq!(ended(&mut child).code(), Some(130));
    let took = Duration::from_nanos(after - before);
    assert!(took < WATCHED / 100, "{took:?} of {WATCHED:?}");
}

/// The processor time of all threads of the program.
fn processor_ns(child: &Child) -> u64 {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let taken = threads.map(|thread| {
        let text = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    });
    taken.sum()
}
