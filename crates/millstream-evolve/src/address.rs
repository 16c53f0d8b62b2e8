use rustix::net::sockopt;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// A master's machine from which nothing comes for so long, not even what its system answers by itself, is gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// Where a master can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PORT`.
    Tcp(String),
    /// A socket's file.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => f.write_str(address),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl std::str::FromStr for Address {
    type Err = std::convert::Infallible;

    /// What has a `/` in it is a file.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text.contains('/') { Address::Unix(text.into()) } else { Address::Tcp(text.to_owned()) })
    }
}

/// A worker's end of a connection, which waits.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn connect(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
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

    /// A read that takes longer is an error from now on; `None` takes that back.
    pub(crate) fn read_within(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(time),
            Socket::Unix(stream) => stream.set_read_timeout(time),
        }
    }

    pub(crate) fn close(&self) {
        // Whoever has gone is gone.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// The system asks the other one now and then, and ends the connection if nothing comes.
fn notice_silence(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENCE / 3)?;
    sockopt::set_tcp_keepintvl(stream, SILENCE / 6)?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    // And for what was sent and is not acknowledged.
    sockopt::set_tcp_user_timeout(stream, u32::try_from(SILENCE.as_millis()).unwrap_or(u32::MAX))?;
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
        let Socket::Tcp(stream) = Socket::connect(&at).unwrap() else { panic!("TCP") };
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        let [idle, between] = [sockopt::tcp_keepidle(&stream).unwrap(), sockopt::tcp_keepintvl(&stream).unwrap()];
        assert_eq!(idle + between * sockopt::tcp_keepcnt(&stream).unwrap(), SILENCE);
        assert_eq!(u128::from(sockopt::tcp_user_timeout(&stream).unwrap()), SILENCE.as_millis());
    }
}
