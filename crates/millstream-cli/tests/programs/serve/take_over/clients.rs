//! Clients of a ledger, for which nothing may go wrong while processes take over.

use super::super::Ledger;
use crate::client::Connection;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// How a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each request on its own connection.
    New,
    /// All on one connection, with pauses.
    Kept,
    /// The body comes late.
    Slow,
    /// Three requests at once.
    Pipelined,
}

/// The number of pipelined requests.
const AT_ONCE: u64 = 3;

/// The clients at work. Each transfer has its own account, amount and id.
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
                let mut client = Client { kind, connection: Connection::to(port) };
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

    /// Ends the clients, and compares the ledger with their answers.
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
    kind: Kind,
    connection: Connection,
}

impl Client {
    /// Makes these transfers. Requests after a response that ends the connection have no answer, and are sent again.
    fn transfer(&mut self, number: usize, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            for n in next..to {
                self.send(number, n);
            }
            let mut ends = false;
            while next < to && !ends {
                ends = self.connection.response().ends;
                next += 1;
            }
        }
        match self.kind {
            Kind::Kept => sleep(Duration::from_millis(from % 40)),
            _ => sleep(Duration::from_millis(1)),
        }
    }

    fn send(&mut self, number: usize, n: u64) {
        let stream = self.connection.stream();
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
