//! The integration tests of this crate, in one binary.

mod blocks;
#[cfg(all(feature = "gzip", feature = "zstd"))]
mod compressed;
mod file_sink;
mod files;
mod follow;
mod line_blocks;
mod ticks;
mod traffic;
mod whole_blocks;
mod words;
