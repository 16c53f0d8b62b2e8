//! Untrusted bytes as JSON, whole and in blocks: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| millstream_jq::fuzzed::json(bytes));
