//! A client that sends requests in one of four ways.

use super::super::{All, PATIENCE, client::response, violation};
use crate::chaos::Random;
use crate::cmd::Result;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How a client sends.
#[derive(Clone, Copy, PartialEq, Eq)]
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

/// The longest pause of a connection that is kept.
const PAUSE_MS: u64 = 1000;

/// The longest time that a body is late.
const LATE_MS: u64 = 100;

pub(super) struct Sender {
    address: SocketAddr,
    name: String,
    kind: Kind,
    random: Random,
    /// Whether it is content with an error, and sends its request again.
    content: bool,
    connection: Option<BufReader<TcpStream>>,
    seen: Arc<Seen>,
}

/// The observations of all clients.
#[derive(Default)]
pub(super) struct Seen {
    /// The requests that were sent again.
    pub(super) again: AtomicU64,
    /// The connections that were refused or reset, or ended without an answer.
    pub(super) broken: AtomicU64,
    /// The times for an answer on a new connection, in microseconds, since they were last taken.
    took_us: Mutex<Vec<u64>>,
}

impl Seen {
    fn took(&self, since: Instant) {
        self.took_us.lock().unwrap_or_else(PoisonError::into_inner).push(since.elapsed().as_micros() as u64);
    }

    pub(super) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.took_us.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A transfer of this amount to an account of its own. The account's name is its id.
struct Transfer {
    account: String,
    amount: u64,
}

impl Sender {
    pub(super) fn new(port: u16, name: String, kind: Kind, random: Random, content: bool, seen: Arc<Seen>) -> Self {
        Sender { address: ([127, 0, 0, 1], port).into(), name, kind, random, content, connection: None, seen }
    }

    pub(super) fn work(mut self, all: &All) -> Result {
        let mut number = 0;
        while !all.over.load(Ordering::Relaxed) {
            let count = if self.kind == Kind::Pipelined { 3 } else { 1 };
            let transfers: Vec<Transfer> = (number..number + count)
                .map(|n| Transfer { account: format!("{}-{n}", self.name), amount: 1 + self.random.below(1000) })
                .collect();
            number += count;
            self.all_answered(&transfers)?;
            all.transfers.fetch_add(count, Ordering::Relaxed);
            let mut accounts = all.accounts.lock().unwrap_or_else(PoisonError::into_inner);
            accounts.extend(transfers.into_iter().map(|transfer| (transfer.account, transfer.amount)));
            drop(accounts);
            if self.kind == Kind::Kept {
                // Most pauses are short.
                let most = if self.random.below(4) == 0 { PAUSE_MS } else { PAUSE_MS / 50 };
                sleep(Duration::from_millis(self.random.below(most)));
            }
        }
        Ok(())
    }

    /// Sends requests without an answer again until each has one.
    fn all_answered(&mut self, mut left: &[Transfer]) -> Result {
        let since = Instant::now();
        while !left.is_empty() {
            let (before, sent) = (left.len(), self.send(&mut left));
            match sent {
                Ok(()) => {}
                Err(error) if self.content && since.elapsed() < PATIENCE => {
                    self.seen.broken.fetch_add(1, Ordering::Relaxed);
                    self.connection = None;
                    let refused = error.kind() == io::ErrorKind::ConnectionRefused;
                    sleep(Duration::from_millis(if refused { 5 } else { 1 }));
                }
                Err(error) => {
                    let (name, of) = (&self.name, left[0].account.as_str());
                    return Err(violation(format!("{name}: {of}, after {} answers: {error}", before - left.len())));
                }
            }
            self.seen.again.fetch_add(left.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends all of them, and takes those away that are answered. The last response of a connection ends it.
    fn send(&mut self, left: &mut &[Transfer]) -> io::Result<()> {
        let began = Instant::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_read_timeout(Some(Duration::from_secs(40)))?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        let requests: String = left.iter().map(|transfer| self.request(transfer)).collect();
        let late = if self.kind == Kind::Slow { 7 } else { 0 };
        let (now, later) = requests.split_at(requests.len() - late);
        connection.get_mut().write_all(now.as_bytes())?;
        if late > 0 {
            sleep(Duration::from_millis(self.random.below(LATE_MS)));
            connection.get_mut().write_all(later.as_bytes())?;
        }
        while let Some((first, rest)) = left.split_first() {
            let response = response(&mut connection)?;
            if response.status != 200 {
                let why = format!("{}: {} {}", first.account, response.status, response.body);
                return Err(io::Error::other(why));
            }
            *left = rest;
            if self.kind == Kind::New {
                self.seen.took(began);
            }
            if response.is_last {
                return ends(connection);
            }
        }
        if self.kind != Kind::New {
            self.connection = Some(connection);
        }
        Ok(())
    }

    fn request(&self, transfer: &Transfer) -> String {
        let Transfer { account, amount } = transfer;
        let body = format!("{{\"from\":\"bank\",\"to\":\"{account}\",\"amount\":{amount}}}");
        let close = if self.kind == Kind::New { "connection: close\r\n" } else { "" };
        let length = body.len();
        format!(
            "POST /transfer HTTP/1.1\r\nhost: localhost\r\n{close}idempotency-key: {account}\r\ncontent-length: \
             {length}\r\n\r\n{body}"
        )
    }
}

/// Behind the last response a connection ends, and is not reset.
fn ends(mut connection: BufReader<TcpStream>) -> io::Result<()> {
    let mut more = Vec::new();
    connection.read_to_end(&mut more)?;
    if more.is_empty() { Ok(()) } else { Err(io::Error::other("more comes behind the last response")) }
}
