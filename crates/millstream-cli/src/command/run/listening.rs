//! Rows that are posted to a source.
//!
//! A small run takes them from the connections and passes them to the source, so what is refused, and when, is as
//! `millstream_net::http::Ingest` has it: 202 once the rows are in the pipeline, 503 while it is full. With a state
//! they go to a journal first, and the response is 200.

use crate::deploy::{Refused, refused};
use crate::environment::{SHORTEST_TOKEN, TOKEN, secret};
use crate::outcome::Outcome;
use millstream_core::{pipeline, text::Block};
use millstream_exec::{Client, JobExt, Poller, Reception, Request, Rings, RunError, Runner, Source};
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
/// And this long when another process takes over: what is cut off can be sent to that one.
const HANDS_OVER_WITHIN: Duration = Duration::from_secs(1);
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
        let (sender, blocks) = sync_channel(BLOCKS);
        let client = received(sender).map_err(|error| failed(address, &error))?;
        let server = opened(address, Ingest::new(client).longest(longest))?;
        Ok(Listening { address: server.address(), blocks, server: Arc::new(Mutex::new(Some(server))) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn closer(&self) -> Closer {
        Closer(self.server.clone())
    }
}

fn failed(address: &str, error: &RunError) -> Refused {
    (format!("listen: {address}: {error}"), Outcome::InputOrOutputFailed)
}

/// A server of this endpoint.
fn opened(address: &str, ingest: Ingest) -> Result<Server, Refused> {
    let token = secret(TOKEN, SHORTEST_TOKEN).map_err(|why| (why, Outcome::WrongUse))?;
    let limits = Limits { token, ..Limits::default() };
    let routes = Router::new().route("/", post_service(ingest.clone())).route("/ingest", post_service(ingest));
    Server::open_with(address, routes, limits).map_err(|error| refused(&format!("listen: {address}"), &error))
}

/// A client whose blocks go to a channel.
fn received(sender: SyncSender<Block>) -> Result<Client<Block, ()>, RunError> {
    let rings = Rings::new().workers(1).ring(BLOCKS);
    let (reception, arriving) = Reception::<Block, ()>::open(&rings, Some(BLOCKS))?;
    // The receiver is dropped only when the whole run ends.
    let pass = move |_, block: &Block| sender.send(block.clone()).map_err(|_| "the run has ended");
    let relay = rings.start(pipeline::<Block>().from(arrivals::taken(arriving)).to_each(pass))?;
    let client = reception.client(&relay);
    // It ends with the last client, which the server's routes have.
    thread::spawn(move || relay.wait());
    Ok(client)
}

/// A server whose blocks of whole rows go to a journal.
pub(super) struct Posted {
    pub(super) address: SocketAddr,
    /// They are acknowledged by who takes them.
    pub(super) arriving: Poller<Request<Block, ()>>,
    pub(super) ends: PostedEnds,
}

/// What ends [`Posted`] rows.
pub(super) struct PostedEnds {
    server: Closer,
    refuse: Box<dyn Fn() + Send>,
}

impl Posted {
    /// As [`Listening::at`].
    pub(super) fn at(address: &str, longest: usize) -> Result<Self, Refused> {
        let received = Reception::<Block, ()>::open(&Rings::new(), Some(BLOCKS));
        let (reception, arriving) = received.map_err(|error| failed(address, &error))?;
        let server = opened(address, Ingest::new(reception.client_of_source()).longest(longest).durable())?;
        let (address, closer) = (server.address(), Source::closer(&arriving));
        let refuse = Box::new(move || closer.iter().for_each(|closer| closer.close()));
        let server = Closer(Arc::new(Mutex::new(Some(server))));
        Ok(Posted { address, arriving, ends: PostedEnds { server, refuse } })
    }
}

impl PostedEnds {
    /// What ends them once everything that was accepted has come.
    pub(super) fn closer(&self) -> Closer {
        self.server.clone()
    }

    /// Takes no row any more, and frees the address. What was taken still comes.
    pub(super) fn cut_off(&self) {
        (self.refuse)();
        self.server.take().map(|server| server.close(HANDS_OVER_WITHIN));
    }
}

impl Iterator for Listening {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        self.blocks.recv().ok()
    }
}

impl Closer {
    fn take(&self) -> Option<Server> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Accepts no connection any more. Returns at once.
    pub(super) fn close(&self) {
        let server = self.take();
        // Requests under way wait for the pipeline, which goes on meanwhile.
        thread::spawn(move || server.map(|server| server.close(GRACE)));
    }
}
