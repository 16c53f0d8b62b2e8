//! Stages that keep a state for every key.

use super::Owning;
use super::dead_letter::in_queues;
use crate::Queues;
use crate::queues::keyed::{Kept, Told, dealt, gathered};
use crate::queues::message::At;
use crate::queues::{Queue, Queued, QueuesWiring};
use millstream_core::keys::Seat;
use millstream_core::pipe::{DeadLetter, Key, Parked, ShardBy, TryMapOrPark, Usher};
use millstream_core::{Arrow, Cause, Deploy, Event};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl<A: Queued, K: Key, F, P> Deploy<Queues> for ShardBy<A, K, F, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    P: Deploy<Queues> + Arrow<In = A, Out: Queued>,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<P::Out> {
        let mut outer: Option<Told> = wiring.seats.as_ref().map(|tellers| tellers.listen());
        let (mut usher, key) = (Usher::new(self.bound, self.k, 1), self.key.clone());
        let keys = Arc::new(AtomicU64::new(0));
        let count = keys.clone();
        let hands = dealt::<A>(input, self.k, wiring, move |at: At, value| {
            // All of a copy's keys are in one lane, whichever that is outside.
            let inside = |seat| Seat { lane: 0, ..seat };
            let outer = outer.as_mut().and_then(|outer| {
                outer.upto(at.number, |seat| {
                    usher.seat(Some(inside(seat)), None::<K>);
                })
            });
            let outer = outer.map(|seat| Seat { fresh: false, ..inside(seat) });
            let seat = usher.seat(outer, value.map(|value| key(value)));
            count.store(usher.keys() as u64, Ordering::Relaxed);
            seat
        });
        wiring.counts_keys(keys);
        let outside = wiring.seats.take();
        let mut copies = hands.hands.into_iter();
        let copies = wiring.copies(self.k, |wiring| {
            let (hand, tellers) = copies.next().expect("as many as were dealt");
            wiring.seats = Some(tellers);
            self.body.deploy(hand, wiring)
        });
        wiring.seats = outside;
        gathered(copies, hands.lanes, wiring)
    }
}

impl<A: Queued, K: Key, L, F, B: Event + Clone, E: Cause + Event, G> Deploy<Queues>
    for TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let judge = self.clone();
        let mut kept = Kept::new(Parked::default(), wiring);
        in_queues(input, &self.letters, wiring, move |at, value| {
            Some(judge.judge(kept.at(at)?, at.number.into(), A::lend(value?)))
        })
    }
}
