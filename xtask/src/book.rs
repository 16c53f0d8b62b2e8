//! docs/book: every page is in the summary, every link of the documents has a target, code that a page copies from a
//! file is in that file, ratios are those of BENCHMARKS.md, and mdbook builds it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cmd::{Cmd, Result, failure, read, root};
use crate::report::Step;
use crate::rows::anchors;
use crate::tools;

const PAGES: &str = "docs/book/src";
const SUMMARY: &str = "SUMMARY.md";
const BENCHMARKS: &str = "BENCHMARKS.md";

/// Checks for links without a target, for pages without a link, and for copies of code that differ.
pub(crate) fn check() -> Result {
    let wrong = wrong_in(&root().join(PAGES), &root())?;
    if wrong.is_empty() {
        return Ok(());
    }
    Err(failure(wrong.join("\n")))
}

/// Builds the book, if mdbook is installed or `install` is set.
pub(crate) fn build(install: bool) -> Result<Step> {
    if let Err(reason) = tools::mdbook(install) {
        return Ok(Step::Skipped(reason));
    }
    Cmd::new("mdbook", ["build", "docs/book"]).run()?;
    Ok(Step::Done)
}

fn wrong_in(pages: &Path, root: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    let entries = std::fs::read_dir(pages).map_err(|error| failure(format!("{}: {error}", pages.display())))?;
    for entry in entries.flatten() {
        names.insert(entry.file_name().to_string_lossy().into_owned());
    }
    // The other files are pictures.
    let (names, pictures): (BTreeSet<_>, BTreeSet<_>) = names.into_iter().partition(|name| name.ends_with(".md"));
    let summary = read(&pages.join(SUMMARY))?;
    let listed: BTreeSet<&str> = links(&summary).collect();
    for page in names.iter().filter(|name| *name != SUMMARY && !listed.contains(name.as_str())) {
        wrong.push(format!("{page} is not in {SUMMARY}"));
    }
    let measured = read(&root.join(BENCHMARKS))?;
    let measured: BTreeSet<&str> = ratios(&measured).collect();
    let mut shown = BTreeSet::new();
    for page in &names {
        let text = read(&pages.join(page))?;
        wrong.extend(changed(&text, root).map(|what| format!("{page}: {what}")));
        for ratio in ratios(&text).filter(|ratio| !measured.contains(ratio)) {
            wrong.push(format!("{page}: {ratio} is not in {BENCHMARKS}"));
        }
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page } else { file };
            if pictures.contains(target) {
                shown.insert(target.to_owned());
                continue;
            }
            if target.starts_with("../") {
                wrong.push(format!("{page}: {link}: outside of the book, which is read without the clone"));
                continue;
            }
            match std::fs::read_to_string(pages.join(target)) {
                Err(error) => wrong.push(format!("{page}: {link}: {error}")),
                Ok(text) if !anchor.is_empty() && !anchors(&text).contains(anchor) => {
                    wrong.push(format!("{page}: {link}: no such heading"));
                }
                Ok(_) => {}
            }
        }
    }
    wrong.extend(pictures.difference(&shown).map(|picture| format!("{picture} is on no page")));
    Ok(wrong)
}

/// The targets of a page's links, without those in its code.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    let prose = page.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    });
    prose.flat_map(|line| line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)))
}

/// The ratios in a page's tables: a median with the lowest and the highest, as in `1.5 (1.4 to 1.6)`.
fn ratios(page: &str) -> impl Iterator<Item = &str> {
    let cells = page.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('|')).map(str::trim);
    cells.filter(|cell| {
        let median = cell.strip_suffix(')').and_then(|cell| cell.split_once(" ("));
        median.is_some_and(|(median, range)| median.parse::<f64>().is_ok() && range.contains(" to "))
    })
}

/// The copies of a page that differ: a block of code after a line `<!-- FILE -->` is a part of that file.
fn changed(page: &str, root: &Path) -> impl Iterator<Item = String> {
    let copies = page.split("\n<!-- ").skip(1).filter_map(|rest| rest.split_once(" -->\n"));
    copies.filter_map(move |(file, rest)| {
        let block = rest.strip_prefix("```").and_then(|rest| rest.split_once('\n')?.1.split_once("\n```"));
        let Some((code, _)) = block else { return Some(format!("no code after the comment with {file}")) };
        match std::fs::read_to_string(root.join(file)) {
            Err(error) => Some(format!("{file}: {error}")),
            Ok(text) if text.contains(&format!("{code}\n")) => None,
            Ok(_) => Some(format!("{file} has no such code: {}", code.lines().next().unwrap_or_default())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_in_prose() {
        let page = "[a](a.md) and [b](b.md#c)\n```\n[no](no.md)\n```\n- [c](#d)\n";
        assert_eq!(links(page).collect::<Vec<_>>(), ["a.md", "b.md#c", "#d"]);
    }

    #[test]
    fn a_link_without_a_target_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let pages = dir.path().join("src");
        std::fs::create_dir(&pages).unwrap();
        let write = |name: &str, text: &str| std::fs::write(pages.join(name), text).unwrap();
        write(SUMMARY, "- [One](one.md)\n- [Gone](gone.md)\n");
        let ratios = "| 1.5 (1.4 to 1.6) | 2 (1 to 3) |";
        let links = "[here](#one) [there](two.md#none) [away](https://example.com) [out](../README.md)";
        write("one.md", &format!("# One\n{links}\n{ratios}\n"));
        write("two.md", "# Two\n");
        std::fs::write(pages.join("none.png"), [0xff]).unwrap();
        std::fs::write(dir.path().join(BENCHMARKS), "| 1.5 (1.4 to 1.6) |\n").unwrap();
        let wrong = wrong_in(&pages, dir.path()).unwrap();
        assert_eq!(wrong.len(), 6, "{wrong:?}");
        let found = |what: &str| wrong.iter().any(|line| line.contains(what));
        assert!(
            found("two.md is not in SUMMARY.md")
                && found("none.png is on no page")
                && found("gone.md")
                && found("two.md#none: no such heading")
                && found("../README.md: outside of the book")
                && found("one.md: 2 (1 to 3) is not in BENCHMARKS.md")
        );
    }

    #[test]
    fn ratios_are_found_in_tables() {
        let page = "| a | 1.5 (1.4 to 1.6) |\n| b (c to d) | 2 | (1 to 2) |\n1.2 (1.1 to 1.3)\n";
        assert_eq!(ratios(page).collect::<Vec<_>>(), ["1.5 (1.4 to 1.6)"]);
    }

    #[test]
    fn a_copy_that_differs_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.rs"), "fn a() {\n    b();\n}\nfn c() {}\n").unwrap();
        let wrong = |page: &str| changed(&format!("# Page\n\n{page}"), dir.path()).collect::<Vec<_>>();
        assert_eq!(wrong("<!-- a.rs -->\n```rust,ignore\nfn a() {\n    b();\n}\n```\nText.\n"), [""; 0]);
        assert_eq!(wrong("<!-- a.rs -->\n```rust,ignore\nfn a() {\n}\n```\n"), ["a.rs has no such code: fn a() {"]);
        assert_eq!(wrong("<!-- a.rs -->\nfn c() {}\n"), ["no code after the comment with a.rs"]);
        assert!(wrong("<!-- b.rs -->\n```rust,ignore\nfn c() {}\n```\n")[0].starts_with("b.rs: "));
    }

    #[test]
    fn every_link_of_the_book_has_a_target() {
        assert_eq!(wrong_in(&root().join(PAGES), &root()).unwrap(), Vec::<String>::new());
    }
}
