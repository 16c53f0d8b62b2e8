//! Another process takes a service over. Here both are threads of one process.

use crate::peer::{Gate, PATIENCE, Peer, post, status};
use millstream_core::{Arrow, SequenceNumber};
use millstream_exec::{requests, service};
use millstream_net::http::axum::Router;
use millstream_net::http::axum::body::Body;
use millstream_net::http::axum::http::StatusCode;
use millstream_net::http::axum::routing::{post as posted, post_service};
use millstream_net::http::hand_over::{HandOverError, Offer, Predecessor, Settled, ask};
use millstream_net::http::{Endpoint, Limits, Server, events};
use millstream_net::{WhenSlow, broadcast};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;
use tempfile::TempDir;

/// Routes whose answers name the process.
pub(crate) fn routes(name: &'static str) -> Router {
    let (client, run) = service(requests::<String>().map(move |text| format!("{name}: {text}"))).start().unwrap();
    let echo = Endpoint::new(
        client,
        |_, body| String::from_utf8(body.to_vec()).map_err(|_| StatusCode::BAD_REQUEST),
        |answer: String| answer,
    );
    // The run ends with its last client, and therefore with the routes.
    spawn(move || run.wait());
    Router::new().route("/echo", post_service(echo))
}

pub(crate) fn old() -> (TempDir, Server, Offer) {
    let home = tempfile::tempdir().unwrap();
    let server = Server::open("127.0.0.1:0", routes("old")).unwrap();
    let offer = server.offer(home.path()).unwrap();
    (home, server, offer)
}

pub(crate) fn before(dir: &Path) -> Predecessor {
    ask(dir, PATIENCE).unwrap().expect("a process has it")
}

/// A new process: it takes over, and keeps the server until `end` opens.
pub(crate) fn new(dir: &Path, end: Arc<Gate>, settles: bool) -> std::thread::JoinHandle<()> {
    let dir = dir.to_owned();
    spawn(move || {
        let before = before(&dir);
        let server = before.open(routes("new"), Limits::default()).unwrap();
        let offer = before.up(&server, PATIENCE).unwrap();
        end.pass();
        if settles {
            offer.settle();
        }
    })
}

/// One response on a connection that stays open.
pub(crate) fn response(peer: &mut Peer) -> String {
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"\r\n\r\n") {
        peer.0.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    let head = String::from_utf8(said).unwrap();
    let length = head.split_once("content-length: ").unwrap().1.split_once('\r').unwrap().0.parse().unwrap();
    let mut body = vec![0; length];
    peer.0.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

pub(crate) fn echo(text: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

#[test]
fn every_kind_of_connection_is_answered_by_the_new_process_and_none_is_reset() {
    let (home, server, offer) = old();
    let [mut idle, mut pipelined, mut slow, mut chunked] = [(); 4].map(|()| Peer::of(server.address()));
    idle.say(&echo("1"));
    assert!(response(&mut idle).ends_with("old: 1"));
    slow.say("POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nsl");
    chunked.say("POST /echo HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\nch\r\n");
    // Both are in the endpoint by now.
    while server.counters().under_way() < 2 {
        sleep(Duration::from_millis(1));
    }
    let end = Arc::new(Gate::default());
    let new = new(home.path(), end.clone(), true);
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(server.hold(PATIENCE), 0, "holding does not wait for a request that waits for its body");
    let mut held = Peer::of(server.address());
    // As clients that know a later HTTP ask for it.
    let later = "content-length: 1\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk";
    idle.say(&echo("2").replace("content-length: 1", later));
    let handed_over = successor.hand_over(&server, &offer, PATIENCE).unwrap();
    held.say(&echo("5"));
    assert!(response(&mut held).ends_with("new: 5"), "it was in the queue of the socket");
    let closes = |said: &str, answer: &str| {
        assert_eq!(status(said), 200, "{said}");
        assert!(said.contains("connection: close\r\n") && said.ends_with(answer), "{said}");
    };
    closes(&idle.rest(), "new: 2");
    slow.say("ow");
    closes(&slow.rest(), "new: slow");
    chunked.say("4\r\nunks\r\n0\r\n\r\n");
    closes(&chunked.rest(), "new: chunks");
    // The second request gets no answer, and a reset does not destroy the first answer.
    pipelined.say(&(echo("3") + &echo("4")));
    let mut said = Vec::new();
    pipelined.0.read_to_end(&mut said).expect("no reset");
    closes(&String::from_utf8(said).unwrap(), "new: 3");
    assert_eq!(handed_over.settled(&server, &offer, PATIENCE), Settled::Yes);
    drop(pipelined);
    assert!(post(server.address(), "/echo", "6").ends_with("new: 6"));
    assert_eq!(server.close(PATIENCE).cut_off, 0);
    end.open();
    new.join().unwrap();
}

#[test]
fn held_requests_are_answered_by_the_old_process_if_the_new_one_dies_before_it_is_up() {
    let (home, server, offer) = old();
    let mut idle = Peer::of(server.address());
    let dir = home.path().to_owned();
    let new = spawn(move || drop(before(&dir)));
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(server.hold(PATIENCE), 0);
    idle.say(&echo("1"));
    let mut queued = Peer::of(server.address());
    queued.say(&echo("2"));
    let failed = successor.hand_over(&server, &offer, PATIENCE).unwrap_err();
    assert!(matches!(failed, HandOverError::Gone), "{failed}");
    new.join().unwrap();
    server.resume(routes("old again"));
    assert!(response(&mut idle).ends_with("old again: 1"));
    assert!(response(&mut queued).ends_with("old again: 2"));
    idle.say(&echo("3"));
    assert!(response(&mut idle).ends_with("old again: 3"), "its connections go on");
    // A process can take over as before.
    let end = Arc::new(Gate::default());
    let new = self::new(home.path(), end.clone(), true);
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(server.hold(PATIENCE), 0);
    successor.hand_over(&server, &offer, PATIENCE).unwrap();
    idle.say(&echo("4"));
    assert!(response(&mut idle).ends_with("new: 4"));
    end.open();
    new.join().unwrap();
}

#[test]
fn a_new_process_that_is_silent_does_not_begin_later() {
    let (home, server, offer) = old();
    let dir = home.path().to_owned();
    let [late, opened] = [(); 2].map(|()| Arc::new(Gate::default()));
    let (waits, opens) = (late.clone(), opened.clone());
    let new = spawn(move || {
        let before = before(&dir);
        let server = before.open(routes("new"), Limits::default()).unwrap();
        opens.open();
        waits.pass();
        before.up(&server, PATIENCE).map(drop).unwrap_err()
    });
    let successor = offer.asked(PATIENCE).unwrap();
    server.hold(PATIENCE);
    let mut queued = Peer::of(server.address());
    queued.say(&echo("1"));
    let failed = successor.hand_over(&server, &offer, Duration::from_millis(200)).unwrap_err();
    assert!(matches!(failed, HandOverError::Silent), "{failed}");
    opened.pass();
    server.resume(routes("old again"));
    assert!(response(&mut queued).ends_with("old again: 1"), "the new one accepts nothing");
    late.open();
    let refused = new.join().unwrap();
    assert!(matches!(refused, HandOverError::Refused(_)), "{refused}");
    assert!(post(server.address(), "/echo", "2").ends_with("old again: 2"));
}

#[test]
fn a_new_process_that_ends_before_it_has_answered_gives_the_service_back() {
    let (home, server, offer) = old();
    for (settles, came) in [(false, Settled::Lost), (true, Settled::Yes)] {
        let end = Arc::new(Gate::default());
        let new = new(home.path(), end.clone(), settles);
        let successor = offer.asked(PATIENCE).unwrap();
        server.hold(PATIENCE);
        let handed_over = successor.hand_over(&server, &offer, PATIENCE).unwrap();
        assert_eq!(handed_over.settled(&server, &offer, Duration::from_millis(20)), Settled::NotYet);
        end.open();
        new.join().unwrap();
        assert_eq!(handed_over.settled(&server, &offer, PATIENCE), came);
        if came == Settled::Lost {
            server.resume(routes("old again"));
            assert!(post(server.address(), "/echo", "1").ends_with("old again: 1"));
        }
    }
}

#[test]
fn of_two_processes_that_ask_the_second_is_refused_until_the_first_is_done() {
    let (home, server, offer) = old();
    let dir = home.path().to_owned();
    let first = spawn(move || ask(&dir, PATIENCE));
    let successor = offer.asked(PATIENCE).unwrap();
    let second = ask(home.path(), PATIENCE).unwrap_err();
    assert!(matches!(second, HandOverError::Busy), "{second}");
    successor.refuse("not today");
    let refused = first.join().unwrap().unwrap_err();
    assert!(matches!(&refused, HandOverError::Refused(why) if why == "not today"), "{refused}");
    let dir = home.path().to_owned();
    let third = spawn(move || ask(&dir, PATIENCE));
    drop(offer.asked(PATIENCE).expect("it is asked again"));
    assert!(matches!(third.join().unwrap().unwrap_err(), HandOverError::Refused(_)));
    drop((offer, server));
    assert!(ask(home.path(), PATIENCE).unwrap().is_none(), "no one is there");
}

#[test]
fn a_request_that_lasts_is_counted_and_one_that_waits_for_its_body_is_not() {
    let (gate, passed) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let (waits, told) = (gate.clone(), passed.clone());
    let lasts = move || {
        let (waits, told) = (waits.clone(), told.clone());
        async move {
            told.open();
            tokio::task::block_in_place(|| waits.pass());
            "done"
        }
    };
    let server = Server::open("127.0.0.1:0", Router::new().route("/", posted(lasts))).unwrap();
    let mut peer = Peer::of(server.address());
    peer.say("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    passed.pass();
    assert_eq!(server.hold(Duration::from_millis(20)), 1);
    gate.open();
    assert_eq!(server.hold(PATIENCE), 0);
    assert!(response(&mut peer).ends_with("done"));
}

#[test]
fn bodies_that_have_no_length_or_a_great_one_are_forwarded_as_they_come() {
    let (home, server, offer) = old();
    let [mut long, mut chunked] = [(); 2].map(|()| Peer::of(server.address()));
    // The new process would get a connection that is still in the socket's queue.
    while server.counters().connections() < 2 {
        sleep(Duration::from_millis(1));
    }
    let dir = home.path().to_owned();
    let end = Arc::new(Gate::default());
    let ends = end.clone();
    let new = spawn(move || {
        let before = before(&dir);
        // A route that answers with the body, as it comes.
        let back = Router::new().route("/back", posted(|body: Body| async move { body }));
        let server = before.open(back, Limits::default()).unwrap();
        let _offer = before.up(&server, PATIENCE).unwrap();
        ends.pass();
    });
    let successor = offer.asked(PATIENCE).unwrap();
    server.hold(PATIENCE);
    successor.hand_over(&server, &offer, PATIENCE).unwrap();
    let head = "POST /back HTTP/1.1\r\nhost: localhost\r\n";
    chunked.say(&format!("{head}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n"));
    sleep(Duration::from_millis(20));
    chunked.say("3\r\ncde\r\n0\r\n\r\n");
    let said = chunked.rest();
    assert!(status(&said) == 200 && said.contains("transfer-encoding: chunked"), "{said}");
    assert!(said.contains("ab\r\n") && said.contains("cde\r\n") && said.ends_with("0\r\n\r\n"), "{said}");
    let body = "0123456789".repeat(50_000);
    let sent = spawn({
        let (mut long, body) = (long.0.try_clone().unwrap(), body.clone());
        move || write!(long, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap()
    });
    let said = long.rest();
    sent.join().unwrap();
    assert_eq!((status(&said), said.split_once("\r\n\r\n").unwrap().1.len()), (200, body.len()));
    assert!(said.ends_with(&body));
    end.open();
    new.join().unwrap();
}

#[test]
fn a_request_that_begins_in_a_router_within_a_router_goes_to_the_path_of_its_client() {
    let nested = |name| Router::new().nest("/v1", routes(name));
    let home = tempfile::tempdir().unwrap();
    let server = Server::open("127.0.0.1:0", nested("old")).unwrap();
    let offer = server.offer(home.path()).unwrap();
    let mut slow = Peer::of(server.address());
    let begin = |slow: &mut Peer| {
        slow.say("POST /v1/echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nsl");
        while server.counters().under_way() == 0 {
            sleep(Duration::from_millis(1));
        }
    };
    begin(&mut slow);
    assert_eq!(server.hold(PATIENCE), 0);
    server.resume(nested("old again"));
    slow.say("ow");
    assert!(response(&mut slow).ends_with("old again: slow"));
    while server.counters().under_way() > 0 {
        sleep(Duration::from_millis(1));
    }
    begin(&mut slow);
    let (dir, end) = (home.path().to_owned(), Arc::new(Gate::default()));
    let ends = end.clone();
    let new = spawn(move || {
        let before = before(&dir);
        let server = before.open(Router::new().nest("/v1", routes("new")), Limits::default()).unwrap();
        let _offer = before.up(&server, PATIENCE).unwrap();
        ends.pass();
    });
    let successor = offer.asked(PATIENCE).unwrap();
    assert_eq!(server.hold(PATIENCE), 0);
    successor.hand_over(&server, &offer, PATIENCE).unwrap();
    slow.say("ow");
    assert!(slow.rest().ends_with("new: slow"));
    end.open();
    new.join().unwrap();
}

#[test]
fn a_stream_that_comes_from_the_new_process_ends_with_the_server_of_the_old_one() {
    let (home, server, offer) = old();
    let mut idle = Peer::of(server.address());
    idle.say(&echo("1"));
    assert!(response(&mut idle).ends_with("old: 1"));
    let (publisher, values) = broadcast(8);
    let (dir, end) = (home.path().to_owned(), Arc::new(Gate::default()));
    let (ends, streams) = (end.clone(), Router::new().route("/events", events(values.clone(), WhenSlow::Skip)));
    let new = spawn(move || {
        let before = before(&dir);
        let server = before.open(streams, Limits::default()).unwrap();
        let _offer = before.up(&server, PATIENCE).unwrap();
        ends.pass();
    });
    let successor = offer.asked(PATIENCE).unwrap();
    server.hold(PATIENCE);
    successor.hand_over(&server, &offer, PATIENCE).unwrap();
    idle.say("GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    while values.readers() == 0 {
        sleep(Duration::from_millis(1));
    }
    publisher.publish(SequenceNumber(7), "x");
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"id: 7\ndata: x\n\n") {
        idle.0.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    assert_eq!(server.close(PATIENCE).cut_off, 0);
    assert!(idle.rest().ends_with("0\r\n\r\n"), "an end, and no break");
    end.open();
    new.join().unwrap();
}

#[test]
fn a_connection_whose_response_is_an_end_is_not_reset_by_what_it_still_sends() {
    let server = Server::open("127.0.0.1:0", routes("one")).unwrap();
    let mut peer = Peer::of(server.address());
    let long = "POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000\r\n\r\n";
    peer.say(long);
    // The client does not read the answer while it sends.
    let mut sent = 0;
    while sent < 1_000_000 && peer.0.write_all(&[b'x'; 10_000]).is_ok() {
        sent += 10_000;
    }
    let mut said = String::new();
    peer.0.read_to_string(&mut said).expect("no reset");
    assert_eq!(status(&said), 413);
}
