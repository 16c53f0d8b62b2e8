use crate::Rings;
use millstream_core::{Arrow, Deploy, Model};

/// A pipeline that every deployment of this crate can run: what a function says that returns one.
///
/// ```
/// use millstream_core::{Arrow, Val, pipeline};
/// use millstream_exec::Pipeline;
///
/// fn parse() -> impl Pipeline<In = Val<String>, Out = Val<usize>> {
///     pipeline::<String>().map(|line| line.len())
/// }
/// ```
///
/// Implemented for every combinator; nothing to implement.
pub trait Pipeline: Arrow + Deploy<Model> + Deploy<Rings> {}
impl<P: Arrow + Deploy<Model> + Deploy<Rings>> Pipeline for P {}

/// A [`Pipeline`] that [`Queues`](crate::Queues) run as well: one whose values are `Clone`.
///
/// Nothing to implement.
#[cfg(feature = "queues")]
pub trait Everywhere: Pipeline + Deploy<crate::Queues> {}
#[cfg(feature = "queues")]
impl<P: Pipeline + Deploy<crate::Queues>> Everywhere for P {}
