//! As many connections as are allowed, all of them idle.

use super::Ledger;
use crate::scene::{PATIENCE, Scene};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Descriptors for other uses than these connections, such as other tests.
const OTHERS: u64 = 500;

/// The memory of a server with 10,000 connections. Its futures are larger in this build than in a release build, for
/// which the bench `serve` has a bound of 200 MB.
const MOST: u64 = 250_000_000;

const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The connections of this test: 10,000, or as many as this process may have.
fn as_many_as_allowed() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    allowed.saturating_sub(OTHERS).min(10_000) as usize
}

fn connected(ledger: &Ledger) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", ledger.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether a connection is answered.
fn is_answered(stream: &mut TcpStream) -> bool {
    let mut response = [0; 4096];
    stream.write_all(HEALTH).unwrap();
    let read = stream.read(&mut response).unwrap();
    response[..read].starts_with(b"HTTP/1.1 200 OK")
}

/// The greatest memory until now.
fn memory(ledger: &Ledger) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", ledger.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn as_many_connections_as_are_allowed_are_held_and_the_next_one_waits_for_its_place() {
    let (scene, most) = (Scene::new(), as_many_as_allowed());
    let ledger = Ledger::start(&scene, &format!("--idle 600 --connections {most}"));
    let mut all: Vec<TcpStream> = (0..most).map(|_| connected(&ledger)).collect();
    // Each has had an answer, so each has had its buffers.
    assert!(all.iter_mut().all(is_answered));
    assert!(memory(&ledger) < MOST, "{} bytes for {most} connections", memory(&ledger));
    let mut next = connected(&ledger);
    next.write_all(HEALTH).unwrap();
    next.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut first = [0; 12];
    let waits = next.read(&mut first).unwrap_err();
    assert!(matches!(waits.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{waits}");
    assert!(is_answered(&mut all[most / 2]), "those that are there are answered");
    drop(all.pop());
    next.set_read_timeout(Some(PATIENCE)).unwrap();
    next.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    drop((all, next));
    assert_eq!(ledger.terminate(), Some(143));
}
