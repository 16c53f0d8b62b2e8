//! Connections that are slow, half closed, reset, too many, and requests that lie about their length.

use crate::peer::{Peer, ask, post, status};
use millstream_core::text::Block;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{Handle, JobExt, Reception, Rings, Runner, requests, service};
use millstream_net::arrivals;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::{get, post_service};
use millstream_net::http::{Endpoint, Ingest, Limits, Server};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::Duration;

/// A server that says how many bytes a body had, and what its requests are counted by.
fn lengths(limits: Limits) -> (Server, Handle<()>) {
    let (client, run) = service(requests::<u64>().map(|n| *n)).start().unwrap();
    let length = Endpoint::new(client, |_, body| Ok::<_, String>(body.len() as u64), |n| format!("{n}\n"));
    let routes = Router::new().route("/length", post_service(length.body(1000).body_within(Duration::from_secs(1))));
    let routes = routes.route("/", get(|| async { "here\n" }));
    (Server::open_with("127.0.0.1:0", routes, limits).unwrap(), run)
}

/// A server that takes lines, and the blocks that come out.
fn lines(longest: usize) -> (Server, Handle<()>, Receiver<String>) {
    let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), None).unwrap();
    let (sent, seen) = channel();
    let show = move |_, block: &Block| sent.send(String::from_utf8(block.to_vec()).unwrap()).unwrap();
    let run = Rings::new().start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(show)).unwrap();
    let ingest = Ingest::new(reception.client(&run)).longest(longest);
    let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", post_service(ingest))).unwrap();
    (server, run, seen)
}

#[test]
fn a_head_that_comes_byte_by_byte_is_cut_off_and_the_others_are_answered() {
    let (server, _run) = lengths(Limits::default().head_within(Duration::from_millis(300)));
    let mut slow = Peer::of(server.address());
    slow.say("GET / HTTP/1.1\r\nhost: local");
    let mut sender = slow.0.try_clone().unwrap();
    // A byte now and then is no progress.
    let drip = std::thread::spawn(move || {
        while sender.write_all(b"x").is_ok() {
            sleep(Duration::from_millis(20))
        }
    });
    assert_eq!(status(&ask(server.address(), "GET / HTTP/1.1", "")), 200);
    assert!(!slow.rest().contains("200"));
    drip.join().unwrap();
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let (server, _run) = lengths(Limits::default().head_within(Duration::from_millis(100)));
    assert!(!Peer::of(server.address()).rest().contains("200"));
}

#[test]
fn a_body_that_comes_too_slowly_is_408() {
    let (server, _run) = lengths(Limits::default());
    let mut slow = Peer::of(server.address());
    slow.say("POST /length HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nabc");
    assert_eq!(status(&slow.rest()), 408);
}

#[test]
fn a_client_that_closes_its_half_gets_its_answer() {
    let (server, _run) = lengths(Limits::default());
    let mut half = Peer::of(server.address());
    half.say("POST /length HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nabc");
    half.0.shutdown(Shutdown::Write).unwrap();
    let answer = half.rest();
    assert!(status(&answer) == 200 && answer.ends_with("3\n"), "{answer}");
    // Closed in the middle of a body: it is no request, and no one else's trouble.
    let mut half = Peer::of(server.address());
    half.say("POST /length HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nab");
    half.0.shutdown(Shutdown::Write).unwrap();
    assert!(!half.rest().contains("200"));
    assert_eq!(status(&post(server.address(), "/length", "abcd")), 200);
}

#[test]
fn of_a_body_that_is_reset_in_the_middle_of_a_line_the_whole_lines_are_taken() {
    let (server, run, seen) = lines(1000);
    let mut reset = Peer::of(server.address());
    reset.say("POST /ingest HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n");
    let mut next = [0];
    assert_eq!(reset.0.peek(&mut next).unwrap(), 1);
    reset.say("one\ntw");
    assert_eq!(seen.recv().unwrap(), "one\n");
    // What was not read makes the system reset the connection.
    drop(reset);
    let answer = post(server.address(), "/ingest", "three\nfour");
    assert!(status(&answer) == 202 && answer.ends_with("{\"taken\":2}\n"), "{answer}");
    drop(server);
    run.wait().unwrap();
    assert_eq!(seen.iter().collect::<String>(), "three\nfour\n");
}

#[test]
fn a_line_that_is_too_long_is_413_with_the_lines_that_were_taken() {
    let (server, run, seen) = lines(8);
    let answer = post(server.address(), "/ingest", "123456789\n");
    assert!(status(&answer) == 413 && answer.contains("0 lines"), "{answer}");
    assert!(answer.contains("\r\nmillstream-taken: 0\r\n"), "{answer}");
    // Without an end it is no shorter.
    let mut endless = Peer::of(server.address());
    endless.say("POST /ingest HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n4\r\none\n\r\n");
    assert_eq!(seen.recv().unwrap(), "one\n");
    endless.say("9\r\naaaaaaaaa\r\n");
    let mut answer = [0; 512];
    let read = endless.0.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(status(&answer) == 413 && answer.contains("1 lines"), "{answer}");
    assert!(answer.contains("\r\nmillstream-taken: 1\r\n"), "{answer}");
    assert_eq!(status(&post(server.address(), "/ingest", "1234567\n")), 202);
    drop((server, endless));
    run.wait().unwrap();
    assert_eq!(seen.iter().collect::<String>(), "1234567\n");
}

#[test]
fn connections_beyond_the_limit_wait_until_one_ends() {
    let (server, _run) = lengths(Limits::default().connections(2));
    let (first, second) = (Peer::of(server.address()), Peer::of(server.address()));
    let mut third = Peer::of(server.address());
    third.say("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    third.0.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(third.0.read(&mut [0]).is_err(), "two are open, and this one is answered");
    drop(first);
    third.0.set_read_timeout(Some(crate::peer::PATIENCE)).unwrap();
    assert_eq!(status(&third.rest()), 200);
    drop(second);
}

#[test]
fn a_bomb_is_refused_before_it_is_in_memory() {
    let (server, _run) = lengths(Limits::default());
    let compressed = ask(server.address(), "POST /length HTTP/1.1\r\ncontent-encoding: gzip", "\u{1f}");
    assert_eq!(status(&compressed), 415);
    // What is announced is not waited for.
    let mut announced = Peer::of(server.address());
    announced.say("POST /length HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999999\r\n\r\n");
    assert_eq!(status(&announced.rest()), 413);
    let mut chunks = Peer::of(server.address());
    chunks.say("POST /length HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = format!("1f4\r\n{}\r\n", "a".repeat(500));
    chunks.say(&chunk).say(&chunk).say(&chunk);
    assert_eq!(status(&chunks.rest()), 413);
}

#[test]
fn heads_have_a_limit() {
    let (server, _run) = lengths(Limits::default());
    let many: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let mut peer = Peer::of(server.address());
    peer.say(&format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"));
    assert_eq!(status(&peer.rest()), 431);
    let mut peer = Peer::of(server.address());
    let _ = peer.0.write_all(format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(100_000)).as_bytes());
    assert!(!peer.rest().contains("200"));
}

/// Bytes after a request of two lengths are never a request of their own.
#[test]
fn no_request_is_smuggled_in_after_another() {
    let (server, _run) = lengths(Limits::default());
    let hidden = "POST /length HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\nx";
    let (length, chunked) = ("content-length: 6\r\n", "transfer-encoding: chunked\r\n");
    let bodies = [
        (format!("{length}{chunked}"), "0\r\n\r\n"),
        (format!("{chunked}{length}"), "0\r\n\r\n"),
        (format!("{length}content-length: 7\r\n"), "abcdef"),
        ("transfer-encoding: xchunked\r\n".to_owned(), "0\r\n\r\n"),
        ("transfer-encoding: chunked, identity\r\n".to_owned(), "0\r\n\r\n"),
        (chunked.to_owned(), "ffffffffffffffff1\r\n"),
        (chunked.to_owned(), "-1\r\n"),
        ("content-length: +6\r\n".to_owned(), "abcdef"),
    ];
    for (headers, body) in bodies {
        let mut peer = Peer::of(server.address());
        peer.say(&format!("POST /length HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n{body}{hidden}"));
        let said = peer.rest();
        assert!(said.matches("HTTP/1.1 200").count() <= 1, "{headers}{body}: {said}");
        assert!(!said.ends_with("\r\n\r\n1\n"), "the hidden request was answered: {headers}{body}: {said}");
    }
}
