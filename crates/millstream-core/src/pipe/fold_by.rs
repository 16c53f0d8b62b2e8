use super::scan_kernel::ScanKernel;
use crate::keys::KeyStates;
use crate::model::{ModelSlots, by_key};
use crate::pipe::KeyFn;
use crate::plan::Filled;
use crate::{AtEnd, Item, SequenceNumber, Shape};
use std::marker::PhantomData;
use std::sync::Arc;

/// One value at END, with the answer of every key.
pub struct FoldBy<A, S, F, G, H, B> {
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
    shape: PhantomData<fn() -> (A, B)>,
}

impl<A, S, F, G, H, B> FoldBy<A, S, F, G, H, B> {
    pub(crate) fn new(most: usize, key: F, state: S, f: G, finish: H) -> Self {
        FoldBy { most, key, state, f, finish: Arc::new(finish), shape: PhantomData }
    }
}

impl<A: Shape, S, F, G, H, B: Item> ScanKernel for FoldBy<A, S, F, G, H, B>
where
    F: KeyFn<A, Key: Ord>,
    S: Item + Clone,
    G: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    H: Fn(S) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Vec<(F::Key, B)>;
    type Density = AtEnd;
    type State = KeyStates<F::Key, S>;
    const NAME: &'static str = "fold_by";
    const STATE_BYTES: Option<fn(&KeyStates<F::Key, S>) -> usize> = Some(KeyStates::bytes);

    fn start(&self) -> KeyStates<F::Key, S> {
        KeyStates::default()
    }

    #[inline]
    fn step(
        &self,
        states: &mut KeyStates<F::Key, S>,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<Vec<(F::Key, B)>> {
        if let Some(value) = slot {
            states.with(self.key.find(value), self.most, || self.state.clone(), |state| (self.f)(state, value));
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

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Vec<(F::Key, B)>>> {
        let answer = |values: Vec<A::Ref<'_>>| {
            let mut state = self.state.clone();
            values.into_iter().for_each(|value| (self.f)(&mut state, value));
            (self.finish)(state)
        };
        slots.at_end(|values| {
            let keys = by_key::<A, _>(values, self.most, |value| self.key.key(value)).into_iter();
            Some(keys.map(|(key, values)| (key, answer(values))).collect())
        })
    }
}
super::debug!(FoldBy<A, S, F, G, H, B>);
