//! The integration tests of this crate, in one binary.

mod own_code;
mod particles;
mod sockets;
mod support;
