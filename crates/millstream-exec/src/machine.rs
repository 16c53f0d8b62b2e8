//! What this process may use of the machine it runs on.

mod cpus;
mod pin;

pub(crate) use pin::Pins;
