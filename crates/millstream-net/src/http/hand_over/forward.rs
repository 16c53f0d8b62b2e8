//! Requests that the process answers that has taken over.

use super::Door;
use super::link::FORWARDED;
use crate::http::Refusal;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{StatusCode, Version};
use axum::response::{IntoResponse, Response};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// What concerns one connection, and not the request or the response on it.
const OF_ONE_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    // The process that has read the head has answered it.
    header::EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The response of the process behind the door. The client's connection ends with it: its next one is the other
/// process's.
pub(in crate::http) async fn forward(request: Request, door: &Door, peer: SocketAddr) -> Response {
    let mut response = match answer(request, door, peer).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    };
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn answer(mut request: Request, door: &Door, peer: SocketAddr) -> Result<Response, Refusal> {
    if request.headers().contains_key(header::UPGRADE) {
        // Not accepted: the client connects again, to the other process.
        return Err(Refusal::Ending);
    }
    let stream = introduced(door, peer).await.map_err(|_| Refusal::Ending)?;
    let (mut other, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Refusal::Ending)?;
    // It ends with the response, or with this request.
    drop(tokio::spawn(connection));
    only_ends(request.headers_mut());
    *request.version_mut() = Version::HTTP_11;
    request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    // From here on it may have been accepted.
    let mut response = other.send_request(request).await.map_err(|_| Refusal::Ended)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Refusal::Ended);
    }
    only_ends(response.headers_mut());
    Ok(response.map(Body::new))
}

/// Leaves what both ends have to know.
fn only_ends(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse::<HeaderName>().ok());
    let named: Vec<HeaderName> = named.collect();
    named.iter().chain(&OF_ONE_CONNECTION).for_each(|name| _ = headers.remove(name));
}

/// A connection to the other process, which knows whose request follows.
async fn introduced(door: &Door, peer: SocketAddr) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(door.path()).await?;
    let peer = peer.to_string();
    // The longest address has far less than 255 bytes.
    let introduction = [&[FORWARDED, peer.len() as u8], peer.as_bytes()].concat();
    stream.write_all(&introduction).await?;
    Ok(stream)
}

/// Whose request follows, behind the first byte of an introduction.
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
    fn what_concerns_one_connection_stays_there() {
        let mut headers = HeaderMap::new();
        let all = [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("keep-alive", "timeout=5"),
            ("idempotency-key", "a"),
            ("content-length", "5"),
        ];
        all.iter().for_each(|(name, value)| _ = headers.append(*name, HeaderValue::from_static(value)));
        only_ends(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "idempotency-key"]);
    }
}
