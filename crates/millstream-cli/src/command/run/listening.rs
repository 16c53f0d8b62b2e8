//! Rows that are posted to a source.
//!
//! A small run takes them from the connections and passes them to the source, so what is refused, and when, is as
//! `millstream_net::http::Ingest` has it: 202 once the rows are in the pipeline, 503 while it is full.

use crate::deploy::{Refused, refused};
use crate::environment::{SHORTEST_TOKEN, TOKEN, secret};
use crate::outcome::Outcome;
use millstream_core::{pipeline, text::Block};
use millstream_exec::{JobExt, Reception, Rings, RunError, Runner};
use millstream_net::arrivals;
use millstream_net::http::axum::{Router, routing::post_service};
use millstream_net::http::{Ingest, Limits, Server};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What is under way when the source ends has this long to be taken.
const GRACE: Duration = Duration::from_secs(10);
/// The blocks that wait between the connections and the pipeline.
const BLOCKS: usize = 16;

/// A server of which each posted block of whole rows is a value.
pub(super) struct Listening {
    address: SocketAddr,
    blocks: Receiver<Block>,
    server: Arc<Mutex<Option<Server>>>,
}

/// Ends a [`Listening`] source once everything that was accepted has come out of it.
#[derive(Clone)]
pub(super) struct Closer(Arc<Mutex<Option<Server>>>);

impl Listening {
    /// Listens at an address, for rows of at most this many bytes.
    ///
    /// # Errors
    ///
    /// Why it does not, in words, and the exit code.
    pub(super) fn at(address: &str, longest: usize) -> Result<Self, Refused> {
        let token = secret(TOKEN, SHORTEST_TOKEN).map_err(|why| (why, Outcome::WrongUse))?;
        let limits = Limits { token, ..Limits::default() };
        let (sender, blocks) = sync_channel(BLOCKS);
        let failed = |error: RunError| (format!("listen: {address}: {error}"), Outcome::InputOrOutputFailed);
        let ingest = received(sender).map_err(failed)?.longest(longest);
        let routes = Router::new().route("/", post_service(ingest.clone())).route("/ingest", post_service(ingest));
        let server = Server::open_with(address, routes, limits)
            .map_err(|error| refused(&format!("listen: {address}"), &error))?;
        Ok(Listening { address: server.address(), blocks, server: Arc::new(Mutex::new(Some(server))) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn closer(&self) -> Closer {
        Closer(self.server.clone())
    }
}

/// An endpoint whose blocks go to a channel.
fn received(sender: SyncSender<Block>) -> Result<Ingest, RunError> {
    let rings = Rings::new().workers(1).ring(BLOCKS);
    let (reception, arriving) = Reception::<Block, ()>::open(&rings, Some(BLOCKS))?;
    // The receiver is dropped only when the whole run ends.
    let pass = move |_, block: &Block| sender.send(block.clone()).map_err(|_| "the run has ended");
    let relay = rings.start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(pass))?;
    let ingest = Ingest::new(reception.client(&relay));
    // It ends with the last client, which the server's routes have.
    thread::spawn(move || relay.wait());
    Ok(ingest)
}

impl Iterator for Listening {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        self.blocks.recv().ok()
    }
}

impl Closer {
    /// Accepts no connection any more. Returns at once.
    pub(super) fn close(&self) {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Requests under way wait for the pipeline, which goes on meanwhile.
        thread::spawn(move || server.map(|server| server.close(GRACE)));
    }
}
