//! The requirements of combinators for their bodies, as marker traits on the combinators. A body has a marker if its
//! parts have it.
//!
//! Each of the first three implies the ones before it, so a bound names one of them.
//!
//! | marker | the body | required by |
//! |---|---|---|
//! | [`KeepsClock`] | yields output n at input n's number | `fanout`, `both`, `feedback` |
//! | [`Quiet`] | and fills a slot only where its input is filled | `choose`, `merge`, `shard_by` |
//! | [`Shardable`] | and keeps no state from one number to the next | `shard` |
//! | [`Determinate`] | yields the same output in every run | everything that compares deployments |

/// Keeps its clock: output n has input n's number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to keep its clock, so it cannot be inside a combinator that joins by number",
    label = "this body may number its outputs again",
    note = "`flat_map`, `flatten`, `compact`, `windows_by` and `unordered` number their outputs again: they belong before or after the combinator",
    note = "inside, make one value of each: `.map(..)` to a `Vec`; after the combinator, `.flatten()` takes it apart",
    note = "a function says that its pipeline keeps the clock by `impl Stage<E, B>`, or `impl Pipeline<A, B> + KeepsClock`; a box by `.boxed()`"
)]
pub trait KeepsClock {}

/// Keeps its clock, and fills a slot only where its input is filled; also at END.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be quiet at END, so it cannot be at a key or in a lane of a choice",
    label = "this body may fill END's slot, where its input is empty, or number its outputs again",
    note = "a `fold`, `chunks` or `flat_map` belongs before or after the `shard_by` or the choice",
    note = "a function says that its pipeline is quiet by `impl Stage<E, B> + Quiet`; a box by `.boxed_as::<QuietPipe>()`"
)]
pub trait Quiet: KeepsClock {}

/// Keeps its clock, is [quiet](Quiet), and keeps no state from one number to the next: any tasklet can process any
/// number, as [`shard`](crate::Arrow::shard) requires of its body.
///
/// ```
/// use millstream::prelude::*;
/// fn square() -> impl Arrow<In = Val<u64>, Out = Val<u64>> + Shardable {
///     pipeline::<u64>().map(|x| x * x)
/// }
/// # let _ = pipeline::<u64>().shard(4, |p| p.then(square()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be shardable, so it cannot be inside `shard`",
    label = "a stage of this body may keep state, fill END's slot or number its outputs again",
    note = "such a stage belongs before or after the `shard`, or, with a state for every key, inside `shard_by(key, k, body)`",
    note = "a function says that its pipeline is shardable by `impl Stage<E, B> + Shardable`, or `impl Pipeline<A, B> + Shardable`; a box by `.boxed_as::<PurePipe>()`"
)]
pub trait Shardable: Quiet {}

/// Yields the same output for the same input, in every run and on every deployment. Every stage but
/// [`unordered`](crate::AsyncExt::unordered) promises this, as long as its closures are pure functions of their
/// arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to yield the same output in every run",
    label = "this pipeline may yield its outputs in another order in every run",
    note = "`unordered` yields each result when it is ready, and what compares deployments refuses it: `map_async` keeps the order",
    note = "rings, queues and the calling thread run it: `rings.run(job)`, `rings.collect(p.from(source))`",
    note = "a function that returns a pipeline says what is known of it: `impl Pipeline<..>`"
)]
pub trait Determinate {}
