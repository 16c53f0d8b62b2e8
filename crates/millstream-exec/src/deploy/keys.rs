//! `shard_by` on rings: one stage before the body looks each key up, and the body's stages index their states.
//!
//! That stage calls the key function, keeps the table of keys ([`KeyRouter`]), and writes the *key slot* ([`KeySlot`],
//! 8 bytes) of each number to a ring of its own: the lane, which is the tasklet that works on the key; the place of the
//! key's state among that lane's states; and whether the state begins here. So the table is looked up once per number,
//! whatever the body is. The body's stages do not know the type of the keys and hash nothing. Each stage of the body is
//! one of:
//!
//! - without a state: run writers, as in `shard`;
//! - with a state: k keyed writers (`keyed_stage.rs`, `ring/keyed_writers.rs`), each with the states of its lane;
//! - a `feedback`: it keeps a state for each key in the tasklet that closes the loop;
//! - a `shard_by`: it has a key slot for each pair of an outer and an inner key.
//!
//! The bound on keys is checked by that one stage, in the order of the numbers, so it does not depend on k. A key for
//! which another one is forgotten gets its lane and its place, with `fresh` set, which tells every stage to reset the
//! state. The hash, 64-bit FNV-1a over little-endian bytes, decides the lane of other keys and nothing else, so no
//! output depends on it.

use super::dead_letter::{counted, in_lanes};
use crate::keeps::{Keeps, RingBackend};
use crate::keyed_stage::{Keyed, keyed_stage, stateful_stage};
use crate::stage::{EndSlot, stage};
use crate::wiring::Home;
use crate::{RingShape, Wiring};
use millstream_core::keys::KeySlot;
use millstream_core::pipe::{
    DeadLetter, FallibleStep, Key, KeyFn, KeyRouter, Outcome, Parked, ShardBy, SuccessLane, TryMapOrPark,
    TryScanOrPark, WithParked,
};
use millstream_core::plan::Branch;
use millstream_core::{Arrow, Cause, Deploy, Item, On, Sparse, ToOwnedItem, Val};
use millstream_ring::{Reader, RingLayout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl<R: Keeps<F::Key>, A: RingShape<R>, F: KeyFn<A>, P> Deploy<RingBackend<R>> for ShardBy<A, F, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = A>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> <P::Out as On<RingBackend<R>>>::Edge {
        let lanes = self.k * wiring.scope.keyed.as_ref().map_or(1, |outer| outer.lanes);
        let key_slots = key_slots::<R, _, _, _>(self, input.fork(), wiring);
        let mut body = wiring.body(Branch::Only);
        body.scope.keyed = Some(Arc::new(Keyed { key_slots, lanes }));
        body.scope.width *= self.k;
        self.body.deploy(input, &mut body)
    }
}

/// Adds the stage that writes every number's key slot.
fn key_slots<R: Keeps<F::Key>, A: RingLayout, F: KeyFn<A>, P>(
    shard: &ShardBy<A, F, P>,
    input: Reader<A>,
    wiring: &mut Wiring,
) -> Reader<Val<KeySlot, Sparse>> {
    let outer = wiring.scope.keyed.as_ref().map(|outer| (outer.key_slots.fork(), outer.lanes));
    let (key, keys) = (shard.key.clone(), Arc::new(AtomicU64::new(0)));
    let router = KeyRouter::new(shard.bound, shard.k, outer.as_ref().map(|(_, lanes)| *lanes));
    let count = keys.clone();
    let key_slot = move |router: &mut KeyRouter<F::Key>, value: Option<A::Ref<'_>>, outer| {
        let key_slot = router.key_slot(outer, value.map(|value| key.find(value)));
        // Not only a new key changes it: a router that goes on from another run has keys, and an outer key that is
        // forgotten takes its own along.
        let keys = router.keys() as u64;
        if count.load(Ordering::Relaxed) != keys {
            count.store(keys, Ordering::Relaxed);
        }
        key_slot
    };
    let (end, home) = (EndSlot::Written, Home::Workers);
    let key_slots = match outer {
        None => stage::<A, KeyRouter<F::Key>, KeySlot, Sparse>(
            input,
            wiring,
            end,
            home,
            (router, R::keys()),
            move |router, _, value, _| key_slot(router, value, None),
        ),
        Some((key_slots, _)) => {
            let f = move |router: &mut _, _, value: Option<A::Ref<'_>>, outer, _| key_slot(router, value, outer);
            keyed_stage::<A, KeyRouter<F::Key>, KeySlot, Sparse>(
                input,
                key_slots,
                wiring,
                (end, home),
                (vec![router], R::keys()),
                f,
            )
        }
    };
    wiring.counts_keys(keys);
    key_slots
}

impl<R: Keeps<K>, A: RingShape<R> + ToOwnedItem, K: Key, L, F, B: Item, E: Cause + Item, G> Deploy<RingBackend<R>>
    for TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<SuccessLane<A, B, E>> {
        let (judge, end, parked) = (self.clone(), EndSlot::of::<A::Density>(), (Parked::default(), R::parked_keys()));
        let calls = wiring.counts_calls();
        let judged = stateful_stage::<A, Parked<K>, Outcome<A, B, E>, A::Density>(
            input,
            wiring,
            end,
            parked,
            move |parked, number, value, _| Some(counted(&calls, judge.judge(parked, number, value?))),
        );
        in_lanes::<A, B, E, G>(judged, self.letters(), wiring)
    }
}

impl<R, A: RingShape<R> + ToOwnedItem, K: Key, L, T: FallibleStep<A>, G> Deploy<RingBackend<R>>
    for TryScanOrPark<A, K, L, T, T::Error, G>
where
    R: Keeps<WithParked<K, T::State>>,
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<SuccessLane<A, T::Out, T::Error>> {
        let (judge, end, start) = (self.clone(), EndSlot::of::<A::Density>(), (self.start(), R::state()));
        let calls = wiring.counts_calls();
        let judged = stateful_stage::<A, _, Outcome<A, T::Out, T::Error>, A::Density>(
            input,
            wiring,
            end,
            start,
            move |state, number, value, _| Some(counted(&calls, judge.judge(state, number, value?))),
        );
        in_lanes::<A, T::Out, T::Error, G>(judged, &self.letters, wiring)
    }
}
