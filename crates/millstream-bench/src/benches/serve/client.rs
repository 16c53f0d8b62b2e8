//! A client over HTTP/1.1: one thread, many connections, one open request on each.

use crate::failure::Failure;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A server that does not answer for this long is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// Appends the request of this number.
pub(super) type Writing<'a> = &'a dyn Fn(u64, &mut Vec<u8>);

pub(super) struct Client {
    poll: Poll,
    events: Events,
    connections: Vec<Connection>,
    request: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// When its open request was due, if it has one.
    due: Option<Instant>,
    received: Vec<u8>,
}

/// The responses to requests that were each sent as soon as the one before was answered.
pub(super) struct Closed {
    /// The nanoseconds until each response.
    pub(super) waits: Vec<u64>,
    pub(super) took: Duration,
}

/// The responses to requests that were sent at their times, even if earlier ones were not answered yet.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The nanoseconds until each good response, from the time when the request was due.
    pub(super) waits: Vec<u64>,
    /// Responses of status 503.
    pub(super) refused: u64,
    /// Requests that were not sent because all connections waited for a response.
    pub(super) unsent: u64,
    pub(super) took: Duration,
}

impl Client {
    pub(super) fn connect(at: SocketAddr, connections: usize) -> Result<Self, Failure> {
        let poll = Poll::new().map_err(Failure::io("epoll"))?;
        let connect = |token| {
            let stream = std::net::TcpStream::connect(at)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(token), Interest::READABLE)?;
            Ok(Connection { stream, due: None, received: Vec::with_capacity(1024) })
        };
        let connections: Result<_, _> = (0..connections).map(connect).collect();
        let connections = connections.map_err(Failure::io(format!("cannot connect to {at}")))?;
        Ok(Client { poll, events: Events::with_capacity(1024), connections, request: Vec::new() })
    }

    /// Sends this number of requests; all must succeed.
    pub(super) fn closed(&mut self, n: u64, write: Writing<'_>) -> Result<Closed, Failure> {
        let (began, mut waits) = (Instant::now(), Vec::with_capacity(n as usize));
        let mut sent = 0;
        for at in 0..self.connections.len().min(n as usize) {
            self.send(at, sent, Instant::now(), write)?;
            sent += 1;
        }
        while (waits.len() as u64) < n {
            for at in self.readable(PATIENCE)? {
                let Some((status, wait)) = self.connections[at].response()? else { continue };
                expect(status == 200, status)?;
                waits.push(wait.as_nanos() as u64);
                if sent < n {
                    self.send(at, sent, Instant::now(), write)?;
                    sent += 1;
                }
            }
        }
        Ok(Closed { waits, took: began.elapsed() })
    }

    /// Sends this many requests a second, for this time.
    pub(super) fn open(&mut self, rate: f64, time: Duration, write: Writing<'_>) -> Result<Open, Failure> {
        let (began, mut seen) = (Instant::now(), Open::default());
        let mut free: Vec<usize> = (0..self.connections.len()).collect();
        let (all, mut next) = ((rate * time.as_secs_f64()) as u64, 0);
        while next < all || free.len() < self.connections.len() {
            let now = Instant::now();
            while next < all {
                let due = began + Duration::from_secs_f64(next as f64 / rate);
                if due > now {
                    break;
                }
                match free.pop() {
                    Some(at) => self.send(at, next, due, write)?,
                    None => seen.unsent += 1,
                }
                next += 1;
            }
            let left = began + Duration::from_secs_f64(next as f64 / rate);
            let sleep = if next < all { left.saturating_duration_since(Instant::now()) } else { PATIENCE };
            for at in self.readable(sleep)? {
                let Some((status, wait)) = self.connections[at].response()? else { continue };
                match status {
                    200 => seen.waits.push(wait.as_nanos() as u64),
                    503 => seen.refused += 1,
                    other => expect(false, other)?,
                }
                free.push(at);
            }
        }
        seen.took = began.elapsed();
        Ok(seen)
    }

    /// The response to one request on the first connection.
    pub(super) fn ask(&mut self, write: Writing<'_>) -> Result<Vec<u8>, Failure> {
        self.send(0, 0, Instant::now(), write)?;
        loop {
            for at in self.readable(PATIENCE)? {
                let before = self.connections[at].received.len();
                if let Some((status, _)) = self.connections[at].whole()? {
                    expect(status == 200, status)?;
                    return Ok(self.connections[at].take());
                }
                expect(self.connections[at].received.len() > before, 0)?;
            }
        }
    }

    fn send(&mut self, at: usize, number: u64, due: Instant, write: Writing<'_>) -> Result<(), Failure> {
        self.request.clear();
        write(number, &mut self.request);
        let connection = &mut self.connections[at];
        connection.due = Some(due);
        // A request is smaller than the buffer of a socket that has sent all before it.
        connection.stream.write_all(&self.request).map_err(Failure::io("cannot send a request"))
    }

    /// The connections that received something within this time.
    fn readable(&mut self, within: Duration) -> Result<Vec<usize>, Failure> {
        match self.poll.poll(&mut self.events, Some(within)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(Failure::io("epoll")(error)),
            _ => {}
        }
        if self.events.is_empty() && within == PATIENCE {
            return Err(Failure::Threads("the server does not answer"));
        }
        Ok(self.events.iter().map(|event| event.token().0).collect())
    }
}

fn expect(good: bool, status: u16) -> Result<(), Failure> {
    if good {
        Ok(())
    } else {
        Err(Failure::Program("a request".to_owned(), format!("the response has status {status}")))
    }
}

impl Connection {
    /// The status of the response, and the time that it took, once all of it has arrived.
    fn response(&mut self) -> Result<Option<(u16, Duration)>, Failure> {
        let whole = self.whole()?;
        if whole.is_some() {
            self.take();
        }
        Ok(whole)
    }

    fn whole(&mut self) -> Result<Option<(u16, Duration)>, Failure> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(Failure::Program("a request".to_owned(), "the server hung up".to_owned())),
                Ok(read) => self.received.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(Failure::io("cannot read a response")(error)),
            }
            if let Some(status) = status_of(&self.received) {
                return Ok(self.due.take().map(|due| (status, due.elapsed())));
            }
        }
    }

    /// The body.
    fn take(&mut self) -> Vec<u8> {
        let received = std::mem::take(&mut self.received);
        let body = head_end(&received).unwrap_or(0);
        let rest = received[body..].to_vec();
        self.received = received;
        self.received.clear();
        rest
    }
}

/// The beginning of the body of a response.
fn head_end(received: &[u8]) -> Option<usize> {
    received.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The status of a response, if all of it has arrived. It has a length, as all small responses of hyper do.
fn status_of(received: &[u8]) -> Option<u16> {
    let body = head_end(received)?;
    let head = std::str::from_utf8(&received[..body]).ok()?;
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: "))?.parse::<usize>().ok()?;
    (received.len() >= body + length).then(|| head.get(9..12)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_whole_with_its_body() {
        let response = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 3\r\n\r\nabc";
        assert_eq!(status_of(response), Some(503));
        assert!((0..response.len()).all(|end| status_of(&response[..end]).is_none()));
        assert_eq!(head_end(response), Some(response.len() - 3));
    }
}
