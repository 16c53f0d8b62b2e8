//! What strangers send to a server.
#![cfg(feature = "http")]

mod answers;
mod attacks;
#[cfg(feature = "tls")]
mod encrypted;
mod overload;
mod peer;
