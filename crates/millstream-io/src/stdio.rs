//! The standard streams as plain files: no buffer of the standard library in between, and no lock.
//!
//! A block is written with one system call as soon as it is there, so nothing ever waits to be flushed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Standard input.
///
/// # Errors
///
/// If the process has no file descriptor left.
pub fn input() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Standard output. Whoever mixes this with `println!` flushes that first.
///
/// # Errors
///
/// If the process has no file descriptor left.
pub fn output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}
