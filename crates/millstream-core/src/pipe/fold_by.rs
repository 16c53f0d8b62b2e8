use super::scan_kernel::ScanKernel;
use crate::keys::KeyStates;
use crate::model::{ModelSlots, by_key};
use crate::pipe::Key;
use crate::plan::Filled;
use crate::{AtEnd, Item, SequenceNumber, Shape};
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
    K: Key + Ord,
    S: Item + Clone,
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    G: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    H: Fn(S) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Vec<(K, B)>;
    type Density = AtEnd;
    type State = KeyStates<K, S>;
    const NAME: &'static str = "fold_by";
    const STATE_BYTES: Option<fn(&KeyStates<K, S>) -> usize> = Some(KeyStates::bytes);

    fn start(&self) -> KeyStates<K, S> {
        KeyStates::default()
    }

    #[inline]
    fn step(
        &self,
        states: &mut KeyStates<K, S>,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<Vec<(K, B)>> {
        if let Some(value) = slot {
            (self.f)(states.of((self.key)(value), self.most, || self.state.clone()), value);
        }
        end.then(|| {
            let states = std::mem::take(states).into_sorted().into_iter();
            states.map(|(key, state)| (key, (self.finish)(state))).collect()
        })
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
