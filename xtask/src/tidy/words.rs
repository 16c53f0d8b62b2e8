//! The words that prose and names do without. The glossary at the end of ARCHITECTURE.md has those that replaced them.

use super::has_word;

/// Refused in comments and in Markdown, with what to write instead.
const PROSE: [(&str, &str); 5] = [
    ("nobody", "the component's name, or `nothing`"),
    ("whoever", "the component's name"),
    ("so many", "the number's name, or `n`"),
    ("told of", "`gets`, `receives`, `reports`"),
    ("anew", "`again`"),
];

/// Refused as names of public items: each was the private word for what the glossary has a term for.
const NAMES: [&str; 47] = [
    "BackOff",
    "Bare",
    "Carried",
    "Census",
    "Chair",
    "Choices",
    "Crew",
    "Cuts",
    "Cutting",
    "Dead",
    "Desk",
    "EndSource",
    "Ended",
    "Ending",
    "Event",
    "Flow",
    "Fst",
    "Full",
    "Gauges",
    "Giver",
    "Holed",
    "Judged",
    "Lend",
    "Lft",
    "Like",
    "Listed",
    "Living",
    "Machine",
    "Masked",
    "Mate",
    "Member",
    "Modelled",
    "OneOf",
    "Own",
    "Parting",
    "Patience",
    "Produced",
    "Queued",
    "Rgt",
    "Seat",
    "Seen",
    "Sieve",
    "Snd",
    "Summons",
    "Taker",
    "Told",
    "Usher",
];

/// The longest line of a source file, comments among them. A line with a literal may be longer: it cannot be broken.
const COLUMNS: usize = 120;

/// The offences of a source file's comments, names and lines.
pub(super) fn in_source(name: &str, source: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, (line, code)) in (1..).zip(source.lines().zip(code.lines())) {
        let columns = line.chars().count();
        if columns > COLUMNS && !line.contains('"') {
            found.push(format!("{name}:{number}: {columns} columns; at most {COLUMNS}"));
        }
        if let Some((_, comment)) = line.split_once("//").filter(|(before, _)| !before.contains('"')) {
            found.extend(in_prose(comment).map(|what| format!("{name}:{number}: {what}")));
        }
        if let Some(item) = public_item(code).filter(|item| NAMES.contains(item)) {
            found.push(format!("{name}:{number}: `{item}`, a word that the glossary has replaced"));
        }
    }
    found
}

/// The offences of a Markdown file: its prose, without its blocks of code.
pub(super) fn in_markdown(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            found.extend(in_prose(line).map(|what| format!("{name}:{number}: {what}")));
        }
    }
    found
}

/// The refused words of a line; text between backticks is code.
fn in_prose(line: &str) -> impl Iterator<Item = String> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    PROSE
        .iter()
        .filter(move |(word, _)| has_word(&prose, word))
        .map(|(word, instead)| format!("\"{word}\": say {instead}"))
}

/// The name of the public item that a line of code declares, if it declares one.
fn public_item(code: &str) -> Option<&str> {
    let mut words = code.trim_start().strip_prefix("pub ")?.split_whitespace();
    let kind = words.next()?;
    let declared = ["struct", "enum", "trait", "type", "union", "mod"].contains(&kind);
    let name = words.next().filter(|_| declared)?;
    Some(name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or(name))
}

/// Two public types of one name in one crate, as offences. `types` are (crate, name, place).
pub(super) fn twins(mut types: Vec<(String, String, String)>) -> Vec<String> {
    /// Their modules are a part of their names.
    const BY_MODULE: [&str; 3] = ["Receiver", "Sealed", "Sender"];
    types.sort();
    types
        .windows(2)
        .filter(|pair| (&pair[0].0, &pair[0].1) == (&pair[1].0, &pair[1].1) && !BY_MODULE.contains(&pair[0].1.as_str()))
        .map(|pair| format!("{}: `{}` is the name of another public type, at {}", pair[1].2, pair[1].1, pair[0].2))
        .collect()
}

/// The public types that a source file declares, as (crate, name, place).
pub(super) fn types(name: &str, code: &str) -> Vec<(String, String, String)> {
    let Some((krate, _)) = name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
        return Vec::new();
    };
    let declared = |(number, line): (usize, &str)| {
        let item = public_item(line).filter(|_| !line.trim_start().starts_with("pub mod"))?;
        Some((krate.to_owned(), item.to_owned(), format!("{name}:{number}")))
    };
    (1..).zip(code.lines()).filter_map(declared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_words_are_offences_in_prose_and_not_in_code() {
        let source = "/// Nobody waits.\nlet nobody = 1; // `whoever` is code\nlet text = \"so many\";\n";
        let code = "\nlet nobody = 1;\nlet text = ;\n";
        assert_eq!(in_source("a.rs", source, code), ["a.rs:1: \"nobody\": say the component's name, or `nothing`"]);
        let page = "It begins anew.\n```\nanew\n```\n";
        assert_eq!(in_markdown("a.md", page), ["a.md:1: \"anew\": say `again`"]);
    }

    #[test]
    fn old_names_and_long_lines_are_offences() {
        let source = format!("pub struct Usher<K>(K);\nstruct Seat;\n//{}\n", "x".repeat(119));
        let found = in_source("a.rs", &source, &source);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: `Usher`") && found[1].starts_with("a.rs:3: 121 columns"), "{found:?}");
    }

    #[test]
    fn two_public_types_of_one_name_are_twins() {
        let one = types("crates/a/src/x.rs", "pub struct Item;\npub(crate) struct Own;\n");
        let other = types("crates/a/src/y.rs", "    pub enum Item {\n");
        let elsewhere = types("crates/b/src/y.rs", "pub trait Item {\n");
        let found = twins([one, other, elsewhere].concat());
        assert_eq!(found, ["crates/a/src/y.rs:1: `Item` is the name of another public type, at crates/a/src/x.rs:1"]);
    }
}
