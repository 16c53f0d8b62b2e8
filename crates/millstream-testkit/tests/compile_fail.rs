//! Pipelines that do not compile, and what the compiler says of them.
//!
//! `TRYBUILD=overwrite cargo test -p millstream-testkit --test compile_fail` writes the messages anew.

#[test]
fn wrong_pipelines_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
