//! The integration tests of this crate, in one binary.

mod own_code;
mod particles;
#[cfg(target_os = "linux")]
mod signals;
mod sockets;
mod support;
