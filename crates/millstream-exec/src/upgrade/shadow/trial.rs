//! A version that is tried beside the running one before it takes its place.

use super::Agrees;
use millstream_core::{SequenceNumber, Shape};
use std::fmt::Debug;
use std::sync::Arc;

/// For how many numbers a version is tried, and how its output is compared.
pub(crate) struct Trial<A: Shape> {
    pub(crate) numbers: u64,
    pub(crate) agrees: Arc<Agrees<A>>,
}

impl<A: Shape> Clone for Trial<A> {
    fn clone(&self) -> Self {
        Trial { numbers: self.numbers, agrees: self.agrees.clone() }
    }
}

impl<A: Shape> Trial<A> {
    /// Whatever the output is.
    pub(crate) fn of(numbers: u64) -> Self {
        Trial { numbers, agrees: Arc::new(|_, _, _| Ok(())) }
    }
}

/// Outputs agree if this function says so.
pub(crate) fn related<A: Shape, F>(agree: F) -> Arc<Agrees<A>>
where
    for<'a> A::Ref<'a>: Debug,
    F: for<'a> Fn(SequenceNumber, Option<A::Ref<'a>>, Option<A::Ref<'a>>) -> bool + Send + Sync + 'static,
{
    Arc::new(move |number, running, shadow| {
        if agree(number, running, shadow) {
            return Ok(());
        }
        Err([format!("{running:?}"), format!("{shadow:?}")])
    })
}

/// Outputs agree if they are equal.
pub(crate) fn equal<A: Shape>() -> Arc<Agrees<A>>
where
    for<'a> A::Ref<'a>: PartialEq + Debug,
{
    related::<A, _>(|_, running, shadow| running == shadow)
}
