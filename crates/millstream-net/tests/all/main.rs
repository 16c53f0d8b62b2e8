//! What strangers send to a server.
#![cfg(all(feature = "http", feature = "tcp"))]

mod answers;
mod arrivals;
mod attacks;
#[cfg(feature = "tls")]
mod encrypted;
#[cfg(unix)]
mod hand_over;
#[cfg(unix)]
mod hand_over_bodies;
#[cfg(unix)]
mod hand_over_places;
mod overload;
mod peer;
#[cfg(feature = "post")]
mod posted;
mod random;
mod readers;
mod repeated;
#[cfg(feature = "websocket")]
mod sockets;
mod stops;
mod tcp;
