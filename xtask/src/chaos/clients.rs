//! Clients that post in one of four ways.

use super::Random;
use super::http::{self, Response, response};
use super::processes::{PATIENCE, violation};
use crate::cmd::{Failure, Result};
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// How a client posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each request on a connection of its own.
    New,
    /// All on one connection, with pauses.
    Kept,
    /// A part of the body comes late.
    Slow,
    /// Three at once.
    Pipelined,
}

/// Two clients of each kind.
const KINDS: [Kind; 8] =
    [Kind::New, Kind::Kept, Kind::Slow, Kind::Pipelined, Kind::New, Kind::Kept, Kind::Slow, Kind::Pipelined];

/// The longest pause of a connection that is kept.
const PAUSE_MS: u64 = 1000;

/// The longest time that a body is late.
const LATE_MS: u64 = 100;

/// The requests of one client.
pub(super) trait Posts: Send + 'static {
    type Post: Send;

    const PATH: &'static str;

    /// A new request.
    fn next(&mut self) -> Self::Post;

    /// Its name in messages.
    fn name(post: &Self::Post) -> String;

    /// The request is sent, perhaps again. Returns its own headers, as whole lines, and its body.
    fn sent(&mut self, post: &mut Self::Post) -> (String, String);

    /// It has a response.
    fn answered(&mut self, post: &mut Self::Post, response: &Response) -> Answered;

    /// It was sent after the last request that the connection took.
    fn not_read(&mut self, _: &mut Self::Post) {}
}

/// The meaning of a response.
pub(super) enum Answered {
    Done,
    /// The request must be sent again; an error where nothing disturbs the program.
    Again(String),
    /// There must never be such a response.
    Wrong(String),
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

/// The threads of the clients, each of which returns its requests.
pub(super) struct Clients<P> {
    pub(super) threads: Vec<JoinHandle<Result<P>>>,
    pub(super) seen: Arc<Seen>,
    over: Arc<AtomicBool>,
}

impl<P: Posts> Clients<P> {
    /// Two clients of each kind post at this port, until they [end](Clients::end). If they are content with an error,
    /// they send their request again. The seed is that of their choices.
    pub(super) fn begin(port: u16, seed: u64, content: bool, posts: impl Fn(u64, Random) -> P) -> Self {
        let (seen, over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let threads = KINDS.iter().zip(0..).map(|(kind, number)| {
            let random = |of| Random((seed * 2 + of) * KINDS.len() as u64 + number);
            let sender = Sender {
                posts: posts(number, random(1)),
                address: ([127, 0, 0, 1], port).into(),
                kind: *kind,
                random: random(0),
                content,
                connection: None,
                seen: seen.clone(),
            };
            let over = over.clone();
            thread::spawn(move || sender.work(&over))
        });
        Clients { threads: threads.collect(), seen, over }
    }

    pub(super) fn one_has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until each client has the answers to its last requests.
    pub(super) fn end(self) -> Result<Vec<P>> {
        super::lives::joined(&self.over, self.threads)
    }
}

struct Sender<P> {
    posts: P,
    address: SocketAddr,
    kind: Kind,
    random: Random,
    content: bool,
    connection: Option<BufReader<TcpStream>>,
    seen: Arc<Seen>,
}

/// Why a request has no answer that it can do with.
enum Error {
    Io(io::Error),
    Violation(Failure),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

impl<P: Posts> Sender<P> {
    fn work(mut self, over: &AtomicBool) -> Result<P> {
        while !over.load(Ordering::Relaxed) {
            let count = if self.kind == Kind::Pipelined { 3 } else { 1 };
            let mut posts: Vec<P::Post> = (0..count).map(|_| self.posts.next()).collect();
            self.all_answered(&mut posts)?;
            if self.kind == Kind::Kept {
                // Most pauses are short.
                let most = if self.random.below(4) == 0 { PAUSE_MS } else { PAUSE_MS / 50 };
                sleep(Duration::from_millis(self.random.below(most)));
            }
        }
        Ok(self.posts)
    }

    /// Sends requests without an answer again until each has one.
    fn all_answered(&mut self, mut left: &mut [P::Post]) -> Result {
        let since = Instant::now();
        while !left.is_empty() {
            let before = left.len();
            match self.send(&mut left) {
                Ok(()) => {}
                Err(Error::Io(error)) if self.content && since.elapsed() < PATIENCE => {
                    self.seen.broken.fetch_add(1, Ordering::Relaxed);
                    self.connection = None;
                    if error.kind() == io::ErrorKind::ConnectionRefused {
                        sleep(Duration::from_millis(5));
                        continue;
                    }
                    sleep(Duration::from_millis(1));
                }
                Err(Error::Io(error)) => {
                    let (kind, first) = (self.kind, left.first().map(P::name).unwrap_or_default());
                    let answers = before - left.len();
                    return Err(violation(format!("{kind:?}: {first}, after {answers} answers: {error}")));
                }
                Err(Error::Violation(failure)) => return Err(failure),
            }
            self.seen.again.fetch_add(left.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends all of them, and takes those away that are answered. The last response of a connection ends it.
    fn send(&mut self, left: &mut &mut [P::Post]) -> std::result::Result<(), Error> {
        let began = Instant::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => http::connect(self.address, Duration::from_secs(40))?,
        };
        self.write(left, connection.get_mut())?;
        while !left.is_empty() {
            let response = response(&mut connection)?;
            let answered = self.posts.answered(&mut left[0], &response);
            let named = |why| format!("{}: {} {}: {why}", P::name(&left[0]), response.status, response.body.trim_end());
            match answered {
                Answered::Done => *left = &mut std::mem::take(left)[1..],
                Answered::Again(why) => return Err(io::Error::other(named(why)).into()),
                Answered::Wrong(why) => return Err(Error::Violation(violation(named(why)))),
            }
            if self.kind == Kind::New {
                self.seen.took(began);
            }
            if response.is_last {
                left.iter_mut().for_each(|post| self.posts.not_read(post));
                return Ok(ends(connection)?);
            }
        }
        if self.kind != Kind::New {
            self.connection = Some(connection);
        }
        Ok(())
    }

    /// Writes all of them at once, or one whose body is late from some byte on.
    fn write(&mut self, posts: &mut [P::Post], connection: &mut TcpStream) -> io::Result<()> {
        let close = if self.kind == Kind::New { "connection: close\r\n" } else { "" };
        let (mut requests, mut late) = (String::new(), 0);
        for post in posts {
            let (headers, body) = self.posts.sent(post);
            let headers = format!("{close}{headers}");
            if self.kind == Kind::Slow {
                late = 1 + self.random.below(body.len() as u64) as usize;
            }
            requests += &match self.kind {
                Kind::Slow if self.random.below(2) == 0 => http::chunked(P::PATH, &headers, &body),
                _ => http::post(P::PATH, &headers, &body),
            };
        }
        let (now, later) = requests.split_at(requests.len() - late);
        connection.write_all(now.as_bytes())?;
        if late > 0 {
            sleep(Duration::from_millis(self.random.below(LATE_MS)));
            connection.write_all(later.as_bytes())?;
        }
        Ok(())
    }
}

/// After the last response a connection ends, and is not reset.
fn ends(mut connection: BufReader<TcpStream>) -> io::Result<()> {
    let mut more = Vec::new();
    connection.read_to_end(&mut more)?;
    if more.is_empty() { Ok(()) } else { Err(io::Error::other("more comes after the last response")) }
}
