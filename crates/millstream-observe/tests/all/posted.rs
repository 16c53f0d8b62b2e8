//! Posts to a page.

use millstream_observe::Page;
use millstream_observe::serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;

const POST: &str = "POST /upgrade HTTP/1.1\r\nHost: localhost";
const JSON: &str = "Content-Type: application/json; charset=utf-8";

/// The status of an answer, and its body.
fn posted(page: &Page, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(page.address()).unwrap();
    let length = body.len();
    write!(stream, "{head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").unwrap();
    // The server may close the connection before it has read all.
    let _ = stream.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).map_or(0, |status| status.parse().unwrap());
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

#[test]
fn json_is_answered_by_the_function_of_the_program() {
    let page = Page::open("127.0.0.1:0").unwrap();
    let head = format!("{POST}\r\n{JSON}");
    let (status, why) = posted(&page, &head, "{}");
    assert_eq!((status, &*why), (403, "{\"error\":\"the text of this run cannot be replaced\"}"));
    page.on_upgrade(None, |asked| (202, json!({ "asked": asked })));
    assert_eq!(posted(&page, &head, "{\"a\":1}"), (202, "{\"asked\":{\"a\":1}}".to_owned()));
    assert_eq!(posted(&page, &head, "{").0, 400);
    assert_eq!(posted(&page, POST, "{}").0, 415);
    assert_eq!(posted(&page, &format!("{POST}\r\nContent-Type: text/plain"), "{}").0, 415);
    assert_eq!(posted(&page, &format!("{head}\r\nOrigin: http://localhost"), "{}").0, 403);
    assert_eq!(posted(&page, &head.replace("localhost", "example.org"), "{}").0, 421);
    assert_eq!(posted(&page, &head.replace("POST", "GET"), "").0, 405);
    // As long as a request may be, and longer.
    let long = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert_eq!(posted(&page, &head, &long(1 << 20)).0, 202);
    assert_ne!(posted(&page, &head, &long((1 << 20) + 1)).0, 202);
    page.on_upgrade(None, |_| panic!("of the program"));
    assert_eq!(posted(&page, &head, "{}").0, 500);
}

#[test]
fn a_post_needs_the_token_if_there_is_one() {
    let page = Page::open("127.0.0.1:0").unwrap();
    page.on_upgrade(Some("secret".to_owned()), |_| (200, json!(null)));
    let head = format!("{POST}\r\n{JSON}");
    for wrong in ["", "Bearer ", "Bearer secre", "Bearer secret1", "Bearer Secret", "secret", "Basic secret"] {
        assert_eq!(posted(&page, &format!("{head}\r\nAuthorization: {wrong}"), "{}").0, 401, "{wrong}");
    }
    assert_eq!(posted(&page, &head, "{}").0, 401);
    assert_eq!(posted(&page, &format!("{head}\r\nAuthorization: Bearer secret"), "{}").0, 200);
    // As for a server of a service.
    page.on_upgrade(Some(" geh\u{e4}usen\n".to_owned()), |_| (200, json!(null)));
    for right in ["Bearer geh\u{e4}usen", "bearer  geh\u{e4}usen "] {
        assert_eq!(posted(&page, &format!("{head}\r\nAuthorization: {right}"), "{}").0, 200, "{right}");
    }
    assert_eq!(posted(&page, &format!("{head}\r\nAuthorization: Bearer geh\u{f6}usen"), "{}").0, 401);
}
