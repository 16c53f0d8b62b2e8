//! A service that a new process takes over, with its clients: the way to change its program.
//!
//! The process that has the service [offers](Server::offer) it at a socket in its state directory, which only its user
//! can open. The new one [asks](ask) there, when it has [followed](millstream_state::Persistent::follow): so it has
//! read nearly all of the state while the old one serves. What they do then, one after the other:
//!
//! 1. The old process [holds](Server::hold) the requests that come from now on, answers those that it has, and lets its
//!    state go.
//! 2. It [hands its sockets over](Successor::hand_over), and waits.
//! 3. The new process opens the state, and [a server](Predecessor::open) for the same clients, and says that it is
//!    [up](Predecessor::up).
//! 4. The old process lets it begin: the new one accepts connections, and gets the requests that were held.
//! 5. The old one forwards whole requests of the connections that it has, with `Connection: close`, and ends when it
//!    has none. Until the new one is [settled](HandedOver::settled), by an answer or
//!    [otherwise](Predecessor::up_until), the old one could go on.
//!
//! No request is refused for it, none is answered by both, and no connection is closed while a client may be writing
//! to it. If the new process dies, is too slow or cannot read the state, the old one [goes on](Server::resume) with
//! what it has held; also if the new one dies before it is settled. A new one of another version stores no snapshot,
//! which the old one could not read, before its first request. If the old one dies, the new one goes on. Which of them
//! may write is never a matter of what they say here: the lock of the state decides it. A second process that asks
//! meanwhile is [refused](HandOverError::Busy).
//!
//! What has no end of its own, such as a WebSocket or a stream of events, stays with the old process until that closes
//! its server. A request that lasts longer than [`hold`](Server::hold) waits gets what a service says that is
//! [ending](crate::http::Refusal::Ending). An [`Endpoint`](crate::http::Endpoint) that still gathers a body is not
//! waited for, and its request is forwarded as a whole. Of a body that an [`Ingest`](crate::http::Ingest) has begun to
//! take, the rest is forwarded.
//!
//! ```
//! use millstream::net::http::{Limits, Server, axum::{Router, routing::get}, hand_over::{self, Settled}};
//! use std::io::{Read, Write};
//! use std::time::Duration;
//!
//! # let home = tempfile::tempdir()?;
//! # let dir = home.path().to_owned();
//! const SECONDS: Duration = Duration::from_secs(30);
//! let version = |name: &'static str| Router::new().route("/", get(move || async move { name }));
//! let old = Server::open("127.0.0.1:0", version("old"))?;
//! let offer = old.offer(&dir)?;
//! let mut client = std::net::TcpStream::connect(old.address())?;
//! // What is still in the queue of the socket is the new process's.
//! while old.counters().connections() == 0 {
//!     std::thread::sleep(Duration::from_millis(1));
//! }
//!
//! // The new process.
//! let new = std::thread::spawn(move || {
//!     let before = hand_over::ask(&dir, SECONDS).unwrap().expect("there is an old process");
//!     let server = before.open(version("new"), Limits::default()).unwrap();
//!     let offer = before.up(&server, SECONDS).unwrap();
//!     (server, offer)
//! });
//!
//! // The old one.
//! let successor = offer.asked(SECONDS).expect("the new process asks");
//! assert_eq!(old.hold(SECONDS), 0);
//! let handed_over = successor.hand_over(&old, &offer, SECONDS)?;
//!
//! // A connection that the old process has.
//! client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
//! let mut response = String::new();
//! client.read_to_string(&mut response)?;
//! assert!(response.contains("connection: close\r\n") && response.ends_with("new"));
//! assert_eq!(handed_over.settled(&old, &offer, SECONDS), Settled::Yes);
//! # drop((offer, old, new.join().unwrap()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ask;
mod error;
mod forward;
mod link;
mod offer;
mod response;

pub use ask::{Predecessor, ask};
pub use error::HandOverError;
pub(super) use forward::forward;
pub use offer::{HandedOver, Offer, Settled, Successor};

#[cfg(doc)]
use super::Server;
