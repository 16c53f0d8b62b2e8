use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Shape, ToOwnedItem, Val};

/// Yields at every value the value before it.
pub struct Delay<A: ToOwnedItem> {
    /// The output at the first value.
    pub first: A::Owned,
}

impl<A: ToOwnedItem> std::fmt::Debug for Delay<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delay")
    }
}
impl<A: ToOwnedItem> crate::KeepsClock for Delay<A> {}
impl<A: ToOwnedItem> crate::Quiet for Delay<A> {}
impl<A: ToOwnedItem> crate::Determinate for Delay<A> {}

impl<A: ToOwnedItem> Delay<A> {
    pub(crate) fn new(first: A::Owned) -> Self {
        Delay { first }
    }
}

impl<A: ToOwnedItem<Owned: Clone>> Arrow for Delay<A> {
    type In = A;
    type Out = Val<A::Owned, A::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, A::Density::DENSE);
        plan.stage(
            &input,
            StageKind {
                name: "delay",
                state: Some(StateType::of::<A::Owned>()),
                slot_bytes,
                dense,
                fills: input.filled(),
            },
        )
    }
}
