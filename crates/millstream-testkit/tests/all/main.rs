//! The integration tests of this crate, in one binary.

mod article;
mod changes;
mod determinacy;
mod drops;
mod endings;
mod failures;
mod fold_windows;
mod graphs;
mod kernels;
mod lasting;
mod laws;
mod pipelines;
mod reference;
mod sabotage;
mod services;
mod silence;
mod sources;
mod strategies;
mod stress;
mod wakes;
mod wires;
