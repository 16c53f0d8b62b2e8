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

use proptest::test_runner::Config;

/// The setting of random cases. Smaller cases are tried for three minutes, since each that hangs takes a minute.
fn random_cases() -> Config {
    Config { max_shrink_time: 180_000, ..Config::default() }
}
