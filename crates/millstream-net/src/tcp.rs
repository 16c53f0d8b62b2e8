//! TCP: lines and records as sources, and lines to many readers.
//!
//! | function | what comes or goes |
//! | --- | --- |
//! | [`take_lines`] | lines, as blocks of whole lines |
//! | [`take_records`] | records, each with its length in front |
//! | [`send_lines`] | the values of a [`broadcast`](crate::broadcast), to every connection |
//!
//! TCP does not say whether the other end has said all it wanted. So what is not whole when a connection ends, a line
//! without its end or a part of a record, is left out, and [counted](ListenerCounters::broken_off).
//!
//! A source reads a connection only while there is room in the first ring: back-pressure reaches the sender. With
//! [`acknowledge`](Options::acknowledge) it says how much was taken, so a sender knows what it has to send again on the
//! next connection; what was taken is durable where the source has a [journal](crate::arrivals::journaled).
//!
//! All who can connect may send. Without a [token](Options::token) these functions listen on loopback alone.

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

/// What listens for connections, on threads of its own. When it is dropped, it is closed, and its client with it.
#[derive(Debug)]
pub struct Listener {
    listening: Listening,
    counters: Arc<ListenerCounters>,
}

impl Listener {
    /// The address where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> &Arc<ListenerCounters> {
        &self.counters
    }

    /// Accepts no connection any more. Sources read nothing more, and wait until all that they have read is taken;
    /// readers get what was published. Returns the connections that were cut off, since this took longer than it may.
    pub fn close(self, within: Duration) -> usize {
        self.listening.close(within)
    }
}
