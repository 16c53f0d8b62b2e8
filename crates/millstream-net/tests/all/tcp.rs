//! Lines and records over TCP: connections that break off, say too much, or do not read.

use crate::peer::{Gate, PATIENCE, Peer};
use millstream_core::text::Block;
use millstream_core::{Item, SequenceNumber, pipeline};
use millstream_exec::{Client, Handle, JobExt, Reception, Rings, Runner};
use millstream_net::tcp::{Listener, Options, send_lines, take_lines, take_records};
use millstream_net::{OpenError, WhenSlow, arrivals, broadcast};
use millstream_state::Recorded;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

/// What comes out, by a listener that `listen` makes.
fn arriving<T: Item + Clone + Recorded>(
    slots: usize,
    listen: impl FnOnce(Client<T, ()>) -> Listener,
    gate: Option<Arc<Gate>>,
) -> (Listener, Handle<()>, Receiver<T>) {
    let rings = Rings::new().ring(slots);
    let (reception, arriving) = Reception::<T, ()>::open(&rings, Some(slots)).unwrap();
    let (sent, seen) = channel();
    let show = move |_, value: &T| {
        if let Some(gate) = &gate {
            gate.pass();
        }
        sent.send(value.clone()).unwrap();
    };
    let run = rings.start(pipeline::<T>().from(arrivals::taken(arriving)).to_each(show)).unwrap();
    (listen(reception.client(&run)), run, seen)
}

fn lines(options: Options) -> (Listener, Handle<()>, Receiver<Block>) {
    arriving(16, |client| take_lines("127.0.0.1:0", client, options).unwrap(), None)
}

fn text(seen: &Receiver<Block>) -> String {
    seen.iter().map(|block| String::from_utf8(block.to_vec()).unwrap()).collect()
}

fn wait_until(holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "it never comes to that");
        std::thread::yield_now();
    }
}

#[test]
fn lines_of_many_connections_are_whole_and_each_keeps_its_order() {
    let (listener, run, seen) = lines(Options::default());
    let address = listener.address();
    let senders: Vec<_> = (0..8)
        .map(|sender| {
            spawn(move || {
                let mut peer = Peer::of(address);
                // In pieces that are no lines.
                let text: String = (0..500).map(|n| format!("{sender} {n}\n")).collect();
                text.as_bytes().chunks(7).for_each(|piece| peer.0.write_all(piece).unwrap());
            })
        })
        .collect();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    wait_until(|| listener.counters().taken() == 4000);
    assert_eq!(listener.counters().broken_off(), 0);
    drop(listener);
    run.wait().unwrap();
    let mut next = [0; 8];
    for line in text(&seen).lines() {
        let (sender, n) = line.split_once(' ').unwrap();
        let next = &mut next[sender.parse::<usize>().unwrap()];
        assert_eq!(n.parse(), Ok(*next));
        *next += 1;
    }
    assert_eq!(next, [500; 8]);
}

#[test]
fn a_line_that_is_not_whole_when_its_connection_ends_is_left_out() {
    let (listener, run, seen) = lines(Options::default().acknowledge());
    for reset in [false, true] {
        let mut peer = Peer::of(listener.address());
        peer.say("one\ntwo\nthr");
        if reset {
            // The answer that is not read makes the system reset the connection.
            assert_eq!(peer.0.peek(&mut [0]).unwrap(), 1);
            drop(peer);
        } else {
            peer.0.shutdown(Shutdown::Write).unwrap();
            let said = peer.rest();
            assert!(said.ends_with("2\n"), "{said}");
        }
    }
    wait_until(|| listener.counters().broken_off() == 2);
    assert_eq!(listener.close(PATIENCE), 0);
    run.wait().unwrap();
    assert_eq!(text(&seen), "one\ntwo\n".repeat(2));
}

#[test]
fn a_line_that_is_too_long_ends_its_connection_and_no_other() {
    let (listener, run, seen) = lines(Options::default().longest(8).acknowledge());
    let mut other = Peer::of(listener.address());
    let mut endless = Peer::of(listener.address());
    endless.say("one\n");
    let mut first = String::new();
    BufReader::new(&endless.0).read_line(&mut first).unwrap();
    assert_eq!(first, "1\n");
    // It reads the answer only after all that.
    endless.0.write_all(&[b'x'; 1 << 20]).unwrap();
    let mut said = String::new();
    endless.0.read_to_string(&mut said).expect("no reset");
    assert_eq!(said, "1\nerror: a line has more than 8 bytes\n");
    other.say("1234567\n");
    other.0.shutdown(Shutdown::Write).unwrap();
    assert!(other.rest().starts_with("1\n"));
    assert_eq!((listener.counters().refused(), listener.counters().taken()), (1, 2));
    drop(listener);
    run.wait().unwrap();
    assert_eq!(text(&seen), "one\n1234567\n");
}

#[test]
fn a_full_ring_holds_a_sender_back_and_loses_nothing() {
    let gate = Arc::new(Gate::default());
    let listen = |client| take_lines("127.0.0.1:0", client, Options::default()).unwrap();
    let (listener, run, seen) = arriving::<Block>(2, listen, Some(gate.clone()));
    let mut peer = Peer::of(listener.address());
    peer.0.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let line = "a line of text\n".repeat(4096);
    let (mut sent, mut all) = (0, 64 << 20);
    // More than buffers keep: writing stops at some time.
    while sent < all {
        match peer.0.write(&line.as_bytes()[sent % line.len()..]) {
            Ok(written) => sent += written,
            Err(_) => {
                all = sent;
                gate.open();
            }
        }
    }
    assert!(sent < 64 << 20, "nothing held it back");
    peer.0.set_write_timeout(None).unwrap();
    let rest = &line.as_bytes()[sent % 15..15];
    peer.0.write_all(rest).unwrap();
    let lines = (sent + rest.len()) as u64 / 15;
    wait_until(|| listener.counters().taken() == lines);
    drop((listener, peer));
    run.wait().unwrap();
    assert_eq!(seen.iter().map(|block| block.len()).sum::<usize>(), sent + rest.len());
}

#[test]
fn a_connection_without_the_token_is_refused() {
    let options = Options::default().token("secret").acknowledge();
    let (listener, run, seen) = lines(options.clone());
    for wrong in ["secre\none\n", "secrets\none\n", "\none\n", &"x".repeat(100)] {
        let mut peer = Peer::of(listener.address());
        peer.say(wrong).0.shutdown(Shutdown::Write).unwrap();
        assert!(peer.rest().contains("error: the token is missing or wrong"));
    }
    let mut peer = Peer::of(listener.address());
    peer.say("secret\r\ntwo\n").0.shutdown(Shutdown::Write).unwrap();
    assert!(peer.rest().starts_with("1\n"));
    drop(listener);
    run.wait().unwrap();
    assert_eq!(text(&seen), "two\n");
    let (reception, _arriving) = Reception::<Block, ()>::open(&Rings::new(), None).unwrap();
    let run = Rings::new().start(pipeline::<u64>().from(0..1).to_each(|_, _| ())).unwrap();
    let client = reception.client(&run);
    for none in [Options::default(), Options::default().token("")] {
        let open = take_lines("0.0.0.0:0", client.clone(), none);
        assert!(matches!(open, Err(OpenError::NoToken(_))));
    }
    assert!(take_lines("0.0.0.0:0", client, options).is_ok());
}

#[test]
fn a_silent_sender_is_closed_and_one_too_many_waits() {
    let (listener, _run, _seen) = lines(Options::default().idle(Duration::from_millis(100)).connections(1));
    let (mut first, mut second) = (Peer::of(listener.address()), Peer::of(listener.address()));
    first.say("one\n");
    assert_eq!(first.rest(), "");
    assert_eq!(second.say("two\n").rest(), "");
    wait_until(|| listener.counters().taken() == 2 && listener.counters().open() == 0);
}

#[test]
fn records_are_what_was_sent_and_a_length_is_not_believed() {
    let listen = |client| take_records("127.0.0.1:0", client, Options::default().longest(100)).unwrap();
    let (listener, run, seen) = arriving::<Vec<u8>>(16, listen, None);
    let records: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n; usize::from(n)]).collect();
    let bytes: Vec<u8> = records.iter().flat_map(|r| [&(r.len() as u32).to_be_bytes()[..], r].concat()).collect();
    let mut peer = Peer::of(listener.address());
    bytes.chunks(11).for_each(|piece| peer.0.write_all(piece).unwrap());
    peer.0.write_all(&[0, 0, 0, 9, 1]).unwrap();
    peer.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(peer.rest(), "");
    let mut liar = Peer::of(listener.address());
    liar.0.write_all(&[255; 8]).unwrap();
    assert_eq!(liar.rest(), "");
    wait_until(|| (listener.counters().refused(), listener.counters().broken_off()) == (1, 2));
    drop(listener);
    run.wait().unwrap();
    assert_eq!(seen.iter().collect::<Vec<_>>(), records);
}

/// Lines to a reader that reads, and to one that does not.
fn beside_a_slow_reader(when_slow: WhenSlow) -> (u64, u64, String) {
    let (publisher, values) = broadcast(64);
    let listener = send_lines("127.0.0.1:0", values.clone(), when_slow, Options::default()).unwrap();
    let mut slow = Peer::of(listener.address());
    let fast = TcpStream::connect(listener.address()).unwrap();
    wait_until(|| values.readers() == 2);
    let line = format!("{}\n", "x".repeat(9_999));
    let ((read, paced), mut pace) = (channel(), 0);
    let reading = spawn(move || {
        let mut lines = BufReader::new(fast).lines();
        std::iter::from_fn(|| lines.next()).inspect(|_| _ = read.send(())).map(Result::unwrap).count()
    });
    let published = 5000;
    let run = pipeline::<u64>().from(0..published).to_each(move |number, _| {
        publisher.publish(number, line.clone());
        // No faster than the fast one reads, which the slow one does not know.
        pace += 1;
        if pace > 32 {
            paced.recv().unwrap();
        }
    });
    run.run().unwrap();
    assert_eq!(reading.join().unwrap() as u64, published, "the fast one misses nothing");
    // Now it reads, and only then the lag shows.
    let read = slow.rest();
    (values.skipped(), values.disconnected(), read)
}

#[test]
fn a_reader_that_does_not_read_stops_nothing_and_skips() {
    let (skipped, disconnected, read) = beside_a_slow_reader(WhenSlow::Skip);
    assert!(skipped > 0 && disconnected == 0);
    // Every value is read or was skipped, and none is cut.
    assert_eq!(read.lines().count() as u64 + skipped, 5000);
    assert!(read.lines().all(|line| line.len() == 9_999));
}

#[test]
fn a_reader_that_does_not_read_stops_nothing_and_is_disconnected() {
    let (skipped, disconnected, read) = beside_a_slow_reader(WhenSlow::Disconnect);
    assert_eq!((skipped, disconnected), (0, 1));
    assert!(read.lines().count() < 5000);
}

#[test]
fn a_reader_that_takes_nothing_for_too_long_is_closed_and_what_was_published_is_written_at_the_end() {
    let (publisher, values) = broadcast(1024);
    let options = Options::default().write_within(Duration::from_millis(50));
    let listener = send_lines("127.0.0.1:0", values.clone(), WhenSlow::Skip, options).unwrap();
    let _stuck = Peer::of(listener.address());
    wait_until(|| values.readers() == 1);
    let since = Instant::now();
    while values.readers() == 1 {
        assert!(since.elapsed() < PATIENCE, "it keeps a reader that takes nothing");
        publisher.publish(SequenceNumber(0), vec![b'x'; 1 << 20]);
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut reader = Peer::of(listener.address());
    wait_until(|| values.readers() == 1);
    (0..10_u64).for_each(|n| publisher.publish(SequenceNumber(n), format!("{n}\n")));
    assert_eq!(listener.close(PATIENCE), 0);
    assert_eq!(reader.rest(), "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

#[test]
fn an_empty_token_is_none() {
    for token in ["", " "] {
        let (listener, run, seen) = lines(Options::default().token(token).acknowledge());
        let mut peer = Peer::of(listener.address());
        peer.say("one\n").0.shutdown(Shutdown::Write).unwrap();
        assert!(peer.rest().starts_with("1\n"));
        drop(listener);
        run.wait().unwrap();
        assert_eq!(text(&seen), "one\n");

        let (publisher, values) = broadcast(8);
        let options = Options::default().token(token);
        let listener = send_lines("127.0.0.1:0", values.clone(), WhenSlow::Skip, options).unwrap();
        let mut reader = Peer::of(listener.address());
        wait_until(|| values.readers() == 1);
        publisher.publish(SequenceNumber(0), "two\n");
        drop(publisher);
        assert_eq!(reader.rest(), "two\n");
    }
}

#[test]
fn readers_show_their_token_too() {
    let (publisher, values) = broadcast(8);
    let options = Options::default().token("secret");
    let listener = send_lines("127.0.0.1:0", values.clone(), WhenSlow::Skip, options).unwrap();
    assert_eq!(Peer::of(listener.address()).say("no\n").rest(), "");
    let mut known = Peer::of(listener.address());
    known.say("secret\n");
    wait_until(|| values.readers() == 1);
    publisher.publish(SequenceNumber(0), "one\n");
    drop(publisher);
    let mut read = String::new();
    known.0.read_to_string(&mut read).unwrap();
    assert_eq!((&*read, listener.counters().refused()), ("one\n", 1));
    // One that shows nothing does not hold up the end.
    let _silent = Peer::of(listener.address());
    wait_until(|| listener.counters().connections() == 3);
    assert_eq!(listener.close(Duration::from_secs(5)), 0);
}
