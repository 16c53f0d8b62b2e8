//! A process takes over while bodies of lines are under way. Here both are threads of one process.

use crate::hand_over::before;
use crate::peer::{Gate, PATIENCE, Peer, status};
use millstream_core::pipeline;
use millstream_core::text::Block;
use millstream_exec::{JobExt, Reception, Rings, Runner};
use millstream_net::arrivals::taken;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::{post as posted, post_service};
use millstream_net::http::hand_over::Settled;
use millstream_net::http::{Ingest, Limits, Refusal, Server};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

type Lines = Arc<Mutex<String>>;

/// Routes that take lines, and collect them here.
fn takes(lines: &Lines) -> Router {
    let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), None).unwrap();
    let lines = lines.clone();
    let each = move |_, block: &Block| lines.lock().unwrap().push_str(str::from_utf8(block).unwrap());
    let run = Rings::new().start(pipeline::<Block>().from(taken(arriving)).to_each(each)).unwrap();
    let ingest = Ingest::new(reception.client(&run));
    spawn(move || run.wait());
    Router::new().route("/ingest", post_service(ingest))
}

/// Waits until these lines have come: an answer only says that they are in the pipeline.
fn comes(lines: &Lines, expected: &str) {
    let since = Instant::now();
    while *lines.lock().unwrap() != expected {
        assert!(since.elapsed() < PATIENCE, "{}", lines.lock().unwrap());
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_rest_of_a_body_that_has_begun_goes_to_the_new_process() {
    let home = tempfile::tempdir().unwrap();
    let [by_old, by_new] = [Lines::default(), Lines::default()];
    let server = Server::open("127.0.0.1:0", takes(&by_old)).unwrap();
    let offer = server.offer(home.path()).unwrap();
    let [mut begun, mut late, mut idle] = [(); 3].map(|()| Peer::of(server.address()));
    let head = |more: &str| format!("POST /ingest HTTP/1.1\r\nhost: localhost\r\n{more}\r\n");
    begun.say(&(head("transfer-encoding: chunked\r\n") + "6\r\none\ntw\r\n"));
    late.say(&(head("content-length: 9\r\n") + "fo"));
    while server.counters().under_way() < 2 || server.counters().connections() < 3 {
        sleep(Duration::from_millis(1));
    }
    comes(&by_old, "one\n");
    let (dir, end) = (home.path().to_owned(), Arc::new(Gate::default()));
    let (ends, routes) = (end.clone(), takes(&by_new));
    let new = spawn(move || {
        let before = before(&dir);
        let server = before.open(routes, Limits::default()).unwrap();
        let over = Arc::new(Gate::default());
        let told = over.clone();
        let _offer = before.up_until(&server, PATIENCE, move || told.is_open()).unwrap();
        ends.pass();
        over.open();
        // The thread that checks `settled` checks at intervals.
        sleep(Duration::from_millis(200));
    });
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(server.hold(PATIENCE), 0, "no body is waited for");
    begun.say("4\r\no\nth\r\n");
    let handed_over = successor.hand_over(&server, &offer, PATIENCE).unwrap();
    begun.say("3\r\nree\r\n0\r\n\r\n");
    let said = begun.rest();
    assert!(status(&said) == 200 || status(&said) == 202, "{said}");
    assert!(said.contains("connection: close\r\n") && said.ends_with("{\"taken\":3}\n"), "{said}");
    comes(&by_new, "two\nthree\n");
    late.say("ur\nfive");
    assert!(late.rest().ends_with("{\"taken\":2}\n"));
    // Only another process can have taken a part before, so the header of a client has no effect.
    idle.say(&(head("content-length: 3\r\nmillstream-taken: 7\r\n") + "six"));
    assert!(idle.rest().ends_with("{\"taken\":1}\n"));
    comes(&by_new, "two\nthree\nfour\nfive\nsix\n");
    assert_eq!(handed_over.settled(&server, &offer, Duration::from_millis(50)), Settled::NotYet, "an answer is not it");
    end.open();
    assert_eq!(handed_over.settled(&server, &offer, PATIENCE), Settled::Yes);
    assert_eq!(*by_old.lock().unwrap(), "one\n");
    new.join().unwrap();
}

#[test]
fn the_taken_part_of_a_body_is_reported_if_no_process_takes_the_rest() {
    let lines = Lines::default();
    let server = Server::open("127.0.0.1:0", takes(&lines)).unwrap();
    let mut peer = Peer::of(server.address());
    peer.say("POST /ingest HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 13\r\n\r\none\ntwo\nth");
    comes(&lines, "one\ntwo\n");
    assert_eq!(server.hold(PATIENCE), 0);
    server.resume(Router::new().fallback(|| async { Refusal::Ending }));
    peer.say("ree");
    let said = peer.rest();
    assert!(status(&said) == 503 && said.contains("\r\nmillstream-taken: 2\r\n"), "{said}");
    assert!(!said.contains("retry-after") && said.ends_with("the first 2 lines were taken\n"), "{said}");
}

/// The process that has the rest of a body may have taken lines of it before it ends: no number of lines is then known
/// to be all.
#[test]
fn nothing_is_said_of_a_body_whose_rest_has_gone_to_a_process_that_ends() {
    let home = tempfile::tempdir().unwrap();
    let lines = Lines::default();
    let server = Server::open("127.0.0.1:0", takes(&lines)).unwrap();
    let offer = server.offer(home.path()).unwrap();
    let mut begun = Peer::of(server.address());
    begun.say("POST /ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 7\r\n\r\none\ntw");
    comes(&lines, "one\n");
    let (dir, came) = (home.path().to_owned(), Arc::new(Gate::default()));
    let comes = came.clone();
    let silent = Router::new().route(
        "/ingest",
        posted(move |body: String| async move {
            assert_eq!(body, "two");
            came.open();
            std::future::pending::<()>().await;
        }),
    );
    let new = spawn(move || {
        let before = before(&dir);
        let server = before.open(silent, Limits::default()).unwrap();
        let offer = before.up(&server, PATIENCE).unwrap();
        comes.pass();
        offer.settle();
        server.close(Duration::ZERO);
    });
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(server.hold(PATIENCE), 0);
    let _handed_over = successor.hand_over(&server, &offer, PATIENCE).unwrap();
    begun.say("o");
    let said = begun.rest();
    assert!(status(&said) == 503 && !said.contains("millstream-taken"), "{said}");
    new.join().unwrap();
}
