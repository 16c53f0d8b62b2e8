//! The integration tests of this crate, in one binary.

mod crashes;
mod damage;
mod directories;
mod jobs;
mod retention;
mod simulated;
