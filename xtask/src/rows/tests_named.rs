//! The tests that rows name: functions that the test harness runs, and examples that rustdoc runs.

use std::path::{Path, PathBuf};

/// `FILE::NAME`: FILE is compiled, and has a `#[test]` of that name that is not ignored (modules may come between).
/// `FILE::doctest`: FILE has an example that runs, or that must not compile. A page of Markdown is part of the
/// documentation that includes it.
pub(super) fn test_runs(root: &Path, path: &str) -> Result<(), String> {
    let (file, name) = path.split_once("::").ok_or(format!("`{path}` is not FILE::NAME"))?;
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let name = name.rsplit("::").next().unwrap_or(name);
    let judged = match name {
        "doctest" if file.ends_with(".md") => included(root, file).and_then(|()| example_runs(&text, page_line)),
        "doctest" => example_runs(&text, doc_comment),
        _ => compiled(root, Path::new(file)).and_then(|()| function_runs(&text, name)),
    };
    judged.map_err(|why| format!("{file}: {why}"))
}

/// The files that include pages in their documentation: the book's, and the README.
const INCLUDING: [&str; 2] = ["crates/millstream/src/book.rs", "crates/millstream/src/lib.rs"];

/// Whether this page is part of some documentation.
fn included(root: &Path, page: &str) -> Result<(), String> {
    let name = page.rsplit('/').next().unwrap_or(page);
    let includes = |file: &&str| std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains(name));
    if INCLUDING.iter().any(includes) {
        return Ok(());
    }
    Err(format!("neither {} includes it, so its examples do not run", INCLUDING.join(" nor ")))
}

/// Whether this file is the root of a crate, of a test binary or of an example, or some file has a `mod` for it.
fn compiled(root: &Path, file: &Path) -> Result<(), String> {
    let (dir, name) = (file.parent().unwrap_or(file), file.file_stem().unwrap_or_default().to_string_lossy());
    let is_root = ["lib", "main"].contains(&&*name) || ["tests", "examples"].iter().any(|of| dir.ends_with(of));
    let parents = [dir.with_extension("rs"), dir.join("lib.rs"), dir.join("main.rs")];
    let module = format!("mod {name};");
    let includes = |parent: &PathBuf| {
        let text = std::fs::read_to_string(root.join(parent));
        text.is_ok_and(|text| text.lines().any(|line| line == module || line.ends_with(&format!(" {module}"))))
    };
    if is_root || parents.iter().any(includes) {
        Ok(())
    } else {
        Err(format!("no file has `{module}`, so it does not run"))
    }
}

/// Attributes that make a function a test.
const TESTS: [&str; 2] = ["#[test]", "#[tokio::test"];

/// Whether the harness runs a function of this name. If several have it, one that runs is enough.
fn function_runs(text: &str, name: &str) -> Result<(), String> {
    let mut why = format!("there is no `fn {name}`");
    let mut attributes: Vec<String> = Vec::new();
    let mut depth = 0; // of brackets within an attribute of several lines
    for line in text.lines().map(str::trim) {
        if depth > 0 || line.starts_with("#[") {
            match attributes.last_mut().filter(|_| depth > 0) {
                Some(begun) => begun.push_str(line),
                None => attributes.push(line.to_owned()),
            }
            depth += line.matches('[').count() as isize - line.matches(']').count() as isize;
            continue;
        }
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if declares(line, name) {
            match judge(&attributes, name) {
                Ok(()) => return Ok(()),
                Err(reason) => why = reason,
            }
        }
        attributes.clear();
    }
    Err(why)
}

/// Whether this line is the head of `fn NAME`.
fn declares(line: &str, name: &str) -> bool {
    let after = line.split_once("fn ").map(|(_, after)| after.trim_start());
    let rest = after.and_then(|after| after.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(['(', '<']))
}

fn judge(attributes: &[String], name: &str) -> Result<(), String> {
    let has = |start: &str| attributes.iter().any(|attribute| attribute.starts_with(start));
    if !TESTS.into_iter().any(has) {
        return Err(format!("`fn {name}` is no test: `#[test]` is not before it"));
    }
    if has("#[ignore") {
        return Err(format!("the test `{name}` is ignored"));
    }
    Ok(())
}

/// The documentation in a line of Rust.
fn doc_comment(line: &str) -> Option<&str> {
    line.strip_prefix("///").or(line.strip_prefix("//!"))
}

/// A page is documentation as a whole.
fn page_line(line: &str) -> Option<&str> {
    Some(line)
}

/// Whether rustdoc runs an example of this file. `doc` extracts the documentation of a line.
fn example_runs(text: &str, doc: fn(&str) -> Option<&str>) -> Result<(), String> {
    let mut fenced = false;
    let mut runs = false;
    for line in text.lines().map(str::trim_start) {
        let Some(info) = doc(line).and_then(|doc| doc.trim_start().strip_prefix("```")) else {
            continue;
        };
        fenced = !fenced;
        runs |= fenced && is_run(info);
    }
    if runs { Ok(()) } else { Err("no example in its documentation runs".to_owned()) }
}

/// Whether a block with these words after its fence is Rust that rustdoc runs, or checks not to compile.
fn is_run(info: &str) -> bool {
    let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
    words.all(|word| matches!(word, "rust" | "should_panic" | "compile_fail") || word.starts_with("edition"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        fn helper(n: u64) {}
        #[test]
        fn plain() {}
        // #[test]
        // fn in_a_comment() {}
        /// What it is about.
        #[should_panic(expected = "x[0]")]
        #[test]
        /// More.
        fn panics() { helper(1) }
        #[test]
        #[ignore = "takes an hour"]
        fn ignored() {}
        #[tokio::test(flavor = "current_thread")]
        async fn with_tokio() {}
        #[expect(
            clippy::too_many_lines,
            reason = "a table [sic]"
        )]
        #[test]
        fn long() {}
        #[test]
        #[cfg_attr(miri, ignore)]
        fn not_under_miri() {}
        #[test]
        const NOTHING: u64 = 0;
        fn after_a_constant() {}
        fn plain_and_more() {}
        proptest! {
            #[test]
            fn property(a in 0..9_u64) {}
            fn strategy(a in 0..9_u64) {}
        }
        mod twice { fn of_a_name() {} }
        mod inner {
            #[test]
            fn of_a_name() {}
        }
    "#;

    #[test]
    fn functions_that_the_harness_runs_count() {
        for name in ["plain", "panics", "with_tokio", "long", "not_under_miri", "property", "of_a_name"] {
            assert_eq!(function_runs(FILE, name), Ok(()), "{name}");
        }
    }

    #[test]
    fn helpers_ignored_tests_and_comments_do_not() {
        for name in ["helper", "after_a_constant", "plain_and_more", "strategy"] {
            let why = function_runs(FILE, name).unwrap_err();
            assert!(why.contains("is no test"), "{name}: {why}");
        }
        assert_eq!(function_runs(FILE, "ignored"), Err("the test `ignored` is ignored".to_owned()));
        for name in ["in_a_comment", "NOTHING", "plai"] {
            assert_eq!(function_runs(FILE, name), Err(format!("there is no `fn {name}`")));
        }
    }

    #[test]
    fn examples_count_that_rustdoc_runs() {
        let text = |info: &str| format!("/// A.\n/// ```{info}\n/// x();\n/// ```\nfn x() {{}}\n");
        let doc = |info: &str| example_runs(&text(info), doc_comment);
        for info in ["", "rust", "should_panic", "compile_fail", "rust,edition2024"] {
            assert_eq!(doc(info), Ok(()), "{info}");
        }
        for info in ["no_run", "ignore", "text", "console", "rust,no_run"] {
            doc(info).unwrap_err();
        }
        example_runs("```\nx();\n```\n", doc_comment).unwrap_err();
        example_runs("fn x() {}\n", doc_comment).unwrap_err();
    }

    #[test]
    fn a_path_is_of_a_file_and_a_name() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.rs"), FILE).unwrap();
        std::fs::write(dir.path().join("left_out.rs"), FILE).unwrap();
        std::fs::write(dir.path().join("main.rs"), "pub(crate) mod a;\n// mod left_out; is no more\n").unwrap();
        let judged = |path| test_runs(dir.path(), path);
        assert_eq!(judged("a.rs::plain"), Ok(()));
        assert_eq!(judged("a.rs::inner::of_a_name"), Ok(()));
        assert_eq!(judged("a.rs::missing"), Err("a.rs: there is no `fn missing`".to_owned()));
        let why = "left_out.rs: no file has `mod left_out;`, so it does not run";
        assert_eq!(judged("left_out.rs::plain"), Err(why.to_owned()));
        judged("b.rs::plain").unwrap_err();
        for page in ["in.md", "out.md"] {
            std::fs::write(dir.path().join(page), "A page.\n\n```rust\nx();\n```\n").unwrap();
        }
        std::fs::create_dir_all(dir.path().join("crates/millstream/src")).unwrap();
        std::fs::write(dir.path().join(INCLUDING[0]), "pages!(In: \"in.md\");").unwrap();
        assert_eq!(judged("in.md::doctest"), Ok(()));
        judged("out.md::doctest").unwrap_err();
        judged("a.rs").unwrap_err();
    }
}
