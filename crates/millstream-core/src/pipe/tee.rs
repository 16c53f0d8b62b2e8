use crate::plan::{Describe, Port};
use crate::{Arrow, Determinate, KeepsClock, Quiet, Shardable};

/// A body on the side whose output is not read.
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

// The output is the input, for every body.
impl<P> KeepsClock for Tee<P> {}
// In a lane or at a key, a body sees the values of one part of the stream: it has no clock of its own there, and no
// END.
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
