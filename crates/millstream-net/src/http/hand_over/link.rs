//! What the two processes of a hand-over say to each other: single bytes, one with the sockets, one with a reason.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The version of what is said here.
pub(super) const VERSION: u8 = 1;

/// The new process asks for everything. Its version follows.
pub(super) const ASK: u8 = b'T';
/// A connection with a request of another process. The client's address follows, behind its length.
pub(in crate::http) const FORWARDED: u8 = b'F';
/// Another one has asked before.
pub(super) const BUSY: u8 = b'B';
/// No, or no more. The reason follows.
pub(super) const NO: u8 = b'N';
/// The state is free, and here are the sockets.
pub(super) const SOCKETS: u8 = b'L';
/// The new process could answer.
pub(super) const UP: u8 = b'U';
/// It is to answer from now on.
pub(super) const GO: u8 = b'G';
/// It has answered, and does not need the old one any more.
pub(super) const SETTLED: u8 = b'S';

/// The sockets that are passed: that of the clients, and that of the directory.
const SOCKETS_PASSED: usize = 2;

pub(super) fn say(link: &UnixStream, word: u8) -> io::Result<()> {
    (&*link).write_all(&[word])
}

/// The reason is for people. An error means that no one listens any more.
pub(super) fn say_no(link: &UnixStream, why: &str) {
    let said = [&[NO], why.as_bytes()].concat();
    let _ = (&*link).write_all(&said).and_then(|()| link.shutdown(Shutdown::Both));
}

/// The next word; none if the other process is gone.
pub(super) fn hear(link: &UnixStream, within: Duration) -> io::Result<Option<u8>> {
    let mut word = [0];
    // A time of zero would be none at all.
    link.set_read_timeout(Some(within.max(Duration::from_millis(1))))?;
    loop {
        return match (&*link).read(&mut word) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(word[0])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // Killed with something unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error),
        };
    }
}

/// The reason behind a `NO`.
pub(super) fn reason(link: &UnixStream) -> String {
    let mut why = Vec::new();
    let _ = link.take(1000).read_to_end(&mut why);
    String::from_utf8_lossy(&why).into_owned()
}

pub(super) fn pass(link: &UnixStream, sockets: [BorrowedFd<'_>; SOCKETS_PASSED]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_PASSED))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !beside.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // A process that has ended is an error, and no signal.
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    let sent = sendmsg(link, &[IoSlice::new(&[SOCKETS])], &mut beside, flags)?;
    if sent == 1 { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// The next word, with the sockets that came with it; none if the other process is gone.
pub(super) fn receive(link: &UnixStream, within: Duration) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    link.set_read_timeout(Some(within.max(Duration::from_millis(1))))?;
    let (mut word, mut sockets) = ([0], Vec::new());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_PASSED))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    // A child that is started must not have them.
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let received = loop {
        match recvmsg(link, &mut [IoSliceMut::new(&mut word)], &mut beside, flags) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            received => break received?,
        }
    };
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            sockets.extend(passed);
        }
    }
    Ok((received.bytes > 0).then_some((word[0], sockets)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_listener_that_is_passed_accepts_when_the_first_one_is_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        pass(&ours, [listener.as_fd(), ours.as_fd()]).unwrap();
        drop(listener);
        let (word, mut sockets) = receive(&theirs, PATIENCE).unwrap().unwrap();
        assert_eq!((word, sockets.len()), (SOCKETS, 2));
        let flags = rustix::io::fcntl_getfd(&sockets[0]).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        let passed = TcpListener::from(sockets.remove(0));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"x").unwrap();
        let mut said = [0];
        passed.accept().unwrap().0.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"x");
    }

    #[test]
    fn the_end_of_a_process_is_heard_and_so_is_its_silence() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        say(&ours, UP).unwrap();
        assert_eq!(hear(&theirs, PATIENCE).unwrap(), Some(UP));
        let silent = hear(&theirs, Duration::ZERO).unwrap_err();
        assert!(matches!(silent.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{silent}");
        say_no(&ours, "because");
        assert_eq!(hear(&theirs, PATIENCE).unwrap(), Some(NO));
        assert_eq!(reason(&theirs), "because");
        drop(ours);
        assert_eq!(hear(&theirs, PATIENCE).unwrap(), None);
        assert!(receive(&theirs, PATIENCE).unwrap().is_none());
    }
}
