//! WebSockets: values to many readers, and messages as a source.

use super::connection::Held;
use super::readers::closing;
use crate::broadcast::{Next, Reader};
use crate::taking::{NotTaken, Taking};
use crate::{Broadcast, WhenSlow};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::routing::{MethodRouter, any};
use millstream_exec::Client;
use std::time::Duration;
use tokio::time::timeout;

/// The longest message of a reader.
const FROM_READER: usize = 4 << 10;

/// The time limit for the other end to close the connection.
const GOODBYE: Duration = Duration::from_secs(1);

/// A route that sends to each WebSocket every value that is published after it is opened. A value is a message, of text
/// if the value is UTF-8, otherwise of bytes.
///
/// A slow reader delays nothing: see [`stream`](super::stream). One that is
/// [disconnected](WhenSlow::Disconnect) gets the code 1008. A WebSocket counts as a connection of its
/// [`Server`](super::Server) until it ends. It is closed after the last value, or with the server. A page of another
/// site cannot open one.
///
/// ```
/// use millstream::net::http::{axum::Router, send_messages};
/// use millstream::net::{WhenSlow, broadcast};
/// let (publisher, values) = broadcast(1024);
/// let routes: Router = Router::new().route("/values", send_messages(values, WhenSlow::Disconnect));
/// ```
pub fn send_messages(values: Broadcast, when_slow: WhenSlow) -> MethodRouter {
    any(move |held: Option<Extension<Held>>, upgrade: WebSocketUpgrade| {
        let values = values.clone();
        let upgrade = upgrade.max_message_size(FROM_READER).max_frame_size(FROM_READER);
        std::future::ready(upgrade.on_upgrade(move |socket| async move {
            let held = held.map(|Extension(held)| held);
            write(socket, values.reader(when_slow), &held).await;
        }))
    })
}

async fn write(mut socket: WebSocket, mut reader: Reader, held: &Option<Held>) {
    let mut closed = false;
    loop {
        let next = if closed {
            reader.try_next().unwrap_or(Next::End)
        } else {
            tokio::select! {
                next = reader.next() => next,
                said = socket.recv() => match said {
                    Some(Ok(Message::Close(_))) => return rest(socket).await,
                    // Answers pings, and discards a reader's other messages.
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => return,
                },
                () = closing(held) => {
                    closed = true;
                    continue;
                }
            }
        };
        let sent = match next {
            Next::Value(value) => socket.send(message(value.bytes)).await,
            Next::Skipped(_) => Ok(()),
            Next::Cut => return goodbye(socket, close_code::POLICY, "values were missed").await,
            Next::End => {
                goodbye(socket, if closed { close_code::AWAY } else { close_code::NORMAL }, "").await;
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// A message of text if it is UTF-8, without its last line feed, which a message does not need.
fn message(bytes: Bytes) -> Message {
    let trimmed = if bytes.ends_with(b"\n") { bytes.slice(..bytes.len() - 1) } else { bytes };
    match Utf8Bytes::try_from(trimmed.clone()) {
        Ok(text) => Message::Text(text),
        Err(_) => Message::Binary(trimmed),
    }
}

/// A route that takes the messages of WebSockets: each, text or bytes, is a record for the client. The messages of one
/// connection keep their order. When the source has taken a message, the route answers with a message that has the
/// number of taken messages.
///
/// A connection is read only while there is room in the first ring. A message of more than `longest` bytes closes the
/// connection; so does the time `idle` without a message.
///
/// ```
/// use millstream::net::http::{axum::Router, take_messages};
/// use millstream::{exec::Reception, net::arrivals, prelude::*};
/// use std::time::Duration;
///
/// let (reception, arriving) = Reception::<Vec<u8>, ()>::open(&Rings::new(), None)?;
/// let bytes = pipeline::<Vec<u8>>().map(Vec::len);
/// let run = Rings::new().start(bytes.from(arrivals::taken(arriving)).to_fold(0, |sum, _, n| *sum += n))?;
/// let route = take_messages(reception.client(&run), 1 << 20, Duration::from_secs(60));
/// let routes: Router = Router::new().route("/messages", route);
/// # drop(routes);
/// # assert_eq!(run.wait()?.0, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn take_messages(client: Client<Vec<u8>, ()>, longest: usize, idle: Duration) -> MethodRouter {
    any(move |held: Option<Extension<Held>>, upgrade: WebSocketUpgrade| {
        let client = client.clone();
        let upgrade = upgrade.max_message_size(longest).max_frame_size(longest);
        std::future::ready(upgrade.on_upgrade(move |socket| async move {
            let held = held.map(|Extension(held)| held);
            read(socket, &client, idle, &held).await;
        }))
    })
}

async fn read(mut socket: WebSocket, client: &Client<Vec<u8>, ()>, idle: Duration, held: &Option<Held>) {
    let mut taking = Taking::into(client, 0);
    let (code, why) = loop {
        let said = tokio::select! {
            said = timeout(idle, socket.recv()) => said,
            () = closing(held) => break (close_code::AWAY, "the service is ending"),
        };
        let record = match said {
            Ok(Some(Ok(Message::Text(text)))) => text.as_bytes().to_vec(),
            Ok(Some(Ok(Message::Binary(bytes)))) => bytes.to_vec(),
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
            Ok(Some(Ok(Message::Close(_)))) => return rest(socket).await,
            Ok(None) => return,
            Ok(Some(Err(_))) => break (close_code::SIZE, "not a valid message, or one that is too long"),
            Err(_) => break (close_code::POLICY, "no message came for too long"),
        };
        let taken = match taking.send(record, 1, false).await {
            Ok(()) => taking.all().await,
            not_taken => not_taken,
        };
        match taken {
            Ok(()) if socket.send(Message::Text(taking.taken.to_string().into())).await.is_ok() => {}
            Ok(()) => return,
            Err(NotTaken::Full | NotTaken::Ending | NotTaken::Failed(_)) => {
                break (close_code::AGAIN, "the service takes no more");
            }
        }
    };
    goodbye(socket, code, why).await;
}

/// Closes a connection.
async fn goodbye(mut socket: WebSocket, code: u16, why: &'static str) {
    if socket.send(Message::Close(Some(CloseFrame { code, reason: why.into() }))).await.is_ok() {
        rest(socket).await;
    }
}

/// Reads the remaining bytes of a connection that is closed, so that a reset does not destroy the last message. If the
/// client has closed it, that sends the reply, which every close must have.
async fn rest(mut socket: WebSocket) {
    let rest = async { while let Some(Ok(_)) = socket.recv().await {} };
    // Does not wait for a client that does not answer.
    let _ = timeout(GOODBYE, rest).await;
}
