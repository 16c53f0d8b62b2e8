//! What keeps its clock, by the place that asks for it: each place has a message of its own, with another remedy.

use millstream_core::KeepsClock;

/// What [`boxed`](crate::BoxExt::boxed) boxes: a pipeline that keeps its clock. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`.boxed()` is for a pipeline that keeps its clock, and this one is not known to",
    label = "write `.boxed_as()` after this, and the type `BoxPipeline<A, B, FreePipe>`",
    note = "`flat_map`, `flatten`, `lines`, `compact`, `windows_by` and the like start a new clock; a box of the kind `FreePipe` may",
    note = "a function says that its pipeline keeps the clock by `impl Stage<E, B>`, or `impl Pipeline<A, B> + KeepsClock`"
)]
pub trait Boxable: KeepsClock {}
#[diagnostic::do_not_recommend]
impl<P: KeepsClock> Boxable for P {}

/// What keeps the clock of its edge, for a trait whose own message says so: the compiler prints the message of the
/// trait that a bound names if it is this that is missing. Nothing to implement.
pub trait OneClock: KeepsClock {}
#[diagnostic::do_not_recommend]
impl<P: KeepsClock> OneClock for P {}
