//! Sockets that a supervisor has opened for this process.

use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::env::var;
use std::io;
use std::net::TcpListener;

/// The first descriptor after the standard streams.
const FIRST: i32 = 3;

/// The listening TCP sockets that a supervisor has opened for this process, by the protocol of systemd's socket
/// activation: `LISTEN_FDS` is their number, and `LISTEN_PID` is this process. Empty if there are none.
///
/// The supervisor keeps the sockets open, so clients wait instead of being refused even while no process serves. Each
/// call returns the same sockets.
///
/// ```
/// let listeners = millstream::net::inherited()?;
/// assert!(listeners.is_empty(), "this process is started by hand");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If a descriptor is not a listening TCP socket, or the system does not give access to it: that needs Linux 5.6, and a
/// filter of system calls that allows `pidfd_getfd`.
pub fn inherited() -> io::Result<Vec<TcpListener>> {
    let number = |name| var(name).ok().and_then(|value: String| value.parse::<i32>().ok());
    let of_this = number("LISTEN_PID") == Some(getpid().as_raw_pid());
    let Some(count) = number("LISTEN_FDS").filter(|count| of_this && *count > 0) else { return Ok(Vec::new()) };
    // The system makes a descriptor of a number, and checks that it is open.
    let this = pidfd_open(getpid(), PidfdFlags::empty())?;
    let listener = |descriptor: i32| {
        let socket = pidfd_getfd(&this, descriptor, PidfdGetfdFlags::empty())?;
        let tcp = matches!(socket_domain(&socket), Ok(AddressFamily::INET | AddressFamily::INET6))
            && matches!(socket_type(&socket), Ok(SocketType::STREAM));
        if !tcp || !socket_acceptconn(&socket)? {
            let why = format!("descriptor {descriptor} is not a socket that listens for TCP connections");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(TcpListener::from(socket))
    };
    (FIRST..FIRST.saturating_add(count)).map(listener).collect()
}
