//! Failures, through a queue of their own.

use super::Owning;
use crate::Queues;
use crate::queues::keyed::{Kept, stateful_stage};
use crate::queues::message::At;
use crate::queues::{Queue, QueueShape, QueuesWiring};
use millstream_core::pipe::{
    Boxed, DeadLetter, DeadLetters, FallibleStep, Outcome, TryMapOrDeadLetter, TryScanOrDeadLetter, TryScanRetry,
};
use millstream_core::{Cause, Deploy, Either, Item};

/// Failures go to a thread of their own. In a shard every copy has one; then only the failures of one copy are in the
/// order of their numbers.
impl<A: QueueShape, F, B: Item + Clone, E: Cause + Item, G> Deploy<Queues> for TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let judge = self.clone();
        in_queues(input, &self.letters, wiring, move |_, value| Some(judge.judge(A::lend(value?))))
    }
}

impl<A: QueueShape, T: FallibleStep<A, Out: Clone>, G> Deploy<Queues> for TryScanOrDeadLetter<A, T, T::Error, G>
where
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<T::Out> {
        let judge = self.clone();
        let mut kept = Kept::new(self.step.start(), wiring);
        in_queues(input, &self.letters, wiring, move |at, value| Some(judge.judge(kept.at(at)?, A::lend(value?))))
    }
}

impl<A: QueueShape, T: FallibleStep<A, Out: Clone>> Deploy<Queues> for TryScanRetry<A, T> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<T::Out> {
        let (judge, pauses) = (self.clone(), wiring.pauses());
        stateful_stage::<A, T::State, T::Out>(input, wiring, self.step.start(), move |state, value, _| {
            Some(judge.judge(state, value?, |outcome| outcome, |time| pauses.wait(time)))
        })
    }
}

/// The values' queue, with a thread that receives the failures from another queue.
pub(super) fn in_queues<A: QueueShape, B: Item + Clone, E: Item, G>(
    input: Owning<A>,
    letters: &DeadLetters<A, E, G>,
    wiring: &mut QueuesWiring,
    mut judge: impl FnMut(At, Option<&A::Owned>) -> Option<Outcome<A, B, E>> + Send + 'static,
) -> Queue<B>
where
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    let ((outlet, output), (dead, failures)) = (wiring.queue::<B>(), wiring.queue::<Boxed<A, E>>());
    wiring.stage(input, move |input, activity| {
        while let Some(message) = input.take(activity) {
            let at = message.at();
            let (failure, value) = match judge(at, message.into_value().as_ref()) {
                None => (None, None),
                Some(Either::Left(failure)) => (Some(failure), None),
                Some(Either::Right(value)) => (None, Some(value)),
            };
            let sent = (failure.is_none() && !at.end) || dead.put(at, failure);
            if !(sent && outlet.put(at, value)) {
                return;
            }
        }
    });
    let deliver = letters.of_planned(wiring.name());
    let name = format!("{}.dead-letters", deliver.name);
    wiring.side_output().working(&name, failures, move |failures: &mut Queue<_>, activity| {
        while let Some(message) = failures.take(activity) {
            let number = message.at().number.into();
            if let Some(failure) = message.into_value() {
                deliver.deliver(number, &failure);
            }
        }
    });
    output
}
