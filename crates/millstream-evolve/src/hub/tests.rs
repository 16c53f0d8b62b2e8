use super::*;
use crate::Address;
use crate::message::{Answer, frame};
use std::io::{Read, Write};

const PATIENCE: Duration = Duration::from_secs(5);

fn hub() -> Hub {
    let tuning = Tuning { patience: PATIENCE, ..Tuning::default() };
    Hub::new(tuning, Secret::new("s"), Vec::new(), Box::new(|_, _| true)).unwrap()
}

/// A population of these states, each of this many bytes, with the sockets of its workers.
fn begun(workers: usize, states: u64, bytes: usize) -> (Hub, Vec<Socket>) {
    let mut hub = hub();
    let sockets = (0..workers).map(|_| hub.pair().unwrap()).collect();
    let state = vec![0; bytes];
    let states: Vec<_> = (0..states).map(|index| (Token::root(0, 0, index), state.as_slice())).collect();
    hub.reset(&states).unwrap();
    (hub, sockets)
}

/// Lets the master look at its sockets for this time.
fn look_for(hub: &mut Hub, time: Duration) {
    let step = Duration::from_millis(500);
    for _ in 0..time.as_millis() / step.as_millis() {
        hub.clock.skip(step);
        hub.turn(Duration::ZERO).unwrap();
    }
}

fn states_added(socket: &mut Socket) {
    let mut out = Vec::new();
    frame(&mut out, &Answer::StatesAdded { items: 1 }).end();
    socket.write_all(&out).unwrap();
}

#[test]
fn a_master_that_was_stopped_waits_for_its_workers_as_long_as_before() {
    let (mut hub, mut workers) = begun(2, 2, 10);
    for _ in 0..3 {
        hub.clock.skip(PATIENCE * 10);
        hub.turn(Duration::ZERO).unwrap();
        look_for(&mut hub, PATIENCE / 5);
        assert_eq!(hub.master.workers(), 2, "{:?}", hub.last_lost);
    }
    states_added(&mut workers[0]);
    look_for(&mut hub, PATIENCE * 2);
    assert_eq!(hub.master.workers(), 1, "the other worker was silent while the master listened");
    let lost = hub.last_lost.as_deref();
    assert!(lost.is_some_and(|why| why.starts_with("it was silent for too long: ")), "{lost:?}");
}

#[test]
fn bytes_on_the_way_to_a_worker_are_no_silence() {
    let (mut hub, mut workers) = begun(1, 1, 8 << 20);
    workers[0].read_within(Some(Duration::from_millis(1))).unwrap();
    let mut bytes = vec![0; 1 << 20];
    for _ in 0..7 {
        look_for(&mut hub, PATIENCE - Duration::from_secs(1));
        // The read takes all that the socket holds, which is far from all states.
        while workers[0].read(&mut bytes).is_ok_and(|read| read > 0) {}
        hub.turn(Duration::ZERO).unwrap();
        assert_eq!(hub.master.workers(), 1, "{:?}", hub.last_lost);
    }
    look_for(&mut hub, PATIENCE * 2);
    assert_eq!(hub.master.workers(), 0, "now the worker takes nothing");
}

#[test]
fn bytes_on_the_way_from_a_worker_are_no_silence() {
    let (mut hub, mut workers) = begun(1, 1, 10);
    let mut out = Vec::new();
    frame(&mut out, &Answer::StatesAdded { items: 1 }).end();
    for byte in out {
        look_for(&mut hub, PATIENCE - Duration::from_secs(1));
        workers[0].write_all(&[byte]).unwrap();
        hub.turn(Duration::ZERO).unwrap();
        assert_eq!(hub.master.workers(), 1, "{:?}", hub.last_lost);
    }
    assert!(hub.master.has_settled());
}

/// The worker reads `End`, or the end of the connection.
#[test]
fn a_worker_that_owes_nothing_may_be_silent() {
    let (mut hub, mut workers) = begun(1, 1, 10);
    states_added(&mut workers[0]);
    look_for(&mut hub, PATIENCE * 100);
    assert_eq!(hub.master.workers(), 1, "{:?}", hub.last_lost);
}

/// A connection that has not shown that it knows the secret.
fn stranger(at: &Address) -> std::net::TcpStream {
    let Address::Tcp(at) = at else { panic!("TCP") };
    let stream = std::net::TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

#[test]
fn a_new_stranger_closes_the_oldest() {
    let mut hub = hub();
    hub.strangers = 3;
    let at = hub.listen(&Address::Tcp("127.0.0.1:0".to_owned())).unwrap();
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(stranger(&at));
        let before = hub.greeted;
        while hub.greeted == before {
            hub.turn(Duration::from_millis(100)).unwrap();
        }
    }
    let greeting = |stream: &mut std::net::TcpStream| {
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        stream.read_exact(&mut vec![0; u32::from_le_bytes(length) as usize]).unwrap();
    };
    for (number, stream) in all.iter_mut().enumerate() {
        greeting(stream);
        stream.set_nonblocking(true).unwrap();
        let rest = stream.read(&mut [0]);
        let closed = rest.as_ref().is_ok_and(|read| *read == 0);
        assert_eq!(closed, number < 2, "{number}: {rest:?}");
    }
}

/// A turn accepts only a few of them; later turns accept the others.
#[test]
fn a_crowd_is_accepted_in_several_turns() {
    let mut hub = hub();
    let at = hub.listen(&Address::Tcp("127.0.0.1:0".to_owned())).unwrap();
    let crowd: Vec<_> = (0..listening::ACCEPTS + 5).map(|_| stranger(&at)).collect();
    hub.turn(Duration::from_secs(1)).unwrap();
    assert!(hub.greeted <= listening::ACCEPTS, "{} in one turn", hub.greeted);
    while hub.greeted < crowd.len() {
        hub.turn(Duration::from_secs(1)).unwrap();
    }
}

/// The worker may have a limit for silence, which counts the time of the program's own work too.
#[test]
fn a_worker_without_states_gets_a_sign_of_life_after_a_long_pause() {
    let (mut hub, mut workers) = begun(1, 0, 0);
    workers[0].read_within(Some(Duration::from_millis(1))).unwrap();
    for pause in 0..4 {
        hub.clock.skip(Duration::from_secs(12));
        hub.turn(Duration::ZERO).unwrap();
        let read = workers[0].read(&mut [0; 64]);
        assert!(read.as_ref().is_ok_and(|read| *read > 0), "{pause}: {read:?}");
    }
}

/// Each worker that is closed would hand its states to the next one.
#[test]
fn the_end_of_a_population_loses_no_worker() {
    let (mut hub, workers) = begun(3, 3, 10);
    hub.end();
    assert_eq!(hub.master.counts().lost, 0);
    for mut worker in workers {
        let mut rest = Vec::new();
        worker.read_to_end(&mut rest).unwrap();
        assert!(rest.len() < 200, "{} bytes for one state, and the end", rest.len());
    }
}

#[test]
fn a_socket_that_a_killed_process_has_left_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("master");
    let at = Address::Unix(path.clone());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut first = hub();
    first.listen(&at).unwrap();
    // A process listens there now.
    let said = hub().listen(&at).unwrap_err().to_string();
    assert!(said.contains("Address already in use"), "{said}");
    drop(first);
    std::fs::write(&path, "mine").unwrap();
    hub().listen(&at).unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn the_socket_of_a_later_master_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("master");
    let [mut first, mut second] = [hub(), hub()];
    first.listen(&Address::Unix(path.clone())).unwrap();
    std::fs::remove_file(&path).unwrap();
    second.listen(&Address::Unix(path.clone())).unwrap();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());
}
