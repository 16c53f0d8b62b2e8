//! Connections that are encrypted.

#[cfg(unix)]
use crate::peer::Gate;
use crate::peer::{PATIENCE, Peer};
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::get;
#[cfg(unix)]
use millstream_net::http::hand_over::ask;
use millstream_net::http::{Certificate, Limits, Server};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A certificate, and what connects by it.
fn certified() -> (Certificate, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let mut known = RootCertStore::empty();
    known.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(known)
        .with_no_client_auth();
    (Certificate::from_pem(chain.as_bytes(), key.as_bytes()).unwrap(), TlsConnector::from(Arc::new(config)))
}

async fn connected(connector: &TlsConnector, address: SocketAddr) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    connector.connect("localhost".try_into().unwrap(), stream).await.unwrap()
}

fn named(name: &'static str) -> Router {
    Router::new().route("/", get(move || async move { name }))
}

#[test]
fn a_client_that_knows_the_certificate_is_answered_and_plain_text_is_not() {
    let (certificate, connector) = certified();
    let server = Server::open_tls("127.0.0.1:0", named("here"), Limits::default(), &certificate).unwrap();
    assert!(server.is_encrypted());
    let plain = Peer::of(server.address()).say("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").rest_bytes();
    assert!(!plain.starts_with(b"HTTP"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let mut stream = connected(&connector, server.address()).await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap();
        assert!(read.is_ok() || !answer.is_empty());
        answer
    });
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"), "{answer}");
}

#[cfg(unix)]
#[test]
fn an_encrypted_connection_of_an_old_process_is_answered_by_the_new_one() {
    let home = tempfile::tempdir().unwrap();
    let (certificate, connector) = certified();
    let old = Server::open_tls("127.0.0.1:0", named("old"), Limits::default(), &certificate).unwrap();
    let offer = old.offer(home.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut kept = runtime.block_on(connected(&connector, old.address()));
    let (dir, shown, end) = (home.path().to_owned(), certificate.clone(), Arc::new(Gate::default()));
    let ends = end.clone();
    let new = std::thread::spawn(move || {
        let before = ask(&dir, PATIENCE).unwrap().unwrap();
        let server = before.open_tls(named("new"), Limits::default(), &shown).unwrap();
        let _offer = before.up(&server, PATIENCE).unwrap();
        ends.pass();
    });
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(old.hold(PATIENCE), 0);
    successor.hand_over(&old, &offer, PATIENCE).unwrap();
    runtime.block_on(async {
        for stream in [&mut kept, &mut connected(&connector, old.address()).await] {
            stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap();
            assert!(read.is_ok() && answer.ends_with("new"), "{answer}");
        }
    });
    end.open();
    new.join().unwrap();
}

#[test]
fn a_client_that_does_not_begin_to_encrypt_does_not_hold_up_the_end() {
    let limits = Limits::default().head_within(2 * PATIENCE);
    let server = Server::open_tls("127.0.0.1:0", named("here"), limits, &certified().0).unwrap();
    let _silent = Peer::of(server.address());
    while server.counters().connections() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.close(PATIENCE).cut_off, 0);
}

#[test]
fn a_certificate_that_is_none_is_refused() {
    assert!(Certificate::from_pem(b"", b"").is_err());
    let (one, other) = ("localhost".to_owned(), "localhost".to_owned());
    let one = rcgen::generate_simple_self_signed([one]).unwrap();
    let other = rcgen::generate_simple_self_signed([other]).unwrap();
    assert!(Certificate::from_pem(one.cert.pem().as_bytes(), other.signing_key.serialize_pem().as_bytes()).is_err());
}
