//! A worker's threads: one that evolves states, and one that takes messages in meanwhile, so that states can be taken away
//! while another one is being evolved.

use crate::address::{Address, SILENCE, Socket};
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

/// Why a worker has ended before its master said so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// There is nobody at the address.
    #[error("cannot reach the master at {0}: {1}")]
    Unreachable(Address, #[source] io::Error),
    /// Either of the two would not have the other, or one of them talks rubbish.
    #[error("the master at {0}: {1}")]
    Refused(Address, #[source] Violation),
    /// The connection has ended. The master computes what is lost on other workers, if it lives.
    #[error("the master at {at} is gone ({why}), so this worker ends; it had {states} states")]
    MasterGone {
        /// Where it was.
        at: Address,
        /// What the system says.
        why: String,
        /// How many states were here.
        states: usize,
    },
    /// A value's `Drop` panicked, outside of any evolution. The master was told.
    #[error("a value of this program's panicked: {0}")]
    Panicked(String),
    /// The system gives no second thread, by which a worker listens while it works. The master was told.
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
    /// What the master wants to be worked on, as it said at the beginning.
    #[must_use]
    pub fn program(&self) -> &[u8] {
        &self.program
    }

    /// The connection, and what the master has sent already, for those who bring their own loop around a
    /// [`Worker`](crate::Worker). None if this is no TCP.
    ///
    /// A message has its length in front, in four bytes, lowest first.
    #[must_use]
    pub fn into_tcp(mut self) -> Option<(std::net::TcpStream, Vec<u8>)> {
        match self.socket {
            Socket::Tcp(stream) => Some((stream, self.received.rest())),
            Socket::Unix(_) => None,
        }
    }

    /// Gives the master up if it says nothing for so long, also where its machine lives: it may have been stopped, or hang.
    ///
    /// A master in a round, or one that waits for workers, says every 10 s that it lives, so less than a minute is seldom
    /// wise. Between two rounds nobody says anything: choose more than the master's program takes there. Without this a
    /// worker waits for ever.
    ///
    /// # Panics
    ///
    /// If the time is zero.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        assert!(!patience.is_zero(), "nobody says anything in no time");
        Accepted { patience: Some(patience), ..self }
    }

    /// Works until the master needs nobody any more.
    ///
    /// # Errors
    ///
    /// Where the master is gone, or says what no master says, or nothing for longer than
    /// [`with_patience`](Accepted::with_patience) has it.
    pub fn serve<E: Evolve>(self, evolve: &E) -> Result<(), ServeError> {
        let impatient = |error| ServeError::Unreachable(self.at.clone(), error);
        self.socket.read_within(self.patience).map_err(impatient)?;
        serve(self.socket, self.received, &self.at, evolve, |_| ())
    }
}

/// Goes to a master, and shows that the secret is known.
///
/// A master that lives may be silent for as long as it likes, as it is between two rounds, unless
/// [`Accepted::with_patience`] says otherwise. Over TCP one whose machine does not answer for 60 s is taken for gone, now and
/// while the worker serves.
///
/// # Errors
///
/// Where nobody is there, or does not answer for 60 s, or either of the two does not know the secret, or speaks another
/// version.
pub fn connect(address: &Address, secret: &Secret) -> Result<Accepted, ServeError> {
    connect_within(SILENCE, address, secret)
}

/// As [`connect`], and gives up if nothing comes for so long before the master has accepted this worker. A master accepts
/// nobody between two rounds.
///
/// # Errors
///
/// As [`connect`].
///
/// # Panics
///
/// If the time is zero.
pub fn connect_within(time: Duration, address: &Address, secret: &Secret) -> Result<Accepted, ServeError> {
    assert!(!time.is_zero(), "nobody says anything in no time");
    let unreachable = |error| ServeError::Unreachable(address.clone(), error);
    let refused = |violation| ServeError::Refused(address.clone(), violation);
    let mut socket = Socket::connect(address).map_err(unreachable)?;
    let mut received = Received::new(LONGEST_REQUEST);
    socket.read_within(Some(time)).map_err(unreachable)?;
    let unreachable = |error: io::Error| match error.kind() {
        // What the system calls it when a read takes too long.
        io::ErrorKind::WouldBlock => {
            let said = format!("it said nothing within {} s; is it busy, or something else?", time.as_secs());
            unreachable(io::Error::new(io::ErrorKind::TimedOut, said))
        }
        _ => unreachable(error),
    };
    let (nonce, mut out) = (hello::nonce().map_err(unreachable)?, Vec::new());
    let greeting = message(&mut socket, &mut received).map_err(unreachable)?;
    let asked = hello::answer(&greeting, secret, nonce, &mut out).map_err(refused)?;
    socket.write_all(&out).map_err(unreachable)?;
    let verdict = message(&mut socket, &mut received).map_err(unreachable)?;
    let program = hello::accept(&verdict, secret, &asked, &nonce).map_err(refused)?;
    socket.read_within(None).map_err(unreachable)?;
    Ok(Accepted { patience: None, socket, received, at: address.clone(), program })
}

fn message(socket: &mut Socket, received: &mut Received) -> io::Result<Vec<u8>> {
    loop {
        if let Some(body) = received.next().map_err(io::Error::other)? {
            return Ok(body.to_vec());
        }
        if received.read(socket)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
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
    /// Sends what is to be sent. The master always reads, so this does not wait for long.
    fn send(&mut self) {
        if self.out.is_empty() {
            return;
        }
        if let Err(error) = self.socket.write_all(&self.out) {
            self.ended.get_or_insert(Err(End::Gone(error.to_string())));
        }
        self.out.clear();
    }

    /// There is nothing more to do; the first reason counts. If it is this worker's, the master hears of it.
    fn end(&mut self, end: Result<(), End>) {
        if self.ended.is_some() {
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

/// Works for a master; `begun` is called once it does, or cannot.
pub(crate) fn serve<E: Evolve>(
    socket: Socket,
    mut received: Received,
    at: &Address,
    evolve: &E,
    begun: impl FnOnce(io::Result<()>),
) -> Result<(), ServeError> {
    let began = Instant::now();
    let mut reading = socket.another().map_err(|error| ServeError::Unreachable(at.clone(), error))?;
    let closing = socket.another().map_err(|error| ServeError::Unreachable(at.clone(), error))?;
    let worker = Worker::new(Duration::ZERO);
    let shared = Mutex::new(Shared { worker, out: Vec::new(), socket, ended: None });
    let changed = Condvar::new();
    // Both threads run code of the program's; whatever becomes of it, the other one ends as well.
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
        ended(attempt(|| {
            work(evolve, &shared, &changed, began);
            Ok::<_, Infallible>(Ok(()))
        }));
        // The other thread sits in a read.
        closing.close();
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    match shared.ended {
        Some(Err(End::Gone(why))) => {
            Err(ServeError::MasterGone { at: at.clone(), why, states: shared.worker.states() })
        }
        Some(Err(End::Violation(violation))) => Err(ServeError::Refused(at.clone(), violation)),
        Some(Err(End::Panicked(why))) => Err(ServeError::Panicked(why)),
        Some(Err(End::Alone(error))) => Err(ServeError::Thread(error)),
        Some(Ok(())) | None => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes messages in until there are no more.
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
        io::ErrorKind::TimedOut => format!("its machine did not answer for {} s", SILENCE.as_secs()),
        // What the system calls it when a read takes too long.
        io::ErrorKind::WouldBlock => "it said nothing for too long; was it stopped, or does it hang?".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_is_no_master_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = Address::Tcp(listener.local_addr().unwrap().to_string());
        let said = connect_within(Duration::from_millis(50), &at, &Secret::new("s")).unwrap_err().to_string();
        assert_eq!(
            said,
            format!("cannot reach the master at {at}: it said nothing within 0 s; is it busy, or something else?")
        );
    }

    #[test]
    fn a_silent_machine_has_a_name() {
        assert_eq!(why_gone(&io::ErrorKind::TimedOut.into()), "its machine did not answer for 60 s");
        assert_eq!(why_gone(&io::Error::other("other")), "other");
    }
}
