use super::combinator;
use crate::Arrow;
use crate::plan::{Describe, Port};

/// A pipeline whose last stage has a name.
pub struct Named<P> {
    /// The pipeline.
    pub body: P,
    name: String,
    version: Option<u32>,
}
combinator!(Named<P>: ; through P: KeepsClock Quiet Shardable Determinate);

impl<P> Named<P> {
    pub(crate) fn new(body: P, name: String) -> Self {
        Named { body, name, version: None }
    }

    /// Sets the version of the state of the named stage: 1 if this is not called. A program that keeps another type or
    /// another meaning of the state under the same name sets the next one.
    ///
    /// After a `shard_by` this is the version of its table of keys, and after a `feedback` that of the loop's state.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum").state_version(2);
    /// let state = p.plan().stages[0].state.clone().unwrap();
    /// assert_eq!((&*state.type_name, state.version), ("u64", 2));
    /// ```
    #[must_use]
    pub fn state_version(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }
}

impl<P: Arrow> Arrow for Named<P> {
    type In = P::In;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        plan.named(&self.name, |plan| {
            let port = self.body.describe(input, plan);
            if let Some(version) = self.version {
                plan.state_version(version);
            }
            port
        })
    }
}
