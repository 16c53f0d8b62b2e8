//! Reads the response of the process that has taken over, which is a server of this crate. An HTTP client would take
//! more code than this module.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use memchr::memmem;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest head.
const LONGEST_HEAD: usize = 256 << 10;

/// A body of at most this length is read as a whole.
const SMALL: u64 = 64 << 10;

/// A response, as it arrives.
pub(super) struct Answering<R> {
    from: R,
    /// Bytes that were read but not parsed yet.
    read: BytesMut,
    left: Left,
    /// Whether it is the response to a `HEAD`, which has no body.
    of_head: bool,
}

/// The rest of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Bytes(u64),
    /// This many bytes of a chunk, and then further chunks.
    Chunk(u64),
    ToTheEnd,
}

fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl<R: AsyncRead + Unpin + Send + 'static> Answering<R> {
    pub(super) fn new(from: R, of_head: bool) -> Self {
        Answering { from, read: BytesMut::new(), left: Left::Bytes(0), of_head }
    }

    /// The response, once its head has arrived; a short one once all of it has arrived. The caller repeats the call
    /// until then.
    pub(super) async fn response(mut self) -> io::Result<Response> {
        let (status, headers) = loop {
            let head = self.until(b"\r\n\r\n", LONGEST_HEAD).await?;
            let (status, headers) = parsed(&head)?;
            if !status.is_informational() {
                break (status, headers);
            }
        };
        self.left = self.body(status, &headers)?;
        let body = match self.left {
            Left::Bytes(length) if length <= SMALL => {
                while (self.read.len() as u64) < length {
                    self.more().await?;
                }
                Body::from(self.read.split_to(length as usize).freeze())
            }
            _ => Body::from_stream(unfold(self, |mut this| async move {
                let piece = this.piece().await.transpose()?;
                Some((piece, this))
            })),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    fn body(&self, status: StatusCode, headers: &HeaderMap) -> io::Result<Left> {
        if self.of_head || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return Ok(Left::Bytes(0));
        }
        if headers.contains_key(header::TRANSFER_ENCODING) {
            return Ok(Left::Chunk(0));
        }
        let Some(length) = headers.get(header::CONTENT_LENGTH) else { return Ok(Left::ToTheEnd) };
        let length = length.to_str().ok().and_then(|length| length.parse().ok());
        length.map(Left::Bytes).ok_or_else(broken)
    }

    /// The next piece of the body.
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == Left::Chunk(0) {
            let line = self.until(b"\r\n", LONGEST_HEAD).await?;
            let size = str::from_utf8(&line).ok().and_then(|line| line.split([';', '\r']).next());
            let size = size.and_then(|size| u64::from_str_radix(size.trim(), 16).ok()).ok_or_else(broken)?;
            if size == 0 {
                // Skips the trailers, which have no meaning here.
                while self.until(b"\r\n", LONGEST_HEAD).await?.len() > 2 {}
                self.left = Left::Bytes(0);
                return Ok(None);
            }
            self.left = Left::Chunk(size);
        }
        let most = match self.left {
            Left::Bytes(0) => return Ok(None),
            Left::Bytes(most) | Left::Chunk(most) => most,
            Left::ToTheEnd => u64::MAX,
        };
        if self.read.is_empty() {
            match self.more().await {
                Err(error) if self.left == Left::ToTheEnd && error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(None);
                }
                more => more?,
            }
        }
        let here = self.read.len() as u64;
        let piece = self.read.split_to(here.min(most) as usize).freeze();
        let left = most - piece.len() as u64;
        match &mut self.left {
            Left::Bytes(of) => *of = left,
            Left::Chunk(of) => {
                *of = left;
                if left == 0 && self.until(b"\r\n", 2).await?.len() != 2 {
                    return Err(broken());
                }
            }
            Left::ToTheEnd => {}
        }
        Ok(Some(piece))
    }

    /// The bytes up to this delimiter, which they include.
    async fn until(&mut self, end: &[u8], most: usize) -> io::Result<BytesMut> {
        loop {
            if let Some(at) = memmem::find(&self.read, end) {
                return Ok(self.read.split_to(at + end.len()));
            }
            if self.read.len() > most {
                return Err(broken());
            }
            self.more().await?;
        }
    }

    /// Reads some more bytes. The end is an error.
    async fn more(&mut self) -> io::Result<()> {
        self.read.reserve(8 << 10);
        if self.from.read_buf(&mut self.read).await? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// A head.
fn parsed(head: &[u8]) -> io::Result<(StatusCode, HeaderMap)> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().filter(|line| line.starts_with(b"HTTP/1.")).ok_or_else(broken)?;
    let status = first.get(9..12).and_then(|status| StatusCode::from_bytes(status).ok()).ok_or_else(broken)?;
    let mut headers = HeaderMap::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        let colon = memchr::memchr(b':', line).ok_or_else(broken)?;
        let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| broken())?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).map_err(|_| broken())?;
        headers.append(name, value);
    }
    Ok((status, headers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tokio::io::AsyncWriteExt;

    /// The status, the value of one header, and the body of a response that arrives in pieces of this length.
    async fn read(said: &'static str, piece: usize, of_head: bool) -> io::Result<(u16, usize, Vec<u8>)> {
        let (mut to, from) = tokio::io::duplex(1 << 20);
        let writes = async move {
            for piece in said.as_bytes().chunks(piece) {
                // An error means that enough was read.
                if to.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        };
        let reads = async {
            let response = Answering::new(from, of_head).response().await?;
            let (status, values) = (response.status().as_u16(), response.headers().get_all("x").iter().count());
            let body = response.into_body().collect().await.map_err(io::Error::other)?;
            Ok((status, values, body.to_bytes().to_vec()))
        };
        tokio::join!(writes, reads).1
    }

    #[test]
    fn a_response_is_the_same_however_it_is_cut() {
        let chunked = "HTTP/1.1 200 OK\r\nx: 1\r\nX:2\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1;e=f\r\nd\r\n0\r\nt: 1\r\n\r\n";
        let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 Too\r\ncontent-length: 4\r\n\r\nlongmore";
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for piece in [1, 2, 3, 7, 1000] {
            let of = |said, head| runtime.block_on(read(said, piece, head)).unwrap();
            assert_eq!(of(chunked, false), (200, 2, b"abcd".to_vec()));
            assert_eq!(of(early, false), (413, 0, b"long".to_vec()));
            assert_eq!(of("HTTP/1.1 200 OK\r\n\r\nto the end", false), (200, 0, b"to the end".to_vec()));
            assert_eq!(of("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", true), (200, 0, Vec::new()));
            assert_eq!(of("HTTP/1.1 204 No\r\n\r\n", false), (204, 0, Vec::new()));
        }
    }

    #[test]
    fn half_a_response_is_none() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let halves = [
            "HTTP/1.1 200 OK\r\ncontent-le",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
            "SSH-2.0\r\n\r\n",
            "",
        ];
        for half in halves {
            assert!(runtime.block_on(read(half, 4, false)).is_err(), "{half}");
        }
    }
}
