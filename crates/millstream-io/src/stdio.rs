//! The standard streams as plain files, without the standard library's buffers and locks.
//!
//! A block is written with one system call at once, so nothing waits for a flush.

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

/// Standard output. If `println!` is used too, flush it before a write to this.
///
/// # Errors
///
/// If the process has no file descriptor left.
pub fn output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}
