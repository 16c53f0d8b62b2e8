//! The values of a broadcast, to every connection.

use super::counters::Opened;
use super::{Listener, ListenerCounters, Options, token};
use crate::broadcast::{Next, Reader};
use crate::listening::{Accepted, Accepting, Bound, Closing, asked_for};
use crate::{Broadcast, OpenError, WhenSlow};
use bytes::BytesMut;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The most bytes of a write.
const PIECE: usize = 64 << 10;

/// Listens for readers, and writes to each the bytes of every value that is published after it connects.
///
/// A slow reader delays nothing. It [misses](WhenSlow) values if it lags behind all that the broadcast keeps, and its
/// connection is closed if it takes nothing for the [limit](Options::write_within). The bytes that it sends are
/// discarded, except the [token](Options::token).
///
/// # Errors
///
/// If other machines could connect and no token is set; if the address cannot be used, or no thread can be started.
pub fn send_lines(
    address: impl ToSocketAddrs,
    values: Broadcast,
    when_slow: WhenSlow,
    options: Options,
) -> Result<Listener, OpenError> {
    let bound = Bound::to(address, options.token.as_deref())?;
    let counters = Arc::<ListenerCounters>::default();
    let (counted, connections) = (counters.clone(), options.connections);
    let listening = bound.serve("millstream-tcp", connections, Accepting::Yes, move |accepted| {
        let (values, options, counters) = (values.clone(), options.clone(), counted.clone());
        async move {
            let _open = Opened::on(&counters);
            let Accepted { mut stream, mut closing, place: _place, .. } = accepted;
            if let Some(token) = asked_for(options.token.as_deref()) {
                let shown = tokio::select! {
                    shown = shows(&mut stream, token) => shown,
                    () = closing.wait() => return,
                };
                if !shown {
                    counters.refused.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
            let reader = values.reader(when_slow);
            write(stream, reader, closing, options.write_within).await;
        }
    })?;
    Ok(Listener { listening, counters })
}

/// Whether the first line is the token.
async fn shows(stream: &mut TcpStream, token: &str) -> bool {
    let mut line = Vec::new();
    let read = async {
        // Reads the short line byte by byte, so that no byte after it is taken.
        while line.len() <= token.len() + 1 {
            match stream.read_u8().await {
                Ok(b'\n') => break,
                Ok(byte) => line.push(byte),
                Err(_) => return,
            }
        }
    };
    let in_time = timeout(token::WITHIN, read).await.is_ok();
    in_time && token::is(line.strip_suffix(b"\r").unwrap_or(&line), token)
}

/// Writes until the values end, the reader is gone, or the server is closed.
async fn write(stream: TcpStream, mut reader: Reader, mut closing: Closing, within: Duration) {
    let (mut from, mut to) = stream.into_split();
    // Notices a reader that leaves even if there is nothing to write.
    let gone = async move {
        let mut nothing = [0; 512];
        loop {
            match from.read(&mut nothing).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => return,
            }
        }
        // The reader has closed its half, and may still read, until the system reports that it is gone.
        let _ = from.ready(Interest::ERROR).await;
    };
    let writing = async {
        let mut closed = false;
        loop {
            let mut next = if closed {
                reader.try_next()
            } else {
                tokio::select! {
                    next = reader.next() => Some(next),
                    () = closing.wait() => {
                        closed = true;
                        continue;
                    }
                }
            };
            let (mut piece, mut ended) = (BytesMut::new(), next.is_none());
            while let Some(some) = next.take() {
                match some {
                    Next::Value(value) => piece.extend_from_slice(&value.bytes),
                    Next::Skipped(_) => {}
                    // The end of a connection tells nothing of what came before it.
                    Next::Cut | Next::End => ended = true,
                }
                if ended || piece.len() >= PIECE {
                    break;
                }
                next = reader.try_next();
            }
            if !piece.is_empty() && !timeout(within, to.write_all(&piece)).await.is_ok_and(|done| done.is_ok()) {
                return;
            }
            if ended {
                // An error means that the reader is gone.
                let _ = to.shutdown().await;
                return;
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = gone => {}
    }
}
