use super::combinator;
use crate::Arrow;
use crate::plan::{Describe, Port};

/// A pipeline whose last stage has a name.
pub struct Named<P> {
    /// The pipeline.
    pub body: P,
    name: String,
}
combinator!(Named<P>: ; through P: KeepsClock Quiet Shardable Determinate);

impl<P> Named<P> {
    pub(crate) fn new(body: P, name: String) -> Self {
        Named { body, name }
    }
}

impl<P: Arrow> Arrow for Named<P> {
    type In = P::In;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        plan.named(&self.name, |plan| self.body.describe(input, plan))
    }
}
