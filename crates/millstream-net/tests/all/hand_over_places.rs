//! A take-over of servers that have few places for connections.

use crate::hand_over::{before, echo, new, old, response, routes};
use crate::peer::{Gate, PATIENCE, Peer, post};
use millstream_net::http::hand_over::Settled;
use millstream_net::http::{Limits, Server};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

#[test]
fn requests_behind_a_new_process_that_ended_wait_until_the_old_one_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let few = Limits::default().connections(2);
    let server = Server::open_with("127.0.0.1:0", routes("old"), few).unwrap();
    let offer = server.offer(home.path()).unwrap();
    let mut clients = [(); 2].map(|()| Peer::of(server.address()));
    for client in &mut clients {
        client.say(&echo("1"));
        assert!(response(client).ends_with("old: 1"));
    }
    let end = Arc::new(Gate::default());
    let new = new(home.path(), end.clone(), false);
    let successor = offer.asked(PATIENCE).unwrap();
    server.hold(PATIENCE);
    let handed_over = successor.hand_over(&server, &offer, PATIENCE).unwrap();
    end.open();
    new.join().unwrap();
    // One before it knows, and one afterwards.
    let [early, late] = &mut clients;
    early.say(&echo("2"));
    assert_eq!(handed_over.settled(&server, &offer, PATIENCE), Settled::Lost);
    late.say(&echo("3"));
    sleep(Duration::from_millis(50));
    server.resume(routes("old again"));
    assert!(early.rest().ends_with("old again: 2"));
    assert!(response(late).ends_with("old again: 3"));
    assert!(post(server.address(), "/echo", "4").ends_with("old again: 4"));
}

#[test]
fn forwarded_requests_need_no_place_of_a_client() {
    let (home, server, offer) = old();
    let mut idle = Peer::of(server.address());
    idle.say(&echo("1"));
    assert!(response(&mut idle).ends_with("old: 1"));
    let dir = home.path().to_owned();
    let end = Arc::new(Gate::default());
    let ends = end.clone();
    let new = spawn(move || {
        let before = before(&dir);
        // The listener takes the place before a client comes.
        let server = before.open(routes("new"), Limits::default().connections(1)).unwrap();
        let offer = before.up(&server, PATIENCE).unwrap();
        ends.pass();
        offer.settle();
    });
    let successor = offer.asked(PATIENCE).unwrap();
    server.hold(PATIENCE);
    successor.hand_over(&server, &offer, PATIENCE).unwrap();
    let mut client = Peer::of(server.address());
    client.say(&echo("2"));
    assert!(response(&mut client).ends_with("new: 2"));
    idle.say(&echo("3"));
    assert!(idle.rest().ends_with("new: 3"));
    end.open();
    new.join().unwrap();
}
