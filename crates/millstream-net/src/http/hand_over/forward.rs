//! Forwards requests to the process that has taken over.

use super::link::FORWARDED;
use super::response::Answering;
use crate::http::refusal::Arrived;
use crate::http::{Refusal, body};
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use millstream_state::door::Door;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;

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
    if parts.headers.contains_key(header::UPGRADE) {
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
    let mut stream = UnixStream::connect(door.path()).await?;
    let peer = peer.to_string();
    // The longest address has far fewer than 255 bytes.
    let introduction = [&[FORWARDED, peer.len() as u8], peer.as_bytes()].concat();
    stream.write_all(&introduction).await?;
    Ok(stream)
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
}
