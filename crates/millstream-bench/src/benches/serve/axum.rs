//! The rivals: what one writes with axum alone. The handlers do what the stages of `millstream serve` do, by the same
//! functions, one after the other, with the ledger in a `Mutex`.

#[path = "../../../../millstream-cli/src/command/serve/ledger.rs"]
mod ledger;
#[path = "../../../../millstream-cli/src/command/serve/steps.rs"]
mod steps;

use crate::failure::Failure;
use futures_util::StreamExt;
use ledger::Ledger;
use millstream_net::http::axum::Router;
use millstream_net::http::axum::body::{Body, Bytes};
use millstream_net::http::axum::http::StatusCode;
use millstream_net::http::axum::response::{IntoResponse, Response};
use millstream_net::http::axum::routing::{get, post};
use millstream_net::http::axum::serve::ListenerExt;
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use steps::{Request, Verb};
use tokio::sync::oneshot;

/// What `millstream serve` allows by default.
const ACCOUNTS: u64 = 100_000;
const ANSWERS: usize = 16_384;

/// A journal whose records that come while others are synced are synced together.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The records that are not written yet, and who waits for them.
    waiting: Mutex<(Vec<u8>, Vec<oneshot::Sender<()>>)>,
    more: Condvar,
}

/// Begins a journal in this file.
pub(super) fn journal(file: &Path) -> Result<Arc<Journal>, Failure> {
    let cannot = || Failure::io(file.display().to_string());
    let mut file = File::create(file).map_err(cannot())?;
    let journal = Arc::new(Journal::default());
    let written = journal.clone();
    let write = move || {
        loop {
            let (records, callers) = written.next();
            if file.write_all(&records).and_then(|()| file.sync_data()).is_err() {
                return;
            }
            callers.into_iter().for_each(|caller| _ = caller.send(()));
        }
    };
    std::thread::Builder::new().name("journal".to_owned()).spawn(write).map_err(cannot())?;
    Ok(journal)
}

impl Journal {
    /// Waits for records, and takes them all.
    fn next(&self) -> (Vec<u8>, Vec<oneshot::Sender<()>>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |waiting: &mut (Vec<u8>, Vec<_>)| waiting.1.is_empty();
        std::mem::take(&mut *self.more.wait_while(waiting, none).unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends a record. It is durable when something comes.
    fn append(&self, request: &Request) -> oneshot::Receiver<()> {
        let (done, durable) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.0.extend((request.body.len() as u32).to_le_bytes());
        waiting.0.extend(&request.body);
        waiting.1.push(done);
        self.more.notify_one();
        durable
    }
}

struct Service {
    ledger: Mutex<Ledger>,
    journal: Option<Arc<Journal>>,
}

impl Service {
    async fn respond(&self, verb: Verb, body: Bytes) -> Response {
        let request = Request { verb, id: None, body: body.to_vec() };
        let command = steps::read(&request).and_then(|asked| steps::parse(&asked));
        let command = command.and_then(|command| steps::validate(&command));
        let (answer, durable) = match command {
            Ok(command) => {
                let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                // In the order in which they are done.
                let durable = self.journal.as_ref().map(|journal| journal.append(&request));
                (ledger.apply(&command), durable)
            }
            Err(wrong) => (wrong, None),
        };
        if let Some(durable) = durable
            && durable.await.is_err()
        {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        let reply = steps::serialise(&steps::respond(&answer));
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, [("content-type", "application/json")], reply.body).into_response()
    }
}

/// The ledger, with a journal or without one.
pub(super) fn ledger(journal: Option<Arc<Journal>>) -> Router {
    let service = Arc::new(Service { ledger: Mutex::new(Ledger::new(ACCOUNTS, ANSWERS)), journal });
    let handler = |verb: Verb| {
        let service = service.clone();
        move |body: Bytes| {
            let service = service.clone();
            async move { service.respond(verb, body).await }
        }
    };
    Router::new()
        .route("/deposit", post(handler(Verb::Deposit)))
        .route("/withdraw", post(handler(Verb::Withdraw)))
        .route("/transfer", post(handler(Verb::Transfer)))
        .route("/audit", get(handler(Verb::Audit)))
}

/// A server that reads what is posted, and throws it away.
pub(super) fn discarding() -> Router {
    let discard = |body: Body| async move {
        let (mut pieces, mut bytes) = (body.into_data_stream(), 0);
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(piece) => bytes += piece.len(),
                Err(_) => return (StatusCode::BAD_REQUEST, String::new()),
            }
        }
        (StatusCode::OK, format!("{bytes}\n"))
    };
    Router::new().route("/ingest", post(discard))
}

/// Serves until the process is killed.
pub(super) fn serve(routes: Router, listening: impl FnOnce(SocketAddr)) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::io("tokio"))?;
    let serving = async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        listening(listener.local_addr()?);
        let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
        millstream_net::http::axum::serve(listener, routes).await
    };
    runtime.block_on(serving).map_err(Failure::io("axum"))
}
