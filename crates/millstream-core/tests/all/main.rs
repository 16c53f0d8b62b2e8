//! The integration tests of this crate, in one binary.

mod clock;
mod combinators;
mod compared;
mod feedback;
mod fold_windows;
mod linear;
mod model;
mod notation;
mod plan;
mod plan_diff;
mod plan_states;
mod plan_upgrade;
mod streams;
mod try_scan;
mod windows_by;
