//! Batches that are posted: what is repeated, and with which key.

use millstream_core::{Arrow, Retry, RunOutcome, pipeline};
use millstream_exec::{JobExt, RunError};
use millstream_net::http::axum::Router;
use millstream_net::http::axum::extract::State;
use millstream_net::http::axum::http::{HeaderMap, StatusCode};
use millstream_net::http::axum::response::{IntoResponse, Response};
use millstream_net::http::axum::routing::post;
use millstream_net::http::{PostError, PostSink, Posted, Server};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The key and the body of each request.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// A server that answers the n-th request with the n-th status, and all later ones with 200.
fn receiver(statuses: &'static [u16]) -> (Server, Seen) {
    let seen = Seen::default();
    let take = move |State(seen): State<Seen>, headers: HeaderMap, body: String| async move {
        let mut seen = seen.lock().unwrap();
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        let status = statuses.get(seen.len()).copied().unwrap_or(200);
        seen.push((key, body));
        let status = StatusCode::from_u16(status).unwrap();
        let response: Response = (status, [("location", "/elsewhere")], "seen\n").into_response();
        response
    };
    let routes = Router::new().route("/in", post(take)).with_state(seen.clone());
    (Server::open("127.0.0.1:0", routes).unwrap(), seen)
}

fn sink(address: SocketAddr) -> PostSink {
    PostSink::to(format!("http://{address}/in"), "odd").retry(Retry::times(2)).within(Duration::from_secs(20))
}

/// The odd numbers below 12, as lines, to this sink.
fn run(sink: PostSink) -> Result<Posted, RunError> {
    let odd = pipeline::<u64>().filter(|x| x % 2 == 1).map(|x| format!("{x}\n"));
    Ok(odd.from(millstream_exec::source::ready(0..12_u64)).to(sink).run()?.0)
}

fn seen(seen: &Seen) -> Vec<(String, String)> {
    seen.lock().unwrap().clone()
}

fn all(parts: &[(&str, &str)]) -> Vec<(String, String)> {
    parts.iter().map(|(key, body)| ((*key).to_owned(), (*body).to_owned())).collect()
}

#[test]
fn a_batch_that_is_not_taken_is_repeated_with_its_key_and_its_bytes() {
    let (server, bodies) = receiver(&[503, 200, 429, 500]);
    let posted = run(sink(server.address()).batch(1)).unwrap();
    let (one, three) = (("odd:1", "1\n"), ("odd:3", "3\n"));
    let rest = [("odd:5", "5\n"), ("odd:7", "7\n"), ("odd:9", "9\n"), ("odd:11", "11\n")];
    assert_eq!(seen(&bodies), all(&[&[one, one, three, three, three][..], &rest].concat()));
    assert_eq!((posted.values, posted.requests, posted.retries, posted.last), (6, 6, 3, Some(11.into())));
}

#[test]
fn a_batch_has_the_numbers_of_its_first_and_last_value() {
    let (server, bodies) = receiver(&[]);
    let posted = run(sink(server.address()).within(Duration::MAX).batch(4)).unwrap();
    // Batches end at pauses as well, which come when they come.
    let requests = seen(&bodies);
    let bodies: String = requests.iter().map(|(_, body)| &**body).collect();
    assert_eq!((&*bodies, posted.values), ("1\n3\n5\n7\n9\n11\n", 6));
    for (key, body) in requests {
        let values: Vec<&str> = body.lines().collect();
        assert!(values.len() <= 4);
        let (first, last) = (values[0], values[values.len() - 1]);
        let expected = if first == last { format!("odd:{first}") } else { format!("odd:{first}-{last}") };
        assert_eq!(key, expected);
    }
}

#[test]
fn a_batch_that_is_refused_fails_the_run_and_is_not_repeated() {
    for status in [&[400], &[307]] {
        let (server, bodies) = receiver(status);
        let error = run(sink(server.address()).batch(1)).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("number 1") && said.contains(&format!("the server answered with status {}", status[0])),
            "{said}"
        );
        assert_eq!(seen(&bodies), all(&[("odd:1", "1\n")]));
    }
    // And what was tried often enough.
    let (server, bodies) = receiver(&[500, 502, 503, 504]);
    let error = run(sink(server.address()).batch(1)).unwrap_err();
    assert!(error.to_string().contains("the server answered with status 503"), "{error}");
    assert_eq!(seen(&bodies), all(&[("odd:1", "1\n"); 3]));
}

#[test]
fn without_a_server_it_says_where_it_wanted_to_go() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = run(sink(address)).unwrap_err();
    assert!(error.to_string().contains(&format!("POST http://{address}/in: ")), "{error}");
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<PostError>());
    assert!(matches!(source, Some(PostError::Unanswered { .. })), "{source:?}");
}

#[test]
fn a_run_that_was_stopped_posts_no_part_of_a_batch() {
    use millstream_core::{SequenceNumber, Sink, Val};
    let (server, bodies) = receiver(&[]);
    let mut sink = sink(server.address());
    Sink::<Val<String>>::put(&mut sink, SequenceNumber(0), &"0\n".to_owned()).unwrap();
    let posted = Sink::<Val<String>>::finish(sink, RunOutcome::Stopped).unwrap();
    assert_eq!((posted.values, seen(&bodies).len()), (0, 0));
}
