use super::scan_kernel::ScanKernel;
use crate::failure::fail;
use crate::model::{ModelSlots, by_key};
use crate::plan::Filled;
use crate::{AtEnd, Bound, Item, SequenceNumber, Shape};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// One value at END, with the answer of every key.
pub struct FoldBy<A, K, S, F, G, H, B> {
    /// The most keys.
    pub most: usize,
    /// The key of a value.
    pub key: F,
    /// The state of a key before its first value.
    pub state: S,
    /// Folds a value into its key's state.
    pub f: G,
    /// Makes a key's answer of its state at END.
    pub finish: Arc<H>,
    shape: Phantom<A, K, B>,
}

type Phantom<A, K, B> = PhantomData<fn() -> (A, K, B)>;

impl<A, K, S, F, G, H, B> FoldBy<A, K, S, F, G, H, B> {
    pub(crate) fn new(most: usize, key: F, state: S, f: G, finish: H) -> Self {
        FoldBy { most, key, state, f, finish: Arc::new(finish), shape: PhantomData }
    }
}

impl<A: Shape, K, S, F, G, H, B: Item> ScanKernel for FoldBy<A, K, S, F, G, H, B>
where
    K: Item + Ord + Clone,
    S: Item + Clone,
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    G: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    H: Fn(S) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Vec<(K, B)>;
    type Density = AtEnd;
    type State = BTreeMap<K, S>;
    const NAME: &'static str = "fold_by";
    const STATE_BYTES: Option<fn(&BTreeMap<K, S>) -> usize> = Some(|states| states.len() * size_of::<(K, S)>());

    fn start(&self) -> BTreeMap<K, S> {
        BTreeMap::new()
    }

    #[inline]
    fn step(
        &self,
        states: &mut BTreeMap<K, S>,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<Vec<(K, B)>> {
        if let Some(value) = slot {
            let key = (self.key)(value);
            if states.len() == self.most && !states.contains_key(&key) {
                fail(Bound::refuse(self.most).refusal());
            }
            (self.f)(states.entry(key).or_insert_with(|| self.state.clone()), value);
        }
        end.then(|| std::mem::take(states).into_iter().map(|(key, state)| (key, (self.finish)(state))).collect())
    }

    fn fills(_: Filled) -> Filled {
        Filled::END
    }

    fn keys(&self) -> Option<usize> {
        Some(self.most)
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Vec<(K, B)>>> {
        let answer = |values: Vec<A::Ref<'_>>| {
            let mut state = self.state.clone();
            values.into_iter().for_each(|value| (self.f)(&mut state, value));
            (self.finish)(state)
        };
        slots.at_end(|values| {
            let keys = by_key::<A, K>(values, self.most, &self.key).into_iter();
            Some(keys.map(|(key, values)| (key, answer(values))).collect())
        })
    }
}
super::debug!(FoldBy<A, K, S, F, G, H, B>);
