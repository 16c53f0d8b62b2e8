//! Posted rows as a source.
//!
//! A small run takes the rows from the connections and passes them to the source. It answers as
//! `millstream_net::http::Ingest` does: 202 once the rows are in the pipeline, 503 while that is full. With a state the
//! rows go to a journal first, and the response is 200.

use crate::deploy::{Clients, Refused};
use crate::outcome::Outcome;
use crate::progress;
use millstream_core::{pipeline, text::Block};
use millstream_exec::source::Closer;
use millstream_exec::{Client, JobExt, Poller, Reception, Request, Rings, RunError, Runner, Source};
use millstream_net::arrivals;
use millstream_net::http::Ingest;
use millstream_net::http::axum::{Router, http::StatusCode, routing::post_service};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The number of blocks that can wait between the connections and the pipeline.
const BLOCKS: usize = 16;

/// The number of bodies whose keys are remembered, so that a sender that had no answer can repeat one.
const KEYS: usize = 10_000;

/// A server whose values are the posted blocks of whole rows.
pub(super) struct Listening {
    address: String,
    blocks: Receiver<Block>,
    clients: Clients,
    closer: Arc<Option<Closer>>,
}

impl Listening {
    /// Listens at an address, for rows of at most this many bytes.
    ///
    /// # Errors
    ///
    /// Why it does not listen, and the exit code.
    pub(super) fn at(address: &str, longest: usize) -> Result<Self, Refused> {
        let (sender, blocks) = sync_channel(BLOCKS);
        let (client, closer) = received(sender).map_err(|error| failed(address, &error))?;
        let clients = Clients::default();
        let opened = clients.open(address, routes(Ingest::new(client).longest(longest).keys(KEYS)), None)?;
        let address = opened.map_or_else(|| address.to_owned(), |address| address.to_string());
        Ok(Listening { address, blocks, clients, closer: Arc::new(closer) })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Ends it once all accepted rows have come out of it.
    pub(super) fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// Refuses further rows, with 503. Those that were taken still come.
    pub(super) fn refuses(&self) -> impl Fn() + Send + 'static {
        let closer = self.closer.clone();
        move || closer.iter().for_each(Closer::close)
    }
}

fn failed(address: &str, error: &RunError) -> Refused {
    (format!("listen: {address}: {error}"), Outcome::InputOrOutputFailed)
}

fn routes(ingest: Ingest) -> Router {
    let elsewhere = async || (StatusCode::NOT_FOUND, "nothing is here: post rows to /ingest\n");
    Router::new().route("/ingest", post_service(ingest)).fallback(elsewhere)
}

/// A client that passes its blocks to a channel, and what closes it.
fn received(sender: SyncSender<Block>) -> Result<(Client<Block, ()>, Option<Closer>), RunError> {
    let rings = Rings::new().workers(1).ring(BLOCKS);
    let (reception, arriving) = Reception::<Block, ()>::open(&rings, Some(BLOCKS))?;
    let closer = Source::closer(&arriving);
    // The receiver is dropped only when the whole run ends.
    let pass = move |_, block: &Block| sender.send(block.clone()).map_err(|_| "the run has ended");
    let relay = rings.start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(pass))?;
    let client = reception.client(&relay);
    // The run ends with its last client, which the server's routes hold.
    thread::spawn(move || relay.wait());
    Ok((client, closer))
}

/// Posted blocks of whole rows that go to a journal.
pub(super) struct Posted {
    /// The address, if it is newly opened.
    pub(super) address: Option<SocketAddr>,
    /// The blocks. The reader acknowledges them.
    pub(super) arriving: Poller<Request<Block, ()>>,
    /// Refuses further rows. Rows that were taken still come.
    pub(super) refuse: Box<dyn FnOnce() + Send>,
}

impl Posted {
    /// As [`Listening::at`], for these clients, which may wait for an answer of an earlier run.
    pub(super) fn at(address: &str, longest: usize, clients: &Clients) -> Result<Self, Refused> {
        let received = Reception::<Block, ()>::open(&Rings::new(), Some(BLOCKS));
        let (reception, arriving) = received.map_err(|error| failed(address, &error))?;
        let client = reception.client_of_source();
        let ingest = Ingest::new(client.clone()).longest(longest).keys(KEYS).durable();
        let address = clients.open(address, routes(ingest), Some(client))?;
        let closer = Source::closer(&arriving);
        let refuse = Box::new(move || closer.iter().for_each(|closer| closer.close()));
        Ok(Posted { address, arriving, refuse })
    }
}

impl Iterator for Listening {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let next = self.blocks.recv().ok().inspect(|block| progress::read(block.len()));
        if next.is_none() {
            self.clients.wait();
        }
        next
    }
}
