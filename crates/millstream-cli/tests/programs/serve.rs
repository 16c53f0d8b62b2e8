//! A ledger over HTTP: its answers, its state, and its end.

#[cfg(target_os = "linux")]
mod connections;
mod take_over;

use crate::scene::{PATIENCE, Scene, Seen, ended};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// A server that is killed when the test is over.
struct Ledger {
    child: Child,
    port: u16,
    /// On standard error.
    said: Arc<Mutex<String>>,
}

impl Ledger {
    fn start(scene: &Scene, args: &str) -> Self {
        let mut command = scene.command("millstream", &format!("serve --listen 127.0.0.1:0 {args}"));
        command.stdin(Stdio::null());
        Ledger::of(command)
    }

    fn of(command: Command) -> Self {
        Ledger::try_of(command).unwrap_or_else(|said| panic!("it ended before it listened: {said}"))
    }

    /// Its messages, if it ended before it listened.
    fn try_of(mut command: Command) -> Result<Self, String> {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let (mut all, mut line) = (String::new(), String::new());
        let port = loop {
            line.clear();
            if lines.read_line(&mut line).unwrap() == 0 {
                ended(&mut child);
                return Err(all);
            }
            all += &line;
            if let Some((_, url)) = line.split_once("listening at http://127.0.0.1:") {
                break url.trim_end().trim_end_matches('/').parse().unwrap();
            }
        };
        // Reads its later messages, so that it never waits for a full pipe.
        let said = Arc::new(Mutex::new(all));
        let later = said.clone();
        spawn(move || {
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                later.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        Ok(Ledger { child, port, said })
    }

    /// Waits until it has said this.
    fn says(&self, text: &str) {
        let since = Instant::now();
        while !self.said.lock().unwrap().contains(text) {
            assert!(since.elapsed() < PATIENCE, "it said: {}", self.said.lock().unwrap());
            sleep(Duration::from_millis(1));
        }
    }

    fn ask(&self, request: &str, id: &str, body: &str) -> (u16, String) {
        ask(self.port, request, id, body).unwrap()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The code with which it ends after `SIGTERM`.
    fn terminate(mut self) -> Option<i32> {
        assert!(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success());
        ended(&mut self.child).code()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the body of the response to one request on its own connection.
fn ask(port: u16, request: &str, id: &str, body: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let id = if id.is_empty() { String::new() } else { format!("idempotency-key: {id}\r\n") };
    let length = body.len();
    let head =
        format!("{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{id}content-length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let broken = || std::io::Error::from(ErrorKind::UnexpectedEof);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(broken)?;
    let length = format!("content-length: {}\r\n", body.len());
    let whole = head.contains("chunked") || (head.to_ascii_lowercase() + "\r\n").contains(&length);
    if !whole {
        return Err(broken());
    }
    Ok((head.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(broken)?, body.to_owned()))
}

const TRANSFER: &str = r#"{"from":"ann","to":"bo","amount":30}"#;

#[test]
fn a_ledger_answers_and_shows_itself_and_ends_by_a_signal() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, "");
    assert_eq!(ledger.ask("POST /deposit", "", r#"{"to":"ann","amount":100}"#).0, 200);
    assert_eq!(ledger.ask("POST /transfer", "", TRANSFER), (200, "{\"account\":\"ann\",\"balance\":70}\n".to_owned()));
    assert_eq!(ledger.ask("GET /balance/bo", "", ""), (200, "{\"account\":\"bo\",\"balance\":30}\n".to_owned()));
    assert_eq!(ledger.ask("GET /balance/cy", "", "").0, 404);
    assert_eq!(ledger.ask("POST /withdraw", "", r#"{"from":"bo","amount":31}"#).0, 422);
    assert_eq!(ledger.ask("POST /deposit", "", "{").0, 400);
    assert_eq!(ledger.ask("POST /deposit", "", &" ".repeat(20_000)).0, 413);
    assert_eq!(ledger.ask("GET /health", "", ""), (200, "{\"status\":\"ok\"}\n".to_owned()));
    let (status, metrics) = ledger.ask("GET /metrics", "", "");
    assert_eq!(status, 200);
    assert!(metrics.contains("millstream_http_responses_total{status=\"413\"} 1\n"), "{metrics}");
    let (status, page) = ledger.ask("GET /page/", "", "");
    assert!(status == 200 && page.contains("<html"), "{page}");
    assert_eq!(ledger.terminate(), Some(143));
}

#[test]
fn a_reader_of_the_page_sees_how_the_service_ended() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, "");
    let mut events = TcpStream::connect(("127.0.0.1", ledger.port)).unwrap();
    events.set_read_timeout(Some(PATIENCE)).unwrap();
    events.write_all(b"GET /page/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut events = BufReader::new(events);
    let mut seen = String::new();
    while !seen.contains("\ndata:") {
        assert!(events.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    assert!(!seen.contains("ended by"), "{seen}");
    assert_eq!(ledger.terminate(), Some(143));
    // The stream ends with the server.
    events.read_to_string(&mut seen).unwrap();
    assert!(seen.contains(r#""ended":{"code":143,"sentence":"ended by signal 15"}"#), "{seen}");
}

#[test]
fn an_answered_request_survives_a_kill_and_a_repeated_id_gets_the_first_answer() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, "--state state --snapshot-every 0.05s");
    let deposited = ledger.ask("POST /deposit", "d", r#"{"to":"ann","amount":100}"#);
    assert_eq!(deposited.0, 200);
    let first = ledger.ask("POST /transfer", "t", TRANSFER);
    assert_eq!(ledger.ask("POST /deposit", "e", r#"{"to":"ann","amount":1}"#).0, 200);
    ledger.kill();
    let ledger = Ledger::start(&scene, "--state state");
    assert_eq!(ledger.ask("POST /transfer", "t", TRANSFER), first);
    let other = r#"{"from":"ann","to":"bo","amount":31}"#;
    assert_eq!(ledger.ask("POST /transfer", "t", other).0, 422, "the id is another request's");
    let audit = ledger.ask("GET /audit", "", "").1;
    assert_eq!(audit, "{\"accounts\":2,\"balances\":101,\"paid_in\":101,\"paid_out\":0,\"transfers\":1}\n");
    assert_eq!(ledger.terminate(), Some(143));
    let replayed = scene.millstream("replay state --from 0 --to 2", crate::scene::Input::Nothing);
    assert_eq!(
        (replayed.code, replayed.text()),
        (Some(0), format!("0 200 {}1 200 {}", deposited.1, first.1)),
        "{}",
        replayed.stderr
    );
}

#[test]
fn clients_that_repeat_unanswered_requests_are_served_once_whatever_is_killed() {
    const CLIENTS: u64 = 4;
    const TRANSFERS: u64 = 60;
    let scene = Scene::new();
    let args = "--state state --snapshot-every 0.02s";
    let mut ledger = Ledger::start(&scene, args);
    assert_eq!(ledger.ask("POST /deposit", "", r#"{"to":"bank","amount":100000}"#).0, 200);
    let port = Arc::new(AtomicU16::new(ledger.port));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let port = port.clone();
            spawn(move || {
                for n in 0..TRANSFERS {
                    let (to, since) = (format!("{client}-{n}"), Instant::now());
                    let body = format!("{{\"from\":\"bank\",\"to\":\"{to}\",\"amount\":{}}}", 1 + n);
                    while !matches!(ask(port.load(Ordering::Relaxed), "POST /transfer", &to, &body), Ok((200, _))) {
                        assert!(since.elapsed() < PATIENCE, "no answer");
                        sleep(Duration::from_millis(2));
                    }
                }
            })
        })
        .collect();
    for life in 0..5 {
        sleep(Duration::from_millis(20 * life));
        ledger.kill();
        ledger = Ledger::start(&scene, args);
        port.store(ledger.port, Ordering::Relaxed);
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    let moved = CLIENTS * (1..=TRANSFERS).sum::<u64>();
    let bank = format!("{{\"account\":\"bank\",\"balance\":{}}}\n", 100_000 - moved);
    assert_eq!(ledger.ask("GET /balance/bank", "", ""), (200, bank));
    let (accounts, transfers) = (CLIENTS * TRANSFERS + 1, CLIENTS * TRANSFERS);
    let audit = format!(
        "\"accounts\":{accounts},\"balances\":100000,\"paid_in\":100000,\"paid_out\":0,\"transfers\":{transfers}"
    );
    assert_eq!(ledger.ask("GET /audit", "", "").1, format!("{{{audit}}}\n"));
    assert_eq!(ledger.terminate(), Some(143));
}

#[test]
fn a_server_that_others_could_reach_needs_a_token() {
    let scene = Scene::new();
    let run = |token: Option<&str>| {
        let mut command = scene.command("millstream", "serve --listen 0.0.0.0:0");
        command.env_remove("MILLSTREAM_TOKEN").envs(token.map(|token| ("MILLSTREAM_TOKEN", token)));
        Seen::of(command.output().unwrap())
    };
    let open = run(None);
    assert_eq!(open.code, Some(2));
    assert!(open.stderr.contains("so a token is needed: `export MILLSTREAM_TOKEN="), "{}", open.stderr);
    let short = run(Some("short"));
    assert_eq!(short.code, Some(2));
    assert!(short.stderr.contains("MILLSTREAM_TOKEN has 5 characters and needs at least "), "{}", short.stderr);
    assert!(!short.stderr.contains("short\""), "the token is not printed");
}
