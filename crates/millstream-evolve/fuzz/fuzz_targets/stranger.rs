//! Untrusted bytes, for a master and for a worker: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| millstream_evolve::fuzzed::throw(bytes));
