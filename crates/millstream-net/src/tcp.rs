//! TCP: lines and records as sources, and lines to many readers.
//!
//! | function | what it receives or sends |
//! | --- | --- |
//! | [`take_lines`] | lines, as blocks of whole lines |
//! | [`take_records`] | records, each after its length |
//! | [`send_lines`] | the values of a [`broadcast`](crate::broadcast), to every connection |
//!
//! TCP does not tell whether the other end has sent everything. If a connection ends within a line or a record, that
//! part is left out, and [counted](ListenerCounters::broken_off).
//!
//! A source reads a connection only while there is room in the first ring: back-pressure reaches the sender. With
//! [`acknowledge`](Options::acknowledge) it reports how much was taken, so a sender knows what to send again on the
//! next connection. Taken values are durable if the source has a [journal](crate::arrivals::journaled).
//!
//! Every client that can connect may send. Without a [token](Options::token) these functions listen only on loopback.

mod counters;
mod lines_out;
mod options;
mod records_in;
mod token;

pub use counters::ListenerCounters;
pub use lines_out::send_lines;
pub use options::Options;
pub use records_in::{take_lines, take_records};

use crate::listening::Listening;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Listens for connections, on its own threads. When it is dropped, it is closed, and its client with it.
#[derive(Debug)]
pub struct Listener {
    listening: Listening,
    counters: Arc<ListenerCounters>,
}

impl Listener {
    /// The address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Its counters.
    #[must_use]
    pub fn counters(&self) -> &Arc<ListenerCounters> {
        &self.counters
    }

    /// Stops accepting connections. Sources read no more, and wait until all that they have read is taken; readers get
    /// the published values. Returns the number of connections that took too long, and were cut off.
    pub fn close(self, within: Duration) -> usize {
        self.listening.close(within)
    }
}
