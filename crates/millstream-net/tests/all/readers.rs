//! Values to many readers over HTTP.

use crate::peer::{PATIENCE, Peer, ask, status};
use futures_util::StreamExt;
use futures_util::stream::repeat;
use millstream_core::SequenceNumber;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::body::Body;
use millstream_net::http::axum::routing::get;
use millstream_net::http::{Limits, Server, events, stream};
use millstream_net::{Broadcast, Publisher, WhenSlow, broadcast};
use std::convert::Infallible;
use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;

fn server(slots: usize) -> (Server, Publisher, Broadcast) {
    let (publisher, values) = broadcast(slots);
    let routes = Router::new()
        .route("/lines", stream(values.clone(), WhenSlow::Skip, "text/plain"))
        .route("/strict", stream(values.clone(), WhenSlow::Disconnect, "text/plain"))
        .route("/events", events(values.clone(), WhenSlow::Skip));
    (Server::open("127.0.0.1:0", routes).unwrap(), publisher, values)
}

/// A reader that has begun.
fn reader(server: &Server, values: &Broadcast, path: &str) -> Peer {
    let before = values.readers();
    let mut peer = Peer::of(server.address());
    peer.say(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"));
    let since = Instant::now();
    while values.readers() == before {
        assert!(since.elapsed() < PATIENCE, "no one reads");
        std::thread::yield_now();
    }
    peer
}

/// The bytes of a chunked body.
fn body(mut response: &str) -> Option<String> {
    response = response.split_once("\r\n\r\n")?.1;
    let mut body = String::new();
    loop {
        let (length, rest) = response.split_once("\r\n")?;
        let length = usize::from_str_radix(length, 16).ok()?;
        body.push_str(rest.get(..length)?);
        response = rest.get(length..)?.strip_prefix("\r\n")?;
        if length == 0 {
            return Some(body);
        }
    }
}

#[test]
fn every_reader_has_its_stream_from_where_it_began() {
    let (server, publisher, values) = server(64);
    let mut early = [reader(&server, &values, "/lines"), reader(&server, &values, "/events")];
    publisher.publish(SequenceNumber(3), "three\n");
    let mut late = reader(&server, &values, "/strict");
    publisher.publish(SequenceNumber(4), "four\n");
    drop(publisher);
    assert_eq!(body(&early[0].rest()).as_deref(), Some("three\nfour\n"));
    assert_eq!(body(&early[1].rest()).as_deref(), Some("id: 3\ndata: three\n\nid: 4\ndata: four\n\n"));
    assert_eq!(body(&late.rest()).as_deref(), Some("four\n"));
    assert_eq!(server.close(PATIENCE).cut_off, 0);
}

#[test]
fn a_slow_reader_skips_or_is_disconnected_and_the_values_go_on() {
    let (server, publisher, values) = server(8);
    let (mut skips, mut told) = (reader(&server, &values, "/lines"), reader(&server, &values, "/events"));
    let mut strict = reader(&server, &values, "/strict");
    let line = format!("{}\n", "x".repeat(99_999));
    for n in 0..500 {
        publisher.publish(SequenceNumber(n), line.clone());
    }
    drop(publisher);
    let cut = std::thread::spawn(move || strict.rest());
    let events = std::thread::spawn(move || told.rest());
    let read = body(&skips.rest()).expect("an end, and not a reset");
    assert!(read.lines().all(|line| line.len() == 99_999));
    let events = body(&events.join().unwrap()).unwrap();
    let missed = events.split("\n\n").filter_map(|event| event.strip_prefix("event: skipped\ndata: "));
    let missed: u64 = missed.map(|missed| missed.parse::<u64>().unwrap()).sum();
    assert_eq!(events.matches("id: ").count() as u64 + missed, 500);
    assert!(read.lines().count() < 500 && missed > 0);
    assert_eq!(body(&cut.join().unwrap()), None, "a break, and no end");
    assert!(values.disconnected() == 1 && values.skipped() > 0);
    drop(server);
}

#[test]
fn a_request_is_open_as_long_as_its_answer_is_streamed() {
    let (publisher, values) = broadcast(8);
    let routes = Router::new()
        .route("/lines", stream(values.clone(), WhenSlow::Skip, "text/plain"))
        .route("/events", events(values.clone(), WhenSlow::Skip))
        .route("/own", get(async || Body::from_stream(repeat("own\n").map(Ok::<_, Infallible>))))
        .route("/", get(async || "here\n"));
    let server = Server::open_with("127.0.0.1:0", routes, Limits::default().requests_of_one(3)).unwrap();
    let asked = || status(&ask(server.address(), "GET / HTTP/1.1", ""));
    let mut readers = vec![reader(&server, &values, "/lines"), reader(&server, &values, "/events")];
    assert_eq!(asked(), 200);
    let mut own = Peer::of(server.address());
    own.say("GET /own HTTP/1.1\r\nhost: localhost\r\n\r\n");
    own.0.read_exact(&mut [0; 200]).unwrap();
    readers.insert(0, own);
    assert_eq!(asked(), 429);
    while readers.pop().is_some() {
        let since = Instant::now();
        while asked() == 429 {
            assert!(since.elapsed() < PATIENCE, "a reader that has left counts");
        }
    }
    drop(publisher);
    // One after the other on one connection.
    let mut peer = Peer::of(server.address());
    for _ in 0..50 {
        peer.say("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    }
    peer.say("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert_eq!(peer.rest().matches("HTTP/1.1 200 OK").count(), 51);
}

#[test]
fn a_stream_ends_with_its_server_and_a_reader_that_goes_is_forgotten() {
    let (server, publisher, values) = server(8);
    let gone = reader(&server, &values, "/lines");
    drop(gone);
    let since = Instant::now();
    while values.readers() > 0 {
        assert!(since.elapsed() < PATIENCE, "it is still there");
        std::thread::yield_now();
    }
    let mut stays = reader(&server, &values, "/lines");
    publisher.publish(SequenceNumber(0), "x\n");
    let mut some = [0; 256];
    assert!(stays.0.read(&mut some).unwrap() > 0);
    assert_eq!(server.close(PATIENCE).cut_off, 0);
    assert!(stays.rest().ends_with("0\r\n\r\n"));
    drop(publisher);
}

#[test]
fn readers_that_leave_give_their_places_back_although_nothing_is_published() {
    let (_publisher, values) = broadcast(8);
    let routes = Router::new()
        .route("/lines", stream(values.clone(), WhenSlow::Skip, "text/plain"))
        .route("/events", events(values.clone(), WhenSlow::Skip));
    let server = Server::open_with("127.0.0.1:0", routes, Limits::default().connections(2)).unwrap();
    let left = |path: &str, more: &str, reads: bool| {
        let mut readers = [reader(&server, &values, path), reader(&server, &values, path)];
        for reader in &mut readers {
            // Without an unread byte the system closes the connection, and does not reset it.
            let (mut head, mut byte) = (Vec::new(), [0]);
            while reads && !head.ends_with(b"\r\n\r\n") {
                reader.0.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            reader.say(more);
        }
        drop(readers);
        let since = Instant::now();
        while values.readers() > 0 {
            assert!(since.elapsed() < PATIENCE, "{path} has a reader that has left");
            std::thread::yield_now();
        }
    };
    left("/lines", "", true);
    left("/events", "", false);
    // What follows the request does not hide the end.
    left("/lines", "GET / HTTP/1.1\r\n", true);
    assert_eq!(status(&ask(server.address(), "GET / HTTP/1.1", "")), 404);
}

#[test]
fn a_reader_that_lags_gets_the_values_that_were_published_before_the_end_of_its_server() {
    const VALUES: u64 = 250;
    let (server, publisher, values) = server(256);
    let readers = ["/lines", "/events"].map(|path| reader(&server, &values, path));
    // More than buffers keep.
    let line = format!("{}\n", "x".repeat(99_999));
    (0..VALUES).for_each(|n| publisher.publish(SequenceNumber(n), line.clone()));
    let address = server.address();
    let closing = std::thread::spawn(move || server.close(PATIENCE));
    // It is closing once it accepts no connection.
    while TcpStream::connect(address).is_ok() {
        std::thread::yield_now();
    }
    let [lines, events] = readers.map(|mut reader| std::thread::spawn(move || body(&reader.rest()).unwrap()));
    assert_eq!(lines.join().unwrap().lines().count() as u64, VALUES);
    assert_eq!(events.join().unwrap().matches("id: ").count() as u64, VALUES);
    assert_eq!(closing.join().unwrap().cut_off, 0);
}
