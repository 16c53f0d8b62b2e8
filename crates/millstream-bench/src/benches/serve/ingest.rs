//! Lines that are posted in large bodies: ours into a pipeline that counts them, and a server that discards them.

use super::server::Server;
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::exec::Reception;
use millstream::io::Block;
use millstream::io::text::line_ends;
use millstream::prelude::*;
use millstream_net::arrivals;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::post_service;
use millstream_net::http::{Ingest, Server as Serving};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The connections, each with one body after the other.
const CONNECTIONS: u64 = 2;
const BODY: u64 = 128 << 20;
/// The size of a write.
const PIECE: u64 = 1 << 20;
/// A line with its end.
const LINE: u64 = 128;
/// Blocks that wait for the pipeline.
const SLOTS: usize = 64;

/// Serves `POST /ingest` until the process is killed.
pub(super) fn serve(listening: impl FnOnce(SocketAddr)) -> Result<(), Failure> {
    let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), Some(SLOTS))?;
    let lines = Arc::new(AtomicU64::new(0));
    let counted = lines.clone();
    let count = move |_, block: &Block| {
        counted.fetch_add(line_ends(block), Ordering::Relaxed);
    };
    let run = Rings::new().start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(count))?;
    let ingest = Ingest::new(reception.client(&run));
    let server = Serving::open("127.0.0.1:0", Router::new().route("/ingest", post_service(ingest)));
    let server = server.map_err(|error| Failure::io("a server")(error.into()))?;
    listening(server.address());
    Ok(run.wait().map(drop)?)
}

/// Bytes a second.
pub(super) fn run(setting: &Setting, axum: &Path) -> Result<Results, Failure> {
    let bytes = setting.items(8 * BODY, 2 * BODY).div_ceil(CONNECTIONS * BODY) * CONNECTIONS * BODY;
    let (ours, discard) = (Server::ingest()?, Server::axum(axum, &["discard".as_ref()])?);
    let expected = bytes / LINE;
    let contestants = vec![
        Contestant::new("ours", expected, || posted(ours.at, bytes, |said| number(said.split_once("\"taken\":")?.1))),
        Contestant::new("discard", expected, || posted(discard.at, bytes, |said| Some(number(said)? / LINE))),
    ];
    let work = Work { case: "ingest", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("discard", Some(0.5));
    Ok(speeds.results([ratio]))
}

fn number(text: &str) -> Option<u64> {
    text.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// Posts this many bytes. Returns the number of accepted lines, which `lines` reads from a response.
fn posted(at: SocketAddr, bytes: u64, lines: fn(&str) -> Option<u64>) -> Result<u64, Failure> {
    let piece = format!("{}\n", "x".repeat(LINE as usize - 1)).repeat((PIECE / LINE) as usize);
    let bodies = bytes / BODY / CONNECTIONS;
    let mut taken = 0;
    std::thread::scope(|scope| {
        let posting = (0..CONNECTIONS).map(|_| scope.spawn(|| one_connection(at, &piece, bodies, lines)));
        for posting in posting.collect::<Vec<_>>() {
            taken += posting.join().map_err(|_| Failure::Threads("a client panicked"))??;
        }
        Ok(taken)
    })
}

fn one_connection(at: SocketAddr, piece: &str, bodies: u64, lines: fn(&str) -> Option<u64>) -> Result<u64, Failure> {
    let cannot = || Failure::io("cannot post");
    let mut stream = TcpStream::connect(at).map_err(cannot())?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(cannot())?;
    let mut taken = 0;
    for _ in 0..bodies {
        let head = format!("POST /ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: {BODY}\r\n\r\n");
        stream.write_all(head.as_bytes()).map_err(cannot())?;
        for _ in 0..BODY / PIECE {
            stream.write_all(piece.as_bytes()).map_err(cannot())?;
        }
        let mut said = Vec::new();
        while !said.ends_with(b"\n") || said.ends_with(b"\r\n") {
            let mut some = [0; 1024];
            let read = stream.read(&mut some).map_err(cannot())?;
            if read == 0 {
                break;
            }
            said.extend_from_slice(&some[..read]);
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        let body = said.split_once("\r\n\r\n").and_then(|(_, body)| lines(body));
        taken += body.ok_or_else(|| Failure::Program("a post".to_owned(), format!("the response is {said}")))?;
    }
    Ok(taken)
}
