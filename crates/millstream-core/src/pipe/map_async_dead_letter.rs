use super::dead_letter::{DeadLetter, DeadLetters, FailedItem, Fault, Outcome, SuccessLane};
use super::{GiveFault, Settle, combinator};
use crate::blocking::block_on;
use crate::failure::{Cause, Finished, caught, finish};
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Either, Item, Shape, ToOwnedItem};
use std::future::{Future, poll_fn};
use std::task::Poll;
use std::{marker::PhantomData, pin::pin, sync::Arc};

/// An async function that can fail, applied to every value, and the receiver of its failures.
///
/// The stage writes one ring, as [`TryMapOrDeadLetter`](crate::pipe::TryMapOrDeadLetter) does.
pub struct TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G> {
    /// The most futures in flight; at least 1.
    pub limit: usize,
    /// The receiver of the failures.
    pub letters: DeadLetters<A, E, G>,
    f: Arc<F>,
    output: PhantomData<fn() -> (Fut, B)>,
}
combinator!(TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, F, Fut, B, E, G> Clone for TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G> {
    fn clone(&self) -> Self {
        TryMapAsyncOrDeadLetter {
            limit: self.limit,
            letters: self.letters.clone(),
            f: self.f.clone(),
            output: PhantomData,
        }
    }
}

impl<A, F, Fut, B, E, G> TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G> {
    pub(crate) fn new(limit: usize, f: F, letters: DeadLetters<A, E, G>) -> Self {
        assert!(limit >= 1, "try_map_async_or_dead_letter(0, ..): at least one future must be allowed at a time");
        TryMapAsyncOrDeadLetter { limit, letters, f: Arc::new(f), output: PhantomData }
    }
}

impl<A: ToOwnedItem, F, Fut, B: Item, E: Cause + Item, G> TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut,
    Fut: Future<Output = Result<B, E>> + Send,
{
    /// Calls the function. The future of the outcome keeps a copy of the value, for a dead letter.
    pub fn outcome(
        &self,
        value: A::Ref<'_>,
    ) -> impl Future<Output = Outcome<A, B, E>> + Send + use<A, F, Fut, B, E, G> {
        let (input, future) = (A::to_owned_item(value), caught(|| (self.f)(value)));
        async move {
            let finished = match future {
                Ok(future) => caught_async(future).await,
                Err(payload) => Err(payload),
            };
            match Fault::of(finished) {
                Ok(output) => {
                    drop(input); // not while the output is returned, which a panic would leak (rust-lang/rust#47949)
                    Either::Right(output)
                }
                Err(fault) => Either::Left(Box::new(FailedItem { input, fault })),
            }
        }
    }

    /// The outcome of one value. Waits for it on this thread.
    pub fn wait_for(&self, value: A::Ref<'_>) -> Outcome<A, B, E> {
        block_on(self.outcome(value))
    }
}

/// The result of a future, or its panic.
async fn caught_async<R>(future: impl Future<Output = R>) -> Finished<R> {
    let mut future = pin!(Some(future));
    let finished = poll_fn(|cx| {
        let future = future.as_mut().as_pin_mut().expect("it is polled until it is finished");
        match caught(|| future.poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    })
    .await;
    future.set(None); // as above: the user's drop may panic
    finished
}

/// The failure of a value has its own lane.
impl<I: Item, B: Item, E: Item> Settle<Either<Box<FailedItem<I, E>>, B>> for GiveFault {
    type Value = Either<Box<FailedItem<I, E>>, B>;
    type Density<D: Density> = D;
    const NAME: &'static str = "try_map_async_or_dead_letter";

    fn is_error(outcome: &Self::Value) -> bool {
        matches!(outcome, Either::Left(_))
    }

    fn settle(&self, outcome: Finished<Self::Value>) -> Option<Self::Value> {
        Some(finish(outcome))
    }
}

impl<A: ToOwnedItem, F, Fut, B: Item, E: Cause + Item, G> Arrow for TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<B, E>> + Send + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    type In = A;
    type Out = SuccessLane<A, B, E>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Self::Out::BYTES, A::Density::DENSE, input.filled());
        let name = <GiveFault as Settle<Outcome<A, B, E>>>::NAME;
        let kind = StageKind { name, state: None, slot_bytes, dense, fills };
        plan.named(&self.letters.name, |plan| plan.single_stage(&input, kind))
    }
}
