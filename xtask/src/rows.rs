//! `cargo xtask rows`: where each requirement is shown to hold.
//!
//! The requirements are the rows of docs/requirements.md; docs/rows.txt maps
//! them, and says how.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::cmd::{Result, failure, read, root};

const REQUIREMENTS: &str = "docs/requirements.md";
const MAPPING: &str = "docs/rows.txt";

/// Prints one line for each row; fails if the mapping names what is not there.
pub(crate) fn run() -> Result {
    let root = root();
    let rows = row_ids(&read(&root.join(REQUIREMENTS))?);
    let (mapping, mut wrong) = parse(&read(&root.join(MAPPING))?);
    let known: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    let (mut table, mut open) = (String::new(), 0);
    for id in &rows {
        match mapping.get(id) {
            Some((_, proof)) => table += &format!("{id} {proof}\n"),
            None => {
                table += &format!("{id} open\n");
                open += 1;
            }
        }
    }
    print(&table)?;
    for (id, (line, proof)) in &mapping {
        if !known.contains(id.as_str()) {
            wrong.push(format!("{MAPPING}:{line}: {REQUIREMENTS} has no row {id}"));
        }
        if let Err(why) = proof.holds(&root) {
            wrong.push(format!("{MAPPING}:{line}: {id}: {why}"));
        }
    }
    for message in &wrong {
        eprintln!("{message}");
    }
    eprintln!("{} rows, {open} open", rows.len());
    if wrong.is_empty() {
        return Ok(());
    }
    Err(failure(format!("{MAPPING}: {} errors, listed above", wrong.len())))
}

/// To standard output, whose reader may have seen enough.
fn print(table: &str) -> Result {
    match std::io::stdout().write_all(table.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(failure(format!("cannot write: {error}"))),
        _ => Ok(()),
    }
}

/// How a row is shown to hold.
#[derive(Debug, PartialEq, Eq)]
enum Proof {
    Test(String),
    Command(String),
    NotApplicable(String),
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(path) => write!(f, "test {path}"),
            Self::Command(command) => write!(f, "command {command}"),
            Self::NotApplicable(anchor) => write!(f, "not-applicable {anchor}"),
        }
    }
}

impl Proof {
    fn parse(kind: &str, what: &str) -> std::result::Result<Self, String> {
        if what.is_empty() {
            return Err(format!("`{kind}` of what?"));
        }
        match kind {
            "test" => Ok(Self::Test(what.to_owned())),
            "command" => Ok(Self::Command(what.to_owned())),
            "not-applicable" => Ok(Self::NotApplicable(what.to_owned())),
            _ => Err(format!("`{kind}` is not test, command or not-applicable")),
        }
    }

    /// Is what it names there?
    fn holds(&self, root: &Path) -> std::result::Result<(), String> {
        match self {
            Self::Test(path) => test_exists(root, path),
            Self::Command(_) => Ok(()),
            Self::NotApplicable(anchor) => anchor_exists(root, anchor),
        }
    }
}

/// The ids of the tables A to L and of the pains, in order.
fn row_ids(requirements: &str) -> Vec<String> {
    let ids = requirements.lines().filter_map(|line| {
        let (tables, rest) = match line.strip_prefix("| ") {
            Some(rest) => ('A'..='L', rest),
            None => ('P'..='P', line.strip_prefix("- ")?),
        };
        let id = rest.split(' ').next()?;
        let number = id.strip_prefix(|c| tables.contains(&c))?;
        (number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit())).then(|| id.to_owned())
    });
    ids.collect()
}

/// Id -> (line of the mapping, proof), and what is wrong with the rest.
fn parse(mapping: &str) -> (BTreeMap<String, (usize, Proof)>, Vec<String>) {
    let mut found = BTreeMap::new();
    let mut wrong = Vec::new();
    for (line, text) in (1..).zip(mapping.lines().map(str::trim)) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (id, rest) = word(text);
        let (kind, what) = word(rest);
        match Proof::parse(kind, what) {
            Err(why) => wrong.push(format!("{MAPPING}:{line}: {id}: {why}")),
            Ok(proof) => {
                if let Some((first, _)) = found.insert(id.to_owned(), (line, proof)) {
                    wrong.push(format!("{MAPPING}:{line}: {id} is mapped at line {first} too"));
                }
            }
        }
    }
    (found, wrong)
}

/// The first word and the rest.
fn word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

/// `FILE::NAME`: the file has `fn NAME`; `FILE::doctest`: it has an example.
fn test_exists(root: &Path, path: &str) -> std::result::Result<(), String> {
    let (file, name) = path.split_once("::").ok_or(format!("`{path}` is not FILE::NAME"))?;
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let name = name.rsplit("::").next().unwrap_or(name);
    let there = if name == "doctest" { has_example(file, &text) } else { has_function(&text, name) };
    if there { Ok(()) } else { Err(format!("{file} has no `{name}`")) }
}

fn has_example(file: &str, text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
        let doc = if file.ends_with(".md") { Some(line) } else { doc };
        doc.is_some_and(|doc| doc.trim_start().starts_with("```"))
    })
}

fn has_function(text: &str, name: &str) -> bool {
    text.lines().map(str::trim).filter(|line| !line.starts_with("//")).any(|line| {
        let after = line.split_once("fn ").map(|(_, after)| after.trim_start());
        let rest = after.and_then(|after| after.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    })
}

/// `FILE.md#SLUG`: the file has a heading that becomes this anchor.
fn anchor_exists(root: &Path, anchor: &str) -> std::result::Result<(), String> {
    let (file, slug) = anchor.split_once('#').ok_or(format!("`{anchor}` is not FILE.md#HEADING"))?;
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    if anchors(&text).contains(slug) {
        return Ok(());
    }
    Err(format!("{file} has no heading `#{slug}`"))
}

/// The anchors of a page's headings, made as GitHub makes them.
pub(crate) fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let marks = line.len() - line.trim_start_matches('#').len();
        let Some(title) = line[marks..].strip_prefix(' ') else {
            continue;
        };
        if fenced || marks == 0 || marks > 6 {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        let slug: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|n| format!("{slug}-{n}"));
        let free = std::iter::once(slug.clone()).chain(again).find(|slug| !found.contains(slug));
        found.extend(free);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_tables_and_the_pains() {
        let page = "| id | what |\n|---|---|\n| A01 | x |\n| L17 | y |\n| M01 | z |\n| LM | z |\n- P01 a/b#1: c\n- P1 d\n- Peer e\n";
        assert_eq!(row_ids(page), ["A01", "L17", "P01"]);
    }

    #[test]
    fn every_row_of_the_requirements_is_found() {
        let rows = row_ids(&read(&root().join(REQUIREMENTS)).unwrap());
        let tables = rows.iter().filter(|id| !id.starts_with('P')).count();
        assert_eq!((tables, rows.len() - tables), (217, 74));
        let unique: BTreeSet<_> = rows.iter().collect();
        assert_eq!(unique.len(), rows.len());
    }

    #[test]
    fn a_mapping_is_read_line_by_line() {
        let (found, wrong) = parse(
            "# comment\n\nA01 test a.rs::b\nA02  command  cargo xtask bench wc\nA03 not-applicable A.md#b\n\
             A01 test c.rs::d\nA04 maybe x\nA05 test\nA06\n",
        );
        assert_eq!(found["A02"], (4, Proof::Command("cargo xtask bench wc".to_owned())));
        assert_eq!(found["A03"].1.to_string(), "not-applicable A.md#b");
        let lines: Vec<_> = wrong.iter().map(|w| &w["docs/rows.txt:".len()..][..1]).collect();
        assert_eq!(lines, ["6", "7", "8", "9"], "{wrong:?}");
    }

    #[test]
    fn named_tests_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        let text = "/// ```\n/// x();\n/// ```\nfn one() {}\n// fn two() {}\n    fn three<T>() {}\nfn four_and() {}\n";
        std::fs::write(dir.path().join("a.rs"), text).unwrap();
        std::fs::write(dir.path().join("b.rs"), "fn x() {}\n").unwrap();
        let exists = |path| test_exists(dir.path(), path).is_ok();
        assert!(exists("a.rs::one") && exists("a.rs::tests::three") && exists("a.rs::doctest"));
        assert!(!exists("a.rs::two") && !exists("a.rs::four") && !exists("b.rs::doctest"));
        assert!(!exists("c.rs::one") && !exists("a.rs"));
    }

    #[test]
    fn anchors_are_made_as_on_github() {
        let page = "# Shards claim runs\n## `map`, and *more*: why?\n```\n# no\n```\n## Again\n## Again\n#no\n";
        let found = anchors(page);
        let expected = ["again", "again-1", "map-and-more-why", "shards-claim-runs"];
        assert!(found.iter().eq(expected.iter()), "{found:?}");
    }
}
