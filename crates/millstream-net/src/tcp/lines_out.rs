//! The values of a broadcast, to every connection.

use super::counters::Opened;
use super::{Listener, ListenerCounters, Options, token};
use crate::broadcast::{Next, Reader};
use crate::listening::{Accepted, Accepting, Bound, Closing};
use crate::{Broadcast, OpenError, WhenSlow};
use bytes::BytesMut;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What is written at once, if there is so much.
const PIECE: usize = 64 << 10;

/// Listens for readers, and writes every value that is published from then on to each of them, as its bytes are.
///
/// A reader that is slow holds nothing up. It [misses](WhenSlow) values when it is further behind than the broadcast
/// keeps, and its connection is closed if it takes nothing for the [time](Options::write_within) that it has. What it
/// sends is read and thrown away, but for the [token](Options::token).
///
/// # Errors
///
/// If others than this machine could connect and no token is asked for; if the address cannot be used, or no thread can
/// be started.
pub fn send_lines(
    address: impl ToSocketAddrs,
    values: Broadcast,
    when_slow: WhenSlow,
    options: Options,
) -> Result<Listener, OpenError> {
    let bound = Bound::to(address, options.token.is_some())?;
    let counters = Arc::<ListenerCounters>::default();
    let (counted, connections) = (counters.clone(), options.connections);
    let listening = bound.serve("millstream-tcp", connections, Accepting::Yes, move |accepted| {
        let (values, options, counters) = (values.clone(), options.clone(), counted.clone());
        async move {
            let _open = Opened::on(&counters);
            let Accepted { mut stream, closing, place: _place, .. } = accepted;
            if let Some(token) = &options.token
                && !shows(&mut stream, token).await
            {
                counters.refused.fetch_add(1, Ordering::Relaxed);
                return;
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
        // Byte by byte, so that nothing behind the line is taken. It is short.
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

/// Writes until there is no more, the reader is gone, or the server is closed.
async fn write(stream: TcpStream, mut reader: Reader, mut closing: Closing, within: Duration) {
    let (mut from, mut to) = stream.into_split();
    // A reader that goes away is noticed though nothing is written.
    let gone = async move {
        let mut nothing = [0; 512];
        loop {
            match from.read(&mut nothing).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => return,
            }
        }
        // Its half is closed, and it may still read.
        std::future::pending().await
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
                    Next::End => ended = true,
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
