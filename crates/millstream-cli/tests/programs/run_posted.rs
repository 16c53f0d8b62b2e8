//! `run --state` over posted rows: the run is killed, and the senders repeat their rows.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// A run of `p.mill` that keeps its state. It is killed when the test is over.
pub(crate) struct Run {
    pub(crate) child: Child,
    pub(crate) port: u16,
    said: Arc<Mutex<String>>,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Run {
    /// Its output is appended to `out`.
    pub(crate) fn start(scene: &Scene, args: &str) -> Self {
        let mut command = scene.command("millstream", &format!("run p.mill --state state {args}"));
        command.stdin(Stdio::null());
        Run::of(scene, command)
    }

    pub(crate) fn of(scene: &Scene, mut command: Command) -> Self {
        let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
        let mut child = command.stdout(out).stderr(Stdio::piped()).spawn().expect("it starts");
        let (mut lines, mut all) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
        let port = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).expect("text") > 0, "it ended before it listened: {all}");
            all += &line;
            if let Some((_, at)) = line.split_once("listening at http://127.0.0.1:") {
                break at.trim_end().trim_end_matches("/ingest").parse().expect("a port");
            }
        };
        let said = Arc::new(Mutex::new(all));
        let later = said.clone();
        thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                later.lock().expect("a lock").push_str(&std::mem::take(&mut line));
            }
        });
        Run { child, port, said }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Ends it by a signal. Returns its exit code.
    pub(crate) fn end(&mut self, scene: &Scene) -> Option<i32> {
        let kill = scene.command("kill", &format!("-TERM {}", self.child.id()));
        assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
        ended(&mut self.child).code()
    }

    /// The word that it has said after a text. It has said that text.
    pub(crate) fn word_after(&self, text: &str) -> String {
        self.says(text);
        let said = self.said.lock().expect("a lock");
        let (_, rest) = said.split_once(text).expect("it is there");
        rest.split([',', ':', ' ', '\n']).next().unwrap_or_default().to_owned()
    }

    pub(crate) fn says(&self, text: &str) {
        let since = Instant::now();
        while !self.said.lock().expect("a lock").contains(text) {
            assert!(since.elapsed() < PATIENCE, "it said: {}", self.said.lock().expect("a lock"));
            sleep(Duration::from_millis(1));
        }
    }
}

/// The status of the response; `None` if there is no response.
pub(crate) fn post(port: u16, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let length = body.len();
    let head = format!("POST /ingest HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n");
    let head = head + "Connection: close\r\n\r\n";
    // The body may be refused before all of it is read.
    let written = stream.write_all((head + body).as_bytes());
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    written.and(read).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The rows of a body: mostly few, some of which are not JSON, and sometimes more than a block has.
fn rows(client: usize, body: usize) -> Vec<String> {
    let many = if body % 17 == 16 { 4000 } else { 5 };
    let row = |n: usize| match n % 7 {
        3 => format!("bad {client}-{body}-{n}"),
        _ => format!("{{\"id\":\"{client}-{body}-{n}\",\"k\":{},\"pad\":\"{}\"}}", n % 3, "x".repeat(20)),
    };
    (0..many).map(row).collect()
}

/// The outcome of a body.
struct Sent {
    rows: Vec<String>,
    times: usize,
    answered: bool,
}

const CLIENTS: usize = 5;
const BODIES: usize = 60;

/// Sends bodies, and repeats those without an answer if `repeat` is set.
fn client(client: usize, repeats: bool, port: &AtomicU16) -> Vec<Sent> {
    let body = |body| {
        let (rows, since) = (rows(client, body), Instant::now());
        let text = rows.join("\n") + "\n";
        let (mut times, mut answered) = (0, false);
        while !answered && (times == 0 || repeats) {
            assert!(since.elapsed() < PATIENCE, "no answer");
            times += 1;
            match post(port.load(Ordering::Relaxed), &text) {
                Some(status) => answered = status == 200,
                None => sleep(Duration::from_millis(2)),
            }
        }
        Sent { rows, times, answered }
    };
    (0..BODIES).map(body).collect()
}

const TEXT: &str = "let row = jsonl(listen: \"127.0.0.1:0\", dead: \"bad.jsonl\");
    row | jsonl(\"all.jsonl\"); row | count(by: .k) | csv(\"n.csv\"); row | distinct(.id) | skip(50) | map({id})";

pub(crate) fn text_of(scene: &Scene, name: &str) -> String {
    fs::read_to_string(scene.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All rows in the order in which the run took them. A row that is not JSON is at the place in its dead letter.
fn in_order(scene: &Scene) -> Vec<String> {
    let dead = text_of(scene, "bad.jsonl");
    let mut dead = dead.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")).peekable();
    let (all, mut rows) = (text_of(scene, "all.jsonl"), Vec::new());
    let mut put_dead = |rows: &mut Vec<String>| {
        while let Some(letter) = dead.next_if(|letter| letter["number"] == rows.len() as u64 + 1) {
            rows.push(letter["row"].as_str().expect("a text").to_owned());
        }
    };
    for row in all.lines() {
        put_dead(&mut rows);
        rows.push(row.to_owned());
    }
    put_dead(&mut rows);
    assert!(dead.next().is_none(), "a dead letter has no place");
    rows
}

#[test]
fn answered_rows_are_in_every_output_whatever_is_killed() {
    let scene = Scene::new().file("p.mill", TEXT);
    let args = "--snapshot-every 0.05s";
    let mut run = Run::start(&scene, args);
    let port = Arc::new(AtomicU16::new(run.port));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let port = port.clone();
            thread::spawn(move || client(number, number % 2 == 0, &port))
        })
        .collect();
    let mut lives = 1;
    while !clients.iter().all(thread::JoinHandle::is_finished) && lives < 12 {
        sleep(Duration::from_millis(random() % 120));
        run.kill();
        run = Run::start(&scene, args);
        port.store(run.port, Ordering::Relaxed);
        lives += 1;
    }
    let sent: Vec<Sent> = clients.into_iter().flat_map(|client| client.join().expect("a client")).collect();
    assert_eq!(run.end(&scene), Some(143));
    assert!(lives > 2, "nothing was killed");

    let order = in_order(&scene);
    let mut found = HashMap::new();
    order.iter().for_each(|row| *found.entry(row.as_str()).or_insert(0) += 1);
    for Sent { rows, times, answered } in &sent {
        for row in rows {
            let there = found.remove(row.as_str()).unwrap_or(0);
            assert!((usize::from(*answered)..=*times).contains(&there), "{row}: {there} times, sent {times} times");
        }
    }
    assert!(found.is_empty(), "rows that were not sent: {found:?}");
    assert!(sent.iter().any(|sent| sent.answered && sent.times == 1), "nothing was answered at once");

    // One run over the same rows.
    let one = Scene::new().file("rows", order.join("\n") + "\n");
    let one = one.file("p.mill", TEXT.replace("listen: \"127.0.0.1:0\"", "\"rows\""));
    let seen = one.millstream("run --quiet p.mill", Input::Nothing);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.text() == text_of(&scene, "out"), "standard output differs");
    for name in ["all.jsonl", "n.csv", "bad.jsonl"] {
        let of_one = text_of(&one, name).replace("\"file\":\"rows\"", "\"file\":\"127.0.0.1:0\"");
        assert!(of_one == text_of(&scene, name), "{name}: other bytes");
    }
    // The tools listen nowhere.
    let seen = scene.millstream("state state --at end --stage count", Input::Nothing);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
}

/// The rows that a join looks up are read before the posted rows, and not again.
#[test]
fn a_file_can_be_read_before_posted_rows() {
    let text = "jsonl(listen: \"127.0.0.1:0\") | join(jsonl(\"users\"), on: .user)";
    let scene = Scene::new().file("p.mill", text).file("users", "{\"user\":\"ann\",\"city\":\"Ulm\"}\n");
    let mut expected = String::new();
    for id in 0..4 {
        let mut run = Run::start(&scene, "--snapshot-every 0.02s");
        assert_eq!(post(run.port, &format!("{{\"user\":\"ann\",\"id\":{id}}}")), Some(200));
        if id < 3 {
            run.kill();
        } else {
            assert_eq!(run.end(&scene), Some(143));
        }
        expected += &format!("{{\"user\":\"ann\",\"city\":\"Ulm\",\"id\":{id}}}\n");
    }
    assert_eq!(text_of(&scene, "out"), expected);
}

#[test]
fn an_address_that_is_in_use_is_reported() {
    let used = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = used.local_addr().expect("an address");
    let scene = Scene::new().file("p.mill", format!("jsonl(listen: \"{address}\") | jsonl(\"rows\")"));
    let seen: Seen = scene.millstream("run p.mill --state state", Input::Nothing);
    let why = format!("millstream run: listen: {address}: Address already in use");
    assert!(seen.stderr.starts_with(&why) && seen.code == Some(1), "{}", seen.stderr);
    // What a run has written since its last snapshot stays.
    drop(used);
    let run = Run::start(&scene, "--snapshot-every 1000000");
    assert_eq!(post(run.port, "{\"n\":1}"), Some(200));
    let since = Instant::now();
    while text_of(&scene, "rows") != "{\"n\":1}\n" {
        assert!(since.elapsed() < PATIENCE, "{}", text_of(&scene, "rows"));
        sleep(Duration::from_millis(1));
    }
    run.kill();
    let used = TcpListener::bind(address).expect("the port");
    let seen = scene.millstream("run p.mill --state state", Input::Nothing);
    assert!(seen.stderr.contains(&why) && seen.code == Some(1), "{}", seen.stderr);
    assert_eq!(text_of(&scene, "rows"), "{\"n\":1}\n");
    drop(used);
    let twice = format!("let a = jsonl(\"-\"); a | jsonl(\"a\"); jsonl(listen: \"{address}\") | jsonl(\"b\")");
    let scene = Scene::new().file("p.mill", twice);
    let seen = scene.millstream("run p.mill --state state", Input::Nothing);
    assert!(seen.stderr.contains("the journal keeps one source"), "{}", seen.stderr);
    assert_eq!(seen.code, Some(2));
}

/// As a second start by mistake is: the first process goes on writing.
#[test]
fn a_run_that_is_refused_leaves_the_files_of_the_one_before() {
    let used = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = used.local_addr().expect("an address");
    let text = format!("jsonl(listen: \"{address}\", dead: \"dead\") | jsonl(\"rows\")");
    let scene = Scene::new().file("p.mill", text).file("rows", "of before\n").file("dead", "of before\n");
    let scene = scene.file("one.mill", "jsonl(\"in\") | jsonl(\"rows\")").file("in", "{\"n\":1}\n");
    let refused = [
        ("run p.mill --state state".to_owned(), "Address already in use", 1),
        ("run p.mill".to_owned(), "Address already in use", 1),
        (format!("run one.mill --page {address}"), "Address already in use", 1),
        ("run one.mill --stats no/such".to_owned(), "No such file or directory", 1),
        ("run one.mill --memory-limit 100".to_owned(), "no ring is small enough", 2),
        ("run one.mill --memory-limit 100 --state memory".to_owned(), "no ring is small enough", 2),
    ];
    for (args, why, code) in refused {
        let seen = scene.millstream(&args, Input::Nothing);
        assert!(seen.stderr.contains(why) && seen.code == Some(code), "{args}: {} {:?}", seen.stderr, seen.code);
        assert_eq!(["rows", "dead"].map(|name| text_of(&scene, name)), ["of before\n"; 2], "{args}");
    }
    for place in ["model", "inline", "queues", "rings"] {
        let scene = Scene::new().file("rows", "of before\n").file("none", "of before\n").file("in", "{\"n\":1}\n");
        let text = "let a = jsonl(\"in\"); a | jsonl(\"rows\"); a | where(.n > 5) | jsonl(\"none\")";
        let scene = scene.file("p.mill", text);
        assert_eq!(scene.millstream(&format!("run p.mill --deploy {place}"), Input::Nothing).code, Some(0));
        assert_eq!(["rows", "none"].map(|name| text_of(&scene, name)), ["{\"n\":1}\n", ""], "{place}");
    }
}
