//! A request's answer is its own.

use crate::peer::{PATIENCE, Peer, ask, post, status};
use futures_util::StreamExt;
use millstream_core::{Arrow, TryMapExt};
use millstream_exec::{requests, service};
use millstream_net::http::axum::Router;
use millstream_net::http::axum::body::Body;
use millstream_net::http::axum::http::StatusCode;
use millstream_net::http::axum::routing::{get, post_service};
use millstream_net::http::{Endpoint, Refusal, Server};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::spawn;
use std::time::Duration;

/// The number that a body is.
fn number(body: &[u8]) -> Result<u64, (StatusCode, &'static str)> {
    let text = std::str::from_utf8(body).ok();
    text.and_then(|text| text.parse().ok()).ok_or((StatusCode::BAD_REQUEST, "no number\n"))
}

#[test]
fn a_failure_at_a_number_is_the_500_of_that_request_alone() {
    let halves = requests::<u64>().try_map_or_empty(|n| if n % 2 == 0 { Ok(n / 2) } else { Err("odd") });
    let (client, run) = service(halves).start().unwrap();
    let half = Endpoint::new(client, |_, body| number(&body), |n| format!("{n}\n"));
    let mapped = half.clone().on_refusal(|refusal: Refusal| (StatusCode::IM_A_TEAPOT, refusal.to_string()));
    let routes = Router::new().route("/half", post_service(half)).route("/mapped", post_service(mapped));
    let server = Server::open("127.0.0.1:0", routes).unwrap();
    let address = server.address();
    let callers: Vec<_> = (0..8_u64)
        .map(|caller| {
            spawn(move || {
                for n in (caller..800).step_by(8) {
                    let answer = post(address, "/half", &n.to_string());
                    if n % 2 == 0 {
                        assert!(status(&answer) == 200 && answer.ends_with(&format!("\n{}\n", n / 2)), "{answer}");
                    } else {
                        assert_eq!(status(&answer), 500);
                    }
                }
            })
        })
        .collect();
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    assert_eq!(status(&post(address, "/mapped", "3")), 418);
    assert_eq!(status(&post(address, "/half", "three")), 400);
    drop(server);
    run.wait().unwrap();
}

#[test]
fn a_late_answer_is_202_and_a_client_that_goes_away_holds_none_back() {
    let (open, gate) = mpsc::channel::<()>();
    let (gate, done) = (Mutex::new(gate), Arc::new(AtomicU64::new(0)));
    let counted = done.clone();
    let slow = requests::<u64>().map(move |n| {
        if *n == 7 {
            let _ = gate.lock().unwrap().recv();
        }
        counted.fetch_add(1, Ordering::Relaxed);
        *n
    });
    let (client, run) = service(slow).start().unwrap();
    let endpoint = Endpoint::new(client, |_, body| number(&body), |n| format!("{n}\n"));
    let server = Server::open("127.0.0.1:0", Router::new().route("/", post_service(endpoint))).unwrap();
    let late = ask(server.address(), "POST / HTTP/1.1\r\nprefer: wait=0", "7");
    assert_eq!(status(&late), 202);
    let mut gone = Peer::of(server.address());
    gone.say("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\n8");
    drop(gone);
    open.send(()).unwrap();
    assert_eq!(status(&post(server.address(), "/", "9")), 200);
    drop(server);
    run.wait().unwrap();
    // The one that went away was accepted, or it was not: none is done twice.
    assert!((2..=3).contains(&done.load(Ordering::Relaxed)));
}

#[test]
fn a_stream_of_events_ends_with_its_server_and_cuts_nothing_off() {
    let events = || async {
        let endless = futures_util::stream::repeat("data: x\n\n").then(|event| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, std::io::Error>(event)
        });
        ([("content-type", "text/event-stream")], Body::from_stream(endless))
    };
    let server = Server::open("127.0.0.1:0", Router::new().route("/", get(events))).unwrap();
    let mut peer = Peer::of(server.address());
    peer.say("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let (mut seen, mut piece) = (String::new(), [0; 512]);
    while !seen.contains("data: x") {
        let read = peer.0.read(&mut piece).unwrap();
        assert!(read > 0, "the stream ended: {seen}");
        seen.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    assert_eq!(server.close(PATIENCE).cut_off, 0);
    // An end, and not a reset: the last chunk has no bytes.
    assert!(peer.rest().ends_with("0\r\n\r\n"));
}
