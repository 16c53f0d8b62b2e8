//! A connection over HTTP: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| millstream_net::fuzzed::http(bytes));
