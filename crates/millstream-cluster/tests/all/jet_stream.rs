//! The log of a real server on this machine, and replicas on it.

use crate::schedules::edges;
use crate::server::{Server, request};
use crate::sums::{self, RIGHT};
use crate::until::until;
use millstream_cluster::{
    Access, App, Batch, Feeder, Ingress, JetStream, Log, LogError, Login, MemoryLog, OpenError, Options, Replica, Step,
    Streams, cut,
};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

fn connect(server: &Server, capacity: u32) -> JetStream {
    let access = Access { url: server.url(), app: "test".to_owned(), ..Access::default() };
    let streams = Streams { edges: vec!["in".to_owned(), "out".to_owned()], replicas: 1, capacity };
    JetStream::create(&access, &streams, Duration::from_secs(30)).unwrap()
}

/// What every log does, with room for 3 entries.
fn contract(log: &impl Log) {
    assert_eq!((log.last("in"), log.kept("in")), (Ok(0), Ok(1..1)));
    assert_eq!(log.read_from("in", 1, 10), Ok(vec![]));
    assert_eq!(log.append_if("in", 1, b"x"), Err(LogError::Conflict));
    for (last, bytes) in [b"one", b"two", b"six"].into_iter().enumerate() {
        assert_eq!(log.append_if("in", last as u64, bytes), Ok(()));
        assert_eq!(log.append_if("in", last as u64, bytes), Err(LogError::Conflict));
    }
    assert_eq!(log.append_if("in", 3, b"four"), Err(LogError::Full));
    let numbers = |first, most| -> Vec<u64> {
        log.read_from("in", first, most).unwrap().into_iter().map(|entry| entry.number).collect()
    };
    assert_eq!((numbers(1, 2), numbers(2, 9), numbers(4, 9)), (vec![1, 2], vec![2, 3], vec![]));
    assert_eq!(log.read_from("in", 2, 1).unwrap()[0].bytes, b"two"[..]);
    log.trim("in", 3).unwrap();
    assert_eq!((numbers(1, 9), log.last("in"), log.kept("in")), (vec![3], Ok(3), Ok(3..4)));
    log.trim("in", 2).unwrap();
    assert_eq!(log.append_if("in", 3, b"four"), Ok(()));
    log.trim("in", 5).unwrap();
    assert_eq!((numbers(1, 9), log.last("in")), (vec![], Ok(4)));
    log.trim("in", 99).unwrap();
    assert_eq!((log.last("in"), log.kept("in")), (Ok(4), Ok(5..5)));
    assert_eq!(log.append_if("in", 4, b"five"), Ok(()));
    log.trim("in", 99).unwrap();
    assert_eq!((numbers(1, 9), log.last("in"), log.kept("in")), (vec![5], Ok(5), Ok(5..6)));

    assert_eq!(log.get("key"), Ok(None));
    assert_eq!(log.compare_and_set("key", 0, b"a"), Ok(()));
    assert_eq!(log.compare_and_set("key", 0, b"b"), Err(LogError::Conflict));
    let record = log.get("key").unwrap().unwrap();
    assert_eq!(record.value, b"a");
    assert_eq!(log.compare_and_set("key", record.revision, b"b"), Ok(()));
    assert_eq!(log.compare_and_set("key", record.revision, b"c"), Err(LogError::Conflict));
    assert_eq!(log.get("key").unwrap().unwrap().value, b"b");

    assert_eq!(log.blob("states"), Ok(None));
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
    assert_eq!(log.blob_names(), Ok(vec![]));
    log.put_blob("states", &bytes).unwrap();
    log.put_blob("states", &bytes).unwrap();
    // Also after it was removed.
    for _ in 0..2 {
        log.put_blob("states", &bytes).unwrap();
        assert_eq!(log.blob("states").as_ref(), Ok(&Some(bytes.clone())));
        assert_eq!(log.blob_names(), Ok(vec!["states".to_owned()]));
        log.remove_blob("states").unwrap();
        log.remove_blob("states").unwrap();
        assert_eq!(log.blob("states"), Ok(None));
        assert_eq!(log.blob_names(), Ok(vec![]));
    }
}

#[test]
fn the_memory_does_what_a_log_does() {
    contract(&MemoryLog::with_capacity(3));
}

#[test]
fn a_server_does_what_a_log_does() {
    let Some(server) = Server::start("a_server_does_what_a_log_does") else { return };
    contract(&connect(&server, 3));
    // An application that is there, opened.
    let access = Access { url: server.url(), app: "test".to_owned(), ..Access::default() };
    let opened = JetStream::open(&access, Duration::from_secs(30)).unwrap();
    opened.put_blob("more", b"states").unwrap();
    assert_eq!(opened.blob("more"), Ok(Some(b"states".to_vec())));
    assert_eq!(opened.last("in"), Ok(5));
}

#[test]
fn a_removal_that_is_cut_short_is_finished_later_and_nothing_of_it_lives_again() {
    let test = "a_removal_that_is_cut_short_is_finished_later_and_nothing_of_it_lives_again";
    // The one may not remove everything: what it removes is removed in part.
    let users = "authorization { users: [ { user: \"all\", password: p }, { user: \"some\", password: p, \
                 permissions: { publish: { deny: [\"$JS.API.STREAM.DELETE.test-out\"] } } } ] }";
    let Some(server) = Server::configured(test, users) else { return };
    let patience = Duration::from_secs(30);
    let access = |user: &str| {
        let login = Login::Password { user: user.to_owned(), password: "p".to_owned() };
        Access { url: server.url(), app: "test".to_owned(), login, ..Access::default() }
    };
    let streams = Streams { edges: App::edges(), replicas: 1, capacity: 10 };
    let log = JetStream::create(&access("all"), &streams, patience).unwrap();
    log.compare_and_set("snapshot.out", 0, b"old").unwrap();
    log.append_if("out", 0, b"old").unwrap();
    let cut = JetStream::remove(&access("some"), &App::edges(), patience).unwrap_err();
    assert!(matches!(cut, OpenError::Forbidden { .. }), "{cut}");
    let opened = JetStream::open(&access("all"), patience).unwrap_err();
    assert!(matches!(opened, OpenError::NoApp { .. }), "{opened}");
    let made = JetStream::create(&access("all"), &streams, patience).unwrap_err();
    assert!(matches!(made, OpenError::InPart { .. }), "{made}");
    JetStream::remove(&access("all"), &App::edges(), patience).unwrap();
    let log = JetStream::create(&access("all"), &streams, patience).unwrap();
    assert_eq!((log.get("snapshot.out"), log.last("out")), (Ok(None), Ok(0)));
    JetStream::remove(&access("all"), &App::edges(), patience).unwrap();
    let removed = JetStream::remove(&access("all"), &App::edges(), patience).unwrap_err();
    assert!(matches!(removed, OpenError::NoApp { .. }), "{removed}");
}

#[test]
fn a_batch_that_the_server_does_not_take_is_named_with_its_size() {
    let test = "a_batch_that_the_server_does_not_take_is_named_with_its_size";
    let Some(server) = Server::configured(test, "max_payload: 65536\n") else { return };
    let log = connect(&server, 10);
    let large = vec![7; 70_000];
    let too_large = |edge: &str, number, size| LogError::TooLarge { edge: edge.to_owned(), number, size, most: 65_536 };
    assert_eq!(log.append_if("out", 0, b"small"), Ok(()));
    assert_eq!(log.append_if("out", 1, &large), Err(too_large("out", 2, 70_000)));
    assert_eq!(log.send_if("out", 1, large.clone().into()).answer(), Some(Err(too_large("out", 2, 70_000))));
    // The header of a batch is part of it.
    let mut feeder = Feeder::new(log.clone(), false, &mut |_| true).unwrap();
    let error = feeder.append(large.into(), &mut |_| true).unwrap_err();
    assert!(error.to_string().starts_with("edge \"in\", batch 1: it has 70"), "{error}");
    assert!(error.to_string().contains(" bytes, and the servers take 65536 at most: raise `max_payload`"), "{error}");
    assert_eq!((log.last("in"), log.last("out")), (Ok(0), Ok(1)));
}

#[test]
fn a_blob_of_which_a_server_has_only_some_parts_is_not_there_yet() {
    let Some(server) = Server::start("a_blob_of_which_a_server_has_only_some_parts_is_not_there_yet") else { return };
    let log = connect(&server, 3);
    let states = vec![7; 300_000];
    log.put_blob("out.1", &states).unwrap();
    assert!(log.blob("out.1").unwrap().is_some_and(|read| read == states));
    let purge = "{\"filter\":\"$O.test-blobs.C.>\",\"keep\":2}";
    request(&server, "$JS.API.STREAM.PURGE.OBJ_test-blobs", purge);
    assert_eq!(log.blob("out.1"), Ok(None));
}

#[test]
fn the_next_application_of_a_name_is_neither_read_nor_changed_for_the_one_before() {
    let test = "the_next_application_of_a_name_is_neither_read_nor_changed_for_the_one_before";
    let Some(server) = Server::start(test) else { return };
    let log = connect(&server, 10);
    (0..3).for_each(|last| log.append_if("in", last, b"old").unwrap());
    // It reads on from there.
    assert_eq!(log.read_from("in", 1, 10).unwrap().len(), 3);
    assert_eq!((log.read_from("in", 4, 10), log.is_gone()), (Ok(vec![]), Ok(false)));
    let access = Access { url: server.url(), app: "test".to_owned(), ..Access::default() };
    JetStream::remove(&access, &["in".to_owned(), "out".to_owned()], Duration::from_secs(30)).unwrap();
    let next = connect(&server, 10);
    (0..6).for_each(|last| next.append_if("in", last, b"new").unwrap());
    until("it is gone", || log.is_gone() == Ok(true));
    until("an error", || match log.read_from("in", 4, 10) {
        Ok(entries) => {
            assert!(entries.is_empty(), "{entries:?}");
            false
        }
        Err(error) => error.to_string().contains("the application was removed"),
    });
    assert!(matches!(log.trim("in", 4), Err(LogError::Unavailable(_))));
    assert!(matches!(log.last("in"), Err(LogError::Unavailable(_))));
    // Its edge has no entry, as the one before had none.
    assert!(matches!(log.append_if("out", 0, b"old"), Err(LogError::Unavailable(_))));
    // This one has as many entries as the append expects, which comes after a pause.
    sleep(Duration::from_millis(600));
    assert!(matches!(log.append_if("in", 6, b"old"), Err(LogError::Unavailable(_))));
    assert_eq!((next.last("in"), next.last("out")), (Ok(6), Ok(0)));
    assert_eq!(next.read_from("in", 1, 10).unwrap().len(), 6);
}

#[test]
fn a_server_without_a_store_is_said_to_need_one() {
    let test = "a_server_without_a_store_is_said_to_need_one";
    let Some(server) = Server::configured(test, "jetstream: disabled\n") else { return };
    let access = Access { url: server.url(), app: "test".to_owned(), ..Access::default() };
    let streams = Streams { edges: App::edges(), replicas: 1, capacity: 10 };
    let create = || JetStream::create(&access, &streams, Duration::from_millis(500)).unwrap_err();
    let error = (0..60).map(|_| create()).find(|error| !matches!(error, OpenError::NoServer { .. })).unwrap();
    assert!(
        matches!(error, OpenError::Unready { .. }) && error.to_string().contains("start them with `-js`"),
        "{error}"
    );
}

#[test]
fn large_states_are_stored_and_read() {
    let Some(server) = Server::start("large_states_are_stored_and_read") else { return };
    let log = connect(&server, 3);
    let states: Vec<u8> = (0..64 << 20_u32).map(|n| (n >> 10) as u8).collect();
    // It takes longer than a call may.
    while let Err(error) = log.put_blob("states", &states) {
        assert!(matches!(error, LogError::Unavailable(_)), "{error}");
    }
    let read = loop {
        match log.blob("states") {
            Err(LogError::Unavailable(_)) => {}
            read => break read,
        }
    };
    assert!(read.unwrap().is_some_and(|read| read == states));
}

#[test]
fn replicas_and_the_server_are_killed_and_the_output_is_the_models() {
    let Some(mut server) = Server::start("replicas_and_the_server_are_killed_and_the_output_is_the_models") else {
        return;
    };
    let input: Vec<u64> = (0..400).collect();
    let log = connect(&server, 8);
    let options = |rank| Options { rank, patience: 3, snapshot_every: 2, window: 4, ..Options::default() };
    let replica = |rank| Replica::new(RIGHT, log.clone(), edges(), options(rank));
    let mut ingress = Ingress::new(log.clone(), "in", cut(input.iter().copied(), 4).unwrap());
    let mut replicas = [replica(0), replica(1)];
    let (mut next, mut values, mut round) = (1, Vec::new(), 0);
    while next <= 100 {
        round += 1;
        _ = ingress.step().unwrap();
        let steps: Vec<Step> =
            replicas.iter_mut().flat_map(|replica| [(); 6].map(|()| replica.step().unwrap())).collect();
        for entry in log.read_from("out", next, 8).unwrap_or_default() {
            assert_eq!(entry.number, next);
            values.extend(Batch::<u64>::from_bytes(&entry.bytes).unwrap().values);
            next += 1;
        }
        _ = log.trim("out", next);
        match round {
            _ if round % 37 == 0 => replicas[round / 37 % 2] = replica((round / 37 % 2) as u32),
            60 => server.kill(),
            61 => server.again(),
            _ if steps.iter().all(|step| *step == Step::Idle) => sleep(Duration::from_millis(5)),
            _ => {}
        }
    }
    assert_eq!(values, sums::model(&input));
}

/// Its waits are long, so that it reaches the end only if each entry and each answer wakes it.
#[test]
fn an_idle_replica_is_woken_by_what_comes() {
    let Some(server) = Server::start("an_idle_replica_is_woken_by_what_comes") else { return };
    let log = connect(&server, 100);
    let batches = cut(0..80_u64, 2).unwrap();
    let its = log.clone();
    let works = spawn(move || {
        let mut replica = Replica::new(RIGHT, its, edges(), Options::default());
        loop {
            match replica.step().unwrap() {
                Step::Worked => {}
                // A reader that has just begun does not get new entries yet.
                Step::Idle if replica.position() < 2 => replica.wait(Duration::from_millis(5)),
                Step::Idle => replica.wait(Duration::from_secs(3600)),
                Step::Ended => return,
            }
        }
    });
    for (last, bytes) in (0..).zip(&batches) {
        log.append_if("in", last, bytes).unwrap();
        let begun = Instant::now();
        while log.last("out").unwrap() <= last {
            assert!(begun.elapsed() < Duration::from_secs(60), "batch {} does not come", last + 1);
            sleep(Duration::from_millis(2));
        }
    }
    works.join().unwrap();
}
