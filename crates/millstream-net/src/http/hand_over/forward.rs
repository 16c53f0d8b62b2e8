//! Forwards requests to the process that has taken over.

use super::link::FORWARDED;
use super::response::Answering;
use crate::http::guard::opens_socket;
use crate::http::refusal::Arrived;
use crate::http::switch::HELD_WITHIN;
use crate::http::{Refusal, body};
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use millstream_state::door::Door;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::{sleep, timeout};

/// The interval between tries to connect to a process whose queue is full.
const AGAIN: Duration = Duration::from_millis(1);

/// The headers that concern one connection, not the request or the response.
const OF_ONE_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    // This process has read the head, and has answered `Expect` itself.
    header::EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The response of the process behind the door. It closes the client's connection, so that the client's next connection
/// reaches the other process.
pub(in crate::http) async fn forward(request: Request, door: &Door, peer: SocketAddr) -> Response {
    let answered = answer(request, door, peer).await;
    let arrived = matches!(answered, Ok(_) | Err(Refusal::Ended));
    let mut response = answered.unwrap_or_else(IntoResponse::into_response);
    if arrived {
        response.extensions_mut().insert(Arrived);
    }
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn answer(request: Request, door: &Door, peer: SocketAddr) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    if opens_socket(&parts.headers) {
        // The other process did not accept the request: the client connects again, to that process.
        return Err(Refusal::Ending);
    }
    let stream = introduced(door, peer).await.map_err(|_| Refusal::Ending)?;
    let length = body.size_hint().exact();
    let head = head(&mut parts, length);
    let (answers, asks) = stream.into_split();
    let answering = Answering::new(answers, parts.method == Method::HEAD);
    // An answer may begin before the end of the request. Sending ends with the connection to the other process, or the
    // client's.
    drop(tokio::spawn(send(asks, head, body, length.is_none())));
    // The other process may have accepted the request.
    let mut response = answering.response().await.map_err(|_| Refusal::Ended)?;
    only_ends(response.headers_mut());
    Ok(response)
}

/// The head of the request for the other process.
fn head(parts: &mut Parts, length: Option<u64>) -> Vec<u8> {
    let announced = parts.headers.remove(header::CONTENT_LENGTH).is_some();
    only_ends(&mut parts.headers);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut head = format!("{} {path} HTTP/1.1\r\nconnection: close\r\n", parts.method).into_bytes();
    match length {
        Some(0) if !announced => {}
        Some(length) => head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes()),
        None => head.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    for (name, value) in &parts.headers {
        [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]
            .iter()
            .for_each(|part| head.extend_from_slice(part));
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Sends a request. If the client does not send all of it, the connection to the other process ends early.
async fn send(mut to: OwnedWriteHalf, head: Vec<u8>, mut body: Body, chunked: bool) {
    let mut written = to.write_all(&head).await;
    while written.is_ok() {
        written = match body::next(&mut body).await {
            Ok(Some(piece)) => write(&mut to, &piece, chunked).await,
            Ok(None) if chunked => return drop(to.write_all(b"0\r\n\r\n").await),
            Ok(None) | Err(_) => return,
        };
    }
}

async fn write(to: &mut OwnedWriteHalf, piece: &[u8], chunked: bool) -> io::Result<()> {
    if !chunked || piece.is_empty() {
        return to.write_all(piece).await;
    }
    to.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    to.write_all(piece).await?;
    to.write_all(b"\r\n").await
}

/// Removes the headers of a single connection, and keeps the others.
fn only_ends(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse::<HeaderName>().ok());
    let named: Vec<HeaderName> = named.collect();
    named.iter().chain(&OF_ONE_CONNECTION).for_each(|name| _ = headers.remove(name));
}

/// A connection to the other process, with an introduction that names the client.
async fn introduced(door: &Door, peer: SocketAddr) -> io::Result<UnixStream> {
    let mut stream = timeout(HELD_WITHIN, connected(door)).await??;
    let peer = peer.to_string();
    // The longest address has far fewer than 255 bytes.
    let introduction = [&[FORWARDED, peer.len() as u8], peer.as_bytes()].concat();
    stream.write_all(&introduction).await?;
    Ok(stream)
}

/// A connection to the other process. All held requests come to it at once, so its queue may be full for a while, and
/// so may the descriptors of this process. Nothing has been sent until then, so another try repeats nothing.
async fn connected(door: &Door) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(door.path()).await {
            Err(error) if passes(&error) => sleep(AGAIN).await,
            connected => return connected,
        }
    }
}

fn passes(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::AGAIN | Errno::MFILE | Errno::NFILE))
}

/// Reads the client of the request that follows, after the first byte of an introduction.
pub(super) async fn peer(stream: &mut UnixStream) -> io::Result<SocketAddr> {
    let mut peer = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut peer).await?;
    let peer = str::from_utf8(&peer).ok().and_then(|peer| peer.parse().ok());
    peer.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn headers_of_one_connection_are_not_forwarded() {
        let mut request = Request::post("/a/b?c=d").body(Body::empty()).unwrap().into_parts().0;
        let all = [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("keep-alive", "timeout=5"),
            ("idempotency-key", "a"),
            ("content-length", "5"),
        ];
        all.iter().for_each(|(name, value)| _ = request.headers.append(*name, HeaderValue::from_static(value)));
        let said = |length| String::from_utf8(head(&mut request.clone(), length)).unwrap();
        let begin = "POST /a/b?c=d HTTP/1.1\r\nconnection: close\r\n";
        let end = "idempotency-key: a\r\n\r\n";
        assert_eq!(said(Some(5)), format!("{begin}content-length: 5\r\n{end}"));
        assert_eq!(said(None), format!("{begin}transfer-encoding: chunked\r\n{end}"));
        request.headers.remove("content-length");
        assert_eq!(String::from_utf8(head(&mut request, Some(0))).unwrap(), format!("{begin}{end}"));
    }

    #[test]
    fn a_request_waits_for_its_place_in_the_queue_of_the_other_process() {
        const REQUESTS: usize = 20;
        let home = tempfile::tempdir().unwrap();
        let door = Door::of(home.path()).unwrap();
        let socket = door.listen().unwrap();
        // Room for two.
        rustix::net::listen(&socket, 1).unwrap();
        let (begin, begins) = std::sync::mpsc::channel();
        let accepts = std::thread::spawn(move || {
            begins.recv().unwrap();
            for _ in 0..REQUESTS {
                let (mut stream, mut said) = (socket.accept().unwrap().0, Vec::new());
                while !said.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    said.push(byte[0]);
                }
                stream.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (door, peer) = (&door, ([127, 0, 0, 1], 1).into());
        let status = |_| async move { forward(Request::default(), door, peer).await.status().as_u16() };
        let all = futures_util::future::join_all((0..REQUESTS).map(status));
        // All have tried by then.
        let (statuses, ()) = runtime.block_on(async { tokio::join!(all, async { begin.send(()).unwrap() }) });
        assert_eq!(statuses, [204; REQUESTS]);
        accepts.join().unwrap();
    }
}
