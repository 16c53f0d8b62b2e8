//! A worker's two threads: one evolves states, and the other receives messages meanwhile, so that states can be taken
//! away while one evolves.

#[cfg(test)]
mod tests;

use crate::address::{Address, Deadline, SILENCE, Socket};
use crate::hello::{self, Secret};
use crate::message::{Answer, LONGEST_REQUEST, frame};
use crate::panics::attempt;
use crate::received::Received;
use crate::{Evolve, Violation, Worker};
use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Why a worker has ended before its master sent `End`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be reached.
    #[error("cannot reach the master at {0}: {1}")]
    Unreachable(Address, #[source] io::Error),
    /// One side refuses the other, or a message does not follow the protocol.
    #[error("the master at {0}: {1}")]
    Refused(Address, #[source] Violation),
    /// The connection has ended. If the master is alive, it recomputes the lost states on other workers.
    #[error("the master at {at} is gone ({why}), so this worker ends; it had {states} states")]
    MasterGone {
        /// The master's address.
        at: Address,
        /// The system's error.
        why: String,
        /// The number of states that this worker had.
        states: usize,
    },
    /// The drop of a value panicked outside of an evolution. The master was sent the reason, unless it had ended.
    #[error("a value of this program panicked: {0}")]
    Panicked(String),
    /// The system refuses the second thread, by which a worker listens while it works. The master was sent the reason.
    #[error("this worker has no thread to listen with: {0}")]
    Thread(#[source] io::Error),
}

/// A master that has accepted this worker.
#[derive(Debug)]
pub struct Accepted {
    patience: Option<Duration>,
    socket: Socket,
    received: Received,
    at: Address,
    program: Vec<u8>,
}

impl Accepted {
    /// The master's description of the work: its [`Options::program`](crate::Options::program).
    #[must_use]
    pub fn program(&self) -> &[u8] {
        &self.program
    }

    /// The connection, and the bytes that have already arrived, for a caller with its own loop around a
    /// [`Worker`](crate::Worker). `None` if this is not TCP.
    ///
    /// A message begins with its length, in four bytes, lowest first.
    #[must_use]
    pub fn into_tcp(mut self) -> Option<(std::net::TcpStream, Vec<u8>)> {
        match self.socket {
            Socket::Tcp(stream) => Some((stream, self.received.rest())),
            Socket::Unix(_) => None,
        }
    }

    /// Gives the master up if for this long nothing arrives from it, or it takes nothing of what is sent to it, even if
    /// its machine is alive: the process may be stopped, or may hang.
    ///
    /// A master that is in a round or waits for workers sends a keep-alive every 10 s, so less than a minute is seldom
    /// wise. Between two rounds it sends nothing: choose more time than the master's program takes there. Without this
    /// limit a worker waits for ever.
    ///
    /// # Panics
    ///
    /// If the time is zero.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        assert!(!patience.is_zero(), "a time limit of zero");
        Accepted { patience: Some(patience), ..self }
    }

    /// Works until the master has ended.
    ///
    /// # Errors
    ///
    /// If the master is gone, does not follow the protocol, or is silent for longer than the limit of
    /// [`with_patience`](Accepted::with_patience).
    pub fn serve<E: Evolve>(self, evolve: &E) -> Result<(), ServeError> {
        let impatient = |error| ServeError::Unreachable(self.at.clone(), error);
        self.socket.read_within(self.patience).map_err(impatient)?;
        self.socket.write_within(self.patience).map_err(impatient)?;
        serve(self.socket, self.received, &self.at, evolve, |_| ())
    }
}

/// Connects to a master, and shows that the secret is known.
///
/// A master may be silent for any time, as it is between two rounds, unless [`Accepted::with_patience`] sets a limit. A
/// TCP connection ends if the master's machine does not answer for 60 s, now or while the worker serves. If bytes are
/// on their way to it, the system waits longer for an answer: on Linux some 15 min.
///
/// # Errors
///
/// If the address cannot be reached, or the master has not accepted this worker within 60 s, or one side does not know
/// the secret or has another version.
pub fn connect(address: &Address, secret: &Secret) -> Result<Accepted, ServeError> {
    connect_within(SILENCE, address, secret)
}

/// As [`connect`], with this time limit until the master has accepted this worker. A master accepts no worker between
/// two rounds. The search for the addresses of a name has no limit.
///
/// # Errors
///
/// As [`connect`].
///
/// # Panics
///
/// If the time is zero.
pub fn connect_within(time: Duration, address: &Address, secret: &Secret) -> Result<Accepted, ServeError> {
    assert!(!time.is_zero(), "a time limit of zero");
    let unreachable = |error| ServeError::Unreachable(address.clone(), error);
    let refused = |violation| ServeError::Refused(address.clone(), violation);
    let unreachable = |error: io::Error| match error.kind() {
        // The system's error for a read that takes too long.
        io::ErrorKind::WouldBlock => {
            let said = format!("it did not answer within {} s: it may be busy, or another program", time.as_secs());
            unreachable(io::Error::new(io::ErrorKind::TimedOut, said))
        }
        _ => unreachable(error),
    };
    let until = Deadline::within(time);
    let mut socket = Socket::connect(address, until).map_err(unreachable)?;
    let mut received = Received::new(hello::LONGEST);
    let (nonce, mut out) = (hello::nonce().map_err(unreachable)?, Vec::new());
    let greeting = message(&mut socket, &mut received, until).map_err(unreachable)?;
    let asked = hello::answer(&greeting, secret, nonce, &mut out).map_err(refused)?;
    socket.write_all(&out).map_err(unreachable)?;
    // It has the master's program.
    received.allow(LONGEST_REQUEST);
    let verdict = message(&mut socket, &mut received, until).map_err(unreachable)?;
    let program = hello::accept(&verdict, secret, &asked, &nonce).map_err(refused)?;
    socket.read_within(None).map_err(unreachable)?;
    Ok(Accepted { patience: None, socket, received, at: address.clone(), program })
}

fn message(socket: &mut Socket, received: &mut Received, until: Deadline) -> io::Result<Vec<u8>> {
    loop {
        if let Some(body) = received.next().map_err(io::Error::other)? {
            return Ok(body.to_vec());
        }
        socket.read_within(until.left()?)?;
        match received.read(socket) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed")),
            // A signal ends a read that has a limit.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
}

struct Shared<E: Evolve> {
    worker: Worker<E>,
    out: Vec<u8>,
    socket: Socket,
    /// Set once there is nothing more to do.
    ended: Option<Result<(), End>>,
}

enum End {
    Gone(String),
    Violation(Violation),
    Panicked(String),
    Alone(io::Error),
}

impl<E: Evolve> Shared<E> {
    /// Sends all waiting bytes. The master always reads, so this does not block for long.
    fn send(&mut self) {
        if self.out.is_empty() {
            return;
        }
        if let Err(error) = self.socket.write_all(&self.out) {
            self.ended.get_or_insert(Err(End::Gone(why_gone(&error))));
        }
        self.out.clear();
    }

    /// Ends the worker. The first reason counts, but `End` from the master replaces a failed write: the master no
    /// longer needed those bytes. A reason of the worker's own is sent to the master.
    fn end(&mut self, end: Result<(), End>) {
        let unwanted = matches!((&self.ended, &end), (Some(Err(End::Gone(_))), Ok(())));
        if self.ended.is_some() && !unwanted {
            return;
        }
        let why = match &end {
            Ok(()) | Err(End::Gone(_)) => None,
            Err(End::Violation(Violation(why)) | End::Panicked(why)) => Some(why.clone()),
            Err(End::Alone(error)) => Some(format!("it has no thread to listen with: {error}")),
        };
        if let Some(why) = why {
            frame(&mut self.out, &Answer::Ends).put(&why).end();
            self.send();
        }
        self.ended = Some(end);
    }
}

/// Works for a master. `begun` is called once both threads run, or the system has refused one, or a descriptor.
pub(crate) fn serve<E: Evolve>(
    socket: Socket,
    mut received: Received,
    at: &Address,
    evolve: &E,
    begun: impl FnOnce(io::Result<()>),
) -> Result<(), ServeError> {
    let began = Instant::now();
    let (mut reading, closing) = match socket.another().and_then(|reading| Ok((reading, socket.another()?))) {
        Ok(both) => both,
        Err(error) => {
            begun(Err(io::Error::new(error.kind(), error.to_string())));
            return Err(ServeError::Unreachable(at.clone(), error));
        }
    };
    let worker = Worker::new(Duration::ZERO);
    let shared = Mutex::new(Shared { worker, out: Vec::new(), socket, ended: None });
    let changed = Condvar::new();
    // Both threads run the program's own code. However one of them ends, the other ends too.
    let ended = |end: Result<Result<(), End>, String>| {
        lock(&shared).end(end.unwrap_or_else(|why| Err(End::Panicked(why))));
        changed.notify_one();
    };
    std::thread::scope(|scope| {
        let listens = || ended(attempt(|| Ok::<_, Infallible>(listen(&mut reading, &mut received, &shared, &changed))));
        match Builder::new().name("evolve listens".to_owned()).spawn_scoped(scope, listens) {
            Ok(_) => begun(Ok(())),
            Err(error) => {
                begun(Err(io::Error::new(error.kind(), error.to_string())));
                ended(Ok(Err(End::Alone(error))));
            }
        }
        let worked = attempt(|| {
            work(evolve, &shared, &changed, began);
            Ok::<_, Infallible>(())
        });
        // `work` returns only once `ended` is set, so only a panic is left to report.
        if let Err(why) = worked {
            ended(Err(why));
        }
        // The other thread blocks in a read.
        closing.close();
    });
    let Shared { worker, ended, .. } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let states = worker.states();
    // The states that are left are dropped by the program's own code too.
    let dropped = attempt(|| {
        drop(worker);
        Ok::<_, Infallible>(())
    });
    match ended {
        Some(Err(End::Gone(why))) => Err(ServeError::MasterGone { at: at.clone(), why, states }),
        Some(Err(End::Violation(violation))) => Err(ServeError::Refused(at.clone(), violation)),
        Some(Err(End::Panicked(why))) => Err(ServeError::Panicked(why)),
        Some(Err(End::Alone(error))) => Err(ServeError::Thread(error)),
        Some(Ok(())) | None => dropped.map_err(ServeError::Panicked),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Receives messages until there are no more.
fn listen<E: Evolve>(
    socket: &mut Socket,
    received: &mut Received,
    shared: &Mutex<Shared<E>>,
    changed: &Condvar,
) -> Result<(), End> {
    loop {
        let mut guard = lock(shared);
        let Shared { worker, out, .. } = &mut *guard;
        while let Some(message) = received.next().map_err(End::Violation)? {
            if !worker.receive(message, out).map_err(End::Violation)? {
                return Ok(());
            }
        }
        guard.send();
        drop(guard);
        changed.notify_one();
        match received.read(socket) {
            Ok(0) => return Err(End::Gone("the connection was closed".to_owned())),
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(End::Gone(why_gone(&error))),
        }
    }
}

/// Evolves states until there is nothing more to do.
fn work<E: Evolve>(evolve: &E, shared: &Mutex<Shared<E>>, changed: &Condvar, began: Instant) {
    let mut guard = lock(shared);
    while guard.ended.is_none() {
        let Shared { worker, out, .. } = &mut *guard;
        let job = worker.start(began.elapsed(), out);
        guard.send();
        let Some(job) = job else {
            if guard.ended.is_none() {
                guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            continue;
        };
        drop(guard);
        let children = attempt(|| Ok::<_, Infallible>(job.run(evolve)));
        guard = lock(shared);
        let Shared { worker, out, .. } = &mut *guard;
        match children {
            Ok(children) => worker.finish(&job, children, began.elapsed(), out),
            Err(why) => worker.fail(&job, &why, out),
        }
        guard.send();
    }
}

fn why_gone(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => format!("its machine did not answer for {} s or longer", SILENCE.as_secs()),
        // The system's error for a read or write that takes too long.
        io::ErrorKind::WouldBlock => "it was silent for too long: it may be stopped, or hang".to_owned(),
        _ => error.to_string(),
    }
}
