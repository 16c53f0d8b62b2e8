//! What must not compile, and what the compiler says of it (`TRYBUILD=overwrite` writes its words anew).
#![cfg(not(any(loom, miri)))]

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
