//! Untrusted bytes, as a snapshot and as a `job` on the disk: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = millstream_state::fuzzed::manifest(bytes);
});
