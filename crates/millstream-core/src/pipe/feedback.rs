use super::combinator;
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Item, Lens, Pair, Projected, Shape, ToOwnedItem, Val, lens};
use std::marker::PhantomData;

/// A body whose second output at one number is its second input at the next.
pub struct Feedback<A, S, P> {
    /// The state at number 0, for every deployment.
    pub state: S,
    /// The body.
    pub body: P,
    shape: PhantomData<fn() -> A>,
}
combinator!(Feedback<A, S, P>: ; through P: KeepsClock Quiet Determinate);

impl<A, S, P> Feedback<A, S, P> {
    pub(crate) fn new(state: S, body: P) -> Self {
        Feedback { state, body, shape: PhantomData }
    }
}

/// The input of a [`Feedback`]'s body: the outer input, and the state beside it at every number.
pub type Looped<A, S> = Pair<A, Val<S, <A as Shape>::Density>>;

/// An edge of pairs of which the second half is a state.
#[diagnostic::on_unimplemented(
    message = "the body of a `feedback` yields pairs of an output and the next state, a `{S}`",
    label = "`{Self}` does not carry such pairs",
    note = "for example `.feedback(0, |p| p.map(|(x, sum)| (x * 2, sum + x)))`"
)]
pub trait Fed<S: Item + Clone>: Shape {
    /// The state in a value.
    fn state(value: Self::Ref<'_>) -> Option<S>;
}

impl<S: Item + Clone, F: Shape> Fed<S> for F
where
    lens::First: Lens<F>,
    lens::Second: Lens<F, Target: ToOwnedItem<Owned = S>>,
{
    fn state(value: F::Ref<'_>) -> Option<S> {
        <lens::Second as Lens<F>>::focus(value).map(<lens::Second as Lens<F>>::Target::to_owned_item)
    }
}

impl<A: Shape, S: Item + Clone, P> Arrow for Feedback<A, S, P>
where
    P: Arrow<In = Looped<A, S>, Out: Fed<S>>,
    lens::First: Lens<P::Out>,
{
    type In = A;
    type Out = Projected<P::Out, lens::First>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Val::<S, A::Density>::BYTES, A::Density::DENSE, input.filled());
        let states = StageKind { name: "state", state: Some(StateType::of::<S>()), slot_bytes, dense, fills };
        plan.feedback(&input, states, |plan, looped| self.body.describe(looped, plan))
    }
}
