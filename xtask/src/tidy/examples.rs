//! The examples of the docs: programs that depend on `millstream` alone.

/// The crates that the shown lines of an example may `use`: those that a reader who copies it has.
const CRATES: [&str; 5] = ["alloc", "core", "millstream", "self", "std"];

/// And these: async code needs an executor, which a program has already.
const OF_ASYNC: [&str; 2] = ["futures_util", "tokio"];

/// The offences in the doc comments of a source file.
pub(super) fn in_source<'a>(name: &str, source: &'a str) -> Vec<String> {
    let doc = |line: &'a str| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    };
    offences(name, source.lines().map(doc))
}

/// The offences in the blocks of code of a Markdown file.
pub(super) fn in_markdown(name: &str, text: &str) -> Vec<String> {
    offences(name, text.lines().map(Some))
}

/// A line that is `None` is no documentation, and ends an open block.
fn offences<'a>(name: &str, lines: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
    let mut found = Vec::new();
    // Whether the open block is an example.
    let mut block: Option<bool> = None;
    for (number, line) in (1..).zip(lines) {
        let Some(line) = line else {
            block = None;
            continue;
        };
        match (line.trim().strip_prefix("```"), block) {
            (Some(info), None) => block = Some(is_rust(info)),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) => {
                found.extend(other_crate(line).map(|other| {
                    format!("{name}:{number}: an example depends on `millstream` alone, and this one on `{other}`")
                }));
            }
            _ => {}
        }
    }
    found
}

/// Whether rustdoc runs or compiles a block with this information.
fn is_rust(info: &str) -> bool {
    let kinds = ["rust", "should_panic", "no_run", "compile_fail", "ignore"];
    info.split([',', ' ']).all(|word| word.is_empty() || kinds.contains(&word) || word.starts_with("edition"))
}

/// The crate that a line of an example needs, other than those that a reader has. A hidden line (`# `) prepares the
/// example for its test and may use the test's crates, except for ours.
fn other_crate(line: &str) -> Option<&str> {
    let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    if let Some(ours) = words.find(|word| word.starts_with("millstream_")) {
        return Some(ours);
    }
    let used = line.trim_start().strip_prefix("use ")?;
    let root = used.split([':', ';', ' ', '{']).next()?;
    let local = root.starts_with(char::is_uppercase);
    (!local && !CRATES.contains(&root) && !OF_ASYNC.contains(&root)).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_needs_another_crate_is_an_offence() {
        let source = "/// `millstream_core::Arrow` is prose.\n/// ```\n/// use millstream::prelude::*;\n\
                      /// use tempfile::tempdir;\n/// # use tempfile::tempfile;\n/// # millstream_exec::f();\n/// ```\n\
                      use millstream_core::Arrow;\n";
        assert_eq!(
            in_source("a.rs", source),
            [
                "a.rs:4: an example depends on `millstream` alone, and this one on `tempfile`",
                "a.rs:6: an example depends on `millstream` alone, and this one on `millstream_exec`",
            ]
        );
    }

    #[test]
    fn other_blocks_and_local_names_are_no_offence() {
        let page = "```text\nuse millstream_core::Arrow;\n```\n```rust,no_run\nuse std::fs;\nuse Side::*;\n```\n";
        assert_eq!(in_markdown("a.md", page), [""; 0]);
        let page = "    ```should_panic\n    use rand::random;\n    ```\nuse rand::random;\n";
        assert_eq!(in_markdown("a.md", page).len(), 1);
    }
}
