//! Clients as services of the tower crates, for their layers: limits, timeouts, load shedding.

use super::{CallError, Client};
use millstream_core::Item;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A client in a stack of layers. It is always ready: a call waits for room in the service's ring.
impl<Q: Item, A: Item> tower_service::Service<Q> for Client<Q, A> {
    type Response = A;
    type Error = CallError;
    type Future = Pin<Box<dyn Future<Output = Result<A, CallError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let client = self.clone();
        Box::pin(async move { Client::call(&client, request).await })
    }
}
