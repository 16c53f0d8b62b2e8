//! A worker behind a line that is cut for a while: nothing is refused and nothing closed, as when a network loses all
//! packets. What was on its way arrives when the line is there again.

use crate::documented::{INBOX, publish};
use crate::schedules::edges;
use crate::server::Server;
use crate::sums::{self, RIGHT};
use crate::until::until;
use millstream_cluster::{
    Access, App, Batch, Entry, JetStream, Log, LogError, Login, Options, Replica, Step, Streams, cut,
};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const BATCHES: u64 = 120;

/// A line to a server.
struct Line {
    port: u16,
    clients: Arc<AtomicU64>,
    to_server: Arc<AtomicBool>,
    from_server: Arc<AtomicBool>,
    /// How many bytes it has carried.
    carried: Arc<AtomicU64>,
    /// Its connections from clients.
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    fn to(server: u16) -> Self {
        Self::slow_to(server, Duration::ZERO)
    }

    /// A line on which each byte takes this long.
    fn slow_to(server: u16, byte: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (clients, carried, open) = Default::default();
        let line = Line { port, clients, to_server: Arc::default(), from_server: Arc::default(), carried, open };
        let (clients, to, from) = (line.clients.clone(), line.to_server.clone(), line.from_server.clone());
        let (carried, open) = (line.carried.clone(), line.open.clone());
        thread::spawn(move || {
            for client in listener.incoming() {
                clients.fetch_add(1, Ordering::Relaxed);
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
                open.lock().unwrap().push(client.try_clone().unwrap());
                let takes = (client.try_clone().unwrap(), server.try_clone().unwrap());
                carries(takes, to.clone(), carried.clone(), byte);
                carries((server, client), from.clone(), carried.clone(), byte);
            }
        });
        line
    }

    /// With `both`, nothing comes through. Without, the worker still hears the server, which does not hear the worker.
    fn cut(&self, both: bool) {
        self.to_server.store(true, Ordering::Relaxed);
        self.from_server.store(both, Ordering::Relaxed);
    }

    /// Closes all connections. A client can make another one.
    fn closes(&self) {
        self.open.lock().unwrap().drain(..).for_each(|client| _ = client.shutdown(Shutdown::Both));
    }

    fn mend(&self) {
        self.to_server.store(false, Ordering::Relaxed);
        self.from_server.store(false, Ordering::Relaxed);
    }
}

/// Carries bytes while the line is not cut, and keeps them while it is.
fn carries(
    (mut from, mut to): (TcpStream, TcpStream),
    is_cut: Arc<AtomicBool>,
    carried: Arc<AtomicU64>,
    byte: Duration,
) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            while is_cut.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(2));
            }
            thread::sleep(byte * read as u32);
            if to.write_all(&buffer[..read]).is_err() {
                return;
            }
            carried.fetch_add(read as u64, Ordering::Relaxed);
        }
    });
}

/// Ends the workers of a test that fails, which would wait for ever.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn works(log: JetStream, rank: u32, (appends, failed): (&AtomicBool, &AtomicBool)) {
    // A rank's silence is a fifth of a second, as that of a worker.
    let options = Options { rank, pace: Duration::from_millis(10), snapshot_every: 16, ..Options::default() };
    let mut replica = Replica::new(RIGHT, log, edges(), options);
    while !failed.load(Ordering::Relaxed) {
        match replica.step().unwrap() {
            Step::Worked => {}
            Step::Idle => replica.wait(Duration::from_millis(5)),
            Step::Ended => return,
        }
        appends.store(replica.appends(), Ordering::Relaxed);
    }
}

fn a_worker_is_cut_off(test: &str, both: bool) {
    let Some(server) = Server::start(test) else { return };
    let line = Line::to(server.port);
    let access = |port| Access { url: format!("nats://127.0.0.1:{port}"), app: "a".to_owned(), ..Access::default() };
    let patience = Duration::from_secs(30);
    let streams = Streams { edges: vec!["in".to_owned(), "out".to_owned()], replicas: 1, capacity: 1000 };
    let log = JetStream::create(&access(server.port), &streams, patience).unwrap();
    let open = |port| JetStream::open(&access(port), patience).unwrap();
    let input: Vec<u64> = (0..BATCHES * 4).collect();
    let batches = cut(input.iter().copied(), 4).unwrap();
    let feed = |numbers: std::ops::Range<u64>| {
        numbers.for_each(|number| log.append_if("in", number, &batches[number as usize]).unwrap());
    };
    let comes_out = |number| until("the output", || log.last("out").is_ok_and(|last| last >= number));
    let (first, second, failed) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let ends = Ends(&failed);
        scope.spawn(|| works(open(line.port), 0, (&first, &failed)));
        feed(0..40);
        comes_out(40);
        until("the first appends", || first.load(Ordering::Relaxed));
        scope.spawn(|| works(open(server.port), 1, (&second, &failed)));
        line.cut(both);
        feed(40..80);
        // The second goes on. The first still thinks that it is the one that appends, unless it hears of the other.
        comes_out(80);
        until("the second appends", || second.load(Ordering::Relaxed));
        assert!(first.load(Ordering::Relaxed) || !both);
        line.mend();
        until("the first knows", || !first.load(Ordering::Relaxed));
        feed(80..BATCHES);
        comes_out(BATCHES);
        std::mem::forget(ends);
    });
    let entries = log.read_from("out", 1, 1000).unwrap();
    assert!(entries.iter().map(|entry| entry.number).eq(1..=BATCHES), "{} entries", entries.len());
    let values = entries.iter().flat_map(|entry| Batch::<u64>::from_bytes(&entry.bytes).unwrap().values);
    assert_eq!(values.collect::<Vec<_>>(), sums::model(&input));
}

#[test]
fn a_worker_that_is_cut_off_is_replaced_and_comes_back() {
    a_worker_is_cut_off("a_worker_that_is_cut_off_is_replaced_and_comes_back", true);
}

#[test]
fn appends_of_a_worker_that_is_not_heard_arrive_late_and_change_nothing() {
    a_worker_is_cut_off("appends_of_a_worker_that_is_not_heard_arrive_late_and_change_nothing", false);
}

#[test]
fn a_client_goes_to_another_server_if_the_network_has_lost_its_own() {
    let name = "a_client_goes_to_another_server_if_the_network_has_lost_its_own";
    let Some(server) = Server::start(name) else { return };
    let line = Line::to(server.port);
    let url = format!("nats://127.0.0.1:{},nats://127.0.0.1:{}", line.port, server.port);
    let access = Access { url, app: "a".to_owned(), ..Access::default() };
    let patience = Duration::from_secs(30);
    let streams = Streams { edges: vec!["in".to_owned()], replicas: 1, capacity: 10 };
    JetStream::create(&access, &streams, patience).unwrap();
    // The order of the servers is by chance.
    let log = loop {
        let clients = line.clients.load(Ordering::Relaxed);
        let log = JetStream::open(&access, patience).unwrap();
        if line.clients.load(Ordering::Relaxed) > clients {
            break log;
        }
    };
    assert!(log.last("in").is_ok());
    line.cut(true);
    until("an answer of the other server", || log.last("in").is_ok());
}

#[test]
fn a_slow_line_brings_as_many_batches_at_once_as_it_can() {
    let Some(server) = Server::start("a_slow_line_brings_as_many_batches_at_once_as_it_can") else { return };
    let access = |port| Access { url: format!("nats://127.0.0.1:{port}"), app: "a".to_owned(), ..Access::default() };
    let patience = Duration::from_secs(30);
    let streams = Streams { edges: vec!["in".to_owned()], replicas: 1, capacity: 100 };
    let log = JetStream::create(&access(server.port), &streams, patience).unwrap();
    let batch = vec![7; 100_000];
    (0..20).for_each(|last| log.append_if("in", last, &batch).unwrap());
    // A megabyte a second: all of them take longer than an answer may.
    let line = Line::slow_to(server.port, Duration::from_micros(1));
    let slow = JetStream::open(&access(line.port), patience).unwrap();
    read_all(1..=20, batch.len(), |next| slow.read_from("in", next, 64).unwrap_or_default());
}

/// Reads the entries of these numbers, each of which has this length.
fn read_all(numbers: RangeInclusive<u64>, length: usize, read: impl Fn(u64) -> Vec<Entry>) {
    let next = Cell::new(*numbers.start());
    until("all batches", || {
        for entry in read(next.get()) {
            assert_eq!((entry.number, entry.bytes.len()), (next.get(), length));
            next.set(next.get() + 1);
        }
        next.get() > *numbers.end()
    });
}

#[test]
fn a_server_sends_some_megabytes_ahead_of_a_reader_and_no_more() {
    let Some(server) = Server::start("a_server_sends_some_megabytes_ahead_of_a_reader_and_no_more") else { return };
    let access = |port| Access { url: format!("nats://127.0.0.1:{port}"), app: "a".to_owned(), ..Access::default() };
    let patience = Duration::from_secs(30);
    let streams = Streams { edges: vec!["in".to_owned()], replicas: 1, capacity: 200 };
    let log = JetStream::create(&access(server.port), &streams, patience).unwrap();
    let batch = vec![7; 500_000];
    (0..120).for_each(|last| log.append_if("in", last, &batch).unwrap());
    let line = Line::to(server.port);
    let reader = JetStream::open(&access(line.port), patience).unwrap();
    let carried = || line.carried.load(Ordering::Relaxed);
    assert_eq!(reader.read_from("in", 1, 1).unwrap().len(), 1);
    assert_eq!(reader.read_from("in", 2, 1).unwrap().len(), 1);
    until("it is sent more", || carried() > 5_000_000);
    let before = Cell::new(carried());
    until("that is all", || {
        thread::sleep(Duration::from_secs(1));
        carried() - before.replace(carried()) < 100_000
    });
    assert!(carried() < 30_000_000, "{} bytes", carried());
    read_all(3..=120, batch.len(), |next| reader.read_from("in", next, 64).unwrap());
}

#[test]
fn a_blob_goes_over_a_slow_line_both_ways_in_several_calls_and_half_a_blob_is_dropped() {
    let test = "a_blob_goes_over_a_slow_line_both_ways_in_several_calls_and_half_a_blob_is_dropped";
    let Some(server) = Server::start(test) else { return };
    let access = |port| Access { url: format!("nats://127.0.0.1:{port}"), app: "a".to_owned(), ..Access::default() };
    let patience = Duration::from_secs(30);
    let streams = Streams { edges: vec!["in".to_owned()], replicas: 1, capacity: 100 };
    let log = JetStream::create(&access(server.port), &streams, patience).unwrap();
    let states: Vec<u8> = (0..1 << 20_u32).map(|n| (n >> 10) as u8).collect();
    // A third of a megabyte a second.
    let line = Line::slow_to(server.port, Duration::from_micros(3));
    let slow = JetStream::open(&access(line.port), patience).unwrap();
    // Its process dies when it has stored a part.
    let half = slow.put_blob("half", &states).unwrap_err();
    assert!(half.to_string().ends_with(" of 8 parts of a blob are stored"), "{half}");
    let names = |names: &[&str]| Ok::<_, LogError>(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!((log.blob_names(), log.blob("half")), (names(&["half"]), Ok(None)));
    until("the blob", || slow.put_blob("states", &states).is_ok());
    // A call does not last until all of it is read.
    let part = slow.blob("states").unwrap_err();
    assert!(part.to_string().ends_with(" of 1048576 bytes of a blob are read"), "{part}");
    until("the blob is read", || slow.blob("states").is_ok_and(|read| read.is_some_and(|read| read == states)));
    assert_eq!(log.blob_names(), names(&["half", "states"]));
    log.remove_blob("half").unwrap();
    assert_eq!(log.blob_names(), names(&["states"]));
    log.remove_blob("states").unwrap();
    assert_eq!((log.blob_names(), log.blob("states")), (names(&[]), Ok(None)));
}

#[test]
fn a_blob_is_read_on_over_another_connection_with_the_documented_permissions() {
    let test = "a_blob_is_read_on_over_another_connection_with_the_documented_permissions";
    let admin = "{ user: admin, password: p }";
    let permissions = format!("{{ publish: {:?}, subscribe: [{INBOX:?}] }}", publish("worker"));
    let worker = format!("{{ user: worker, password: p, permissions: {permissions} }}");
    let config = format!("authorization {{ users: [\n{admin}\n{worker}\n] }}\n");
    let Some(server) = Server::configured(test, &config) else { return };
    let access = |port: u16, user: &str| {
        let login = Login::Password { user: user.to_owned(), password: "p".to_owned() };
        Access { url: format!("nats://127.0.0.1:{port}"), app: "count".to_owned(), login, ..Access::default() }
    };
    let patience = Duration::from_secs(30);
    let streams = Streams { edges: App::edges(), replicas: 1, capacity: 100 };
    let admin = JetStream::create(&access(server.port, "admin"), &streams, patience).unwrap();
    let states: Vec<u8> = (0..1 << 20_u32).map(|n| (n >> 10) as u8).collect();
    until("the blob is stored", || admin.put_blob("out.1", &states).is_ok());
    // A megabyte a second.
    let line = Line::slow_to(server.port, Duration::from_micros(1));
    let log = JetStream::open(&access(line.port, "worker"), patience).unwrap();
    let (clients, carried) = (line.clients.load(Ordering::Relaxed), line.carried.load(Ordering::Relaxed));
    let read = thread::scope(|scope| {
        let reads = scope.spawn(|| {
            loop {
                match log.blob("out.1") {
                    Err(LogError::Unavailable(_)) => {}
                    read => return read,
                }
            }
        });
        until("some of its parts", || line.carried.load(Ordering::Relaxed) > carried + (300 << 10));
        line.closes();
        reads.join().unwrap()
    });
    assert!(read.unwrap().is_some_and(|read| read == states));
    assert!(line.clients.load(Ordering::Relaxed) > clients);
}
