//! A client that writes what it likes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// A test that waits longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a stage waits at.
#[derive(Default)]
pub(crate) struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub(crate) fn pass(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap());
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.0.lock().unwrap()
    }

    pub(crate) fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

pub(crate) struct Peer(pub(crate) TcpStream);

impl Peer {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Peer(stream)
    }

    pub(crate) fn say(&mut self, text: &str) -> &mut Self {
        self.0.write_all(text.as_bytes()).unwrap();
        self
    }

    /// All that the server says until it closes the connection. A reset is an end as well.
    pub(crate) fn rest(&mut self) -> String {
        String::from_utf8(self.rest_bytes()).unwrap()
    }

    pub(crate) fn rest_bytes(&mut self) -> Vec<u8> {
        let (mut all, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            match self.0.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => all.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the server does not end: {all:?}"),
                Err(_) => break,
            }
        }
        all
    }
}

/// The response to one request; the connection is closed after it.
pub(crate) fn ask(address: SocketAddr, head: &str, body: &str) -> String {
    let length = body.len();
    let request = format!("{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    Peer::of(address).say(&request).rest()
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> String {
    ask(address, &format!("POST {path} HTTP/1.1"), body)
}

pub(crate) fn status(response: &str) -> u16 {
    let status = response.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    status.and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no response: {response:?}"))
}
