//! Stages that keep a state for every key.

use super::dead_letter::tried;
use super::{Extent, Model, ModelShape, SlotOf, Slots, column};
use crate::failure::fail;
use crate::keys::Key;
use crate::pipe::{DeadLetter, FallibleStep, KeyFn, Outcome, ShardBy, TryMapOrPark, TryScanOrPark};
use crate::{Arrow, Bound, Cause, Deploy, Item, ToOwnedItem};
use std::collections::{BTreeMap, HashMap};

/// The life of each slot's key. A key's first value begins a life, and so does its first value after it was
/// forgotten.
fn lives<K: Key>(bound: Bound, keys: impl Iterator<Item = Option<K>>) -> Vec<Option<usize>> {
    // The known keys: the slot in which each was seen last, and its life.
    let mut known: HashMap<K, (usize, usize)> = HashMap::new();
    // The same keys by that slot, the least recently seen first.
    let mut seen: BTreeMap<usize, K> = BTreeMap::new();
    let mut begun = 0;
    let life = |(n, key): (usize, Option<K>)| {
        let key = key?;
        let life = match known.get(&key) {
            Some((last, life)) => {
                seen.remove(last);
                *life
            }
            None if known.len() == bound.most() && !bound.forgets() => fail(bound.refusal()),
            None => {
                if known.len() == bound.most() {
                    let (_, oldest) = seen.pop_first().expect("the bound is at least 1");
                    known.remove(&oldest);
                }
                begun += 1;
                begun - 1
            }
        };
        known.insert(key.clone(), (n, life));
        seen.insert(n, key);
        Some(life)
    };
    keys.enumerate().map(life).collect()
}

/// Runs the body once for each life, on the slots of that life's values and END. Each output slot is that of its own
/// life. END is empty for all lives but the one of END's own value.
impl<A: ModelShape, F: KeyFn<A>, P> Deploy<Model> for ShardBy<A, F, P>
where
    P: Deploy<Model> + Arrow<In = A, Out: ModelShape>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <P::Out as super::On<Model>>::Edge {
        let slots = A::slots(&input);
        let of = lives(self.bound, (0..slots).map(|n| A::at(&input, n).map(|value| self.key.key(value))));
        // The slots of each life. Without any value there is still one life.
        let mut own = vec![Vec::new(); of.iter().flatten().max().map_or(1, |last| last + 1)];
        let place = |(n, life): (usize, &Option<usize>)| {
            let edge = (*life)?;
            own[edge].push(n);
            Some(SlotOf { edge, slot: own[edge].len() - 1 })
        };
        let places: Vec<Option<SlotOf>> = of.iter().enumerate().map(place).collect();
        let output = |own: &Vec<usize>| {
            let end = extent.has_end().then(|| slots - 1).filter(|end| own.last() != Some(end));
            let values = own.iter().map(|slot| Some(SlotOf { edge: 0, slot: *slot }));
            let picked: Vec<_> = values.chain(end.map(|_| None)).collect();
            let list = A::gathered(std::slice::from_ref(&input), &picked);
            self.body.deploy(list, &mut extent.picked(own.iter().copied().chain(end)))
        };
        let outputs: Vec<_> = own.iter().map(output).collect();
        P::Out::gathered(&outputs, &places)
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
        let (mut parked, mut slots) = (Default::default(), 0..);
        let judged = column::<A, _>(&input, extent, |a, _| {
            let number = slots.next().map(|slot| extent.number(slot))?;
            Some(self.judge(&mut parked, number, a?))
        });
        self.letters().deliver_all(&judged, extent);
        judged
    }
}

/// The same, with the state of the last value that did not fail.
impl<A: ModelShape + ToOwnedItem, K: Key, L, T: FallibleStep<A>, G> Deploy<Model>
    for TryScanOrPark<A, K, L, T, T::Error, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Outcome<A, T::Out, T::Error>> {
        let (mut parked, mut state, mut slots) = (Default::default(), self.step.start(), 0..);
        let judged = column::<A, _>(&input, extent, |a, _| {
            let (number, a) = (slots.next().map(|slot| extent.number(slot))?, a?);
            let judge = || tried(&self.letters, &*self.step, &mut state, a);
            Some(self.keys.judge::<A, _, _>(&mut parked, number, a, judge))
        });
        self.letters.deliver_all(&judged, extent);
        judged
    }
}
