//! Families of stages. Each kernel says beside its step what it means, as a function of all slots or all values.

use super::clock::{renumbered, values};
use super::{Extent, Model, ModelShape, On, Slots, column};
use crate::failure::fail;
use crate::keys::TooManyKeys;
use crate::pipe::{
    Annotate, ExpandKernel, FallibleStep, FilterBy, FilterKernel, OwnedBy, OwnedKernel, Renumber, ScanBy, ScanKernel,
    TryScanRetry, after,
};
use crate::{Deploy, Filtered, SequenceNumber, Shape, ToOwnedItem};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The slots of a kernel's input, as its definition reads them; the last one is END.
///
/// They are those of the whole stream, or, in a [`shard_by`](crate::KeysExt::shard_by), those of one key's values and
/// END. A kernel that needs a slot's number therefore does not count slots: see
/// [`map_numbered`](ModelSlots::map_numbered).
pub struct ModelSlots<'a, A: Shape> {
    slots: Vec<Option<A::Ref<'a>>>,
    extent: Extent,
}

impl<'a, A: Shape> ModelSlots<'a, A> {
    /// One output for each slot, in order. `f` receives the slot, and whether it is END.
    pub fn map<B>(self, mut f: impl FnMut(Option<A::Ref<'a>>, bool) -> Option<B>) -> Vec<Option<B>> {
        self.map_numbered(|_, slot, end| f(slot, end))
    }

    /// As [`map`](ModelSlots::map), for a kernel that reads numbers. `f` receives the number of the slot first.
    pub fn map_numbered<B>(
        self,
        mut f: impl FnMut(SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B>,
    ) -> Vec<Option<B>> {
        let (slots, extent) = (self.slots.len(), self.extent);
        let at = |(n, slot)| f(extent.number(n), slot, extent.has_end() && n + 1 == slots);
        self.slots.into_iter().enumerate().map(at).collect()
    }

    /// The answer to all values in END's slot, and empty slots below it.
    pub fn at_end<B>(self, answer: impl FnOnce(Vec<A::Ref<'a>>) -> Option<B>) -> Vec<Option<B>> {
        let mut outputs: Vec<Option<B>> = self.slots.iter().map(|_| None).collect();
        if self.extent.has_end() {
            *outputs.last_mut().expect("END is a slot") = answer(self.slots.into_iter().flatten().collect());
        }
        outputs
    }
}

impl<A: Shape> std::fmt::Debug for ModelSlots<'_, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelSlots").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

/// The values of each key, in the order of the keys. More than `most` keys fail.
pub(crate) fn by_key<'a, A: Shape, K: Ord>(
    values: Vec<A::Ref<'a>>,
    most: usize,
    key: impl Fn(A::Ref<'a>) -> K,
) -> BTreeMap<K, Vec<A::Ref<'a>>> {
    let mut of = BTreeMap::<K, Vec<_>>::new();
    for value in values {
        of.entry(key(value)).or_default().push(value);
    }
    if of.len() > most {
        fail(TooManyKeys::kept_until_end(most));
    }
    of
}

fn scanned<M: ScanKernel<In: ModelShape>>(
    kernel: &M,
    input: &<M::In as On<Model>>::Edge,
    extent: &Extent,
) -> Slots<M::Out> {
    let slots: Vec<_> = (0..M::In::slots(input)).map(|n| M::In::at(input, n)).collect();
    let below = slots.len() - usize::from(extent.has_end());
    let empty: Vec<usize> = (0..below).filter(|n| slots[*n].is_none()).collect();
    let (name, length) = (M::NAME, slots.len());
    let outputs = kernel.model(ModelSlots { slots, extent: extent.clone() });
    let given = outputs.len();
    assert!(given == length, "`{name}`: `model` must return an output for each slot: {given} for {length} slots");
    if let Some(n) = empty.into_iter().find(|n| outputs[*n].is_some()) {
        panic!("`{name}`: `model` fills slot {n}, where the input is empty: only END's slot may be");
    }
    Arc::new(outputs.into_iter().map(|output| output.map(Arc::new)).collect())
}

impl<M: ScanKernel<In: ModelShape>> Deploy<Model> for ScanBy<M> {
    fn deploy(&self, input: <M::In as On<Model>>::Edge, extent: &mut Extent) -> Slots<M::Out> {
        scanned(&*self.kernel, &input, extent)
    }
}

impl<M: ScanKernel<In: ModelShape>> Deploy<Model> for Annotate<M> {
    fn deploy(
        &self,
        input: <M::In as On<Model>>::Edge,
        extent: &mut Extent,
    ) -> (Slots<M::Out>, <M::In as On<Model>>::Edge) {
        (scanned(&*self.kernel, &input, extent), input)
    }
}

impl<K: FilterKernel<In: ModelShape>> Deploy<Model> for FilterBy<K> {
    fn deploy(&self, input: <K::In as On<Model>>::Edge, _: &mut Extent) -> <Filtered<K::In> as On<Model>>::Edge {
        let values: Vec<_> = values::<K::In>(&input).collect();
        let length = values.len();
        let kept = self.kernel.model(values);
        let (name, given) = (K::NAME, kept.len());
        assert!(given == length, "`{name}`: `model` must return a bool for each value: {given} for {length} values");
        let mut kept = kept.into_iter();
        let keeps = |n| K::In::at(&input, n).is_some() && kept.next() == Some(true);
        let mask = (0..K::In::slots(&input)).map(keeps).collect();
        (input, Arc::new(mask))
    }

    /// The stream ends after the value that is the last one kept, or at the value that is refused.
    fn deploy_outer(
        &self,
        input: <K::In as On<Model>>::Edge,
        extent: &mut Extent,
    ) -> <Filtered<K::In> as On<Model>>::Edge {
        let (edge, mask) = self.deploy(input, extent);
        let over = || self.kernel.model_over(values::<K::In>(&edge).collect());
        let Some(over) = K::ENDS.then(over).flatten() else {
            return (edge, mask);
        };
        let last =
            over.checked_sub(1).and_then(|over| (0..mask.len()).filter(|n| K::In::at(&edge, *n).is_some()).nth(over));
        let end = last.map_or(0, |last| last + usize::from(mask[last]));
        if end + 1 >= mask.len() {
            return (edge, mask);
        }
        let mask = mask[..end].iter().copied().chain([false]).collect();
        (edge, Arc::new(mask))
    }
}

/// Every output, and an empty END after the last one.
impl<E: ExpandKernel<In: ModelShape>> Deploy<Model> for Renumber<E> {
    fn deploy(&self, input: <E::In as On<Model>>::Edge, extent: &mut Extent) -> Slots<E::Item> {
        let outputs = self.expand.model(values::<E::In>(&input).collect(), extent.has_end());
        renumbered(outputs.into_iter(), extent)
    }
}

/// A function of one value is its own definition.
impl<K: OwnedKernel<In: ModelShape>> Deploy<Model> for OwnedBy<K> {
    fn deploy(&self, input: <K::In as On<Model>>::Edge, extent: &mut Extent) -> Slots<K::Out> {
        column::<K::In, _>(&input, extent, |a, _| Some(self.kernel.apply(K::In::to_owned_item(a?))))
    }
}

/// A try that fails changes no state. The model does not sleep between retries.
impl<A: ModelShape, T: FallibleStep<A>> Deploy<Model> for TryScanRetry<A, T> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<T::Out> {
        let mut state = self.step.start();
        column::<A, T::Out>(&input, extent, |a, _| {
            let a = a?;
            let (next, output) = self.retry.run(|| after::<A, T>(&*self.step, &state, a), |_| ());
            state = next;
            Some(output)
        })
    }
}
