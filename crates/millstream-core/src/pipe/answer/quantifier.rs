use super::AnswerKernel;
use crate::Shape;
use std::marker::PhantomData;

/// Of a [`Quantifier`]: is it so of some value?
pub const SOME: bool = false;
/// Of a [`Quantifier`]: is it so of every value?
pub const EVERY: bool = true;

/// Whether something is so of some value, or of every value.
pub struct Quantifier<A, F, const ALL: bool> {
    /// The condition on a value.
    pub is_so: F,
    shape: PhantomData<fn() -> A>,
}

impl<A, F, const ALL: bool> std::fmt::Debug for Quantifier<A, F, ALL> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Quantifier")
    }
}

impl<A, F, const ALL: bool> Quantifier<A, F, ALL> {
    pub(crate) fn new(is_so: F) -> Self {
        Quantifier { is_so, shape: PhantomData }
    }
}

impl<A: Shape, F, const ALL: bool> AnswerKernel for Quantifier<A, F, ALL>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    type In = A;
    type Out = bool;
    /// The answer as far as it is known.
    type State = bool;
    const NAME: &'static str = if ALL { "all" } else { "any" };

    fn start(&self) -> bool {
        ALL
    }

    #[inline]
    fn add(&self, answer: &mut bool, value: A::Ref<'_>) {
        // One value decides it; later ones are not looked at.
        if *answer == ALL {
            *answer = (self.is_so)(value);
        }
    }

    fn answer(&self, answer: bool) -> Option<bool> {
        Some(answer)
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<bool> {
        let mut values = values.into_iter();
        Some(if ALL { values.all(&self.is_so) } else { values.any(&self.is_so) })
    }
}
