//! The test that each mutant names must be there. A filter that selects no test passes, and kills nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cmd::{Result, read};
use crate::patch::Mutant;

/// The offences of the patches of mutants/.
pub(super) fn offences(root: &Path, mutants: &[Mutant]) -> Result<Vec<String>> {
    let (files, mut found) = (super::files(root, "rs")?, Vec::new());
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    for mutant in mutants {
        let (packages, filters) = named(&mutant.kills);
        for &package in &packages {
            if !sources.contains_key(package) {
                sources.insert(package, source(root, &files, package)?);
            }
        }
        let of_package = || packages.iter().map(|package| sources[package].as_str());
        for filter in filters {
            let there = |name: &str| of_package().any(|source| selects(source, name));
            if !packages.is_empty() && !filter.split("::").all(there) {
                let file = mutant.file.strip_prefix(root).unwrap_or(&mutant.file);
                found.push(format!("{}:1: `{filter}` selects no test of {}", file.display(), packages.join(", ")));
            }
        }
    }
    Ok(found)
}

/// The flags of `cargo test` that have an argument.
const WITH_ARGUMENT: [&str; 6] = ["-p", "--test", "--features", "--profile", "--bin", "--example"];

/// The packages and the filters in the arguments of `cargo test`, where filters stand before `--` or behind.
fn named(kills: &[String]) -> (Vec<&str>, Vec<&str>) {
    let (mut packages, mut filters, mut before) = (Vec::new(), Vec::new(), "");
    for arg in kills.iter().map(String::as_str) {
        match before {
            "-p" => packages.push(arg),
            flag if WITH_ARGUMENT.contains(&flag) => {}
            _ if arg.starts_with('-') => {}
            _ => filters.push(arg),
        }
        before = arg;
    }
    (packages, filters)
}

/// Whether a function or a module has this in its name.
fn selects(source: &str, name: &str) -> bool {
    let names = source.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    names.clone().zip(names.skip(1)).any(|(word, after)| matches!(word, "fn" | "mod") && after.contains(name))
}

/// All code of a package, of these files.
fn source(root: &Path, files: &[PathBuf], package: &str) -> Result<String> {
    let dirs = [root.join("crates").join(package), root.join(package)];
    let of_package = files.iter().filter(|file| dirs.iter().any(|dir| file.starts_with(dir)));
    Ok(of_package.map(|file| read(file)).collect::<Result<Vec<_>>>()?.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_selects_by_a_part_of_a_name() {
        let source = "mod early {\n    fn a_mark_is_early() { what_is_left() }\n}\n";
        assert!(selects(source, "early") && selects(source, "mark_is"));
        assert!(!selects(source, "what_is_left"));
    }

    #[test]
    fn filters_stand_before_the_dashes_or_behind() {
        let kills = ["--profile", "loom", "-p", "x", "--test", "loom", "--", "--exact", "a::b"].map(str::to_owned);
        assert_eq!(named(&kills), (vec!["x"], vec!["a::b"]));
        assert_eq!(named(&kills[..6]), (vec!["x"], vec![]));
        let kills = ["-p", "x", "--all-features", "--lib", "slots", "--", "more"].map(str::to_owned);
        assert_eq!(named(&kills), (vec!["x"], vec!["slots", "more"]));
    }

    #[test]
    fn each_part_of_a_path_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("crates/x/src")).unwrap();
        std::fs::create_dir(dir.path().join("xtask")).unwrap();
        std::fs::write(dir.path().join("crates/x/src/lib.rs"), "mod hub { fn a_round() {} }").unwrap();
        let diff = "--- a/x\n+++ b/x\n";
        let mutant = |filter| {
            let head = format!("# name: m\n# kills: -p x --lib {filter}\n{diff}");
            Mutant::parse(&dir.path().join("m.patch"), &head).unwrap()
        };
        let found = |filter| offences(dir.path(), &[mutant(filter)]).unwrap();
        for there in ["hub", "hub::", "hub::a_round", "round"] {
            assert_eq!(found(there), [""; 0], "{there}");
        }
        for gone in ["hubs::", "gone::a_round", "hub::b_round", "b_round"] {
            assert_eq!(found(gone), [format!("m.patch:1: `{gone}` selects no test of x")]);
        }
    }
}
