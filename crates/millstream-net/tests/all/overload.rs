//! More requests than the pipeline takes: a refusal is reported, and every accepted value comes out.

use crate::peer::{Gate, PATIENCE, post, status};
use millstream_core::text::Block;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, Reception, Rings, Runner, requests, service};
use millstream_net::arrivals;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::routing::post_service;
use millstream_net::http::{Endpoint, Ingest, Server};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::spawn;
use std::time::Instant;

const CLIENTS: u64 = 32;

fn retries(answer: &str) -> bool {
    status(answer) == 503 && answer.to_ascii_lowercase().contains("retry-after: 1\r\n")
}

/// Waits until the ring is full.
fn wait_for(full: &AtomicBool) {
    let since = Instant::now();
    while !full.load(Ordering::Relaxed) {
        assert!(since.elapsed() < PATIENCE, "the ring is never full");
        std::thread::yield_now();
    }
}

#[test]
fn a_full_ring_is_503_and_what_was_accepted_is_answered() {
    let gate = Arc::new(Gate::default());
    let (at, worked) = (gate.clone(), Arc::new(AtomicU64::new(0)));
    let counted = worked.clone();
    let slow = requests::<u64>().map(move |n| {
        at.pass();
        counted.fetch_add(1, Ordering::Relaxed);
        *n
    });
    let (client, run) = service(slow).ring(4).start_on(&Rings::new().ring(4)).unwrap();
    let length = Endpoint::new(client, |_, body| Ok::<_, String>(body.len() as u64), |n| format!("{n}\n"));
    let server = Server::open("127.0.0.1:0", Router::new().route("/", post_service(length))).unwrap();
    let (address, full) = (server.address(), Arc::new(AtomicBool::new(false)));
    let callers: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let full = full.clone();
            spawn(move || {
                let answer = post(address, "/", "abc");
                if status(&answer) == 200 {
                    return 1;
                }
                assert!(retries(&answer), "{answer}");
                full.store(true, Ordering::Relaxed);
                0
            })
        })
        .collect();
    wait_for(&full);
    gate.open();
    let answered: u64 = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
    assert!(answered > 0 && answered < CLIENTS);
    assert_eq!(status(&post(address, "/", "abc")), 200, "after the crowd there is room");
    assert!(server.counters().responses("503") > 0);
    drop(server);
    run.wait().unwrap();
    assert_eq!(worked.load(Ordering::Relaxed), answered + 1);
}

#[test]
fn every_line_that_was_taken_under_overload_is_in_the_output() {
    let rings = Rings::new().ring(4);
    let (reception, arriving) = Reception::<Block, ()>::open(&rings, Some(4)).unwrap();
    let gate = Arc::new(Gate::default());
    let (at, all) = (gate.clone(), Arc::new(Mutex::new(BTreeSet::new())));
    let seen = all.clone();
    let show = move |_, block: &Block| {
        at.pass();
        let lines = String::from_utf8(block.to_vec()).unwrap();
        lines.lines().for_each(|line| assert!(seen.lock().unwrap().insert(line.to_owned()), "{line} is there twice"));
    };
    let run = rings.start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(show)).unwrap();
    let ingest = post_service(Ingest::new(reception.client(&run)));
    let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", ingest)).unwrap();
    let (address, full) = (server.address(), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let full = full.clone();
            spawn(move || {
                let mut taken = BTreeSet::new();
                for n in 0..4 {
                    let answer = post(address, "/ingest", &format!("{client}-{n}-a\n{client}-{n}-b\n"));
                    if status(&answer) == 202 {
                        taken.extend(["a", "b"].map(|line| format!("{client}-{n}-{line}")));
                    } else {
                        assert!(retries(&answer), "{answer}");
                        full.store(true, Ordering::Relaxed);
                    }
                }
                taken
            })
        })
        .collect();
    wait_for(&full);
    gate.open();
    let taken: BTreeSet<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    drop(server);
    run.wait().unwrap();
    assert!(!taken.is_empty());
    assert_eq!(*all.lock().unwrap(), taken);
}
