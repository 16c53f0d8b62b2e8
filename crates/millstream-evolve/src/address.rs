use rustix::net::sockopt;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A master's machine counts as gone if it sends nothing for this long, not even acknowledgements of its system, while
/// nothing is on its way to it. Sent bytes without an acknowledgement have the longer limit of the system.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// Where a worker finds its master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PORT`, as [`TcpStream::connect`] takes it.
    Tcp(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => f.write_str(address),
            // Without a `/` it would be read as a TCP address.
            Address::Unix(path) if !path.as_os_str().as_encoded_bytes().contains(&b'/') => {
                write!(f, "./{}", path.display())
            }
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl std::str::FromStr for Address {
    type Err = std::convert::Infallible;

    /// A text with a `/` is a path; any other text is a TCP address.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text.contains('/') { Address::Unix(text.into()) } else { Address::Tcp(text.to_owned()) })
    }
}

/// The time at which the patience is over, if it ever is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn within(time: Duration) -> Self {
        Deadline(Instant::now().checked_add(time))
    }

    /// The time that is left; `None` if there is no limit. The error is that of a read that takes too long.
    pub(crate) fn left(self) -> io::Result<Option<Duration>> {
        match self.0.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => Err(io::ErrorKind::WouldBlock.into()),
            left => Ok(left),
        }
    }
}

/// Connects to the first of the addresses that answers. Each has an equal share of the time that is left.
fn connect_one_of(addresses: Vec<SocketAddr>, until: Deadline) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (n, address) in addresses.iter().enumerate() {
        let share = until.left()?.map(|left| left / (addresses.len() - n) as u32);
        match share.map_or_else(|| TcpStream::connect(address), |share| TcpStream::connect_timeout(address, share)) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => failed = io::ErrorKind::WouldBlock.into(),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// A worker's end of a connection. Its reads and writes block.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects before the deadline. The search for a name's addresses, and a socket file, have no limit.
    pub(crate) fn connect(address: &Address, until: Deadline) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(address) => {
                let stream = connect_one_of(address.to_socket_addrs()?.collect(), until)?;
                stream.set_nodelay(true)?;
                notice_silence(&stream)?;
                Socket::Tcp(stream)
            }
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        })
    }

    pub(crate) fn another(&self) -> io::Result<Self> {
        Ok(match self {
            Socket::Tcp(stream) => Socket::Tcp(stream.try_clone()?),
            Socket::Unix(stream) => Socket::Unix(stream.try_clone()?),
        })
    }

    /// Limits the time of a write in which the peer takes nothing: a longer one is an error.
    pub(crate) fn write_within(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_write_timeout(time),
            Socket::Unix(stream) => stream.set_write_timeout(time),
        }
    }

    /// Limits the time of a read: a longer one is an error. `None` removes the limit.
    pub(crate) fn read_within(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(time),
            Socket::Unix(stream) => stream.set_read_timeout(time),
        }
    }

    pub(crate) fn close(&self) {
        // An error means that the connection has ended already.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// Makes the system probe a silent peer, and end the connection if the peer's system does not answer.
///
/// There is no `TCP_USER_TIMEOUT`: it would also end a connection whose peer's system answers, and whose program does
/// not read.
fn notice_silence(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENCE / 3)?;
    sockopt::set_tcp_keepintvl(stream, SILENCE / 6)?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    Ok(())
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(bytes),
            Socket::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_silent_machine_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = Address::Tcp(listener.local_addr().unwrap().to_string());
        let Socket::Tcp(stream) = Socket::connect(&at, Deadline::within(SILENCE)).unwrap() else { panic!("TCP") };
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        let [idle, between] = [sockopt::tcp_keepidle(&stream).unwrap(), sockopt::tcp_keepintvl(&stream).unwrap()];
        assert_eq!(idle + between * sockopt::tcp_keepcnt(&stream).unwrap(), SILENCE);
        // A stopped master reads nothing for any time, and its system says so.
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), 0);
    }

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let [path, below] = ["master", "a/b"].map(|path| Address::Unix(path.into()));
        for (address, text) in [(Address::Tcp("here:7".to_owned()), "here:7"), (path, "./master"), (below, "a/b")] {
            assert_eq!(address.to_string(), text);
            let read: Address = text.parse().unwrap();
            assert_eq!(matches!(read, Address::Unix(_)), matches!(address, Address::Unix(_)), "{text}");
        }
    }
}
