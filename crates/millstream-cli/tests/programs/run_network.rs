//! Sources and sinks of `run` on the network.

use crate::scene::{Input, PATIENCE, Scene, ended};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A run of `p.mill` that listens.
struct Listens {
    scene: Scene,
    child: Child,
    address: String,
}

/// Ends a process that a test has left.
impl Drop for Listens {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Listens {
    fn run(text: &str) -> Self {
        Listens::deployed("", text)
    }

    fn deployed(deploy: &str, text: &str) -> Self {
        let scene = Scene::new().file("p.mill", text);
        let out = File::create(scene.path("stdout")).expect("a file");
        let mut command = scene.command("millstream", &format!("run {deploy} p.mill"));
        let mut child = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().expect("it starts");
        let (mut stderr, mut line) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
        stderr.read_line(&mut line).expect("a line");
        let (_, address) = line.trim().split_once(": listening at http://").expect("an address");
        let address = address.trim_end_matches("/ingest").to_owned();
        Listens { scene, child, address }
    }

    fn post(&self, body: &str) -> (u16, String) {
        self.post_to("/ingest", body)
    }

    fn post_to(&self, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let (length, address) = (body.len(), &self.address);
        let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}");
        write!(stream, "{head}\r\nConnection: close\r\n\r\n{body}").expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    /// Ends the run by a signal. Returns its exit code and its standard output.
    fn end(mut self) -> (Option<i32>, String) {
        let kill = self.scene.command("kill", &format!("-TERM {}", self.child.id()));
        assert_eq!(self.scene.run(kill, Input::Nothing).code, Some(0));
        let code = ended(&mut self.child).code();
        (code, fs::read_to_string(self.scene.path("stdout")).expect("text"))
    }
}

/// The exit code of a run that a signal has ended, after all accepted rows.
const TERMINATED: Option<i32> = Some(128 + 15);

#[test]
fn rows_are_taken_at_their_path_alone() {
    let run = Listens::run("jsonl(listen: \"127.0.0.1:0\") | count");
    for path in ["/", "/rows"] {
        assert_eq!(run.post_to(path, "1\n"), (404, "nothing is here: post rows to /ingest\n".to_owned()), "{path}");
    }
    assert_eq!(run.post("1\n").0, 202);
    assert_eq!(run.end(), (TERMINATED, "{\"count\":1}\n".to_owned()));
}

#[test]
fn every_row_that_was_accepted_is_in_the_output() {
    let run = Listens::run("jsonl(listen: \"127.0.0.1:0\") | fold({n: count, sum: sum(.n)}, by: .k)");
    thread::scope(|scope| {
        for key in ["a", "b", "c"] {
            let run = &run;
            scope.spawn(move || {
                for part in 0..20 {
                    // The last line of a body needs no end.
                    let rows: Vec<String> =
                        (0..500).map(|n| format!("{{\"k\":\"{key}\",\"n\":{}}}", part * 500 + n)).collect();
                    // Sends a body again that is refused while the pipeline is full.
                    let answer = loop {
                        match run.post(&rows.join("\n")) {
                            (503, _) => thread::sleep(Duration::from_millis(5)),
                            answer => break answer,
                        }
                    };
                    assert_eq!(answer, (202, "{\"taken\":500}\n".to_owned()));
                }
            });
        }
    });
    let row = |key| format!("{{\"k\":\"{key}\",\"n\":10000,\"sum\":49995000}}\n");
    assert_eq!(run.end(), (TERMINATED, ["a", "b", "c"].map(row).concat()));
}

/// Rows that were accepted and are under way when the signal comes.
#[test]
fn a_signal_loses_no_accepted_row_on_any_deployment() {
    let slow = "jsonl(listen: \"127.0.0.1:0\") | map([range(100000)] | length) | count";
    for deploy in ["rings", "queues", "inline", "model"] {
        let run = Listens::deployed(&format!("--deploy {deploy}"), slow);
        let taken = (0..12).filter(|_| run.post("1\n2\n3\n").0 == 202).count();
        assert!(taken > 4, "{deploy}: {taken}");
        assert_eq!(run.end(), (TERMINATED, format!("{{\"count\":{}}}\n", 3 * taken)), "{deploy}");
    }
}

#[test]
fn posted_lines_that_are_no_rows_are_dead_letters_of_the_address() {
    let run = Listens::run("jsonl(listen: \"127.0.0.1:0\", dead: \"bad\") | count");
    assert_eq!(run.post("1\nx\n2\n"), (202, "{\"taken\":3}\n".to_owned()));
    let (bad, expected) = (run.scene.path("bad"), format!("{{\"file\":\"{}\",\"number\":2,", run.address));
    let begun = Instant::now();
    while !fs::read_to_string(&bad).is_ok_and(|bad| bad.starts_with(&expected)) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", fs::read_to_string(&bad));
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(run.end(), (TERMINATED, "{\"count\":2}\n".to_owned()));
}

#[test]
fn lines_are_posted_too() {
    let run = Listens::run("lines(listen: \"127.0.0.1:0\") | where((length > 1)) | lines");
    assert_eq!(run.post("a\nbc\nd\nef"), (202, "{\"taken\":4}\n".to_owned()));
    assert_eq!(run.end(), (TERMINATED, "bc\nef\n".to_owned()));
}

#[test]
fn one_run_posts_to_another() {
    let run = Listens::run("jsonl(listen: \"127.0.0.1:0\") | sum(.n)");
    let rows: String = (0..50_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let text = format!("jsonl | where(.n % 2 == 1) | jsonl(\"http://{}/ingest\")", run.address);
    let scene = Scene::new().file("rows", rows).file("p.mill", text);
    let posted = scene.millstream("run p.mill rows", Input::Nothing);
    assert_eq!((posted.code, &*posted.stderr), (Some(0), ""));
    assert_eq!(run.end(), (TERMINATED, "{\"sum\":625000000}\n".to_owned()));
    // Nothing listens there any longer.
    let refused = scene.millstream("run p.mill rows", Input::Nothing);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.ends_with("Connection refused\n"), "{}", refused.stderr);
}

/// As after the 30 seconds that a sink waits for an answer.
#[test]
fn rows_that_are_posted_again_to_a_run_that_stood_still_are_taken_once() {
    for state in ["", "--state state "] {
        let mut run = Listens::deployed(state, "jsonl(listen: \"127.0.0.1:0\") | jsonl(\"rows\")");
        let signal = |run: &Listens, name: &str| {
            let kill = run.scene.command("kill", &format!("-{name} {}", run.child.id()));
            assert_eq!(run.scene.run(kill, Input::Nothing).code, Some(0));
        };
        signal(&run, "STOP");
        let (address, body) = (&run.address, "{\"n\":1}\n{\"n\":2}\n");
        let post = |_| {
            let mut stream = TcpStream::connect(address).expect("it listens");
            let head = format!("POST /ingest HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}", body.len());
            let key = "Idempotency-Key: run-1:0\r\nConnection: close";
            write!(stream, "{head}\r\n{key}\r\n\r\n{body}").expect("it is written");
            stream
        };
        let posts = [0, 1].map(post);
        signal(&run, "CONT");
        for mut post in posts {
            let mut answer = String::new();
            post.read_to_string(&mut answer).expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 20") && answer.ends_with("{\"taken\":2}\n"), "{state}: {answer}");
        }
        signal(&run, "TERM");
        assert_eq!(ended(&mut run.child).code(), TERMINATED);
        assert_eq!(fs::read_to_string(run.scene.path("rows")).expect("text"), body, "{state}");
    }
}

#[test]
fn a_url_is_read_as_a_file_is() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = thread::spawn(move || {
        for status in ["200 OK", "404 Not Found"] {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = BufReader::new(stream.try_clone().expect("a stream"));
            let mut line = String::new();
            while request.read_line(&mut line).expect("a line") > 2 {
                line.clear();
            }
            let body = "{\"n\":1}\n{\"n\":20}\n";
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
                .expect("it is read");
        }
    });
    let scene = Scene::new().file("p.mill", format!("jsonl(\"http://{address}/rows?of=[1]\") | sum(.n)"));
    let read = scene.millstream("run p.mill", Input::Nothing);
    assert_eq!((read.code, read.text().as_str(), &*read.stderr), (Some(0), "{\"sum\":21}\n", ""));
    let missing = scene.millstream("run p.mill", Input::Nothing);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.ends_with("rows?of=[1]': the server answered with status 404\n"), "{}", missing.stderr);
    serving.join().expect("it has served");
}

#[test]
fn mistakes_and_failures_on_the_network_are_reported() {
    let cases = [
        ("jsonl(listen: \"0.0.0.0:0\") | count", "", 2, "so a token is needed"),
        ("jsonl(listen: \"nowhere\") | count", "", 1, "listen: nowhere: "),
        ("jsonl(\"f\", listen: \"127.0.0.1:0\") | count", "", 2, "a source that listens cannot read files"),
        ("jsonl(listen: \"127.0.0.1:0\", follow: true) | count", "", 2, "a source that listens cannot follow a file"),
        ("jsonl(\"f-*.jsonl\", follow: true) | count", "", 2, "reads one file: f-*.jsonl is a pattern"),
        ("jsonl(listen: \"0.0.0.0:0\") | jsonl(\"n\")", "--state s", 2, "so a token is needed"),
        ("jsonl(listen: \"nowhere\") | jsonl(\"n\")", "--state s", 1, "listen: nowhere: "),
        ("jsonl(\"http://127.0.0.1:1/f\") | jsonl(\"n\")", "--state s", 1, "127.0.0.1:1/f': io: Connection refused"),
        (
            "jsonl(\"p.mill\") | jsonl(\"https://127.0.0.1:1/f\")",
            "--state s",
            1,
            "http:// addresses, without encryption",
        ),
        ("jsonl(\"http://127.0.0.1:1/f\", follow: true) | count", "", 2, "can read a file, not a URL"),
        ("jsonl(\"https://127.0.0.1:1/f\") | count", "", 1, "http:// addresses, without encryption"),
        ("jsonl | jsonl(\"https://127.0.0.1:1/f\")", "", 1, "http:// addresses, without encryption"),
        (
            "let a = jsonl(listen: \"127.0.0.1:0\"); let b = jsonl(listen: \"127.0.0.1:0\");
             a | jsonl(\"a\"); b | jsonl(\"b\")",
            "",
            2,
            "the input at 127.0.0.1:0 has no end",
        ),
    ];
    for (text, args, code, why) in cases {
        let scene = Scene::new().file("p.mill", text).file("f", "1\n");
        let seen = scene.millstream(&format!("run {args} p.mill"), Input::Nothing);
        assert_eq!(seen.code, Some(code), "{text}: {}", seen.stderr);
        assert!(seen.stderr.contains(why), "{text}: {}", seen.stderr);
    }
    let scene = Scene::new().file("p.mill", "jsonl(listen: \"127.0.0.1:0\") | count");
    let verified = scene.millstream("verify p.mill", Input::Nothing);
    assert_eq!(verified.code, Some(2), "{}", verified.stderr);
}
