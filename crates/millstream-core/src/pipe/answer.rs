//! Folds with names: one answer at END, of all values or of each key's.
//!
//! An [`AnswerKernel`] is the fold; [`Answer`] runs it over all values and [`AnswerBy`] over each key's. Both are
//! [`ScanKernel`]s, so no deployment knows them.

mod count;
mod extreme;
mod find;
mod group;
mod last;
mod quantifier;
mod sum;
mod top;

pub use count::Count;
pub use extreme::{Extreme, ExtremeBy, ExtremeByKey, GREATEST, LEAST};
pub use find::Find;
pub use group::Group;
pub use last::Last;
pub use quantifier::{EVERY, Quantifier, SOME};
pub use sum::Sum;
pub use top::{Top, TopN, TopNBy, TopNByKey};

use super::scan_kernel::ScanKernel;
use crate::keys::KeyStates;
use crate::model::{ModelSlots, by_key};
use crate::pipe::KeyFn;
use crate::plan::Filled;
use crate::{AtEnd, Item, SequenceNumber, Shape};

/// The state of a fold, and its answer at END.
pub trait AnswerKernel: Send + Sync + 'static {
    /// The values that it reads.
    type In: Shape;
    /// The answer.
    type Out: Item;
    /// The state that it keeps.
    type State: Item + Clone;
    /// The combinator's name.
    const NAME: &'static str;
    /// The combinator's name where there is an answer for each key.
    const NAME_BY_KEY: &'static str = "fold_by";
    /// The state before the first value.
    fn start(&self) -> Self::State;
    /// Adds a value to the state.
    fn add(&self, state: &mut Self::State, value: <Self::In as Shape>::Ref<'_>);
    /// The answer; where it is `None`, END is left empty.
    fn answer(&self, state: Self::State) -> Option<Self::Out>;
    /// The definition of the answer: a function of all values, written apart from the fold.
    fn model(&self, values: Vec<<Self::In as Shape>::Ref<'_>>) -> Option<Self::Out>;
}

/// The answer of an [`AnswerKernel`] at END, of all values.
pub struct Answer<K> {
    /// The fold.
    pub kernel: K,
}
super::debug!(Answer<K>);

impl<K> Answer<K> {
    pub(crate) fn new(kernel: K) -> Self {
        Answer { kernel }
    }
}

impl<K: AnswerKernel> ScanKernel for Answer<K> {
    type In = K::In;
    type Out = K::Out;
    type Density = AtEnd;
    type State = K::State;
    const NAME: &'static str = K::NAME;

    fn start(&self) -> K::State {
        self.kernel.start()
    }

    #[inline]
    fn step(
        &self,
        state: &mut K::State,
        _: SequenceNumber,
        slot: Option<<K::In as Shape>::Ref<'_>>,
        end: bool,
    ) -> Option<K::Out> {
        if let Some(value) = slot {
            self.kernel.add(state, value);
        }
        if !end {
            return None;
        }
        self.kernel.answer(std::mem::replace(state, self.kernel.start()))
    }

    fn model(&self, slots: ModelSlots<'_, K::In>) -> Vec<Option<K::Out>> {
        slots.at_end(|values| self.kernel.model(values))
    }

    fn fills(_: Filled) -> Filled {
        Filled::END
    }
}

/// The answers of an [`AnswerKernel`] at END, one for each key, in the order of the keys.
pub struct AnswerBy<K, F> {
    /// The fold.
    pub kernel: K,
    /// How many keys at most.
    pub most: usize,
    /// The key of a value.
    pub key: F,
}
super::debug!(AnswerBy<K, F>);

impl<K, F> AnswerBy<K, F> {
    pub(crate) fn new(kernel: K, most: usize, key: F) -> Self {
        AnswerBy { kernel, most, key }
    }
}

impl<K: AnswerKernel, F: KeyFn<K::In, Key: Ord>> ScanKernel for AnswerBy<K, F> {
    type In = K::In;
    type Out = Vec<(F::Key, K::Out)>;
    type Density = AtEnd;
    type State = KeyStates<F::Key, K::State>;
    const NAME: &'static str = K::NAME_BY_KEY;
    const STATE_BYTES: Option<fn(&KeyStates<F::Key, K::State>) -> usize> = Some(KeyStates::bytes);

    fn start(&self) -> KeyStates<F::Key, K::State> {
        KeyStates::default()
    }

    #[inline]
    fn step(
        &self,
        states: &mut KeyStates<F::Key, K::State>,
        _: SequenceNumber,
        slot: Option<<K::In as Shape>::Ref<'_>>,
        end: bool,
    ) -> Option<Vec<(F::Key, K::Out)>> {
        if let Some(value) = slot {
            let add = |state: &mut K::State| self.kernel.add(state, value);
            states.with(self.key.find(value), self.most, || self.kernel.start(), add);
        }
        end.then(|| {
            let answers = std::mem::take(states).into_sorted().into_iter();
            answers.filter_map(|(key, state)| Some((key, self.kernel.answer(state)?))).collect()
        })
    }

    fn model(&self, slots: ModelSlots<'_, K::In>) -> Vec<Option<Vec<(F::Key, K::Out)>>> {
        slots.at_end(|values| {
            let keys = by_key::<K::In, _>(values, self.most, |value| self.key.key(value)).into_iter();
            Some(keys.filter_map(|(key, values)| Some((key, self.kernel.model(values)?))).collect())
        })
    }

    fn fills(_: Filled) -> Filled {
        Filled::END
    }

    fn keys(&self) -> Option<usize> {
        Some(self.most)
    }
}
