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
            let name = filter.rsplit("::").next().unwrap_or(filter);
            if !packages.is_empty() && !of_package().any(|source| selects(source, name)) {
                let file = mutant.file.strip_prefix(root).unwrap_or(&mutant.file);
                found.push(format!("{}:1: `{filter}` selects no test of {}", file.display(), packages.join(", ")));
            }
        }
    }
    Ok(found)
}

/// The packages and the filters in the arguments of `cargo test`.
fn named(kills: &[String]) -> (Vec<&str>, Vec<&str>) {
    let end = kills.iter().position(|arg| arg == "--").unwrap_or(kills.len());
    let packages = kills[..end].windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1].as_str());
    let filters = kills[end..].iter().map(String::as_str).filter(|arg| !arg.starts_with('-'));
    (packages.collect(), filters.collect())
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
    fn filters_stand_behind_the_dashes() {
        let kills = ["--profile", "loom", "-p", "x", "--test", "loom", "--", "--exact", "a::b"].map(str::to_owned);
        assert_eq!(named(&kills), (vec!["x"], vec!["a::b"]));
        assert_eq!(named(&kills[..6]), (vec!["x"], vec![]));
    }
}
