use crate::plan::{Describe, Port};
use crate::{Arrow, Determinate, KeepsClock, Quiet, Shardable};

/// A body on the side, whose output nobody reads.
pub struct Tee<P> {
    /// The body.
    pub body: P,
}

impl<P> Tee<P> {
    pub(crate) fn new(body: P) -> Self {
        Tee { body }
    }
}

impl<P> std::fmt::Debug for Tee<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tee")
    }
}

// Whatever the body does, what goes on is what came in.
impl<P> KeepsClock for Tee<P> {}
// Where values of one stream alone are shown, in a lane or at a key, a body has no clock of its own, and no END.
impl<P: Quiet> Quiet for Tee<P> {}
impl<P> Determinate for Tee<P> {}
impl<P: Shardable> Shardable for Tee<P> {}

impl<P: Arrow> Arrow for Tee<P> {
    type In = P::In;
    type Out = P::In;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let side_output = input.clone();
        plan.side_output("tee", |plan| self.body.describe(side_output, plan));
        input
    }
}
