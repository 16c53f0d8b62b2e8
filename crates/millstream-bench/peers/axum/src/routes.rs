//! The rivals: what one writes with axum alone. The handlers do what the stages of `millstream serve` do, by the same
//! functions, one after the other, with the ledger in a `Mutex`.

use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::steps::{self, Request, Verb};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use std::sync::{Arc, Mutex, PoisonError};

/// What `millstream serve` allows by default.
const ACCOUNTS: u64 = 100_000;
const ANSWERS: usize = 16_384;

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
                // The lock is held, so the journal has the requests in the order in which the ledger applies them.
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
pub(crate) fn ledger(journal: Option<Arc<Journal>>) -> Router {
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
pub(crate) fn discarding() -> Router {
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
