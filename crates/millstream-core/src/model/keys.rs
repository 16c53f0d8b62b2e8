//! Stages that keep a state for every key.

use super::{Extent, Model, ModelShape, Slots, column};
use crate::failure::fail;
use crate::pipe::{DeadLetter, Key, Outcome, ShardBy, TryMapOrPark};
use crate::{Arrow, Bound, Cause, Deploy, Item, ToOwnedItem};

/// The life of each number's key. A key's first value begins a life, and so does its first value after it was
/// forgotten.
fn lives<K: Eq>(bound: Bound, keys: impl Iterator<Item = Option<K>>) -> Vec<Option<usize>> {
    // The known keys, the least recently seen first.
    let mut known: Vec<(K, usize)> = Vec::new();
    let mut begun = 0;
    keys.map(|key| {
        let key = key?;
        let life = match known.iter().position(|(other, _)| *other == key) {
            Some(place) => known.remove(place).1,
            None if known.len() == bound.most() && !bound.forgets() => fail(bound.refusal()),
            None => {
                known.drain(..(known.len() + 1).saturating_sub(bound.most()));
                begun += 1;
                begun - 1
            }
        };
        known.push((key, life));
        Some(life)
    })
    .collect()
}

/// Runs the body once for each life, on that life's values alone. Each output slot is that of its own life.
impl<A: ModelShape, K: Key, F, P> Deploy<Model> for ShardBy<A, K, F, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    P: Deploy<Model> + Arrow<In = A, Out: ModelShape>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <P::Out as super::On<Model>>::Edge {
        let slots = 0..A::slots(&input);
        let lives = lives(self.bound, slots.map(|n| A::at(&input, n).map(|value| (self.key)(value))));
        let count = lives.iter().flatten().max().map_or(0, |last| last + 1);
        let outputs: Vec<_> = (0..count)
            .map(|life| {
                let own: Vec<_> = lives.iter().map(|of| of.filter(|of| *of == life).map(|_| 0)).collect();
                self.body.deploy(A::gathered(std::slice::from_ref(&input), &own), extent)
            })
            .collect();
        P::Out::gathered(&outputs, &lives)
    }
}

/// Each value is tried, unless an earlier one of its key has failed.
impl<A: ModelShape + ToOwnedItem, K: Key, L, F, B: Item, E: Cause + Item, G> Deploy<Model>
    for TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Outcome<A, B, E>> {
        let (mut parked, mut number) = (Default::default(), 0_u64);
        let judged = column::<A, _>(&input, *extent, |a, _| {
            number += 1;
            Some(self.judge(&mut parked, (number - 1).into(), a?))
        });
        self.letters.deliver_all(&judged, *extent);
        judged
    }
}
