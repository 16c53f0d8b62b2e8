//! Readers of edges that a server cannot send, or has not whole, and of servers that take their login no more.

use crate::server::{Server, request};
use crate::until::until;
use millstream_cluster::{Access, JetStream, Log, LogError, Login, Streams};
use std::cell::Cell;
use std::time::Duration;

/// An application whose edge `in` is a stream with this configuration as well.
fn with_edge(server: &Server, config: &str) -> JetStream {
    let access = Access { url: server.url(), app: "test".to_owned(), ..Access::default() };
    let streams = Streams { edges: vec!["out".to_owned()], replicas: 1, capacity: 10 };
    let log = JetStream::create(&access, &streams, Duration::from_secs(30)).unwrap();
    let of_stream = "\"name\":\"test-in\",\"subjects\":[\"test.in\"],\"storage\":\"file\",\"num_replicas\":1";
    request(server, "$JS.API.STREAM.CREATE.test-in", &format!("{{{of_stream},\"allow_direct\":true{config}}}"));
    log
}

#[test]
fn an_edge_that_cannot_be_followed_is_read_by_number_and_the_reader_learns_why() {
    let test = "an_edge_that_cannot_be_followed_is_read_by_number_and_the_reader_learns_why";
    let Some(server) = Server::start(test) else { return };
    // No consumer lives as long as that of a reader.
    let log = with_edge(&server, ",\"consumer_limits\":{\"inactive_threshold\":1000000000}");
    log.append_if("in", 0, b"one").unwrap();
    assert_eq!(log.read_from("in", 1, 10).unwrap().len(), 1);
    until("it says why", || match log.read_from("in", 2, 10) {
        Ok(entries) => {
            assert!(entries.is_empty(), "{entries:?}");
            false
        }
        Err(error) => {
            assert!(error.to_string().contains("inactive threshold"), "{error}");
            true
        }
    });
    for number in 2..6 {
        log.append_if("in", number - 1, b"more").unwrap();
        until("it is read", || log.read_from("in", number, 10).is_ok_and(|read| read.len() == 1));
    }
}

#[test]
fn an_entry_that_is_missing_between_others_is_named() {
    let Some(server) = Server::start("an_entry_that_is_missing_between_others_is_named") else { return };
    let log = with_edge(&server, "");
    (0..5).for_each(|last| log.append_if("in", last, b"entry").unwrap());
    request(&server, "$JS.API.STREAM.MSG.DELETE.test-in", "{\"seq\":3}");
    assert_eq!(log.read_from("in", 1, 10).unwrap().len(), 2);
    let failed = Cell::new(0);
    until("it is named", || match log.read_from("in", 3, 10) {
        Ok(entries) => {
            assert!(entries.is_empty(), "{entries:?}");
            false
        }
        Err(LogError::Unavailable(why)) => {
            failed.set(failed.get() + 1);
            assert!(why.contains("the server sends entry 4 in place of entry 3"), "{why}");
            false
        }
        Err(error) => {
            let says = "edge \"in\" has entries 1 to 5, and entry 3 between them is not there";
            assert!(matches!(&error, LogError::Refused(why) if why.starts_with(says)), "{error}");
            true
        }
    });
    // It was said before.
    assert!(failed.get() > 0);
}

#[test]
fn a_login_that_the_servers_take_no_more_is_named() {
    let test = "a_login_that_the_servers_take_no_more_is_named";
    let user = |password: &str| format!("authorization {{ user: a, password: {password} }}\n");
    let Some(mut server) = Server::configured(test, &user("p1")) else { return };
    let login = Login::Password { user: "a".to_owned(), password: "p1".to_owned() };
    let access = Access { url: server.url(), app: "test".to_owned(), login, ..Access::default() };
    let streams = Streams { edges: vec!["in".to_owned()], replicas: 1, capacity: 10 };
    let log = JetStream::create(&access, &streams, Duration::from_secs(30)).unwrap();
    assert_eq!(log.last("in"), Ok(0));
    server.again_with(&user("p2"));
    let says = "the servers refuse this login: authorization violation";
    until("it is named", || log.last("in").is_err_and(|error| error.to_string().contains(says)));
    server.again_with(&user("p1"));
    until("it is taken", || log.last("in").is_ok());
}
