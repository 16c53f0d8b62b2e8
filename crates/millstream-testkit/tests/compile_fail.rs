//! Pipelines that do not compile, and the compiler's messages.
//!
//! A separate test binary, so that this command runs it alone: `TRYBUILD=overwrite cargo test -p millstream-testkit
//! --test compile_fail` writes the messages again.

#[test]
fn wrong_pipelines_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

/// Each message is one error of at most thirty lines, except for programs with several mistakes.
#[test]
fn a_mistake_is_one_error_of_at_most_thirty_lines() {
    // The number of mistakes in each, in lines that the compiler checks one by one. A function that does not say
    // `+ Everywhere` lacks two traits of queues.
    const MORE: [(&str, usize); 2] = [("function_on_queues", 2), ("notation_without_an_operand", 6)];
    let goldens = std::fs::read_dir("tests/compile_fail").unwrap().map(|entry| entry.unwrap().path());
    let goldens: Vec<_> = goldens.filter(|path| path.extension().is_some_and(|kind| kind == "stderr")).collect();
    assert!(goldens.len() > 25, "the messages are in tests/compile_fail: {}", goldens.len());
    for golden in goldens {
        let name = golden.file_stem().unwrap().to_string_lossy().into_owned();
        let mistakes = MORE.iter().find(|(more, _)| *more == name).map_or(1, |(_, mistakes)| *mistakes);
        let text = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("error")).count(), mistakes, "{name}");
        assert!(text.lines().count() <= 30 * mistakes, "{name}: {} lines", text.lines().count());
    }
}
