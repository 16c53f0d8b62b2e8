//! docs/rows.txt: the proofs of the rows.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::anchors::anchor_exists;
use super::commands::can_fail;
use super::tests_named::test_runs;

pub(super) const MAPPING: &str = "docs/rows.txt";

/// The proof of a row, and the line that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) line: usize,
    pub(super) proof: Proof,
}

/// The proof of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// One test or several, and the sections that they are about.
    Test(String),
    Command(String),
    NotApplicable(String),
    /// Not shown; the mapping says why.
    Open,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(path) => write!(f, "test {path}"),
            Self::Command(command) => write!(f, "command {command}"),
            Self::NotApplicable(anchor) => write!(f, "not-applicable {anchor}"),
            Self::Open => f.write_str("open"),
        }
    }
}

impl Proof {
    fn parse(kind: &str, what: &str) -> Result<Self, String> {
        if what.is_empty() {
            return Err(if kind == "open" { "`open` needs a reason" } else { "it names no proof" }.to_owned());
        }
        match kind {
            "test" if !what.contains("::") => Err("it names no test".to_owned()),
            "test" => Ok(Self::Test(what.to_owned())),
            "command" => Ok(Self::Command(what.to_owned())),
            "not-applicable" => Ok(Self::NotApplicable(what.to_owned())),
            "open" => Ok(Self::Open),
            _ => Err(format!("`{kind}` is not test, command, not-applicable, open or as")),
        }
    }

    /// Checks that the proof exists, and can fail.
    pub(super) fn holds(&self, root: &Path) -> Result<(), String> {
        match self {
            Self::Test(proofs) => proofs.split_whitespace().try_for_each(|proof| {
                if proof.contains('#') { anchor_exists(root, proof) } else { test_runs(root, proof) }
            }),
            Self::Command(command) => can_fail(command),
            Self::NotApplicable(anchor) => anchor_exists(root, anchor),
            Self::Open => Ok(()),
        }
    }
}

/// The rows by id, and the errors of the other lines. `A as B` gives row A the proof of row B.
pub(super) fn parse(mapping: &str) -> (BTreeMap<String, Mapped>, Vec<String>) {
    let mut found: BTreeMap<String, Mapped> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut same = Vec::new();
    for (line, text) in (1..).zip(mapping.lines().map(str::trim)) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (id, rest) = word(text);
        let (kind, what) = word(rest);
        if kind == "as" {
            same.push((line, id, what));
            continue;
        }
        match Proof::parse(kind, what) {
            Err(why) => wrong.push(format!("{MAPPING}:{line}: {id}: {why}")),
            Ok(proof) => {
                if let Some(first) = found.insert(id.to_owned(), Mapped { line, proof }) {
                    wrong.push(format!("{MAPPING}:{line}: {id} is mapped at line {} too", first.line));
                }
            }
        }
    }
    for (line, id, other) in same {
        match found.get(other).filter(|_| !found.contains_key(id)).cloned() {
            Some(Mapped { proof, .. }) => _ = found.insert(id.to_owned(), Mapped { line, proof }),
            None => wrong.push(format!("{MAPPING}:{line}: {id} is mapped already, or {other} has no proof of its own")),
        }
    }
    (found, wrong)
}

/// The first word and the rest.
fn word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tests_of_a_row_must_run() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("main.rs"), "mod a;\n").unwrap();
        std::fs::write(dir.path().join("a.rs"), "#[test]\nfn b() {}\n#[test]\nfn c() {}\n").unwrap();
        std::fs::write(dir.path().join("d.md"), "# A section\n").unwrap();
        let holds = |tests: &str| Proof::Test(tests.to_owned()).holds(dir.path());
        assert_eq!(holds("a.rs::b a.rs::c d.md#a-section"), Ok(()));
        assert_eq!(holds("a.rs::b d.md#another"), Err("d.md has no heading `#another`".to_owned()));
        assert_eq!(Proof::parse("test", "d.md#a-section"), Err("it names no test".to_owned()));
        assert_eq!(holds("a.rs::b a.rs::d"), Err("a.rs: there is no `fn d`".to_owned()));
    }

    #[test]
    fn a_mapping_is_read_line_by_line() {
        let (found, wrong) = parse(
            "# comment\n\nA01 test a.rs::b\nA02  command  cargo xtask bench wc\nA03 not-applicable A.md#b\n\
             A01 test c.rs::d\nA04 maybe x\nA05 test\nA06\nA07 open\nA08 open it is not measured yet\n\
             B01 as A02\nB02 as B03\n",
        );
        assert_eq!(found["B01"], Mapped { line: 12, proof: found["A02"].proof.clone() });
        assert_eq!(found["A02"], Mapped { line: 4, proof: Proof::Command("cargo xtask bench wc".to_owned()) });
        assert_eq!(found["A03"].proof.to_string(), "not-applicable A.md#b");
        assert_eq!(found["A08"].proof.to_string(), "open");
        let lines: Vec<_> = wrong.iter().map(|w| w["docs/rows.txt:".len()..].split(':').next().unwrap()).collect();
        assert_eq!(lines, ["6", "7", "8", "9", "10", "13"], "{wrong:?}");
    }
}
