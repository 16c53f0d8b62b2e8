//! The one message between two processes that only services have: a byte with the sockets.

pub(super) use millstream_state::door::{
    ASK, BUSY, FORWARDED, GO, NO, SETTLED, SOCKETS, UP, VERSION, hear, reason, say, say_no,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The number of sockets that are passed: the clients', and the directory's.
const SOCKETS_PASSED: usize = 2;

pub(super) fn pass(link: &UnixStream, sockets: [BorrowedFd<'_>; SOCKETS_PASSED]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_PASSED))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !beside.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // If the other process has ended, this returns an error instead of raising SIGPIPE.
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    let sent = sendmsg(link, &[IoSlice::new(&[SOCKETS])], &mut beside, flags)?;
    if sent == 1 { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// The next message, with its sockets; `None` if the other process is gone.
pub(super) fn receive(link: &UnixStream, within: Duration) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    link.set_read_timeout(Some(within.max(Duration::from_millis(1))))?;
    let (mut word, mut sockets) = ([0], Vec::new());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_PASSED))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    // Child processes must not inherit them.
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
    #[cfg(not(target_os = "linux"))]
    for socket in &sockets {
        rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((received.bytes > 0).then_some((word[0], sockets)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
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
}
