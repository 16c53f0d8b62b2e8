use crate::Rings;
use millstream_core::{Arrow, Deploy, Determinate, Model};

/// A pipeline that every deployment of this crate can run, with the same output. Use it as the return type of a
/// function.
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
/// Implemented for every combinator but [`unordered`](millstream_core::AsyncExt::unordered); nothing to implement.
pub trait Pipeline: Arrow + Determinate + Deploy<Model> + Deploy<Rings> {}
impl<P: Arrow + Determinate + Deploy<Model> + Deploy<Rings>> Pipeline for P {}

/// A [`Pipeline`] that [`Queues`](crate::Queues) run as well: one whose values are `Clone`.
///
/// Nothing to implement.
#[cfg(feature = "queues")]
pub trait Everywhere: Pipeline + Deploy<crate::Queues> {}
#[cfg(feature = "queues")]
impl<P: Pipeline + Deploy<crate::Queues>> Everywhere for P {}
