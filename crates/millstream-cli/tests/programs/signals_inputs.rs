//! A signal while one of several inputs waits: the output ends there.

use crate::scene::{PATIENCE, Scene, ended};
#[cfg(feature = "run")]
use std::io::{BufRead, BufReader};
use std::io::{Read, Write};
#[cfg(feature = "run")]
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
#[cfg(feature = "run")]
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const WAYS: [&str; 4] = ["rings", "queues", "inline", "model"];

/// What a program prints that gets three lines by a pipe which stays open, and a signal once these first bytes of its
/// output have come; its messages, and its exit code.
fn interrupted(scene: &Scene, args: &[&str], first: usize) -> (String, String, Option<i32>) {
    let mut command = scene.command("millstream", "");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"1\n2\n3\n").unwrap();
    wait_until_read(&stdin);
    let mut out = vec![0; first];
    child.stdout.as_mut().unwrap().read_exact(&mut out).unwrap();
    interrupt(&child);
    let code = ended(&mut child).code();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    drop(stdin);
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    (String::from_utf8(out).unwrap(), stderr, code)
}

fn wait_until_read(pipe: &ChildStdin) {
    let start = Instant::now();
    while rustix::io::ioctl_fionread(pipe).unwrap() > 0 {
        assert!(start.elapsed() < PATIENCE, "the pipe is not read");
        thread::sleep(Duration::from_millis(1));
    }
}

fn interrupt(child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status();
    assert!(sent.expect("a shell").success());
}

#[test]
fn inputs_after_the_one_that_waits_are_left_out() {
    let spaced = "[spaces: 0]1\n[spaces: 0]2\n[spaces: 0]3\n";
    let programs: &[(&[&str], &str)] = &[
        (&["uppercase"], "1\n2\n3\n"),
        (&["spaces"], spaced),
        #[cfg(feature = "run")]
        (&["run", "-e", "lines"], "1\n2\n3\n"),
        #[cfg(feature = "jq")]
        (&["jq", "-c", "-R", "."], "\"1\"\n\"2\"\n\"3\"\n"),
    ];
    for (args, expected) in programs {
        for way in WAYS {
            let scene = Scene::new().file("f", "A B\nC\n");
            let args = [*args, &["--deploy", way, "-", "f"]].concat();
            let first = if way == "model" { 0 } else { expected.len() };
            let (stdout, stderr, code) = interrupted(&scene, &args, first);
            assert_eq!((stdout.as_str(), code), (*expected, Some(130)), "{args:?}: {stderr}");
            if args[0] == "run" {
                let said = "interrupted within standard input, after 3 rows";
                assert!(stderr.contains(said), "{args:?}: {stderr}");
            }
        }
    }
}

/// They are read, and a pipe has them no more.
#[cfg(feature = "run")]
#[test]
fn rows_that_wait_for_a_sample_come_out_at_a_signal() {
    let cases = [
        ("csv | csv", ["a,b\n1,2\n", "3,4\n5,6\n"], "a,b\n1,2\n3,4\n5,6\n"),
        ("jsonl(sample: 10) | map(.a)", ["{\"a\":1}\n", "{\"a\":2}\n{\"a\":3}\n"], "1\n2\n3\n"),
    ];
    for (text, pieces, expected) in cases {
        for way in WAYS {
            let scene = Scene::new().file("f", "a,b\n7,8\n");
            let mut command = scene.command("millstream", "");
            command.args(["run", "-e", text, "--deploy", way, "-", "f"]).stdin(Stdio::piped());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
            let mut stdin = child.stdin.take().unwrap();
            for piece in pieces {
                stdin.write_all(piece.as_bytes()).unwrap();
                wait_until_read(&stdin);
            }
            interrupt(&child);
            let code = ended(&mut child).code();
            drop(stdin);
            let seen = child.wait_with_output().expect("it has ended");
            let [stdout, stderr] = [seen.stdout, seen.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!((stdout.as_str(), code), (expected, Some(130)), "{way} {text}: {stderr}");
            assert!(stderr.contains("interrupted within standard input, after 3 rows"), "{way} {text}: {stderr}");
        }
    }
}

/// A source without an end is ended by its signal, and the run with it.
#[cfg(feature = "run")]
#[test]
fn an_input_that_waits_before_an_endless_source_is_ended() {
    let endless: &[&str] = &[
        "lines(\"log\", follow: true)",
        #[cfg(feature = "serve")]
        "lines(listen: \"127.0.0.1:0\")",
    ];
    for endless in endless {
        let text = format!("lines | lines(\"out\"); {endless} | lines(\"more\")");
        for way in WAYS {
            let scene = Scene::new().file("log", "never read\n");
            let (_, stderr, code) = interrupted(&scene, &["run", "--deploy", way, "-e", &text], 0);
            assert_eq!(code, Some(130), "{way} {text}: {stderr}");
            assert!(stderr.contains("interrupted within standard input, after 3 rows"), "{way} {text}: {stderr}");
            assert_eq!(std::fs::read_to_string(scene.path("out")).unwrap(), "1\n2\n3\n", "{way} {text}");
        }
    }
}

/// Nothing is left to be written.
#[cfg(feature = "run")]
#[test]
fn a_fifo_that_waits_for_its_writer_is_left_when_an_output_before_it_is_lost() {
    if !std::path::Path::new("/dev/full").exists() {
        let name = "a_fifo_that_waits_for_its_writer_is_left_when_an_output_before_it_is_lost";
        return millstream_testkit::programs::skipped(name, "no /dev/full");
    }
    // Neither is drained: the one ends with its source, and so does the other, for its sample. The output is lost when
    // the wait has begun.
    let slow = "map([range(200000)] | length) | lines(\"/dev/full\")";
    let texts = [format!("lines | {slow}; lines(\"log\", follow: true) | lines(\"more\")"), format!("csv | {slow}")];
    for text in texts {
        let scene = Scene::new().file("rows", "a\n1\n").file("log", "never read\n");
        assert!(scene.command("mkfifo", "fifo").status().expect("it starts").success());
        let mut command = scene.command("millstream", "");
        let mut child = command.args(["run", "-e", &text, "rows", "fifo"]).stdin(Stdio::null()).spawn();
        let child = child.as_mut().expect("the program starts");
        assert_eq!(ended(child).code(), Some(1), "{text}");
    }
}

#[cfg(feature = "run")]
#[test]
fn a_kept_input_that_waits_before_an_endless_source_is_ended() {
    let scene = Scene::new().file("log", "never read\n").file("out", "");
    let text = "lines | lines(\"out\"); lines(\"log\", follow: true) | lines(\"more\")";
    for rows in ["1\n", "1\n1\n"] {
        let mut command = scene.command("millstream", "run --state state -e");
        let mut child = command.arg(text).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"1\n").unwrap();
        let start = Instant::now();
        while std::fs::read_to_string(scene.path("out")).unwrap() != rows {
            assert!(start.elapsed() < PATIENCE, "the row does not come out");
            thread::sleep(Duration::from_millis(1));
        }
        interrupt(&child);
        assert_eq!(ended(&mut child).code(), Some(130));
        drop(stdin);
    }
}

/// A server that gives each connection the beginning of an answer and nothing more. Returns the URL of a file there,
/// and the connections that have got theirs.
#[cfg(feature = "run")]
fn falls_silent(answers: &'static [&str]) -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/file", listener.local_addr().expect("an address"));
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = BufReader::new(stream.try_clone().expect("a stream")).lines();
            while !request.next().expect("a request").expect("a line").is_empty() {}
            stream.write_all(answer.as_bytes()).expect("it is read");
            sender.send(stream).expect("the test waits");
        }
    });
    (url, receiver)
}

#[cfg(feature = "run")]
const ROWS: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n1\n2\n3\n";

/// Neither the head of an answer nor the rest of a body that does not come keeps the run.
#[cfg(feature = "run")]
#[test]
fn a_url_that_is_silent_before_an_endless_source_is_ended() {
    for way in WAYS {
        for answer in [&[""], &[ROWS]] {
            let (url, connections) = falls_silent(answer);
            let scene = Scene::new().file("log", "never read\n");
            let text = format!("lines(\"{url}\") | lines(\"out\"); lines(\"log\", follow: true) | lines(\"more\")");
            let mut command = scene.command("millstream", "");
            let command = command.args(["run", "--deploy", way, "-e", &text]).stdin(Stdio::null());
            let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
            let _open = connections.recv_timeout(PATIENCE).expect("it asks");
            // Time to read the rows.
            thread::sleep(Duration::from_millis(100));
            interrupt(&child);
            assert_eq!(ended(&mut child).code(), Some(130), "{way} {answer:?}");
            let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            assert!(stderr.contains(&format!("interrupted within '{url}'")), "{way} {answer:?}: {stderr}");
            assert_eq!(std::fs::read_to_string(scene.path("more")).unwrap(), "", "{way} {answer:?}");
        }
    }
}

#[cfg(feature = "run")]
#[test]
fn a_kept_url_that_is_silent_is_ended_also_where_a_start_reads_it_again() {
    for more in ["; lines(\"log\", follow: true) | lines(\"more\")", ""] {
        let answers = &[ROWS, "", ROWS];
        let (url, connections) = falls_silent(answers);
        let scene = Scene::new().file("log", "never read\n");
        let text = format!("lines(\"{url}\") | lines(\"out\"){more}");
        for answer in answers {
            let mut command = scene.command("millstream", "run --state state --snapshot-every 1 -e");
            let mut child = command.arg(&text).stdin(Stdio::null()).spawn().expect("the program starts");
            let _open = connections.recv_timeout(PATIENCE).expect("it asks");
            thread::sleep(Duration::from_millis(100));
            interrupt(&child);
            assert_eq!(ended(&mut child).code(), Some(130), "{more} {answer:?}");
        }
    }
}

/// It would pass for the answer to all values.
#[cfg(feature = "jq")]
#[test]
fn values_that_are_taken_together_have_no_answer() {
    for way in WAYS {
        for flags in ["-s", "-sR"] {
            let (stdout, stderr, code) = interrupted(&Scene::new(), &["jq", flags, ".", "--deploy", way], 0);
            assert_eq!((stdout.as_str(), stderr.as_str(), code), ("", "", Some(130)), "{way} {flags}");
        }
    }
}

/// As `timeout` sends it: to the process, and to the group that it is in.
#[test]
fn two_signals_of_one_kind_at_once_drain() {
    for way in WAYS {
        let drained = || {
            let scene = Scene::new();
            let mut command = scene.command("millstream", "");
            command.args(["pipe", "--deploy", way, "--", "sh", "-c", "sleep 0.3; cat"]);
            let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("the program starts");
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"1\n2\n").unwrap();
            wait_until_read(&stdin);
            interrupt(&child);
            interrupt(&child);
            let code = ended(&mut child).code();
            assert_eq!(code, Some(130), "{way}");
            drop(stdin);
            std::io::read_to_string(child.stdout.take().unwrap()).unwrap() == "1\n2\n"
        };
        // A machine may be too slow to send two signals within the time.
        assert!((0..5).any(|_| drained()), "{way}");
    }
}
