//! Sockets that a supervisor has opened for this process.

use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::env::var;
use std::io;
use std::net::TcpListener;

/// The first descriptor behind those of the standard streams.
const FIRST: i32 = 3;

/// The sockets that listen for TCP connections and that a supervisor has opened for this process, by the protocol of
/// systemd's socket activation: `LISTEN_FDS` has their number, and `LISTEN_PID` is this process. None if it has opened
/// none.
///
/// As the supervisor has them open as well, clients wait, and are not refused, also while no process serves. Each call
/// returns the same sockets.
///
/// ```
/// let listeners = millstream::net::inherited()?;
/// assert!(listeners.is_empty(), "this process is started by hand");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If a socket is no listening one of TCP, or the system does not give access to what is open: that needs Linux 5.6,
/// and a filter of system calls that allows `pidfd_getfd`.
pub fn inherited() -> io::Result<Vec<TcpListener>> {
    let number = |name| var(name).ok().and_then(|value: String| value.parse::<i32>().ok());
    let of_this = number("LISTEN_PID") == Some(getpid().as_raw_pid());
    let Some(count) = number("LISTEN_FDS").filter(|count| of_this && *count > 0) else { return Ok(Vec::new()) };
    // A number of a descriptor is made one by the system, which looks whether it is open.
    let this = pidfd_open(getpid(), PidfdFlags::empty())?;
    let listener = |descriptor: i32| {
        let socket = pidfd_getfd(&this, descriptor, PidfdGetfdFlags::empty())?;
        let tcp = matches!(socket_domain(&socket), Ok(AddressFamily::INET | AddressFamily::INET6))
            && matches!(socket_type(&socket), Ok(SocketType::STREAM));
        if !tcp || !socket_acceptconn(&socket)? {
            let why = format!("descriptor {descriptor} is no socket that listens for TCP connections");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(TcpListener::from(socket))
    };
    (FIRST..FIRST.saturating_add(count)).map(listener).collect()
}
