//! Haskell's operators.

use crate::pipe::{Id, Then, id};
use crate::{Arrow, Shape};

pub use millstream_macros::notation;

/// A pipeline, followed by the pipeline that a function makes of its output's edge.
pub fn followed_by<P: Arrow, Q: Arrow<In = P::Out>>(first: P, body: impl FnOnce(Id<P::Out>) -> Q) -> Then<P, Q>
where
    P::Out: Shape,
{
    first.then(body(id()))
}

/// A pipeline in the notation of Haskell's arrows: the methods as operators, with Haskell's precedences. All of them
/// are right associative.
///
/// | operator | precedence | method |
/// |---|---|---|
/// | `f >>> g` | 1, loosest | [`then`](Arrow::then) |
/// | <code>f \|\|\| g</code> | 2 | [`merge`](crate::ChoiceExt::merge) |
/// | `f +++ g` | 2 | [`choose`](crate::ChoiceExt::choose) |
/// | `f &&& g` | 3, tightest | [`fanout`](Arrow::fanout) |
/// | `f *** g` | 3, tightest | [`both`](Arrow::both) |
///
/// For example, `a &&& b >>> c` is `(a &&& b) >>> c`, and `a &&& b &&& c` yields nested pairs, `(a, (b, c))`.
/// Parentheses group. Rust's own operators keep their meaning inside an operand.
///
/// An operand is
/// - an expression whose value is a pipeline: a call, a path, a block;
/// - a closure, as the methods take it: a function of the edge that comes in;
/// - methods of that edge alone: `.map(f)` is `|p| p.map(f)`;
/// - any of these in parentheses, with methods after them: `(f &&& g).named("both")`.
///
/// A closure or methods alone take their edge from the operand to the left. A pipeline therefore begins with a value,
/// such as [`pipeline::<T>()`](fn@crate::pipeline); `id()` passes values on unchanged. The text inside `(...)`,
/// `[...]` or `{...}` of an operand is plain Rust, except in parentheses that an operand begins with. If such
/// parentheses contain one of the operators above in plain Rust, or a `<` that is no bracket, put that expression into
/// a block. Operands of every operator but `>>>` are evaluated inside closures, so `?` and `return` belong before the
/// macro.
///
/// ```
/// use millstream::prelude::*;
///
/// let even = || pipeline::<u64>().map(|x| x % 2 == 0);
/// let half = |(x, even): (&u64, &bool)| if *even { x / 2 } else { 3 * x + 1 };
/// let p = pipeline!(pipeline::<u64>() >>> id() &&& even() >>> .map(half));
/// assert_eq!(p.model([3, 4]), [10, 2]);
///
/// // The same in methods.
/// let q = pipeline::<u64>()
///     .fanout(|p| p, |p| p.then(even()))
///     .map(|(x, even)| if *even { x / 2 } else { 3 * x + 1 });
/// assert_eq!(q.plan(), p.plan());
/// ```
///
/// Choices:
///
/// ```
/// use millstream::prelude::{Either::{Left, Right}, *};
///
/// let p = pipeline!(
///     pipeline::<u64>()
///         >>> .map(|x| if x % 2 == 0 { Left(*x) } else { Right(*x) })
///         >>> .map(|even| even / 2) ||| .map(|odd| 3 * odd + 1)
/// );
/// assert_eq!(p.model([3, 4]), [10, 2]);
/// ```
#[macro_export]
macro_rules! pipeline {
    ($($notation:tt)*) => { $crate::notation::notation!([$crate] $($notation)*) };
}
