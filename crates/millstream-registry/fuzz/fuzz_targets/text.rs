//! Untrusted text as a pipeline: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| millstream_registry::fuzzed::text(text));
