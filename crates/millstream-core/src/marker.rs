//! What a combinator asks of its body, as marker traits on the combinators. Sound bodies get them by composition.

/// Keeps its clock: output n stands at input n's number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` gives its outputs new numbers, so it cannot stand inside a combinator that joins by number",
    label = "this body renumbers",
    note = "move the renumbering stage in front of the combinator or behind it"
)]
pub trait KeepsClock {}

/// Keeps no state from one number to the next, so that any tasklet can take any number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` keeps state from one number to the next, so `shard` cannot split it by number",
    label = "this body is stateful",
    note = "put the stateful stage in front of the `shard` or behind it"
)]
pub trait Stateless {}

/// Fills a slot only where its input is filled; also at END.
#[diagnostic::on_unimplemented(
    message = "`{Self}` speaks at END, where its input may be empty, so it cannot stand inside `shard`",
    label = "this body is not quiet",
    note = "put the fold behind the `shard`"
)]
pub trait Quiet {}
