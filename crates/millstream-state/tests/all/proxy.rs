//! A proxy between a client and a server of PostgreSQL, which breaks at a COMMIT.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What happens to a COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It reaches the server, which answers; then the connection ends.
    LosesAnswer,
    /// The connection ends before it.
    LosesCommit,
    /// The client's connection ends, and the server gets it when the client is connected again and asks what is stored.
    ComesLate,
    /// Neither it nor anything else passes, and the connection stays.
    Stalls,
}

#[derive(Debug)]
struct State {
    server: u16,
    /// How many more COMMITs pass, and what happens to the one after them.
    fate: Mutex<Option<(u64, Fate)>>,
    /// How many times a client has asked for a lock: of its job's row after it has ended the old session, or of the
    /// opening of jobs.
    locks: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// Passes everything on to this port of loopback.
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { server, fate: Mutex::default(), locks: AtomicU64::new(0) });
        let accepting = state.clone();
        // It ends with the test.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, state) = (client.unwrap(), accepting.clone());
                thread::spawn(move || pass(&state, client));
            }
        });
        Proxy { port, state }
    }

    /// Lets this many COMMITs pass, and then something happens to one.
    pub(crate) fn after(&self, commits: u64, fate: Fate) {
        *self.state.fate.lock().unwrap() = Some((commits, fate));
    }

    /// Whether it has happened.
    pub(crate) fn has_happened(&self) -> bool {
        self.state.fate.lock().unwrap().is_none()
    }
}

fn pass(state: &State, mut client: TcpStream) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", state.server))?;
    let (mut answers, mut answered) = (server.try_clone()?, client.try_clone()?);
    // The bytes of answers.
    let count = Arc::new((AtomicU64::new(0), Mutex::new(true)));
    let counted = count.clone();
    thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok(length @ 1..) = answers.read(&mut bytes) {
            if !*counted.1.lock().unwrap() {
                counted.0.fetch_add(length as u64, Ordering::SeqCst);
            } else if answered.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = answered.shutdown(Shutdown::Both);
    });
    let mut bytes = [0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let asked = &bytes[..length];
        let contains = |text: &[u8]| asked.windows(text.len()).any(|part| part == text);
        if contains(b"FOR UPDATE") || contains(b"pg_advisory_xact_lock") {
            state.locks.fetch_add(1, Ordering::SeqCst);
        }
        match contains(b"COMMIT\0").then(|| next(state)).flatten() {
            None => server.write_all(asked)?,
            Some(Fate::LosesAnswer) => {
                *count.1.lock().unwrap() = false;
                server.write_all(asked)?;
                wait_until(|| count.0.load(Ordering::SeqCst) > 0);
                break;
            }
            Some(Fate::LosesCommit) => break,
            Some(Fate::ComesLate) => {
                *count.1.lock().unwrap() = false;
                let locks = state.locks.load(Ordering::SeqCst);
                client.shutdown(Shutdown::Both)?;
                wait_until(|| state.locks.load(Ordering::SeqCst) > locks);
                let _ = server.write_all(asked); // the session may be over
                thread::sleep(Duration::from_millis(100));
                break;
            }
            Some(Fate::Stalls) => {
                *count.1.lock().unwrap() = false;
                while client.read(&mut bytes).is_ok_and(|length| length > 0) {}
            }
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    server.shutdown(Shutdown::Both)
}

fn next(state: &State) -> Option<Fate> {
    let mut fate = state.fate.lock().unwrap();
    match &mut *fate {
        Some((commits @ 1.., _)) => {
            *commits -= 1;
            None
        }
        _ => fate.take().map(|(_, fate)| fate),
    }
}

fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        thread::sleep(Duration::from_millis(1));
    }
}
