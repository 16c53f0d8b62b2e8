//! The list of all combinators, in the docs of `millstream_core::combinators` and in README.md.
//!
//! The page has the groups and the order. The text of an item is the first sentence of the method's docs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cmd::{Result, failure, read};

const PAGE: &str = "crates/millstream-core/src/combinators.rs";
const TRAITS: &str = "crates/millstream-core/src/arrow";
const README: &str = "README.md";
const BEGIN: &str = "<!-- The first sentences of the methods' docs. `cargo xtask docs` writes them here. -->\n";
const END: &str = "<!-- combinators end -->\n";

/// What an item of the page begins with, and the lines that continue it.
const ITEM: &str = "//! - [`";
const INDENT: &str = "//!   ";

/// The first sentence of each method's docs, by its path: `Arrow::map`.
type Methods = BTreeMap<String, String>;

/// The list as it should be: the page's source and the README.
struct List {
    page: String,
    readme: String,
    /// Methods that the page does not have, and items without a method.
    wrong: Vec<String>,
}

/// Writes the list.
pub(crate) fn write(root: &Path) -> Result {
    let List { page, readme, wrong } = list(root)?;
    if !wrong.is_empty() {
        return Err(failure(wrong.join("\n")));
    }
    for (name, text) in [(PAGE, page), (README, readme)] {
        let path = root.join(name);
        if read(&path)? != text {
            std::fs::write(&path, text).map_err(|error| failure(format!("cannot write {name}: {error}")))?;
        }
    }
    Ok(())
}

/// What is not as it should be.
pub(crate) fn offences(root: &Path) -> Result<Vec<String>> {
    let List { page, readme, wrong: mut found } = list(root)?;
    for (name, text) in [(PAGE, page), (README, readme)] {
        if read(&root.join(name))? != text {
            found.push(format!("{name}:1: its combinators are not those of the docs; `cargo xtask docs` writes them"));
        }
    }
    Ok(found)
}

fn list(root: &Path) -> Result<List> {
    let mut methods = Methods::new();
    methods_in(&read(&root.join(TRAITS).with_extension("rs"))?, &mut methods);
    let files = std::fs::read_dir(root.join(TRAITS)).map_err(|error| failure(format!("{TRAITS}: {error}")))?;
    for file in files.flatten() {
        methods_in(&read(&file.path())?, &mut methods);
    }
    let (page, wrong) = page(&read(&root.join(PAGE))?, methods);
    let readme = read(&root.join(README))?;
    let Some((before, (_, after))) = readme.split_once(BEGIN).and_then(|(a, b)| Some((a, b.split_once(END)?))) else {
        return Err(failure(format!("{README} has no {BEGIN}and {END}")));
    };
    Ok(List { readme: [before, BEGIN, &table(&page), END, after].concat(), page, wrong })
}

/// Adds the combinators of the traits in a file: the methods that take a pipeline by value.
fn methods_in(source: &str, methods: &mut Methods) {
    let (mut of, mut docs) = (None, Vec::new());
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let code = line.trim();
        if let Some(rest) = line.strip_prefix("pub trait ") {
            of = rest.split(|c: char| !c.is_alphanumeric()).next();
        }
        if let Some(doc) = code.strip_prefix("///") {
            docs.push(doc.trim());
            continue;
        }
        if code.starts_with("#[") {
            continue;
        }
        let by_value = line.contains("(self") || lines.peek().is_some_and(|next| next.trim() == "self,");
        let method = code.strip_prefix("fn ").filter(|_| by_value);
        if let (Some(of), Some(method), true) = (of, method, line.starts_with("    ")) {
            let name: String = method.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            methods.insert(format!("{of}::{name}"), first_sentence(&docs));
        }
        docs.clear();
    }
}

/// Up to the first full stop, without links.
fn first_sentence(docs: &[&str]) -> String {
    let paragraph: Vec<&str> = docs.iter().copied().take_while(|line| !line.is_empty()).collect();
    let text = format!("{} ", paragraph.join(" "));
    let sentence = text.split_once(". ").map_or(text.trim_end(), |(first, _)| first);
    let mut plain = String::new();
    let mut rest = sentence;
    while let Some((before, link)) = rest.split_once("[`") {
        let (code, after) = link.split_once("`]").unwrap_or((link, ""));
        plain.push_str(&format!("{before}`{code}`"));
        rest = after.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(after, |(_, after)| after);
    }
    plain.push_str(rest);
    format!("{}.", plain.trim_end_matches('.'))
}

/// The page with the text of each item, and what is wrong with its items.
fn page(source: &str, mut methods: Methods) -> (String, Vec<String>) {
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for line in source.lines().filter(|line| !line.starts_with(INDENT)) {
        let Some(link) = item(line).map(|(link, _)| link) else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let path = link.split_once("crate::").map_or(link, |(_, path)| path);
        match methods.remove(path.trim_end_matches(')')) {
            Some(sentence) => text.push_str(&wrapped(&format!("{ITEM}{link}: {sentence}"))),
            None => wrong.push(format!("{PAGE}:1: {link} is no combinator, or is there twice")),
        }
    }
    wrong.extend(methods.keys().map(|path| format!("{PAGE}:1: {path} is in no group")));
    (text, wrong)
}

/// The link of an item, without its bracket, and the text on its line.
fn item(line: &str) -> Option<(&str, &str)> {
    let (link, text) = line.strip_prefix(ITEM)?.split_once("):")?;
    Some((&line[ITEM.len()..=ITEM.len() + link.len()], text))
}

/// Lines of at most 120 columns.
fn wrapped(item: &str) -> String {
    let (mut lines, mut columns) = (String::new(), 0);
    for word in item.split(' ') {
        let width = word.chars().count();
        if columns > 0 && columns + 1 + width > 120 {
            lines.push_str(&format!("\n{INDENT}{word}"));
            columns = INDENT.len() + width;
        } else {
            let space = if columns > 0 { " " } else { "" };
            lines.push_str(&format!("{space}{word}"));
            columns += space.len() + width;
        }
    }
    lines + "\n"
}

/// The page's groups as one table, without links.
fn table(page: &str) -> String {
    let mut table = "\n| combinator | |\n|---|---|\n".to_owned();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(group) = line.strip_prefix("//! # ") {
            table.push_str(&format!("| **{group}** | |\n"));
        }
        if let Some((link, text)) = item(line) {
            let name = link.split('`').next().unwrap_or(link);
            let mut text = text.trim().to_owned();
            while let Some(more) = lines.next_if(|next| next.starts_with(INDENT)) {
                text.push_str(&format!(" {}", &more[INDENT.len()..]));
            }
            table.push_str(&format!("| `{name}` | {} |\n", text.trim().replace('|', r"\|")));
        }
    }
    table + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAIT: &str = "pub trait Arrow: Sized {\n    /// Runs `next` on it: [`then`](Arrow::then), or `|`. More.\n    \
                         #[doc(alias = \"pipe\")]\n    fn then<Q>(self, next: Q) -> Then<Self, Q>;\n    /// The plan.\n    \
                         fn plan(&self) -> Plan;\n\n    /// Runs three\n    /// bodies.\n    fn fanout3<P>(\n        \
                         self,\n    );\n}\n";

    fn methods() -> Methods {
        let mut methods = Methods::new();
        methods_in(TRAIT, &mut methods);
        methods
    }

    #[test]
    fn a_method_is_its_first_sentence() {
        let of = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let expected =
            [of("Arrow::fanout3", "Runs three bodies."), of("Arrow::then", "Runs `next` on it: `then`, or `|`.")];
        assert_eq!(methods(), Methods::from(expected));
    }

    #[test]
    fn an_item_gets_the_text_of_its_method() {
        let items = "//! # Bodies\n//! - [`fanout3`](crate::Arrow::fanout3):\n//! - [`then`](crate::Arrow::then): Old\n\
                     //!   text.\n";
        let (page, wrong) = page(items, methods());
        assert_eq!(wrong, [""; 0]);
        assert!(page.ends_with("//! - [`then`](crate::Arrow::then): Runs `next` on it: `then`, or `|`.\n"), "{page}");
        let expected = "| **Bodies** | |\n| `fanout3` | Runs three bodies. |\n\
                        | `then` | Runs `next` on it: `then`, or `\\|`. |\n";
        assert!(table(&page).contains(expected), "{}", table(&page));
        assert_eq!(super::page(&page, methods()).0, page);
    }

    #[test]
    fn a_long_item_has_several_lines_and_is_one_row() {
        let long = "word ".repeat(40);
        let sentence = format!("{}.", long.trim());
        let methods = || Methods::from([("Arrow::map".to_owned(), sentence.clone())]);
        let (page, _) = page("//! - [`map`](crate::Arrow::map):\n", methods());
        assert!(page.lines().count() > 1 && page.lines().all(|line| line.len() <= 120), "{page}");
        assert!(table(&page).contains(&format!("| `map` | {sentence} |")), "{}", table(&page));
        assert_eq!(super::page(&page, methods()).0, page);
    }

    #[test]
    fn a_method_without_an_item_is_wrong_and_an_item_without_a_method() {
        let (_, wrong) = page("//! - [`map`](crate::Arrow::map):\n", methods());
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
