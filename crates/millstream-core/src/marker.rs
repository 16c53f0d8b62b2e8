//! What a combinator asks of its body, as marker traits on the combinators. Sound bodies get them by composition.

/// Keeps its clock: output n stands at input n's number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to keep its clock, so it cannot stand inside a combinator that joins by number",
    label = "this body may give its outputs new numbers",
    note = "`flat_map`, `flatten`, `compact`, `windows_by` and `unordered` number their outputs afresh: they belong in front of the combinator or behind it",
    note = "inside, make one value of each: `.map(..)` to a `Vec`; behind the combinator, `.flatten()` takes it apart",
    note = "a function that returns a pipeline says what is known of it: `impl Pipeline<..> + KeepsClock`"
)]
pub trait KeepsClock {}

/// Keeps no state from one number to the next, so that any tasklet can take any number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stateless, so `shard` cannot split it by number",
    label = "this body may keep state from one number to the next",
    note = "a stage with state belongs in front of the `shard` or behind it",
    note = "with a state for every key, it can stand in a `shard_by(key, k, body)`",
    note = "a function that returns a pipeline says what is known of it: `impl Pipeline<..> + KeepsClock + Quiet + Stateless`"
)]
pub trait Stateless {}

/// Fills a slot only where its input is filled; also at END.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not quiet, so it cannot stand inside `shard`, at a key or in a lane of a choice",
    label = "this body may speak at END, where its input is empty",
    note = "a fold belongs behind the `shard`, the `shard_by` or the choice",
    note = "a function that returns a pipeline says what is known of it: `impl Pipeline<..> + KeepsClock + Quiet + Stateless`"
)]
pub trait Quiet {}

/// Gives the same output for the same input, in every run and on every deployment: what every stage but
/// [`unordered`](crate::AsyncExt::unordered) promises, as long as its closures keep their part of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to give the same output in every run",
    label = "this pipeline may give its outputs in another order in every run",
    note = "`unordered` gives what it has as soon as it has it, so what compares deployments refuses it: `map_async` keeps the order",
    note = "`Run` runs it: `.run(&rings, ..)`, `.collect(&rings, ..)`",
    note = "a function that returns a pipeline says what is known of it: `impl Pipeline<..>`"
)]
pub trait Determinate {}
