//! The integration tests of this crate, in one binary.

mod damage;
mod directories;
mod retention;
