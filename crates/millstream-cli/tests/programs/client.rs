//! A client for which nothing may go wrong: no connection is refused or reset, and none ends without an answer.

use crate::scene::PATIENCE;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

/// A client's connection, which is opened again after the response that ends it.
pub(crate) struct Connection {
    port: u16,
    open: Option<BufReader<TcpStream>>,
}

/// A response of status 200.
pub(crate) struct Response {
    /// Whether it ended its connection.
    pub(crate) ends: bool,
    pub(crate) body: String,
}

impl Connection {
    pub(crate) fn to(port: u16) -> Self {
        Connection { port, open: None }
    }

    /// The stream to write requests to.
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        let connect = || {
            let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("no connection is refused");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            stream.set_nodelay(true).expect("an option");
            BufReader::new(stream)
        };
        self.open.get_or_insert_with(connect).get_mut()
    }

    /// The response to the oldest request without one. Nothing may follow a response that ends the connection.
    pub(crate) fn response(&mut self) -> Response {
        let connection = self.open.as_mut().expect("a request has been sent");
        let (mut line, mut head) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            let read = connection.read_line(&mut line).expect("no connection is reset");
            assert!(read > 0, "a connection has ended without an answer: {head}");
            head += &line.to_ascii_lowercase();
        }
        let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split_once('\r'));
        let mut body = vec![0; length.expect("a length").0.parse().expect("a number")];
        connection.read_exact(&mut body).expect("a response is whole");
        let body = String::from_utf8(body).expect("text");
        assert!(head.starts_with("http/1.1 200 "), "{head}{body}");
        let ends = head.contains("connection: close\r\n");
        if ends {
            let mut rest = Vec::new();
            connection.read_to_end(&mut rest).expect("no connection is reset");
            assert!(rest.is_empty(), "{rest:?}");
            self.open = None;
        }
        Response { ends, body }
    }
}
