//! A connection in memory, for the fuzzer.

use super::Limits;
use super::connection::Serving;
use crate::listening::Closing;
use axum::Router;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::{Semaphore, watch};

/// The bytes that a server sends on a connection that sends these bytes, in pieces of this length, and then closes its
/// half.
pub(crate) async fn spoken_to(routes: Router, limits: Limits, bytes: &[u8], piece: usize) -> Vec<u8> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
    let serving = Serving::alone(routes, limits, address);
    let (ours, theirs) = duplex(1 << 10);
    let place = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("there is one place");
    let (_open, closed) = watch::channel(false);
    let served = tokio::spawn(serving.converse(theirs, address, Arc::new(place), Closing::of(closed)));
    let (mut from, mut to) = tokio::io::split(ours);
    let mut said = Vec::new();
    let speak = async {
        for piece in bytes.chunks(piece) {
            // An error means that the server reads no more.
            if to.write_all(piece).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    };
    let hear = from.read_to_end(&mut said);
    let (_, heard) = tokio::join!(speak, hear);
    heard.expect("memory has no errors");
    served.await.expect("a connection does not panic");
    said
}
