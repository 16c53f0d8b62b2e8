use crate::keeps::RingBackend;
use crate::{OneClock, RingShape};
use millstream_core::model::ModelShape;
use millstream_core::{Arrow, Deploy, Determinate, ItemShape, KeepsClock, Model, Shape, ToOwnedItem, Val};

/// A pipeline that every deployment of this crate can run, with the same output. The bound leaves open what it reads
/// and writes; [`Pipeline`] and [`Stage`] say that, too.
///
/// Implemented for every combinator but [`unordered`](millstream_core::AsyncExt::unordered); nothing to implement.
pub trait Deployable: Arrow + Determinate + Deploy<Model> + Deploy<RingBackend> {}
impl<P: Arrow + Determinate + Deploy<Model> + Deploy<RingBackend>> Deployable for P {}

/// An edge whose stages borrow a `&T` from each filled slot: a ring of `T`, or the edge after a filter or a dead
/// letter, of a lane of a choice, or of half a pair. `T` is `Clone`, so that the run's output can be owned. Nothing to
/// implement.
///
/// It is the one bound that a function needs to return a [`Stage`] for any edge. Such a stage can be boxed. If its
/// place does not tell the compiler what it reads, the call does:
///
/// ```
/// use millstream::prelude::*;
///
/// fn double<E: Edge<u64>>() -> impl Stage<E, u64> {
///     id::<E>().map(|x| x * 2)
/// }
///
/// let twice: BoxPipeline<u64, u64> = pipeline::<u64>().then(double()).boxed();
/// let stage: BoxStage<u64, u64> = double::<AnyEdge<u64>>().boxed();
/// assert_eq!(twice.then(stage).model(0..3), [0, 4, 8]);
/// ```
#[diagnostic::on_unimplemented(
    message = "the edge `{Self}` does not carry `{T}`s that are `Clone`",
    label = "a stage on it does not get a `&{T}`, or `{T}` is not `Clone`",
    note = "a function whose values are not `Clone` names the shape: `impl Deployable<In = Val<A>, Out = Val<B>>`",
    note = "a pair of edges (after `fanout` or `both`) is an edge of one value after `.map(|(a, b)| (a.clone(), b.clone()))`"
)]
pub trait Edge<T>:
    RingShape + ModelShape + ItemShape<Item = T> + ToOwnedItem<Owned = T> + for<'a> Shape<Ref<'a> = &'a T>
{
}
#[diagnostic::do_not_recommend]
impl<T, E> Edge<T> for E where
    E: RingShape + ModelShape + ItemShape<Item = T> + ToOwnedItem<Owned = T> + for<'a> Shape<Ref<'a> = &'a T>
{
}

/// A pipeline from a source of `A`s to `B`s: the return type of a function that makes one.
///
/// It runs on the model, on rings and on the calling thread; on queues as well if its type says `+ Everywhere`. It may
/// leave slots empty and start new clocks.
///
/// ```
/// use millstream::prelude::*;
///
/// fn lengths() -> impl Pipeline<String, usize> {
///     let words = |line: &String| line.split(' ').map(String::from).collect::<Vec<_>>();
///     pipeline::<String>().flat_map(words).map(|word| word.len())
/// }
/// fn even() -> impl Pipeline<u64, u64> {
///     pipeline::<u64>().filter(|x| x % 2 == 0)
/// }
///
/// assert_eq!(lengths().model(["to be or".to_owned()]), [2, 2, 2]);
/// assert_eq!(even().map(|x| x * 10).collect(0..5)?, [0, 20, 40]);
/// # Ok::<(), RunError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a pipeline from a source of `{A}` to `{B}`",
    note = "a function for an edge after other stages returns `impl Stage<E, {B}>`, where `E: Edge<..>` is what it reads"
)]
pub trait Pipeline<A, B>: Deployable + Arrow<In = Val<A>, Out: Edge<B>> {}
impl<A: 'static, B, P: Deployable + Arrow<In = Val<A>, Out: Edge<B>>> Pipeline<A, B> for P {}

/// A pipeline from the edge `E` to `B`s, on the clock of `E`: the return type of a function whose stages can follow any
/// others, in a lane, a fan-out or a shard.
///
/// ```
/// use millstream::prelude::*;
///
/// fn show<E: Edge<u64>>() -> impl Stage<E, String> + Shardable {
///     id::<E>().map(|x| x.to_string())
/// }
///
/// let numbers = pipeline::<u64>;
/// assert_eq!(numbers().then(show()).model(1..3), ["1", "2"]);
/// assert_eq!(numbers().filter(|x| x % 2 == 0).then(show()).model(1..3), ["2"]);
/// assert_eq!(
///     numbers().try_map_or_empty(|x| u64::try_from(x - 1)).then(show()).model(1..3),
///     ["0", "1"]
/// );
/// assert_eq!(
///     numbers().shard(2, |p| p.filter(|x| x % 2 == 0).then(show())).model(1..3),
///     ["2"]
/// );
/// let sides =
///     numbers().map(|&x| if x % 2 == 0 { Either::Left(x) } else { Either::Right(()) });
/// assert_eq!(
///     sides
///         .merge(|even| even.then(show()), |odd| odd.map(|()| "odd".to_owned()))
///         .model(1..3),
///     ["odd", "2"]
/// );
/// ```
#[diagnostic::on_unimplemented(
    message = "an `impl Stage<{E}, {B}>` keeps the clock of its edge, and this pipeline is not known to",
    label = "a stage of this pipeline may start a new clock",
    note = "`flat_map`, `flatten`, `lines`, `compact`, `windows_by` and the like start one: return `impl Pipeline<A, {B}>`, and begin with `pipeline::<A>()`",
    note = "after any edge `{E}` that is `impl Deployable<In = {E}, Out = Val<{B}>>`"
)]
pub trait Stage<E, B>: Deployable + KeepsClock + Arrow<In = E, Out: Edge<B>> {}
impl<E, B, P: Deployable + OneClock + Arrow<In = E, Out: Edge<B>>> Stage<E, B> for P {}

/// A pipeline that [`Queues`](crate::Queues) can run as well, since the values of every stage are `Clone`.
///
/// Nothing to implement. A function adds it to its return type, and reads an [`EverywhereEdge`]:
///
/// ```
/// use millstream::prelude::*;
///
/// fn double<E: EverywhereEdge<u64>>() -> impl Stage<E, u64> + Everywhere {
///     id::<E>().map(|x| x * 2)
/// }
///
/// let p = pipeline::<u64>().filter(|x| x % 2 == 0).then(double());
/// assert_eq!(Queues::new().collect(p.from(0..5))?, [0, 4, 8]);
/// # Ok::<(), RunError>(())
/// ```
#[cfg(feature = "queues")]
pub trait Everywhere: Deployable + Deploy<crate::Queues> + Arrow<Out: crate::QueueShape> {}
#[cfg(feature = "queues")]
impl<P: Deployable + Deploy<crate::Queues> + Arrow<Out: crate::QueueShape>> Everywhere for P {}

/// An [`Edge`] of `T`s that [`Queues`](crate::Queues) can carry as well: a stage that is [`Everywhere`] reads one.
/// Nothing to implement.
#[cfg(feature = "queues")]
pub trait EverywhereEdge<T>: Edge<T> + crate::QueueShape {}
#[cfg(feature = "queues")]
#[diagnostic::do_not_recommend]
impl<T, E: Edge<T> + crate::QueueShape> EverywhereEdge<T> for E {}
