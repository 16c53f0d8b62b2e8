//! A new process takes a service over from an old one, with its clients. This is the way to change a service's program.
//!
//! The old process [offers](Server::offer) the service at a socket in its state directory, which only its user can
//! open. The new process first [follows](millstream_state::Persistent::follow) the old one, to read nearly all of the
//! state while the old one serves, and then [asks](ask) for the service. These steps follow:
//!
//! 1. The old process [holds](Server::hold) new requests, answers those that it has, and lets its state go.
//! 2. It [hands its sockets over](Successor::hand_over), and waits.
//! 3. The new process opens the state, opens [a server](Predecessor::open) for the same clients, and reports that it is
//!    [up](Predecessor::up).
//! 4. The old process lets it begin: the new process accepts connections, and gets the held requests.
//! 5. The old process forwards whole requests from its connections, with `Connection: close`, and ends when it has no
//!    connection left. It can go on until the new process is [settled](HandedOver::settled), by an answer or
//!    [otherwise](Predecessor::up_until).
//!
//! A take-over refuses no request, answers no request twice, and closes no connection while a client may be writing to
//! it. If the new process cannot read the state, is too slow, or dies before it is settled, the old process
//! [goes on](Server::resume) with the requests that it has held. A new process of another version stores no snapshot
//! before its first request, since the old one could not read that. If the old process dies, the new one goes on. The
//! lock of the state alone decides which of them may write. A second process that asks meanwhile is
//! [refused](HandOverError::Busy).
//!
//! A connection without an end, such as a WebSocket or a stream of events, stays with the old process until that closes
//! its server. A request that lasts longer than [`hold`](Server::hold) waits gets the response of a service that is
//! [ending](crate::http::Refusal::Ending). The old process does not wait for an [`Endpoint`](crate::http::Endpoint)
//! that is still gathering a body: it forwards the whole request. If an [`Ingest`](crate::http::Ingest) has begun to
//! take a body, the old process forwards the rest.
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
//! // The new process would get a connection that is still in the socket's queue.
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
