//! Untrusted text as a filter: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| millstream_jq::fuzzed::filter(text));
