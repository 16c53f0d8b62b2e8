//! Untrusted bytes, as a segment of a journal: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = millstream_state::fuzzed::segment(bytes);
});
