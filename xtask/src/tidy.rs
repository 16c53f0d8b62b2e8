//! `cargo xtask tidy`: the rules about files that no other tool checks.

mod arrows;
mod circles;
mod examples;
mod mutants;
mod seeds;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cmd::{Result, failure, read, root};

const MAX_LINES: usize = 400;

/// The only crate that may contain `unsafe`.
const UNSAFE_CRATE: &str = "crates/millstream-ring/";

/// Prints every offence, and fails if there is one.
pub(crate) fn run() -> Result {
    let offences = offences(&root())?;
    for offence in &offences {
        println!("{offence}");
    }
    if offences.is_empty() {
        return Ok(());
    }
    Err(failure(format!("{} offences, listed above", offences.len())))
}

fn offences(root: &Path) -> Result<Vec<String>> {
    let (mut found, mut types) = (Vec::new(), Vec::new());
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let named = |file: &Path| file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
    for file in files(root, "rs")? {
        let (name, source) = (named(&file), read(&file)?);
        found.extend(in_source(&name, &source));
        found.extend(examples::in_source(&name, &source));
        let code = code_only(&source);
        found.extend(words::in_source(&name, &source, &code));
        types.extend(words::types(&name, &code));
        if let Some((of, file)) = name.strip_prefix("crates/").and_then(|name| name.split_once("/src/")) {
            crates.entry(of.to_owned()).or_default().push((file.to_owned(), code));
        }
    }
    found.extend(crates.iter().flat_map(|(name, files)| circles::in_crate(name, files)));
    found.extend(words::twins(types));
    for file in files(root, "md")? {
        let (name, text) = (named(&file), read(&file)?);
        found.extend(examples::in_markdown(&name, &text));
        // The requirements are not ours to word.
        if name != "docs/requirements.md" {
            found.extend(words::in_markdown(&name, &text));
        }
    }
    for manifest in manifests(root)? {
        let (name, text) = (named(&manifest), read(&manifest)?);
        if !inherits_lints(&text) {
            found.push(format!("{name}:1: no `[lints]` with `workspace = true`"));
        }
        found.extend(arrows::in_manifest(&name, &text));
    }
    found.extend(crate::combinators::offences(root)?);
    found.extend(mutants::offences(root, &crate::mutants::all()?)?);
    found.extend(seeds::offences(root)?);
    Ok(found)
}

/// The offences of one source file, as `file:line: what`.
fn in_source(name: &str, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = source.lines().count();
    if lines > MAX_LINES {
        found.push(format!("{name}:{}: {lines} lines; at most {MAX_LINES}", MAX_LINES + 1));
    }
    if name.ends_with("/utils.rs") {
        found.push(format!("{name}:1: `utils` says nothing; name what it does"));
    }
    for (line, code) in (1..).zip(code_only(source).lines()) {
        if has_word(code, "unsafe") && !name.starts_with(UNSAFE_CRATE) {
            found.push(format!("{name}:{line}: `unsafe` outside {UNSAFE_CRATE}"));
        }
        for unfinished in ["todo!", "unimplemented!"] {
            if has_word(code, unfinished) {
                found.push(format!("{name}:{line}: `{unfinished}`"));
            }
        }
    }
    found
}

/// Whether the word occurs in the code, and not as a part of a longer name.
fn has_word(code: &str, word: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let bang = word.ends_with('!');
        !before.is_some_and(in_name) && (bang || !after.is_some_and(in_name))
    })
}

/// The source with comments and literals blanked. Its lines are kept.
fn code_only(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            '/' if text.get(at + 1) == Some(&'/') => line_end(&text, at),
            '/' if text.get(at + 1) == Some(&'*') => block_end(&text, at),
            '"' => string_end(&text, at),
            'r' => raw_string_end(&text, at).unwrap_or(at),
            '\'' => char_end(&text, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(text[at]);
            at += 1;
        } else {
            out.extend(text[at..end].iter().map(|&c| if c == '\n' { c } else { ' ' }));
            at = end;
        }
    }
    out
}

fn line_end(text: &[char], from: usize) -> usize {
    let rest = text[from..].iter().position(|&c| c == '\n');
    rest.map_or(text.len(), |length| from + length)
}

fn block_end(text: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0_usize);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) if depth == 1 => return at + 2,
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    text.len()
}

fn string_end(text: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The end of `r"..."`, `r#"..."#`, ... if one starts here.
fn raw_string_end(text: &[char], from: usize) -> Option<usize> {
    let marks = text[from + 1..].iter().take_while(|&&c| c == '#').count();
    let open = from + 1 + marks;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let close = (open + 1..text.len()).find(|&at| {
        let after = text.get(at + 1..at + 1 + marks);
        text[at] == '"' && after.is_some_and(|after| after.iter().all(|&c| c == '#'))
    });
    Some(close.map_or(text.len(), |at| at + 1 + marks))
}

/// The end of a character literal. A lifetime is none.
fn char_end(text: &[char], from: usize) -> Option<usize> {
    match (text.get(from + 1)?, text.get(from + 2)?) {
        ('\\', _) => {
            let rest = text.get(from + 3..)?;
            rest.iter().position(|&c| c == '\'').map(|length| from + 4 + length)
        }
        (_, '\'') => Some(from + 3),
        _ => None,
    }
}

/// Whether the manifest has `workspace = true` in its `[lints]`.
fn inherits_lints(manifest: &str) -> bool {
    let mut section = "";
    manifest.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            section = line;
        }
        let squeezed: String = line.split_whitespace().collect();
        section == "[lints]" && squeezed == "workspace=true" || squeezed == "lints.workspace=true"
    })
}

/// The manifests of the workspace's members.
pub(crate) fn manifests(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![root.join("xtask/Cargo.toml")];
    for entry in entries(&root.join("crates"))? {
        found.push(entry.join("Cargo.toml"));
    }
    found.retain(|manifest| manifest.is_file());
    Ok(found)
}

/// Every file of the crates and of xtask with this extension, in order; those of Markdown also elsewhere.
pub(crate) fn files(root: &Path, kind: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = match kind {
        "md" => entries(root)?.into_iter().filter(|path| path.is_file() || path.ends_with("docs")).collect(),
        _ => Vec::new(),
    };
    open.extend([root.join("xtask"), root.join("crates")]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let built = path.file_name().is_some_and(|name| name == "target");
            if !built && !path.is_symlink() {
                open.extend(entries(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == kind) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// What a directory has, in order.
pub(crate) fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |error| failure(format!("cannot list {}: {error}", dir.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(cannot)? {
        found.push(entry.map_err(cannot)?.path());
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_distinguished_from_comments_and_literals() {
        let source = "// unsafe\n/* unsafe /* todo!() */ unsafe */ let a = \"unsafe \\\" todo!()\";\n\
                      let b = r#\"unsafe \" todo!()\"#; let c = '\"'; let d: &'static str = \"\\\\\";\n";
        assert_eq!(in_source("crates/x/src/a.rs", source), Vec::<String>::new());
        assert_eq!(code_only(source).lines().count(), source.lines().count());
    }

    #[test]
    fn offences_are_named_by_line() {
        let source = "#![deny(unsafe_code)]\nlet c = '\\'';\nunsafe { f() }\ntodo!()\nmy_todo!()\n";
        let found = in_source("crates/x/src/a.rs", source);
        assert_eq!(
            found,
            ["crates/x/src/a.rs:3: `unsafe` outside crates/millstream-ring/", "crates/x/src/a.rs:4: `todo!`",]
        );
        assert_eq!(in_source("crates/millstream-ring/src/a.rs", "unsafe {}"), [""; 0]);
    }

    #[test]
    fn long_files_and_empty_names_are_offences() {
        let found = in_source("xtask/src/utils.rs", &"\n".repeat(401));
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(in_source("xtask/src/a.rs", &"\n".repeat(400)), [""; 0]);
    }

    #[test]
    fn lints_are_inherited_or_not() {
        assert!(inherits_lints("[lints]\nworkspace = true\n"));
        assert!(inherits_lints("lints.workspace = true\n"));
        assert!(!inherits_lints("[package]\nworkspace = true\n[lints]\n"));
    }
}
