//! The seeds of counterexamples are where proptest looks for them. It never reads a file elsewhere.

use std::path::Path;

use crate::cmd::Result;
use crate::tidy::{entries, files};

/// The directory of seeds, which is beside the one of the sources.
const SEEDS: &str = "proptest-regressions";

/// The offences of the files in such directories.
pub(super) fn offences(root: &Path) -> Result<Vec<String>> {
    let mut found = files(root, "txt")?;
    found.extend(entries(root)?.into_iter().filter(|dir| dir.ends_with(SEEDS)));
    let mut unread = Vec::new();
    for file in &found {
        if !is_read(file)? {
            let name = file.strip_prefix(root).unwrap_or(file).display();
            unread.push(format!("{name}:1: no test reads these seeds: no source is at this place beside `{SEEDS}`"));
        }
    }
    Ok(unread)
}

/// Whether `D/proptest-regressions/a/b.txt` is for a `D/S/a/b.rs`, where S has the root of a crate.
fn is_read(file: &Path) -> Result<bool> {
    let Some(seeds) = file.ancestors().find(|dir| dir.ends_with(SEEDS)) else { return Ok(true) };
    let (Some(beside), Ok(of)) = (seeds.parent(), file.strip_prefix(seeds)) else { return Ok(true) };
    let is_root = |dir: &Path| ["lib.rs", "main.rs"].iter().any(|name| dir.join(name).is_file());
    Ok(entries(beside)?.iter().any(|dir| is_root(dir) && dir.join(of).with_extension("rs").is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_that_no_test_reads_are_an_offence() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        };
        for name in [
            "crates/x/src/lib.rs",
            "crates/x/src/a/b.rs",
            "crates/x/proptest-regressions/a/b.txt",
            "crates/x/tests/all/main.rs",
            "crates/x/tests/all/c.rs",
            "crates/x/tests/proptest-regressions/c.txt",
            "crates/x/words.txt",
            "xtask/a.rs",
        ] {
            write(name);
        }
        assert_eq!(offences(dir.path()).unwrap(), [""; 0]);
        let unread = ["crates/x/proptest-regressions/c.txt", "crates/x/tests/proptest-regressions/a/b.txt"];
        unread.iter().for_each(|name| write(name));
        write("proptest-regressions/c.txt");
        let found = offences(dir.path()).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        for (offence, file) in found.iter().zip(unread.into_iter().chain(["proptest-regressions"])) {
            assert!(offence.starts_with(&format!("{file}:1: ")), "{offence}");
        }
    }
}
