//! The master's sockets: one thread, one `epoll` (by `mio`), and the state machine in the middle.

mod clock;
mod connection;
mod listening;
mod outs;
mod pace;
#[cfg(test)]
mod tests;

use crate::address::Socket;
use crate::hello::{self, Secret};
use crate::master::{Master, Outbox, Tuning};
use crate::message::{LONGEST_ANSWER, Request, frame};
use crate::{EvolveError, Token, Violation};
use clock::Clock;
use connection::{Connection, Peer, Stream};
use listening::{Listener, STRANGERS};
use mio::net::UnixStream;
use mio::{Events, Poll, Token as Key};
use outs::{Outs, Written};
use pace::Pace;
use std::io;
use std::time::Duration;

/// A connection that has not shown by then that it knows the secret is closed.
const SHOW_SECRET_WITHIN: Duration = Duration::from_secs(10);

/// After this many reads from one connection, the others get their turn.
const READS: usize = 64;

/// How often the master looks for workers that have been silent for too long.
const LOOK: Duration = Duration::from_millis(500);

/// A check of bytes: whether they are an output, or, if the flag is set, a state.
pub(crate) type Fits = Box<dyn Fn(&[u8], bool) -> bool + Send>;

pub(crate) struct Hub {
    pub(crate) master: Master,
    poll: Poll,
    events: Events,
    listeners: Vec<Listener>,
    /// By `mio` key.
    connections: Vec<Option<Connection>>,
    /// By worker, the key of its connection.
    keys: Vec<Option<usize>>,
    outs: Outs,
    /// Connections and listeners that may have more than was read or accepted.
    unread: Vec<usize>,
    /// The limit of connections without a handshake, and the number of connections accepted until now.
    strangers: usize,
    greeted: usize,
    ready: Vec<Ready>,
    pace: Pace,
    /// When `look` was last called, by the real time.
    looked: Duration,
    clock: Clock,
    secret: Secret,
    program: Vec<u8>,
    fits: Fits,
    /// The bytes received from workers.
    pub(crate) bytes_received: u64,
    /// Why the last worker was given up.
    pub(crate) last_lost: Option<String>,
}

/// The first key of the listeners. Keys of connections begin at 0.
const LISTENERS: usize = 1 << 40;

/// The most events that one turn handles.
const EVENTS: usize = 1024;

/// What is new at a connection or at a listener.
#[derive(Clone, Copy, Debug)]
struct Ready {
    key: usize,
    readable: bool,
    writable: bool,
    /// Whether the connection is read until it is dry: the peer sends no more, or one read may not suffice.
    to_the_end: bool,
}

impl Hub {
    pub(crate) fn new(tuning: Tuning, secret: Secret, program: Vec<u8>, fits: Fits) -> Result<Self, EvolveError> {
        Ok(Hub {
            master: Master::new(tuning),
            poll: Poll::new().map_err(EvolveError::io("epoll"))?,
            events: Events::with_capacity(EVENTS),
            listeners: Vec::new(),
            connections: Vec::new(),
            keys: Vec::new(),
            outs: Outs::default(),
            unread: Vec::new(),
            strangers: STRANGERS,
            greeted: 0,
            ready: Vec::with_capacity(EVENTS),
            pace: Pace::default(),
            looked: Duration::ZERO,
            clock: Clock::new(),
            secret,
            program,
            fits,
            bytes_received: 0,
            last_lost: None,
        })
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// The worker's end of a new connection for a thread of this process. It needs no handshake.
    pub(crate) fn pair(&mut self) -> Result<Socket, EvolveError> {
        let failed = || EvolveError::io("a pair of sockets");
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed())?;
        ours.set_nonblocking(true).map_err(failed())?;
        let nonce = hello::nonce().map_err(failed())?;
        let connection = Connection::stranger(Stream::Unix(UnixStream::from_std(ours)), nonce, self.now());
        let key = self.add(connection).map_err(failed())?;
        self.admit(key, &[]);
        self.flush();
        Ok(Socket::Unix(theirs))
    }

    fn add(&mut self, mut connection: Connection) -> io::Result<usize> {
        let free = self.connections.iter().position(Option::is_none);
        let key = free.unwrap_or(self.connections.len());
        connection.stream.register(self.poll.registry(), Key(key))?;
        if free.is_some() {
            self.connections[key] = Some(connection);
        } else {
            self.connections.push(Some(connection));
        }
        Ok(key)
    }

    /// Makes a worker of a connection that has shown that it knows the secret. It is sent the welcome first, which may
    /// be longer than its socket takes at once.
    fn admit(&mut self, key: usize, welcome: &[u8]) {
        let worker = self.master.add_worker(self.clock.now());
        self.outs.forget(worker);
        self.outs.to(worker).extend_from_slice(welcome);
        if worker >= self.keys.len() {
            self.keys.resize(worker + 1, None);
        }
        self.keys[worker] = Some(key);
        if let Some(connection) = &mut self.connections[key] {
            connection.peer = Peer::Worker(worker);
            connection.received.allow(LONGEST_ANSWER);
        }
        self.master.join(worker, &mut self.outs);
    }

    /// Waits for events, at most this long, and handles all of them.
    pub(crate) fn turn(&mut self, timeout: Duration) -> Result<(), EvolveError> {
        let timeout = if self.unread.is_empty() { timeout.min(LOOK) } else { Duration::ZERO };
        let looked_at = self.wait(timeout).map_err(|error| EvolveError::io("epoll")(error))?;
        let now = self.clock.now();
        let mut ready = std::mem::take(&mut self.ready);
        let rest = |key| Ready { key, readable: true, writable: false, to_the_end: true };
        ready.extend(self.unread.drain(..).map(rest));
        ready.extend(self.events.iter().map(|event| {
            let to_the_end = event.is_read_closed() || event.is_error();
            let readable = event.is_readable() || to_the_end;
            Ready { key: event.token().0, readable, writable: event.is_writable(), to_the_end }
        }));
        let all_seen = ready.len() < EVENTS;
        // Answers that another worker waits for come first.
        ready.sort_unstable_by_key(|one| !self.is_awaited(one.key));
        for Ready { key, readable, writable, to_the_end } in ready.drain(..) {
            if key >= LISTENERS {
                self.accept(key - LISTENERS, now);
                continue;
            }
            if readable {
                self.read(key, to_the_end, now);
            }
            if writable && let Some(Connection { peer: Peer::Worker(worker), .. }) = &self.connections[key] {
                self.write(*worker);
            }
            self.flush();
        }
        self.ready = ready;
        let real = self.clock.real();
        if all_seen && real - self.looked >= LOOK {
            self.looked = real;
            self.look(looked_at);
        }
        Ok(())
    }

    fn is_awaited(&self, key: usize) -> bool {
        match self.connections.get(key) {
            Some(Some(Connection { peer: Peer::Worker(worker), .. })) => self.master.awaits(*worker),
            _ => false,
        }
    }

    /// Waits for events, at most this long. It does not sleep if events follow each other closely: a wake-up takes
    /// longer than the next event does, and costs the sender time too.
    ///
    /// Returns a time. All events that had occurred by then are in `events`.
    fn wait(&mut self, timeout: Duration) -> io::Result<Duration> {
        let began = self.clock.now();
        let (until, end) = (began + self.pace.awake().min(timeout), began + timeout);
        let looked_at = loop {
            let now = self.clock.now();
            let last = now >= until;
            let timeout = if last { end.saturating_sub(now) } else { Duration::ZERO };
            match self.poll.poll(&mut self.events, Some(timeout)) {
                // A signal interrupted the wait, as when this process is stopped and continued: no event was read. A
                // poll that does not wait is not interrupted.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
                Ok(()) if last || !self.events.is_empty() => break now,
                Ok(()) => std::thread::yield_now(),
            }
        };
        if !self.events.is_empty() {
            self.pace.event(self.clock.now());
        }
        Ok(looked_at)
    }

    /// Sends a few bytes to a peer without a handshake. A peer without room for them is not a worker.
    fn say(&mut self, key: usize, bytes: &[u8]) {
        let Some(connection) = &mut self.connections[key] else { return };
        match io::Write::write(&mut connection.stream, bytes) {
            Ok(written) if written == bytes.len() => (),
            _ => self.close(key, "it does not read what is sent"),
        }
    }

    fn read(&mut self, key: usize, to_the_end: bool, now: Duration) {
        for _ in 0..READS {
            let Some(Some(connection)) = self.connections.get_mut(key) else { return };
            match connection.received.read(&mut connection.stream) {
                Ok(0) => return self.close(key, "it closed the connection"),
                Ok(read) => {
                    self.bytes_received += read as u64;
                    if let Peer::Worker(worker) = connection.peer {
                        self.master.heard(worker, now);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.close(key, &error.to_string()),
            }
            if let Err(Violation(what)) = self.take(key, now) {
                return self.give_up(key, &what);
            }
            self.flush();
            // A read that left room has taken all bytes. `epoll` reports later ones.
            let full = self.connections[key].as_ref().is_some_and(|one| one.received.is_full());
            if !full && !to_the_end {
                return;
            }
        }
        self.unread.push(key);
    }

    /// Handles the messages that have arrived as a whole.
    fn take(&mut self, key: usize, now: Duration) -> Result<(), Violation> {
        while let Some(connection) = &mut self.connections[key] {
            let peer = connection.peer;
            let Some(message) = connection.received.next()? else { return Ok(()) };
            match peer {
                Peer::Worker(worker) => {
                    self.master.receive(worker, message, now, &*self.fits, &mut self.outs)?;
                }
                Peer::Stranger(nonce, _) => {
                    let mut verdict = Vec::new();
                    match hello::judge(message, &self.secret, &nonce, &self.program, &mut verdict) {
                        Ok(()) => self.admit(key, &verdict),
                        Err(violation) => {
                            self.say(key, &verdict);
                            return Err(violation);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends what waits for any worker.
    pub(crate) fn flush(&mut self) {
        while let Some(worker) = self.outs.next_fresh() {
            self.write(worker);
        }
    }

    fn write(&mut self, worker: usize) {
        let Some(key) = self.keys.get(worker).copied().flatten() else { return self.outs.forget(worker) };
        let Some(connection) = &mut self.connections[key] else { return };
        // A socket that has room again is no sign of life to the worker.
        if self.outs.is_empty(worker) {
            return;
        }
        let (now, real) = (self.clock.now(), self.clock.real());
        match self.outs.write(worker, &mut connection.stream) {
            Ok(Written { all, goes_on }) => {
                if goes_on {
                    self.master.heard(worker, now);
                }
                if all { self.master.written(worker, now, real) } else { self.master.stalled(worker, now) }
            }
            Err(error) => self.close(key, &error.to_string()),
        }
    }

    /// Closes a worker's connection, after a message with the reason if there is room for it.
    fn give_up(&mut self, key: usize, why: &str) {
        if let Some(Connection { peer: Peer::Worker(worker), stream, .. }) = &mut self.connections[key] {
            frame(self.outs.to(*worker), &Request::GivenUp).put(why).end();
            // The worker is given up, whether the message arrives or not.
            let _ = self.outs.write(*worker, stream);
        }
        self.close(key, why);
    }

    fn close(&mut self, key: usize, why: &str) {
        let Some(mut connection) = self.connections[key].take() else { return };
        connection.stream.deregister(self.poll.registry());
        if let Peer::Worker(worker) = connection.peer {
            self.keys[worker] = None;
            self.outs.forget(worker);
            self.last_lost = Some(why.to_owned());
            self.master.lost(worker, self.clock.now(), &mut self.outs);
        }
    }

    /// Accepts waiting connections, gives up workers and peers that were silent for too long, and sends keep-alives.
    fn look(&mut self, now: Duration) {
        while let Some(worker) = self.master.overdue(now) {
            let Some(key) = self.keys[worker] else { return };
            let why =
                "it was silent for too long: it may be stopped, or hang, or its state takes longer than the patience";
            self.give_up(key, why);
        }
        for key in 0..self.connections.len() {
            if let Some(Connection { peer: Peer::Stranger(_, since), .. }) = self.connections[key]
                && now.saturating_sub(since) > SHOW_SECRET_WITHIN
            {
                self.close(key, "it did not show that it knows the secret");
            }
        }
        self.accept_all(now);
        self.master.keep_alive(self.clock.real(), &mut self.outs);
        self.flush();
    }
}

impl Hub {
    /// The bytes sent to workers.
    pub(crate) fn bytes_sent(&self) -> u64 {
        self.outs.written
    }

    /// Begins a population of these states.
    pub(crate) fn reset(&mut self, states: &[(Token, &[u8])]) -> Result<(), EvolveError> {
        let now = self.now();
        self.master.reset(states.iter().copied(), now, &mut self.outs)?;
        self.flush();
        Ok(())
    }

    /// Begins the round whose states have been named.
    pub(crate) fn go(&mut self) {
        let now = self.now();
        self.master.go(now, &mut self.outs);
        self.flush();
    }

    /// Sends `End` to all workers, and closes their connections.
    pub(crate) fn end(&mut self) {
        self.master.end(&mut self.outs);
        self.flush();
        // The master would hand the states of each to the next one.
        self.connections.clear();
        self.keys.clear();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.end();
        self.listeners.iter().for_each(Listener::remove_file);
    }
}
