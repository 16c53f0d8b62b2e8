//! A run that is drained while bodies come.

use crate::peer::{PATIENCE, Peer, post, status};
use millstream_core::text::Block;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, Reception, Rings, Runner};
use millstream_net::arrivals;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::post_service;
use millstream_net::http::{Ingest, Server};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

const CLIENTS: usize = 4;

/// The response to a body without an end, whose lines are those of this client, in order.
fn post_until_answered(address: SocketAddr, client: usize) -> String {
    let mut peer = Peer::of(address);
    peer.say("POST /ingest HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    let mut writes = peer.0.try_clone().unwrap();
    let writer = spawn(move || {
        for piece in 0.. {
            let mut lines = String::new();
            for n in 100 * piece..100 * (piece + 1) {
                writeln!(lines, "{client} {n}").unwrap();
            }
            let chunk = format!("{:x}\r\n{lines}\r\n", lines.len());
            if writes.write_all(chunk.as_bytes()).is_err() {
                return;
            }
        }
    });
    let mut response = String::new();
    while !response.ends_with("}\n") && !response.contains("\r\n\r\n") {
        let mut piece = [0; 4096];
        let read = std::io::Read::read(&mut peer.0, &mut piece).unwrap();
        assert!(read > 0, "the connection ended without a response: {response}");
        response.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    // Ends the writer.
    let _ = peer.0.shutdown(Shutdown::Both);
    writer.join().unwrap();
    response
}

/// The number in the header that an error has.
fn taken(response: &str) -> usize {
    let header = response.to_ascii_lowercase();
    let (_, taken) = header.split_once("millstream-taken: ").unwrap_or_else(|| panic!("{response}"));
    taken.split("\r\n").next().unwrap().parse().unwrap()
}

/// Every line that a client was told to be taken is in the output, and no other: a client that sends the rest again
/// sends no line twice.
#[test]
fn a_drain_acknowledges_the_lines_that_come_out_and_no_others() {
    let rings = Rings::new().ring(8);
    // Room for the first block of each client: none is refused.
    let (reception, arriving) = Reception::<Block, ()>::open(&rings, Some(128)).unwrap();
    let (begun, has_begun) = channel();
    let lines = pipeline::<Block>().from(arrivals::taken(arriving)).to_fold(
        BTreeMap::<usize, Vec<usize>>::new(),
        move |all, _, block: &Block| {
            for line in std::str::from_utf8(block).unwrap().lines() {
                let (client, n) = line.split_once(' ').unwrap();
                let numbers = all.entry(client.parse().unwrap()).or_default();
                if numbers.is_empty() {
                    let _ = begun.send(());
                }
                numbers.push(n.parse().unwrap());
            }
        },
    );
    let run = rings.start(lines).unwrap();
    let ingest = post_service(Ingest::new(reception.client(&run)));
    let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", ingest)).unwrap();
    let address = server.address();
    let clients: Vec<_> = (0..CLIENTS).map(|client| spawn(move || post_until_answered(address, client))).collect();
    (0..CLIENTS).for_each(|_| has_begun.recv_timeout(PATIENCE).unwrap());
    let (all, _) = run.drain(PATIENCE).unwrap();
    for (client, response) in clients.into_iter().map(|client| client.join().unwrap()).enumerate() {
        assert_eq!(status(&response), 503, "{response}");
        let came_out = all.get(&client).cloned().unwrap_or_default();
        assert_eq!(came_out, (0..taken(&response)).collect::<Vec<_>>(), "client {client}");
        assert!(!came_out.is_empty());
        // Nor is it told to send all of it again.
        assert!(!response.to_ascii_lowercase().contains("retry-after"), "{response}");
    }
}

#[test]
fn a_run_that_has_failed_is_an_error_and_not_an_end() {
    let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), None).unwrap();
    let fails = pipeline::<Block>().map(|block: &Block| -> u64 { panic!("a block of {} bytes", block.len()) });
    let run = Rings::new().start(fails.from(arrivals::taken(arriving)).to_each(|_, _| ())).unwrap();
    let ingest = post_service(Ingest::new(reception.client(&run)));
    let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", ingest)).unwrap();
    post(server.address(), "/ingest", "one\n");
    let since = Instant::now();
    while !run.is_finished() {
        assert!(since.elapsed() < PATIENCE, "it does not fail");
        sleep(Duration::from_millis(1));
    }
    let said = post(server.address(), "/ingest", "two\n");
    assert!(status(&said) == 500 && said.ends_with("the service has failed\n"), "{said}");
    drop(server);
    assert!(run.wait().is_err());
}
