//! The values of a broadcast, to many readers over HTTP.

use super::connection::Held;
use super::events::EndsItself;
use crate::broadcast::{Next, Published, Reader};
use crate::lingering::Watched;
use crate::{Broadcast, WhenSlow};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use std::{error, fmt};

/// The most bytes of a chunk.
const PIECE: usize = 64 << 10;

/// The reader was too slow.
#[derive(Debug)]
struct Disconnected;

impl fmt::Display for Disconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader was too slow")
    }
}

impl error::Error for Disconnected {}

/// A route that streams the bytes of every value that is published after the request, in chunks: for example lines of
/// text or JSON. `content_type` names their kind.
///
/// A slow reader delays nothing. It [misses](WhenSlow) values if it lags behind all that the broadcast keeps, and its
/// connection is closed if it takes nothing for the [limit](super::Limits::write_within). A reader that closes its half
/// of the connection has left. The stream ends after the last value, or when its [`Server`](super::Server) is closed;
/// it breaks off if the reader is [disconnected](WhenSlow::Disconnect).
///
/// ```
/// use millstream::net::http::{Server, axum::Router, stream};
/// use millstream::{net::{WhenSlow, broadcast}, prelude::*};
/// use std::io::{Read, Write};
///
/// let (publisher, values) = broadcast(1024);
/// let routes = Router::new().route("/squares", stream(values.clone(), WhenSlow::Skip, "text/plain"));
/// let server = Server::open("127.0.0.1:0", routes)?;
/// let mut reader = std::net::TcpStream::connect(server.address())?;
/// reader.write_all(b"GET /squares HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
/// while values.readers() == 0 { std::thread::yield_now(); }
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// squares.from(0..3).to_each(move |number, x| publisher.publish(number, format!("{x}\n"))).run()?;
/// let mut response = String::new();
/// reader.read_to_string(&mut response)?;
/// assert!(response.contains("transfer-encoding: chunked") && response.ends_with("\r\n0\r\n\r\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stream(values: Broadcast, when_slow: WhenSlow, content_type: &'static str) -> MethodRouter {
    route(values, when_slow, content_type, |piece, next| match next {
        Next::Value(value) => piece.extend_from_slice(&value.bytes),
        Next::Skipped(_) | Next::Cut | Next::End => {}
    })
}

/// A route that streams every value that is published after the request as a server-sent event. The event's id is the
/// value's number, and its data are the value's lines. If a slow reader has missed values, it gets an event `skipped`
/// with their number.
///
/// ```
/// use millstream::net::http::{axum::Router, events};
/// use millstream::net::{WhenSlow, broadcast};
/// let (publisher, values) = broadcast(1024);
/// let routes: Router = Router::new().route("/events", events(values, WhenSlow::Skip));
/// ```
pub fn events(values: Broadcast, when_slow: WhenSlow) -> MethodRouter {
    route(values, when_slow, "text/event-stream", |piece, next| match next {
        Next::Value(value) => event(piece, value),
        Next::Skipped(missed) => piece.extend_from_slice(format!("event: skipped\ndata: {missed}\n\n").as_bytes()),
        Next::Cut | Next::End => {}
    })
}

/// A line of data for each line of the value. A carriage return would end a line as well, so it is left out.
fn event(piece: &mut BytesMut, value: &Published) {
    piece.extend_from_slice(format!("id: {}\n", value.number).as_bytes());
    let text = value.bytes.strip_suffix(b"\n").unwrap_or(&value.bytes);
    for line in text.split(|byte| *byte == b'\n') {
        piece.extend_from_slice(b"data: ");
        line.split(|byte| *byte == b'\r').for_each(|part| piece.extend_from_slice(part));
        piece.extend_from_slice(b"\n");
    }
    piece.extend_from_slice(b"\n");
}

fn route(
    values: Broadcast,
    when_slow: WhenSlow,
    content_type: &'static str,
    write: fn(&mut BytesMut, &Next),
) -> MethodRouter {
    get(move |request: Request| {
        let reader = values.reader(when_slow);
        let held = request.extensions().get::<Held>().cloned();
        let watched = held.as_ref().map(Held::watch);
        let reading = Reading { reader, held, _watched: watched };
        let body = Body::from_stream(unfold(Some(reading), move |reading| chunk(reading, write)));
        let mut response = ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-store")], body).into_response();
        response.extensions_mut().insert(EndsItself);
        std::future::ready(response)
    })
}

/// A reader and its connection, which ends when the client leaves.
struct Reading {
    reader: Reader,
    held: Option<Held>,
    _watched: Option<Watched>,
}

/// The next chunk: all values that are there, or the next one. An error breaks the body off.
async fn chunk(
    reading: Option<Reading>,
    write: fn(&mut BytesMut, &Next),
) -> Option<(Result<Bytes, Disconnected>, Option<Reading>)> {
    let mut reading = reading?;
    let mut closed = false;
    let mut next = tokio::select! {
        next = reading.reader.next() => Some(next),
        () = closing(&reading.held) => {
            // Sends the values that were published before.
            closed = true;
            reading.reader.try_next()
        }
    };
    let mut piece = BytesMut::new();
    while let Some(some) = next {
        match some {
            // The values before come first, and the next call ends here again.
            Next::Cut if piece.is_empty() => return Some((Err(Disconnected), None)),
            Next::Cut => return Some((Ok(piece.freeze()), Some(reading))),
            Next::End => {
                closed = true;
                break;
            }
            Next::Value(_) | Next::Skipped(_) => write(&mut piece, &some),
        }
        next = if piece.len() < PIECE { reading.reader.try_next() } else { None };
    }
    // A closed stream ends after this chunk, unless the chunk is full: then there may be more values.
    let reading = (!closed || piece.len() >= PIECE).then_some(reading);
    if piece.is_empty() && reading.is_none() { None } else { Some((Ok(piece.freeze()), reading)) }
}

/// Waits until the server is closed. Only our own server reports that.
pub(super) async fn closing(held: &Option<Held>) {
    match held {
        Some(held) => held.closing().wait().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_a_line_of_data_for_each_line() {
        let written = |bytes: &'static str| {
            let mut piece = BytesMut::new();
            event(&mut piece, &Published { number: 7, bytes: bytes.into() });
            String::from_utf8(piece.to_vec()).unwrap()
        };
        assert_eq!(written("one\n"), "id: 7\ndata: one\n\n");
        assert_eq!(written("one\r\n\ndata: x"), "id: 7\ndata: one\ndata: \ndata: data: x\n\n");
        assert_eq!(written(""), "id: 7\ndata: \n\n");
    }
}
