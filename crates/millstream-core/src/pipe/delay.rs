use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Flow, Own, Val};

/// At every value the value before it.
pub struct Delay<A: Own> {
    /// What stands at the first value.
    pub first: A::Owned,
}

impl<A: Own> std::fmt::Debug for Delay<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delay")
    }
}
impl<A: Own> crate::KeepsClock for Delay<A> {}
impl<A: Own> crate::Quiet for Delay<A> {}
impl<A: Own> crate::Determinate for Delay<A> {}

impl<A: Own> Delay<A> {
    pub(crate) fn new(first: A::Owned) -> Self {
        Delay { first }
    }
}

impl<A: Own<Owned: Clone>> Arrow for Delay<A> {
    type In = A;
    type Out = Val<A::Owned, A::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, full) = (Self::Out::BYTES, A::Density::FULL);
        plan.stage(&input, StageKind { name: "delay", stateful: true, slot_bytes, full, fills: input.filled() })
    }
}
