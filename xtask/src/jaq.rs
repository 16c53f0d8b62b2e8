//! `cargo xtask jaq`: jaq's own tests, through `millstream jq`.
//!
//! The tests are taken from the sources of jaq's crates as cargo downloads them, and are built beside a module of our
//! own under the name of the one that asks jaq. `conformance/differs.txt` names those that fail, and says why.

use crate::cmd::{Cmd, Result, failure, read, root, target_dir};
use crate::{tidy, tree};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, and the name of their tests here.
const CRATES: [(&str, &str); 4] = [("jaq-core", "core"), ("jaq-std", "std"), ("jaq-json", "json"), ("jaq", "program")];

const CONFORMANCE: &str = "crates/millstream-jq/conformance";

pub(crate) fn run() -> Result {
    // As the tests have built it.
    Cmd::cargo("build --workspace --all-features --bin millstream").run()?;
    let place = target_dir().join("jaq");
    let binaries = tests_in(&place)?;
    let mut failed = BTreeMap::new();
    let mut passed = 0;
    for binary in &binaries {
        let output = Cmd::new("cargo", ["test", "--locked", "--quiet", "--test", binary, "--", "--format=pretty"])
            .current_dir(&place)
            .own_target("jaq/target")
            .env("RUST_BACKTRACE", "0")
            .env("MILLSTREAM", target_dir().join("debug/millstream"))
            .output()?;
        let told = outcomes(&output).ok_or_else(|| failure(format!("{output}\nthe tests {binary} did not run")))?;
        for (test, outcome) in told {
            match outcome {
                Outcome::Passed => passed += 1,
                Outcome::Failed => drop(failed.insert(format!("{binary}::{test}"), message(&output, &test))),
            }
        }
    }
    judge(passed, &failed, &differences(&read(&root().join(CONFORMANCE).join("differs.txt"))?)?)
}

/// The names of the tests that are expected to fail, with the reasons.
fn differences(text: &str) -> Result<BTreeMap<&str, &str>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').ok_or_else(|| failure(format!("differs.txt: `{line}` has no reason"))))
        .collect()
}

fn judge(passed: usize, failed: &BTreeMap<String, String>, expected: &BTreeMap<&str, &str>) -> Result {
    let new = failed.iter().filter(|(test, _)| !expected.contains_key(test.as_str()));
    let mut wrong: Vec<String> = new.map(|(test, message)| format!("{test} fails:\n{message}")).collect();
    let mended = expected.keys().filter(|test| !failed.contains_key(**test));
    wrong.extend(mended.map(|test| format!("{test} is in differs.txt, and does not fail")));
    println!("{passed} of {} tests of jaq pass", passed + failed.len());
    for (test, reason) in expected {
        println!("  {test}: {reason}");
    }
    if wrong.is_empty() { Ok(()) } else { Err(failure(wrong.join("\n"))) }
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
}

/// What a test binary says of each test; nothing where it did not come to its end.
fn outcomes(output: &str) -> Option<Vec<(String, Outcome)>> {
    if !output.contains("\ntest result: ") {
        return None;
    }
    let lines = output.lines().filter_map(|line| line.strip_prefix("test ")?.rsplit_once(" ... "));
    let told = lines.filter_map(|(test, outcome)| match outcome {
        "ok" => Some((test.to_owned(), Outcome::Passed)),
        "FAILED" => Some((test.to_owned(), Outcome::Failed)),
        _ => None,
    });
    Some(told.collect())
}

/// What a failed test wrote.
fn message(output: &str, test: &str) -> String {
    let from = output.split_once(&format!("---- {test} stdout ----\n")).map_or("", |(_, message)| message);
    from.split("\n\n").next().unwrap_or_default().to_owned()
}

/// Makes the package at the place: ours, with jaq's tests beside it. Returns the names of the test binaries.
fn tests_in(place: &Path) -> Result<Vec<String>> {
    let conformance = root().join(CONFORMANCE);
    for file in ["Cargo.toml", "Cargo.lock", "src/main.rs", "tests/common/mod.rs"] {
        copy(&conformance.join(file), &place.join(file))?;
    }
    Cmd::cargo("fetch --locked").current_dir(place).run()?;
    let metadata = Cmd::cargo("metadata --locked --format-version 1").current_dir(place).output()?;
    let sources = sources(&metadata).ok_or_else(|| failure("cargo metadata does not name jaq-core"))?;
    let manifest = read(&place.join("Cargo.toml"))?;
    let mut binaries = Vec::new();
    for (package, name) in CRATES {
        let version = version(&manifest, package).ok_or_else(|| failure(format!("no version of {package}")))?;
        let from = sources.join(format!("{package}-{version}/tests"));
        for file in files_below(&from)? {
            let below = file.strip_prefix(&from).expect("a file below it");
            if below.starts_with("common") {
                continue;
            }
            let test = below.parent() == Some(Path::new("")) && below.extension().is_some_and(|it| it == "rs");
            let to = if test {
                let stem = below.file_stem().unwrap_or_default().to_string_lossy();
                binaries.push(format!("{name}_{stem}"));
                PathBuf::from(format!("{name}_{stem}.rs"))
            } else {
                below.to_owned()
            };
            copy(&file, &place.join("tests").join(to))?;
        }
    }
    Ok(binaries)
}

/// The directory in which cargo keeps the sources of crates: `jaq`, which has no library, is not in the metadata.
fn sources(metadata: &str) -> Option<PathBuf> {
    let paths = metadata.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let core = paths.map(Path::new).find(|path| {
        let dir = path.parent().and_then(Path::file_name).unwrap_or_default();
        dir.to_string_lossy().starts_with("jaq-core-")
    });
    Some(core?.parent()?.parent()?.to_owned())
}

/// The exact version that the manifest asks for.
fn version<'a>(manifest: &'a str, package: &str) -> Option<&'a str> {
    let line = manifest.lines().find(|line| line.starts_with(&format!("{package} = ")))?;
    line.split_once("\"=")?.1.split('"').next()
}

/// A copy that is as before keeps its time, so that nothing is built again.
fn copy(from: &Path, to: &Path) -> Result {
    tree::set(to, Some(fs::read(from).map_err(tree::cannot("read", from))?))
}

fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in tidy::entries(dir)? {
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\nrunning 2 tests\ntest add ... ok\ntest path::sub ... FAILED\n\nfailures:\n\n\
                          ---- path::sub stdout ----\nleft: 1\nright: 2\n\n\nfailures:\n    path::sub\n\n\
                          test result: FAILED. 1 passed\n";

    #[test]
    fn outcomes_and_messages_are_read() {
        let told = outcomes(OUTPUT).unwrap();
        assert_eq!(told, [("add".to_owned(), Outcome::Passed), ("path::sub".to_owned(), Outcome::Failed)]);
        assert_eq!(message(OUTPUT, "path::sub"), "left: 1\nright: 2");
        assert_eq!(outcomes("test add ... ok\n"), None);
    }

    #[test]
    fn a_failure_needs_a_reason_and_a_reason_a_failure() {
        let failed = BTreeMap::from([("core::a".to_owned(), "left".to_owned())]);
        let expected = differences("# why\n\ncore::a it reads the clock\n").unwrap();
        assert!(judge(3, &failed, &expected).is_ok());
        assert!(judge(3, &failed, &BTreeMap::new()).unwrap_err().message.contains("core::a fails:\nleft"));
        assert!(judge(3, &BTreeMap::new(), &expected).unwrap_err().message.contains("does not fail"));
        assert!(differences("core::a").is_err());
    }

    #[test]
    fn versions_and_sources_are_found() {
        let manifest = "jaq = \"=3.1.2\"\njaq-json = { version = \"=2.0.3\", features = [] }\n";
        assert_eq!((version(manifest, "jaq"), version(manifest, "jaq-json")), (Some("3.1.2"), Some("2.0.3")));
        let metadata =
            r#"{"manifest_path":"/r/src/serde-1/Cargo.toml"},{"manifest_path":"/r/src/jaq-core-3/Cargo.toml"}"#;
        assert_eq!(sources(metadata), Some(PathBuf::from("/r/src")));
    }
}
