//! Connections that are encrypted.

use crate::peer::{PATIENCE, Peer};
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::get;
use millstream_net::http::{Certificate, Limits, Server};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[test]
fn a_client_that_knows_the_certificate_is_answered_and_plain_text_is_not() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let certificate = Certificate::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    let routes = Router::new().route("/", get(|| async { "here" }));
    let server = Server::open_tls("127.0.0.1:0", routes, Limits::default(), &certificate).unwrap();
    assert!(server.is_encrypted());
    let plain = Peer::of(server.address()).say("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").rest_bytes();
    assert!(!plain.starts_with(b"HTTP"));
    let mut known = RootCertStore::empty();
    known.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(known)
        .with_no_client_auth();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap();
        assert!(read.is_ok() || !answer.is_empty());
        answer
    });
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"), "{answer}");
}

#[test]
fn a_certificate_that_is_none_is_refused() {
    assert!(Certificate::from_pem(b"", b"").is_err());
    let (one, other) = ("localhost".to_owned(), "localhost".to_owned());
    let one = rcgen::generate_simple_self_signed([one]).unwrap();
    let other = rcgen::generate_simple_self_signed([other]).unwrap();
    assert!(Certificate::from_pem(one.cert.pem().as_bytes(), other.signing_key.serialize_pem().as_bytes()).is_err());
}
