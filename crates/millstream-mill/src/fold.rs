//! Folds of rows by key: over all rows, with answers at the end or before it, too, or over windows of event time.
//!
//! A fold is two stages. The first finds the key, the time and the values of every row, and can run on several cores;
//! the second adds them up, in the order of the rows.

mod accumulator;
mod answers;
mod prepare;
mod running;
mod spec;
mod state;

pub(crate) use prepare::{Prepared, prepare};
pub(crate) use spec::{Aggregate, Aggregates, Fold, Kind, ill_timed, kept_by, named, same_names, single, split};
pub(crate) use state::FoldKernel;
