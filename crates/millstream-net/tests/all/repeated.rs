//! Bodies that are posted again with the same `Idempotency-Key`.

use crate::peer::{PATIENCE, Peer, ask, status};
use millstream_core::pipeline;
use millstream_core::text::Block;
use millstream_exec::{JobExt, Reception, Rings, Runner};
use millstream_net::arrivals;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::post_service;
use millstream_net::http::{Ingest, Server};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// A server that remembers the last two keys, and the lines that it takes, as they come.
fn server() -> (Server, Receiver<String>) {
    let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), None).unwrap();
    let (sender, lines) = channel();
    let each = move |_, block: &Block| {
        std::str::from_utf8(block).unwrap().lines().for_each(|line| sender.send(line.to_owned()).unwrap());
    };
    let run = Rings::new().start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(each)).unwrap();
    let ingest = post_service(Ingest::new(reception.client(&run)).keys(2));
    let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", ingest)).unwrap();
    // It ends with the server, which has the last client.
    spawn(move || run.wait());
    (server, lines)
}

fn with_key(address: SocketAddr, key: &str, body: &str) -> (u16, String) {
    let said = ask(address, &format!("POST /ingest HTTP/1.1\r\nIdempotency-Key: {key}"), body);
    (status(&said), said.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn rest(server: Server, lines: &Receiver<String>) -> Vec<String> {
    drop(server);
    lines.iter().collect()
}

#[test]
fn a_body_that_comes_again_is_taken_once() {
    let (server, lines) = server();
    let (address, taken) = (server.address(), |lines: u64| (202, format!("{{\"taken\":{lines}}}\n")));
    for _ in 0..3 {
        assert_eq!(with_key(address, "run:1", "one\ntwo"), taken(2));
    }
    let (code, why) = with_key(address, "run:1", "one\nother\n");
    assert!(code == 422 && why.contains("with other lines"), "{code} {why}");
    assert_eq!(with_key(address, "run:1", "one\n").0, 422);
    assert_eq!(with_key(address, &"k".repeat(257), "long\n").0, 400);
    // Another key, and none.
    assert_eq!(with_key(address, "run:2", "one\ntwo"), taken(2));
    assert_eq!(status(&ask(address, "POST /ingest HTTP/1.1", "one\n")), 202);
    // Only the last two are remembered.
    assert_eq!(with_key(address, "run:3", "three\n"), taken(1));
    assert_eq!(with_key(address, "run:1", "one\ntwo"), taken(2));
    assert_eq!(rest(server, &lines), ["one", "two", "one", "two", "one", "three", "one", "two"]);
}

/// The sender has given up a body that stalls, and posts it again.
#[test]
fn a_body_that_comes_again_while_it_is_under_way_waits_and_goes_on_where_that_ended() {
    let (server, lines) = server();
    let address = server.address();
    let head = "POST /ingest HTTP/1.1\r\nhost: localhost\r\nidempotency-key: a\r\n";
    let mut first = Peer::of(address);
    first.say(&format!("{head}content-length: 14\r\n\r\none\ntwo\nth"));
    let taken = |lines: &Receiver<String>| lines.recv_timeout(PATIENCE).unwrap();
    assert_eq!([taken(&lines), taken(&lines)], ["one", "two"]);
    let again = spawn(move || with_key(address, "a", "one\ntwo\nthree\n"));
    // Time in which it would be taken.
    sleep(Duration::from_millis(50));
    assert!(!again.is_finished() && lines.try_recv().is_err());
    drop(first);
    assert_eq!(again.join().unwrap(), (202, "{\"taken\":3}\n".to_owned()));
    assert_eq!(with_key(address, "a", "one\ntwo\nthree\n"), (202, "{\"taken\":3}\n".to_owned()));
    assert_eq!(rest(server, &lines), ["three"]);
}
