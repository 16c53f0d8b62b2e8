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

/// What the book shows of a message is what the compiler prints for the book's program: line by line, with `...` for
/// what is left out.
#[test]
fn the_message_in_the_book_is_the_compilers() {
    let page = std::fs::read_to_string("../../docs/book/src/first-hour.md").unwrap();
    let block = |fence: &str| {
        let (_, rest) = page.split_once(fence).unwrap_or_else(|| panic!("no block {fence:?} in the page"));
        rest.split_once("\n```").unwrap().0.to_owned()
    };
    let golden =
        |kind| std::fs::read_to_string(format!("tests/compile_fail/scan_in_shard_of_the_book.{kind}")).unwrap();
    let program = golden("rs");
    for line in block("```rust,compile_fail\n").lines() {
        assert!(program.lines().any(|of_program| of_program == line), "not in the program: {line}");
    }
    let message = golden("stderr").replace("millstream::millstream_core::pipe::", "");
    let mut printed = message.lines();
    for shown in block("```text\nerror").lines() {
        let parts: Vec<_> = shown.split("...").map(str::trim).collect();
        let is_shown = |line: &str| {
            let rest = parts.iter().try_fold(line, |rest, part| rest.split_once(part).map(|(_, rest)| rest));
            rest.is_some_and(|rest| rest.is_empty() || shown.ends_with("..."))
        };
        assert!(printed.any(is_shown), "not in the message, or not in this order: {shown}");
    }
}
