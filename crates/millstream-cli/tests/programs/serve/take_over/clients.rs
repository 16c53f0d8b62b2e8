//! Clients for which nothing may go wrong: no connection is refused or reset, and none ends without an answer.

use super::super::Ledger;
use crate::scene::PATIENCE;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// How a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each request on a connection of its own.
    New,
    /// All on one connection, with pauses.
    Kept,
    /// The body comes late.
    Slow,
    /// Three at once.
    Pipelined,
}

/// Requests that are sent at once where they are pipelined.
const AT_ONCE: u64 = 3;

/// The clients that are at work. Each transfer has its own account, amount and id.
pub(super) struct Clients {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

const BANK: u64 = 1 << 40;

impl Clients {
    pub(super) fn start(port: u16, kinds: &[Kind]) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let deposit = format!("{{\"to\":\"bank\",\"amount\":{BANK}}}");
        assert_eq!(super::super::ask(port, "POST /deposit", "bank", &deposit).unwrap().0, 200);
        let threads = kinds.iter().enumerate().map(|(number, kind)| {
            let (over, kind) = (over.clone(), *kind);
            spawn(move || {
                let mut client = Client { port, kind, connection: None };
                let mut done = 0;
                while !over.load(Ordering::Relaxed) {
                    let to = done + if kind == Kind::Pipelined { AT_ONCE } else { 1 };
                    client.transfer(number, done, to);
                    done = to;
                }
                done
            })
        });
        let threads = threads.collect();
        Clients { over, threads }
    }

    /// Ends the clients, and compares the ledger with what they were answered.
    pub(super) fn check(self, ledger: &Ledger) {
        self.over.store(true, Ordering::Relaxed);
        let done: Vec<u64> =
            self.threads.into_iter().map(|thread| thread.join().expect("a client is content")).collect();
        let moved: u64 = done.iter().map(|done| (0..*done).map(amount).sum::<u64>()).sum();
        let bank = format!("{{\"account\":\"bank\",\"balance\":{}}}\n", BANK - moved);
        assert_eq!(ledger.ask("GET /balance/bank", "", ""), (200, bank));
        for (number, done) in done.iter().enumerate() {
            assert!(*done > 0, "client {number} was never answered");
            for n in [0, done - 1] {
                let (account, amount) = (account(number, n), amount(n));
                let balance = format!("{{\"account\":\"{account}\",\"balance\":{amount}}}\n");
                assert_eq!(ledger.ask(&format!("GET /balance/{account}"), "", ""), (200, balance));
            }
        }
    }
}

fn account(number: usize, n: u64) -> String {
    format!("c{number}-{n}")
}

fn amount(n: u64) -> u64 {
    1 + n % 1000
}

struct Client {
    port: u16,
    kind: Kind,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    fn connected(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("no connection is refused");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        BufReader::new(stream)
    }

    /// Does these transfers. A response that ends the connection leaves those unanswered that were sent behind it.
    fn transfer(&mut self, number: usize, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            let mut connection = self.connection.take().unwrap_or_else(|| self.connected());
            for n in next..to {
                self.send(connection.get_mut(), number, n);
            }
            let mut ends = false;
            while next < to && !ends {
                ends = answered(&mut connection);
                next += 1;
            }
            if ends {
                let mut rest = Vec::new();
                connection.read_to_end(&mut rest).expect("no connection is reset");
                assert!(rest.is_empty(), "{rest:?}");
            } else if self.kind != Kind::New {
                self.connection = Some(connection);
            }
        }
        match self.kind {
            Kind::Kept => sleep(Duration::from_millis(from % 40)),
            _ => sleep(Duration::from_millis(1)),
        }
    }

    fn send(&self, stream: &mut TcpStream, number: usize, n: u64) {
        let (account, amount) = (account(number, n), amount(n));
        let body = format!("{{\"from\":\"bank\",\"to\":\"{account}\",\"amount\":{amount}}}");
        let close = if self.kind == Kind::New { "connection: close\r\n" } else { "" };
        let head = format!(
            "POST /transfer HTTP/1.1\r\nhost: localhost\r\n{close}idempotency-key: {account}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let all = head + &body;
        let (first, second) = all.split_at(if self.kind == Kind::Slow { all.len() - 5 } else { 0 });
        stream.write_all(first.as_bytes()).expect("it can be sent");
        if self.kind == Kind::Slow {
            sleep(Duration::from_millis(1 + n % 30));
        }
        stream.write_all(second.as_bytes()).expect("it can be sent");
    }
}

/// Whether a response is the last one of its connection.
fn answered(connection: &mut BufReader<TcpStream>) -> bool {
    let (mut line, mut head) = (String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        let read = connection.read_line(&mut line).expect("no connection is reset");
        assert!(read > 0, "a connection has ended without an answer: {head}");
        head += &line.to_ascii_lowercase();
    }
    let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split_once('\r')).unwrap().0;
    let mut body = vec![0; length.parse().unwrap()];
    connection.read_exact(&mut body).expect("a response is whole");
    assert!(head.starts_with("http/1.1 200 "), "{head}{}", String::from_utf8_lossy(&body));
    head.contains("connection: close\r\n")
}
