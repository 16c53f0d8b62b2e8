//! Records in any pieces: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| millstream_net::fuzzed::records(bytes));
