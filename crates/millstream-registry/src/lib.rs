//! Pipelines from text: a program registers stages by name, and text wires them.
//!
//! A [`Registry`] has typed stages, which are functions of wires, as in `wires!`. [`Registry::load`] takes text in the
//! notation of `wires!`, checks it against the types of the stages, and returns a pipeline like any other: it has a
//! plan, a model, snapshots and upgrades, and runs on the model, inline and on rings.
//!
//! ```text
//! |line| {                                     // what comes in
//!     let order = parse(line);                 // a stage, and the wire that it writes
//!     let user  = find(order.user);            // a field, by reference
//!     let price = quote(order, user);          // two wires, joined by number
//!     total(above(price, limit: 30))           // a parameter, and calls in calls; what comes out
//! }
//! ```
//!
//! `order | quote(price) | above(limit: 30)` is `above(quote(order, price), limit: 30)`. A parameter is a number, a
//! time (`5m`), a text in quotes, or an *expression* in a language that the stage reads: in backquotes, or without them
//! if it begins with `.`, `{`, `[`, `(` or `$`. Comments begin with `//` or `#`.
//!
//! A wire's name is the name of its stage in plans, reports, errors and snapshots. A text binds a name once, and reads
//! every wire whose name does not begin with `_`. `quote@2(..)` calls version 2 of a stage. A text has at most 64 KiB.
//!
//! One pass finds all mistakes: unknown stages, wires, fields and parameters, with the nearest name; wrong types, with
//! their origin; wires without a reader.
//!
//! **Cost**: a stage is the compiled stage that the program registered; no text is interpreted at run time. A stage
//! reads an edge whose shape is known only at run time: [`AnyEdge`] says what that costs, and the bench `boxes`
//! measures it.
//!
//! **Limits**: text has no `if`, no `match`, and no stage that renumbers. A pipeline from text runs on the model,
//! inline and on rings; with `Registry::<OnQueues>::empty()` also on queues, and with `Registry::<OnDurable>::empty()`
//! on durable rings.
//!
//! **Promises, and their tests** (in `tests/all`): a pipeline from text is that of its statements, whatever their order
//! (`meaning`, `calls`, `random`); one pass finds all mistakes, each with its place (`mistakes`); a text is refused or
//! runs, and crashes nothing (`random`; `src/fuzzed.rs`, fuzzed).
//!
//! **Where to look**: `registry` and `stage` hold stages by name, `words` and `parse` the grammar, `code` what is known
//! of expressions, `load` and `wrong` the checks and their messages.

mod code;
#[cfg(any(test, feature = "fuzzed"))]
#[doc(hidden)]
pub mod fuzzed;
mod load;
mod parameter;
mod parse;
mod registry;
mod stage;
mod words;
mod wrong;

pub use parameter::{Literal, Parameter, WrongCode};
pub use registry::{Check, Ends, Loads, Registered, Registry};
pub use stage::{Called, ParameterInfo, Parameters, Reads, StageInfo};
pub use wrong::{Mistake, Wrong};

use millstream_core::wires::Wire;
use millstream_core::{AnyEdge, Item};
use millstream_exec::{AnyPipe, BoxKind, BoxPipeline};
use std::fmt;
use std::ops::Range;

/// The block of wires, as text.
#[derive(Debug)]
pub enum TextBlock {}

/// A wire of text, as a registered stage reads it: a pipeline, with all combinators.
pub type In<T> = Wire<TextBlock, AnyEdge<T>>;

/// A pipeline from text.
pub type TextPipeline<A, B, Known = AnyPipe> = BoxPipeline<A, B, Known>;

/// A [program](Registry::program) from a text.
pub struct TextProgram<A: Item, B: Item, Known: BoxKind = AnyPipe> {
    /// The pipeline.
    pub pipeline: TextPipeline<A, B, Known>,
    /// The calls in the text, in the order in which their stages were made.
    pub calls: Vec<Called>,
    /// The names after `keep`: stages that keep their states although they differ from those of the previous text.
    pub keeps: Vec<String>,
}

impl<A: Item, B: Item, Known: BoxKind> fmt::Debug for TextProgram<A, B, Known> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextProgram").field("calls", &self.calls).field("keeps", &self.keeps).finish_non_exhaustive()
    }
}

/// A place in a text, as bytes.
pub type Span = Range<usize>;
