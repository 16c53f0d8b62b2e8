//! The messages of the two processes of a hand-over: single bytes, some with a reason, a number or an address.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The version of these messages.
pub const VERSION: u8 = 1;

/// The new process asks for everything. Its version follows.
pub const ASK: u8 = b'T';
/// A connection with a request of another process. The length of the client's address follows, then the address.
pub const FORWARDED: u8 = b'F';
/// Another process has asked before.
pub const BUSY: u8 = b'B';
/// No, or no more. The reason follows.
pub const NO: u8 = b'N';
/// The state of a service is free, and here are the sockets.
pub const SOCKETS: u8 = b'L';
/// The new process could begin.
pub const UP: u8 = b'U';
/// The new process may begin.
pub const GO: u8 = b'G';
/// The new process has begun, and does not need the old one any more.
pub const SETTLED: u8 = b'S';
/// The state of a job is free, at the number that follows.
pub const FREE: u8 = b'R';

/// Sends a message.
///
/// # Errors
///
/// If the other process is gone.
pub fn say(link: &UnixStream, word: u8) -> io::Result<()> {
    (&*link).write_all(&[word])
}

/// Sends a refusal. The reason is for people. An error is ignored: it means that the other process is gone.
pub fn say_no(link: &UnixStream, why: &str) {
    let said = [&[NO], why.as_bytes()].concat();
    let _ = (&*link).write_all(&said).and_then(|()| link.shutdown(Shutdown::Both));
}

/// The next message; `None` if the other process is gone.
///
/// # Errors
///
/// If nothing comes in this time.
pub fn hear(link: &UnixStream, within: Duration) -> io::Result<Option<u8>> {
    let mut word = [0];
    // A time of zero would mean no limit.
    link.set_read_timeout(Some(within.max(Duration::from_millis(1))))?;
    loop {
        return match (&*link).read(&mut word) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(word[0])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The other process was killed with unread bytes.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error),
        };
    }
}

/// Whether this is the error of a wait in which nothing came.
#[must_use]
pub fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The reason after a `NO`.
#[must_use]
pub fn reason(link: &UnixStream) -> String {
    let mut why = Vec::new();
    let _ = link.take(1000).read_to_end(&mut why);
    String::from_utf8_lossy(&why).into_owned()
}

/// Reports that the state is free, at this number.
///
/// # Errors
///
/// If the other process is gone.
pub fn say_free(mut link: &UnixStream, number: u64) -> io::Result<()> {
    link.write_all(&[&[FREE][..], &number.to_be_bytes()].concat())
}

/// The number after a `FREE`.
///
/// # Errors
///
/// If it does not come.
pub fn hear_number(mut link: &UnixStream) -> io::Result<u64> {
    let mut number = [0; 8];
    link.read_exact(&mut number)?;
    Ok(u64::from_be_bytes(number))
}

/// The number of the process at the other end, where the system says it.
#[cfg(target_os = "linux")]
#[must_use]
pub fn process(link: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(link).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The number of the process at the other end, where the system says it.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn process(_: &UnixStream) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn the_end_of_a_process_is_heard_and_so_is_its_silence() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        say(&ours, UP).unwrap();
        assert_eq!(hear(&theirs, PATIENCE).unwrap(), Some(UP));
        say_free(&ours, u64::MAX - 7).unwrap();
        assert_eq!((hear(&theirs, PATIENCE).unwrap(), hear_number(&theirs).unwrap()), (Some(FREE), u64::MAX - 7));
        let silent = hear(&theirs, Duration::ZERO).unwrap_err();
        assert!(is_silence(&silent), "{silent}");
        say_no(&ours, "because");
        assert_eq!(hear(&theirs, PATIENCE).unwrap(), Some(NO));
        assert_eq!(reason(&theirs), "because");
        drop(ours);
        assert_eq!(hear(&theirs, PATIENCE).unwrap(), None);
    }
}
