//! `run --state` over posted rows, while new processes take over from old ones under the clients.

use crate::client::Connection;
use crate::run_posted::{Run, post, random, text_of};
use crate::scene::{PATIENCE, Scene, Seen, ended};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
#[cfg(target_os = "linux")]
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

const TEXT: &str = "jsonl(listen: \"127.0.0.1:0\") | map(.id)";
const OFTEN: &str = "--snapshot-every 0.05s";
/// A process with this flag is not settled before its first five seconds are over.
const SELDOM: &str = "--snapshot-every 3600s";

/// How a client posts. Each row has its own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Each row on its own connection.
    New,
    /// All on one connection.
    Kept,
    /// The body comes late.
    Slow,
    /// Three rows in a body that comes in pieces, which end within rows.
    Chunked,
}

/// A client for which nothing may go wrong: every row is acknowledged.
struct Client {
    kind: Kind,
    connection: Connection,
}

impl Client {
    fn post(&mut self, rows: &[String]) {
        let body: String = rows.iter().map(|id| format!("{{\"id\":\"{id}\"}}\n")).collect();
        let stream = self.connection.stream();
        let mut say = |text: &str| stream.write_all(text.as_bytes()).expect("it can be sent");
        let close = if self.kind == Kind::New { "connection: close\r\n" } else { "" };
        let head = format!("POST /ingest HTTP/1.1\r\nhost: localhost\r\n{close}");
        if self.kind == Kind::Chunked {
            say(&(head + "transfer-encoding: chunked\r\n\r\n"));
            for piece in body.as_bytes().chunks(body.len() / 3 + 2) {
                sleep(Duration::from_millis(random() % 10));
                say(&format!("{:x}\r\n{}\r\n", piece.len(), str::from_utf8(piece).expect("text")));
            }
            say("0\r\n\r\n");
        } else {
            say(&format!("{head}content-length: {}\r\n\r\n", body.len()));
            let (first, second) = body.split_at(if self.kind == Kind::Slow { 4 } else { 0 });
            say(first);
            if self.kind == Kind::Slow {
                sleep(Duration::from_millis(random() % 30));
            }
            say(second);
        }
        assert_eq!(self.connection.response().body, format!("{{\"taken\":{}}}\n", rows.len()));
    }
}

/// Posts until it is over. Returns the ids.
fn posting(port: u16, name: usize, kind: Kind, over: &Arc<AtomicBool>) -> JoinHandle<Vec<String>> {
    let over = over.clone();
    spawn(move || {
        let (mut client, mut ids) = (Client { kind, connection: Connection::to(port) }, Vec::new());
        while !over.load(Ordering::Relaxed) {
            let many = if kind == Kind::Chunked { 3 } else { 1 };
            let rows: Vec<String> = (0..many).map(|n| format!("{name}-{}", ids.len() + n)).collect();
            client.post(&rows);
            ids.extend(rows);
            sleep(Duration::from_millis(1 + random() % 5));
        }
        ids
    })
}

/// The output has these ids, each once.
fn has_once(scene: &Scene, ids: impl IntoIterator<Item = String>) {
    let out = text_of(scene, "out");
    let mut found = HashMap::new();
    out.lines().for_each(|line| *found.entry(line.trim_matches('"')).or_insert(0) += 1);
    for id in ids {
        assert_eq!(found.remove(id.as_str()), Some(1), "{id}");
    }
    assert!(found.is_empty(), "rows that were not acknowledged: {found:?}");
}

/// A process that asks for the run, gets the sockets, and does not use them.
fn silent(scene: &Scene) -> UnixStream {
    let since = Instant::now();
    // The run may listen before it has begun.
    let mut link = loop {
        match UnixStream::connect(scene.path("state/take-over")) {
            Ok(link) => break link,
            Err(error) => assert!(since.elapsed() < PATIENCE, "{error}"),
        }
        sleep(Duration::from_millis(2));
    };
    link.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    link.write_all(b"T\x01").expect("it asks");
    let mut sockets = [0];
    link.read_exact(&mut sockets).expect("an answer");
    assert_eq!(&sockets, b"L");
    link
}

#[test]
fn a_client_sees_nothing_of_six_take_overs_and_each_row_is_there_once() {
    let scene = Scene::new().file("p.mill", TEXT);
    let mut present = Run::start(&scene, OFTEN);
    let over = Arc::new(AtomicBool::new(false));
    let kinds = [Kind::New, Kind::New, Kind::Kept, Kind::Kept, Kind::Slow, Kind::Chunked];
    let clients: Vec<_> =
        kinds.into_iter().enumerate().map(|(name, kind)| posting(present.port, name, kind, &over)).collect();
    for _ in 0..6 {
        sleep(Duration::from_millis(random() % 200));
        let next = Run::start(&scene, &format!("{OFTEN} --take-over"));
        next.says("took over from process ");
        assert_eq!(next.port, present.port);
        assert_eq!(ended(&mut present.child).code(), Some(0));
        present.says("handed over to process ");
        // The rows that come after the snapshot for the other process may be in another one.
        let taken = next.word_after(&format!("took over from process {} at number ", present.child.id()));
        assert_eq!(present.word_after("--take-over: retired at number "), taken);
        next.says("followed it to number ");
        present = next;
    }
    sleep(Duration::from_millis(100));
    over.store(true, Ordering::Relaxed);
    let ids: Vec<Vec<String>> = clients.into_iter().map(|client| client.join().expect("a client is content")).collect();
    assert_eq!(present.end(&scene), Some(143));
    assert!(ids.iter().all(|ids| !ids.is_empty()));
    has_once(&scene, ids.into_iter().flatten());
}

/// A new process that takes over, and how many numbers it read after the old one had stopped.
fn takes_over(scene: &Scene, old: &mut Run) -> (Run, u64, u64) {
    let new = Run::start(scene, &format!("{SELDOM} --take-over"));
    let number = |text: &str| new.word_after(text).parse::<u64>().expect("a number");
    let at = number(&format!("took over from process {} at number ", old.child.id()));
    let followed = number("followed it to number ");
    assert_eq!(ended(&mut old.child).code(), Some(0));
    assert_eq!(old.word_after("--take-over: retired at number "), at.to_string());
    (new, at, at - followed)
}

#[test]
fn a_new_run_has_read_what_came_since_the_snapshot_before_the_old_one_stops() {
    let scene = Scene::new().file("p.mill", TEXT);
    let mut run = Run::start(&scene, SELDOM);
    let takes = |port: u16, ids: std::ops::Range<u64>| {
        ids.for_each(|id| assert_eq!(post(port, &format!("{{\"id\":\"{id}\"}}")), Some(200)));
    };
    takes(run.port, 0..300);
    let (mut new, at, replayed) = takes_over(&scene, &mut run);
    // The journal does not say of the last row that it is durable.
    assert!(at == 300 && replayed <= 1, "{replayed} of {at}");
    takes(new.port, 300..400);
    // Another text, which has another stage with a state; the files of before go on.
    let text = "let row = jsonl(listen: \"127.0.0.1:0\"); row | jsonl(\"rows\"); row | map(.id)";
    fs::write(scene.path("p.mill"), text).expect("the text");
    let (mut next, at, replayed) = takes_over(&scene, &mut new);
    assert!(at == 400 && replayed <= 1, "{replayed} of {at}");
    takes(next.port, 400..402);
    assert_eq!(next.end(&scene), Some(143));
    let all = (0..402).map(|id| format!("\"{id}\"\n")).collect::<String>();
    assert_eq!(text_of(&scene, "out"), all);
    assert_eq!(text_of(&scene, "rows"), "{\"id\":\"400\"}\n{\"id\":\"401\"}\n");
}

#[test]
fn the_old_run_goes_on_with_all_its_connections_if_the_new_one_dies_before_it_begins() {
    let scene = Scene::new().file("p.mill", TEXT);
    let mut run = Run::start(&scene, OFTEN);
    let over = Arc::new(AtomicBool::new(false));
    let kinds = [Kind::New, Kind::Kept, Kind::Slow, Kind::Chunked];
    let clients: Vec<_> =
        kinds.into_iter().enumerate().map(|(name, kind)| posting(run.port, name, kind, &over)).collect();
    let mut held = Vec::new();
    for n in 0..3 {
        sleep(Duration::from_millis(random() % 100));
        let new = silent(&scene);
        let port = run.port;
        let row = spawn(move || post(port, &format!("{{\"id\":\"held {n}\"}}")));
        sleep(Duration::from_millis(50));
        assert!(!row.is_finished(), "it is held");
        drop(new);
        assert_eq!(row.join().expect("a client"), Some(200));
        held.push(format!("held {n}"));
    }
    run.says("did not take over, so this process goes on");
    // A new process that cannot write its output, with another text: the old one goes on with its own text.
    fs::create_dir(scene.path("dir")).expect("a directory");
    let text = "let row = jsonl(listen: \"127.0.0.1:0\"); row | jsonl(\"dir\"); row | map(.id)";
    fs::write(scene.path("p.mill"), text).expect("the text");
    let mut new = scene.command("millstream", "run p.mill --state state --take-over");
    let out = File::options().append(true).open(scene.path("out")).expect("a file");
    let new = Seen::of(new.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).output().expect("it ends"));
    assert!(new.stderr.contains("dir: Is a directory") && new.code == Some(1), "{}", new.stderr);
    assert_eq!(post(run.port, "{\"id\":\"last\"}"), Some(200));
    held.push("last".to_owned());
    over.store(true, Ordering::Relaxed);
    let ids: Vec<Vec<String>> = clients.into_iter().map(|client| client.join().expect("a client is content")).collect();
    assert_eq!(run.end(&scene), Some(143));
    has_once(&scene, ids.into_iter().flatten().chain(held));
}

#[test]
fn the_old_run_still_listens_if_the_new_one_is_killed_before_its_first_snapshot() {
    let scene = Scene::new().file("p.mill", TEXT);
    let mut run = Run::start(&scene, OFTEN);
    let mut ids = Vec::new();
    let mut takes = |port: u16, id: String| {
        assert_eq!(post(port, &format!("{{\"id\":\"{id}\"}}")), Some(200));
        ids.push(id);
    };
    for n in 0..2 {
        takes(run.port, format!("old {n}"));
        let new = Run::start(&scene, &format!("{SELDOM} --take-over"));
        new.says("took over from process ");
        // The row is in the journal, where the old process reads it.
        takes(run.port, format!("new {n}"));
        new.kill();
        // A connection is not refused: it waits in the socket's queue.
        takes(run.port, format!("again {n}"));
        run.says("so this process goes on");
    }
    let new = Run::start(&scene, &format!("{OFTEN} --take-over"));
    assert_eq!(ended(&mut run.child).code(), Some(0));
    takes(new.port, "last".to_owned());
    assert_eq!(new.port, run.port);
    let mut new = new;
    assert_eq!(new.end(&scene), Some(143));
    has_once(&scene, ids);
}

/// No snapshot is behind the last line, so each process reads it again.
#[test]
fn a_new_run_takes_over_while_the_last_line_of_a_file_has_no_end() {
    let text = "let u = jsonl(\"users\"); jsonl(listen: \"127.0.0.1:0\") | join(u, on: .id) | map(.name)";
    let users = "{\"id\":1,\"name\":\"one\"}\n{\"id\":2,\"name\":\"two\"}";
    let scene = Scene::new().file("p.mill", text).file("users", users);
    let mut run = Run::start(&scene, OFTEN);
    // Time to read the file.
    sleep(Duration::from_millis(200));
    let mut new = Run::start(&scene, &format!("{OFTEN} --take-over"));
    new.says("took over from process ");
    assert_eq!(post(new.port, "{\"id\":2}\n{\"id\":1}"), Some(200));
    assert_eq!(ended(&mut run.child).code(), Some(0));
    assert_eq!(new.end(&scene), Some(143));
    assert_eq!(text_of(&scene, "out"), "\"two\"\n\"one\"\n");
}

#[test]
fn a_run_that_ends_on_request_leaves_its_socket_to_the_next_one() {
    let scene = Scene::new().file("p.mill", TEXT);
    let mut run = Run::start(&scene, SELDOM);
    assert_eq!(post(run.port, "{\"id\":\"one\"}"), Some(200));
    let mut new = Run::start(&scene, &format!("{SELDOM} --take-over"));
    new.says("took over from process ");
    // Neither process waits for the other.
    assert_eq!(run.end(&scene), Some(143));
    assert_eq!(post(new.port, "{\"id\":\"two\"}"), Some(200));
    assert_eq!(new.end(&scene), Some(143));
    has_once(&scene, ["one", "two"].map(str::to_owned));
}

/// A source that listens takes the socket of a supervisor, with and without a state.
#[cfg(target_os = "linux")]
#[test]
fn a_client_of_a_supervisors_socket_waits_while_no_process_listens() {
    let scene = Scene::new().file("p.mill", TEXT);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // The shell gives the socket the number that it has by the protocol.
    let start = |args: &str| {
        let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null";
        let mut command = scene.command("sh", "");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_millstream"), "run", "p.mill"]);
        command.args(args.split_whitespace());
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener.try_clone().expect("a socket"))));
        Run::of(&scene, command)
    };
    let mut run = start("");
    assert_eq!((run.port, post(port, "{\"id\":1}")), (port, Some(202)));
    assert_eq!(run.end(&scene), Some(143));
    let run = start("--state state");
    assert_eq!((run.port, post(port, "{\"id\":2}")), (port, Some(200)));
    run.kill();
    let waits = spawn(move || post(port, "{\"id\":3}"));
    let mut run = start("--state state");
    assert_eq!(waits.join().expect("a client"), Some(200));
    let mut new = start("--state state --take-over");
    assert_eq!((new.port, ended(&mut run.child).code()), (port, Some(0)));
    assert_eq!(post(port, "{\"id\":4}"), Some(200));
    assert_eq!(new.end(&scene), Some(143));
    has_once(&scene, ["1", "2", "3", "4"].map(str::to_owned));
}
