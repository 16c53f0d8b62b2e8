//! Requests and responses with a length.

use std::io::{self, BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection, which fails if nothing comes for this long.
pub(super) fn connect(address: SocketAddr, patience: Duration) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// The text of a request with a body. `headers` are whole lines, with their ends.
pub(super) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// The same with a body in two chunks.
pub(super) fn chunked(path: &str, headers: &str, body: &str) -> String {
    let (one, two) = body.split_at(body.floor_char_boundary(body.len() / 2));
    let mut request = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}transfer-encoding: chunked\r\n\r\n");
    for chunk in [one, two].iter().filter(|chunk| !chunk.is_empty()) {
        request += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
    }
    request + "0\r\n\r\n"
}

/// A response with a length.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: String,
    /// The number of rows that it says are taken, in a header.
    pub(super) taken: Option<usize>,
    /// Whether it is the last one of its connection.
    pub(super) is_last: bool,
}

pub(super) fn response(connection: &mut impl BufRead) -> io::Result<Response> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let (mut status, mut length, mut taken, mut is_last, mut line) = (None, None, None, false, String::new());
    loop {
        line.clear();
        if connection.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let said = line.trim_end().to_ascii_lowercase();
        if said.is_empty() {
            break;
        }
        if status.is_none() {
            status = Some(said.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?);
        } else if let Some(text) = said.strip_prefix("content-length:") {
            length = Some(text.trim().parse().map_err(|_| broken())?);
        } else if let Some(text) = said.strip_prefix("millstream-taken:") {
            taken = Some(text.trim().parse().map_err(|_| broken())?);
        } else if let Some(text) = said.strip_prefix("connection:") {
            is_last = text.trim() == "close";
        }
    }
    let mut body = vec![0; length.ok_or_else(broken)?];
    connection.read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(|_| broken())?;
    Ok(Response { status: status.ok_or_else(broken)?, body, taken, is_last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_a_length_or_chunks() {
        let head = "POST /a HTTP/1.1\r\nhost: localhost\r\nx: y\r\n";
        assert_eq!(post("/a", "x: y\r\n", "to be"), format!("{head}content-length: 5\r\n\r\nto be"));
        let chunks = "transfer-encoding: chunked\r\n\r\n2\r\nto\r\n3\r\n be\r\n0\r\n\r\n";
        assert_eq!(chunked("/a", "x: y\r\n", "to be"), format!("{head}{chunks}"));
    }

    #[test]
    fn a_response_is_read_up_to_its_end() {
        let mut two: &[u8] =
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 503 x\r\nConnection: close\r\nMillstream-Taken: 7\r\n\
            content-length: 0\r\n\r\n";
        let of = |status, body: &str, taken, is_last| Response { status, body: body.to_owned(), taken, is_last };
        assert_eq!(response(&mut two).unwrap(), of(200, "ok", None, false));
        assert_eq!(response(&mut two).unwrap(), of(503, "", Some(7), true));
        assert!(response(&mut two).is_err());
        assert!(response(&mut &b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"[..]).is_err());
    }
}
