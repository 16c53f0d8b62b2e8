//! A body that is larger than what is kept of it. Alone in its test binary, since it judges the memory of its process.
#![cfg(all(feature = "http", target_os = "linux"))]

use millstream_core::pipeline;
use millstream_core::text::Block;
use millstream_exec::{JobExt, Reception, Rings, Runner};
use millstream_net::arrivals;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::post_service;
use millstream_net::http::{Ingest, Server};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// The status of the response to a request.
fn status(stream: &mut TcpStream) -> String {
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head[9..]).into_owned()
}

#[test]
fn a_body_that_comes_faster_than_it_is_worked_on_is_not_kept_in_memory() {
    let rings = Rings::new().ring(8);
    let (reception, arriving) = Reception::<Block, ()>::open(&rings, Some(8)).unwrap();
    let bytes = Arc::new(AtomicU64::new(0));
    let count = bytes.clone();
    let slow = move |_, block: &Block| {
        count.fetch_add(block.len() as u64, Ordering::Relaxed);
        sleep(Duration::from_micros(200));
    };
    let run = rings.start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(slow)).unwrap();
    let ingest = post_service(Ingest::new(reception.client(&run)));
    let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", ingest)).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let piece = "a line of text\n".repeat(70_000);
    let all = piece.len() as u64 * 64;
    write!(stream, "POST /ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: {all}\r\n\r\n").unwrap();
    let before = resident();
    let mut most = 0;
    for _ in 0..64 {
        stream.write_all(piece.as_bytes()).unwrap();
        most = most.max(resident());
    }
    assert_eq!(status(&mut stream), "202");
    let grown = most.saturating_sub(before);
    assert!(grown < all / 4, "of {all} bytes {grown} were in memory");
    drop((stream, server));
    run.wait().unwrap();
    assert_eq!(bytes.load(Ordering::Relaxed), all);
}
