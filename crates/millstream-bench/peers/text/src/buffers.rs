//! Standard input and output, without the standard library's buffers.

use std::fs::File;
use std::io::{self, stdin, stdout};
use std::os::fd::AsFd;

/// Of 8, 64 and 256 KiB, 1 and 2 MiB, this size took tokio the least processor time: each of its reads and writes is a
/// job of another thread.
pub(crate) const OF_TOKIO: usize = 256 * 1024;

/// For programs that read and write on their own thread, 64 KiB took the least processor time; larger sizes were no
/// better.
pub(crate) const OF_BLOCKING: usize = 64 * 1024;

/// Standard input, without a buffer.
pub(crate) fn input() -> io::Result<File> {
    stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output, without a buffer.
pub(crate) fn output() -> io::Result<File> {
    stdout().as_fd().try_clone_to_owned().map(File::from)
}
