//! Haskell's operators, and named wires.

use crate::pipe::{Id, Then, id};
use crate::{Arrow, Shape};

pub use millstream_macros::{notation, wires};

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

/// A pipeline of named wires: `let` binds the edges of a graph, and each stage reads the ones that it names.
///
/// ```
/// use millstream::prelude::*;
///
/// #[derive(Clone)]
/// struct Order { item: String, count: u64 }
///
/// let p = wires!(|order: Val<Order>| {
///     let item = order.part(|order| &order.item);
///     let price = item.map(|item| item.len() as u64);
///     let total = |order, price| order.count * price;
///     let spent = total.scan(0, |spent, total| { *spent += total; *spent });
///     if |total| *total > 10 {
///         |item, total| format!("{item}: {total}")
///     } else {
///         |spent| format!("cheap, {spent} so far")
///     }
/// });
/// let order = |item: &str, count| Order { item: item.to_owned(), count };
/// assert_eq!(p.model([order("tea", 2), order("coffee", 2)]), ["cheap, 6 so far", "coffee: 12"]);
/// ```
///
/// The block begins with what comes in, `|name: Shape|`. Without the shape it is a function of an edge, as combinators
/// take one: `.shard(2, wires!(|line| { .. }))`. Its last line, without a `;`, is what comes out. In between:
///
/// | statement | is |
/// |---|---|
/// | `let name = value;` | a wire; the last stage of `value` has its name |
/// | `let (a, b) = value;` | the halves of a pair, or the parts of a tuple written there |
/// | `value;` | stages for their effects, such as `order.tee_to("orders", sink);` |
///
/// | value | is |
/// |---|---|
/// | `\|a, b\| rust` | a stage: a function of references to the values of the wires `a` and `b` |
/// | `(\|a, b\| rust).filter(..)` | methods of that |
/// | `a.map(..)`, `(a, b).scan(..)`, `f(a)` | any pipeline over wires; a tuple of them is joined by number |
/// | `if \|a\| rust { .. } else { .. }` | one of two blocks; the condition is a closure, or a wire of `bool`s |
/// | `match a { Some(b) => .., None => .. }` | one of several blocks; `b` is a wire there, a part of the value |
///
/// A `match` of one arm chooses nothing, and takes a value apart: `match order { Order { item, count } => .. }`.
///
/// A join is filled where all its wires are. `a.or(b)` is `b` where `a` is empty, and `a.maybe()` an `Option` at every
/// number. Inside a lane of a choice a wire is empty at the other lanes' numbers, so a state counts the lane's alone. A
/// stage that renumbers, such as `flat_map`, belongs before the block, after it, or in a `tee` in it. Closures of other
/// combinators do not see wires: what their body needs is in the edge, `(a, b).shard(2, wires!(|ab| ..))`.
///
/// The compiler warns of a wire that nothing reads. No wire is copied on rings; on queues each reader has its copy.
/// [`millstream::core::wires`](mod@crate::wires) has the calls that the macro makes, and what a block means.
#[macro_export]
macro_rules! wires {
    ($($block:tt)*) => { $crate::notation::wires!([$crate] $($block)*) };
}
