//! Misuse that must not compile, and the compiler's messages (`TRYBUILD=overwrite` writes them again). A binary of its
//! own, so that `--test compile_fail` runs it alone.
#![cfg(not(any(loom, miri)))]

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
