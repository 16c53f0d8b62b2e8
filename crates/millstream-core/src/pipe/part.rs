use super::combinator;
use crate::plan::{Describe, Port};
use crate::shape::{Part, Shows};
use crate::{Arrow, Item, Shape};
use std::{marker::PhantomData, sync::Arc};

/// The same slots, each as a part of its value that a closure shows. There is no stage.
pub struct ShowPart<A, C, T> {
    /// The function that shows the part, shared by every deployment.
    pub shows: Arc<C>,
    shape: PhantomData<fn() -> (A, T)>,
}
combinator!(ShowPart<A, C, T>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, C, T> ShowPart<A, C, T> {
    pub(crate) fn new(shows: C) -> Self {
        ShowPart { shows: Arc::new(shows), shape: PhantomData }
    }
}

impl<A: Shape, T: Item, C: Shows<A, T>> Arrow for ShowPart<A, C, T> {
    type In = A;
    type Out = Part<A, C, T>;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input
    }
}
