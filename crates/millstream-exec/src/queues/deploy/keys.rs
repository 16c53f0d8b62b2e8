//! Stages that keep a state for every key.

use super::Owning;
use super::dead_letter::in_queues;
use crate::Queues;
use crate::queues::keyed::{Kept, KeySlotReceiver, dealt, gathered};
use crate::queues::message::At;
use crate::queues::{Queue, QueueShape, QueuesWiring};
use millstream_core::keys::KeySlot;
use millstream_core::pipe::{
    DeadLetter, FallibleStep, Key, KeyFn, KeyRouter, Parked, ShardBy, TryMapOrPark, TryScanOrPark,
};
use millstream_core::{Arrow, Cause, Deploy, Item};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl<A: QueueShape, F: KeyFn<A>, P> Deploy<Queues> for ShardBy<A, F, P>
where
    P: Deploy<Queues> + Arrow<In = A, Out: QueueShape>,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<P::Out> {
        let mut outer: Option<KeySlotReceiver> = wiring.scope.key_slots.as_ref().map(|senders| senders.subscribe());
        let (mut router, key) = (KeyRouter::new(self.bound, self.k, outer.as_ref().map(|_| 1)), self.key.clone());
        let keys = Arc::new(AtomicU64::new(0));
        let count = keys.clone();
        let bodies = dealt::<A>(input, self.k, wiring, move |at: At, value| {
            // All keys of a copy are in one lane, whichever lane that is outside.
            let inside = |key_slot| KeySlot { lane: 0, ..key_slot };
            let outer = outer.as_mut().and_then(|outer| {
                outer.upto(at.number, |key_slot| {
                    router.key_slot(Some(inside(key_slot)), None::<F::Found<'_>>);
                })
            });
            let outer = outer.map(|key_slot| KeySlot { fresh: false, ..inside(key_slot) });
            let key_slot = router.key_slot(outer, value.map(|value| key.find(value)));
            count.store(router.keys() as u64, Ordering::Relaxed);
            key_slot
        });
        wiring.counts_keys(keys);
        let body = |(copy, (input, senders))| {
            let mut body = wiring.copy(copy, self.k);
            body.scope.key_slots = Some(senders);
            self.body.deploy(input, &mut body)
        };
        let copies = bodies.inputs.into_iter().enumerate().map(body).collect();
        gathered(copies, bodies.lanes, wiring)
    }
}

impl<A: QueueShape, K: Key, L, F, B: Item + Clone, E: Cause + Item, G> Deploy<Queues>
    for TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let judge = self.clone();
        let mut kept = Kept::new(Parked::default(), wiring);
        in_queues(input, self.letters(), wiring, move |at, value| {
            Some(judge.judge(kept.at(at)?, at.number.into(), A::lend(value?)))
        })
    }
}

impl<A: QueueShape, K: Key, L, T: FallibleStep<A, Out: Clone>, G> Deploy<Queues>
    for TryScanOrPark<A, K, L, T, T::Error, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<T::Out> {
        let judge = self.clone();
        let mut kept = Kept::new(self.start(), wiring);
        in_queues(input, &self.letters, wiring, move |at, value| {
            Some(judge.judge(kept.at(at)?, at.number.into(), A::lend(value?)))
        })
    }
}
