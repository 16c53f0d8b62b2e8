//! WebSockets: values out, messages in, and what no other site may.

use crate::peer::{PATIENCE, Peer, ask, status};
use millstream_core::{SequenceNumber, pipeline};
use millstream_exec::{JobExt, Reception, Rings, Runner};
use millstream_net::http::axum::Router;
use millstream_net::http::{Limits, Server, send_messages, take_messages};
use millstream_net::{WhenSlow, arrivals, broadcast};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const UPGRADE: &str = "host: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// The client of a WebSocket, which writes what it likes.
struct Socket(Peer);

impl Socket {
    fn of(address: SocketAddr, path: &str) -> Self {
        let mut peer = Peer::of(address);
        peer.say(&format!("GET {path} HTTP/1.1\r\n{UPGRADE}\r\n"));
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            peer.0.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert_eq!(status(std::str::from_utf8(&head).unwrap()), 101);
        Socket(peer)
    }

    /// A frame of fewer than 126 bytes, as a client sends it: the mask is none.
    fn send(&mut self, kind: u8, bytes: &[u8]) {
        let head = [kind, 0x80 | u8::try_from(bytes.len()).unwrap(), 0, 0, 0, 0];
        self.0.0.write_all(&[&head[..], bytes].concat()).unwrap();
    }

    /// The kind and the bytes of the next frame.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.0.0.read_exact(&mut head).ok()?;
        let mut length = usize::from(head[1]);
        if length == 126 {
            let mut long = [0; 2];
            self.0.0.read_exact(&mut long).ok()?;
            length = usize::from(u16::from_be_bytes(long));
        }
        let mut bytes = vec![0; length];
        self.0.0.read_exact(&mut bytes).ok()?;
        Some((head[0], bytes))
    }

    /// The code with which it is closed.
    fn closed(&mut self) -> u16 {
        loop {
            let (kind, bytes) = self.next().expect("it ends with a reason");
            if kind == CLOSE {
                return u16::from_be_bytes([bytes[0], bytes[1]]);
            }
        }
    }
}

#[test]
fn values_go_to_every_socket_and_it_ends_with_them() {
    let (publisher, values) = broadcast(64);
    let routes = Router::new().route("/values", send_messages(values.clone(), WhenSlow::Skip));
    let server = Server::open_with("127.0.0.1:0", routes, Limits::default().connections(2)).unwrap();
    let mut sockets = [Socket::of(server.address(), "/values"), Socket::of(server.address(), "/values")];
    let since = Instant::now();
    while values.readers() < 2 {
        assert!(since.elapsed() < PATIENCE, "they do not read");
        std::thread::yield_now();
    }
    // What they say is thrown away, and each counts as a connection.
    sockets[0].send(TEXT, b"hello");
    assert_eq!(server.counters().open(), 2);
    publisher.publish(SequenceNumber(0), "one\n");
    publisher.publish(SequenceNumber(1), vec![0xff]);
    drop(publisher);
    for socket in &mut sockets {
        assert_eq!(socket.next(), Some((TEXT, b"one".to_vec())));
        assert_eq!(socket.next(), Some((0x82, vec![0xff])));
        assert_eq!(socket.closed(), 1000);
    }
    drop(sockets);
    let since = Instant::now();
    while server.counters().open() > 0 || values.readers() > 0 {
        assert!(since.elapsed() < PATIENCE, "a connection that has ended still counts");
        std::thread::yield_now();
    }
}

#[test]
fn a_request_is_open_as_long_as_the_socket_that_it_has_become() {
    let (_publisher, values) = broadcast(64);
    let routes = Router::new().route("/values", send_messages(values, WhenSlow::Skip));
    let server = Server::open_with("127.0.0.1:0", routes, Limits::default().requests_of_one(1)).unwrap();
    let asked = || status(&ask(server.address(), "GET /nowhere HTTP/1.1", ""));
    let socket = Socket::of(server.address(), "/values");
    assert_eq!(asked(), 429);
    drop(socket);
    let since = Instant::now();
    while asked() != 404 {
        assert!(since.elapsed() < PATIENCE, "a socket that has ended counts");
    }
}

#[test]
fn messages_are_records_that_are_acknowledged_and_none_is_too_long() {
    let (reception, arriving) = Reception::<Vec<u8>, ()>::open(&Rings::new(), None).unwrap();
    let (sent, seen) = channel();
    let show = move |_, record: &Vec<u8>| sent.send(record.clone()).unwrap();
    let run = Rings::new().start(pipeline::<Vec<u8>>().from(arrivals::taken(arriving)).to_each(show)).unwrap();
    let route = take_messages(reception.client(&run), 20, Duration::from_secs(60));
    let server = Server::open("127.0.0.1:0", Router::new().route("/in", route)).unwrap();
    let mut socket = Socket::of(server.address(), "/in");
    socket.send(TEXT, b"one");
    assert_eq!(socket.next(), Some((TEXT, b"1".to_vec())));
    socket.send(0x82, &[0, 255]);
    assert_eq!(socket.next(), Some((TEXT, b"2".to_vec())));
    // In two parts.
    socket.send(0x01, b"thr");
    socket.send(0x80, b"ee");
    assert_eq!(socket.next(), Some((TEXT, b"3".to_vec())));
    let mut long = Socket::of(server.address(), "/in");
    long.send(TEXT, &[b'x'; 21]);
    assert_eq!(long.closed(), 1009);
    // Many parts are no way around.
    let mut parts = Socket::of(server.address(), "/in");
    parts.send(0x01, &[b'x'; 15]);
    parts.send(0x80, &[b'x'; 15]);
    assert_eq!(parts.closed(), 1009);
    // In the middle of a message, and of a frame.
    let mut torn = Socket::of(server.address(), "/in");
    torn.send(0x01, b"torn");
    torn.0.0.write_all(&[0x80]).unwrap();
    drop(torn);
    let closing = std::thread::spawn(move || server.close(PATIENCE));
    assert_eq!(socket.closed(), 1001);
    drop(socket);
    assert_eq!(closing.join().unwrap().cut_off, 0);
    run.wait().unwrap();
    assert_eq!(seen.iter().collect::<Vec<_>>(), [b"one".to_vec(), vec![0, 255], b"three".to_vec()]);
}

#[test]
fn a_socket_that_its_client_closes_gets_the_reply_that_it_waits_for() {
    let (reception, arriving) = Reception::<Vec<u8>, ()>::open(&Rings::new(), None).unwrap();
    let run = Rings::new().start(pipeline::<Vec<u8>>().from(arrivals::taken(arriving)).to_each(|_, _| ())).unwrap();
    let (_publisher, values) = broadcast(8);
    let routes = Router::new()
        .route("/in", take_messages(reception.client(&run), 20, PATIENCE))
        .route("/out", send_messages(values, WhenSlow::Skip));
    let server = Server::open("127.0.0.1:0", routes).unwrap();
    for path in ["/in", "/out"] {
        let mut socket = Socket::of(server.address(), path);
        socket.send(CLOSE, &1000_u16.to_be_bytes());
        assert_eq!(socket.closed(), 1000, "{path}");
    }
    drop(server);
    run.wait().unwrap();
}

#[test]
fn a_socket_that_reads_too_slowly_is_told_so() {
    let (publisher, values) = broadcast(4);
    let routes = Router::new().route("/values", send_messages(values.clone(), WhenSlow::Disconnect));
    let server = Server::open("127.0.0.1:0", routes).unwrap();
    let mut socket = Socket::of(server.address(), "/values");
    let since = Instant::now();
    while values.readers() < 1 {
        assert!(since.elapsed() < PATIENCE, "it does not read");
        std::thread::yield_now();
    }
    // More than buffers keep.
    (0..500).for_each(|n| publisher.publish(SequenceNumber(n), vec![b'x'; 65_000]));
    assert_eq!(socket.closed(), 1008);
    drop((socket, server));
}

#[test]
fn a_socket_that_says_nothing_is_closed_and_no_other_site_opens_one() {
    let (reception, arriving) = Reception::<Vec<u8>, ()>::open(&Rings::new(), None).unwrap();
    let run = Rings::new().start(pipeline::<Vec<u8>>().from(arrivals::taken(arriving)).to_each(|_, _| ())).unwrap();
    let route = take_messages(reception.client(&run), 20, Duration::from_millis(50));
    let server = Server::open("127.0.0.1:0", Router::new().route("/in", route)).unwrap();
    assert_eq!(Socket::of(server.address(), "/in").closed(), 1008);
    let mut foreign = Peer::of(server.address());
    foreign.say(&format!("GET /in HTTP/1.1\r\norigin: http://example.org\r\n{UPGRADE}\r\n"));
    let mut answer = [0; 12];
    foreign.0.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
    drop((server, foreign));
    run.wait().unwrap();
}
