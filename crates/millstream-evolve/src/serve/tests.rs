use super::*;
use crate::message::Request;
use crate::{Random, Token};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

#[test]
fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = Address::Tcp(listener.local_addr().unwrap().to_string());
    let said = connect_within(Duration::from_millis(50), &at, &Secret::new("s")).unwrap_err().to_string();
    assert_eq!(
        said,
        format!("cannot reach the master at {at}: it did not answer within 0 s: it may be busy, or another program")
    );
}

#[test]
fn a_server_that_never_comes_to_an_end_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = Address::Tcp(listener.local_addr().unwrap().to_string());
    // A byte at a time, of a message that is never whole.
    let sends = move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(&200_u32.to_le_bytes()).unwrap();
        while stream.write_all(&[0]).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let sender = std::thread::spawn(sends);
    let said = connect_within(Duration::from_millis(200), &at, &Secret::new("s")).unwrap_err().to_string();
    assert!(said.ends_with("it did not answer within 0 s: it may be busy, or another program"), "{said}");
    sender.join().unwrap();
}

/// Before anything shows that it is a master.
#[test]
fn a_long_greeting_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = Address::Tcp(listener.local_addr().unwrap().to_string());
    let sends = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(&1000_u32.to_le_bytes()).unwrap();
        stream
    });
    let said = connect_within(Duration::from_secs(60), &at, &Secret::new("s")).unwrap_err().to_string();
    assert_eq!(said, format!("cannot reach the master at {at}: a message of 1000 bytes; at most 256 are accepted"));
    drop(sends.join().unwrap());
}

/// A state whose child has an output of a megabyte, which is more than a socket holds.
struct Wide;

impl Evolve for Wide {
    type State = u8;
    type Input = u8;
    type Output = Vec<u8>;

    fn evolve(&self, _: &u8, _: &u8, _: &mut Random) -> Vec<(u8, Vec<u8>)> {
        vec![(0, vec![0; 1 << 20])]
    }
}

#[test]
fn a_master_that_takes_nothing_is_given_up() {
    let (mut master, socket) = UnixStream::pair().unwrap();
    let (token, mut out) = (Token::root(0, 0, 0), Vec::new());
    frame(&mut out, &Request::AddStates { items: 1 }).put(&token).put_bytes(&[0]).end();
    frame(&mut out, &Request::EvolveStates { items: 1, backup: false }).put(&token).put_bytes(&[0]).end();
    master.write_all(&out).unwrap();
    let accepted = Accepted {
        patience: Some(Duration::from_millis(50)),
        socket: Socket::Unix(socket),
        received: Received::new(LONGEST_REQUEST),
        at: Address::Unix("here".into()),
        program: Vec::new(),
    };
    let (done, is_done) = channel();
    std::thread::spawn(move || done.send(accepted.serve(&Wide)));
    let ended = is_done.recv_timeout(Duration::from_secs(60)).expect("the worker ends");
    let said = ended.unwrap_err().to_string();
    assert!(said.contains("is gone (it was silent for too long: it may be stopped, or hang)"), "{said}");
    drop(master);
}

#[test]
#[cfg(target_os = "linux")]
fn a_machine_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    // With a full queue, Linux ignores further requests for a connection, as a machine does that is not there.
    rustix::net::listen(&listener, 0).unwrap();
    let wait = Duration::from_millis(200);
    let connect = || std::net::TcpStream::connect_timeout(&at, wait).ok();
    let queue: Vec<_> = std::iter::from_fn(connect).take(100).collect();
    assert!(queue.len() < 100);
    let said = connect_within(wait, &Address::Tcp(at.to_string()), &Secret::new("s")).unwrap_err().to_string();
    assert!(said.ends_with("it did not answer within 0 s: it may be busy, or another program"), "{said}");
}

#[test]
fn a_silent_machine_has_a_name() {
    assert_eq!(why_gone(&io::ErrorKind::TimedOut.into()), "its machine did not answer for 60 s or longer");
    assert_eq!(why_gone(&io::Error::other("other")), "other");
}
