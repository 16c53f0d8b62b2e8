//! The built programs, each test in a directory of its own.

mod deployments;
mod full;
mod plan;
mod scene;
mod stats;
mod streams;
mod uppercase;
mod wc;
mod wrong_use;
