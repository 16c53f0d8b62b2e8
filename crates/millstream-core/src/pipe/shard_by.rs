mod key_router;
mod states;

use super::{KeyFn, combinator};
use crate::keys::{Bound, FreeSlots, KeySlot, KeySlots, PlaceTable};
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Shape, Sparse, Val};
use std::{marker::PhantomData, sync::Arc};

/// A body with a state of its own for every key, each of its stages run by several tasklets.
pub struct ShardBy<A, F, P> {
    /// The number of tasklets; at least 1.
    pub k: usize,
    /// The bound on the keys at once.
    pub bound: Bound,
    /// The key of a value, shared by every deployment.
    pub key: Arc<F>,
    /// The body.
    pub body: P,
    shape: PhantomData<fn() -> A>,
}
combinator!(ShardBy<A, F, P>: ; through P: KeepsClock Quiet Determinate);

impl<A: Shape, F: KeyFn<A>, P: Arrow> ShardBy<A, F, P> {
    pub(crate) fn new(bound: Bound, key: F, k: usize, body: P) -> Self {
        assert!(k >= 1, "a shard by key needs at least one tasklet: `k` is 0");
        let bound = bound.with_bytes_of_key(|| KeySlots::<F::Key>::BYTES_OF_KEY + Describe::bytes_of_states(&body));
        ShardBy { k, bound, key: Arc::new(key), body, shape: PhantomData }
    }
}

impl<A: Shape, F: KeyFn<A>, P: Arrow<In = A>> Arrow for ShardBy<A, F, P> {
    type In = A;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, fills) = (Val::<KeySlot, Sparse>::BYTES, input.filled());
        let state = Some(StateType::of_keys::<F::Key>());
        let keys = StageKind { name: "key", state, slot_bytes, dense: false, fills };
        plan.shard_by(&input, keys, self.k, self.bound.most(), |plan| self.body.describe(input.clone(), plan))
    }
}

/// Assigns every number the key slot of its key: the work of a deployment upstream of the body of a
/// [`ShardBy`](crate::pipe::ShardBy).
#[derive(Clone, Debug)]
pub struct KeyRouter<K> {
    bound: Bound,
    lanes: usize,
    places: FreeSlots,
    /// The number of keys with a key slot.
    keys: usize,
    key_slots: Sets<K>,
}

/// Key slots.
#[derive(Clone, Debug)]
enum Sets<K> {
    One(KeySlots<K>),
    /// Inside another `shard_by` a set for each key slot of that one, by lane and place.
    Each(Vec<PlaceTable<KeySlots<K>>>),
}

/// The states of the keys of one lane, by place.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "S: serde::Deserialize<'de> + Clone")))]
pub struct States<S> {
    start: S,
    at: PlaceTable<S>,
}
