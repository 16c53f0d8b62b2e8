//! A mutant: a patch that breaks the code, and the test that must fail.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default for `# timeout:`.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The head of a patch, and the files that it changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    /// The arguments of the `cargo test` that must fail.
    pub(crate) kills: Vec<String>,
    pub(crate) rustflags: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) timeout: Duration,
    /// Every path of the patch, relative to the root.
    pub(crate) touches: Vec<PathBuf>,
}

impl Mutant {
    /// Reads a patch: `# key: value` lines, then a unified diff.
    pub(crate) fn parse(file: &Path, text: &str) -> Result<Self, String> {
        let mut mutant = Self {
            file: file.to_owned(),
            name: String::new(),
            kills: Vec::new(),
            rustflags: None,
            env: Vec::new(),
            timeout: TIMEOUT,
            touches: touched(text),
        };
        let head = text.lines().take_while(|line| !starts_diff(line));
        for (number, line) in (1..).zip(head) {
            mutant.head_line(line).map_err(|why| format!("line {number}: {why}"))?;
        }
        if mutant.name.is_empty() || mutant.kills.is_empty() {
            return Err("the head needs `# name:` and `# kills:`".to_owned());
        }
        if mutant.touches.is_empty() {
            return Err("it is not a unified diff".to_owned());
        }
        Ok(mutant)
    }

    fn head_line(&mut self, line: &str) -> Result<(), String> {
        let Some(comment) = line.strip_prefix('#') else {
            return if line.trim().is_empty() { Ok(()) } else { Err(format!("neither a `#` line nor a diff: {line}")) };
        };
        let Some((key, value)) = comment.split_once(':') else {
            return Ok(()); // a remark
        };
        let value = value.trim();
        match key.trim() {
            "name" => set(&mut self.name, one_word(value)?, "name"),
            "kills" => set(&mut self.kills, test_args(value)?, "kills"),
            "rustflags" => set(&mut self.rustflags, Some(value.to_owned()), "rustflags"),
            "env" => {
                let (name, value) = value.split_once('=').ok_or("`# env:` wants NAME=VALUE")?;
                self.env.push((name.to_owned(), value.to_owned()));
                Ok(())
            }
            "timeout" => {
                let seconds = value.parse().map_err(|_| "`# timeout:` needs a number of seconds")?;
                self.timeout = Duration::from_secs(seconds);
                Ok(())
            }
            _ => Ok(()), // a remark that happens to have a colon
        }
    }

    /// Mutants with the same key are judged by the same run on the unbroken code.
    pub(crate) fn judge(&self) -> String {
        format!("{:?} {:?} {:?}", self.rustflags, self.env, self.kills)
    }
}

fn set<T: Default + PartialEq>(place: &mut T, value: T, key: &str) -> Result<(), String> {
    if *place != T::default() {
        return Err(format!("a second `# {key}:`"));
    }
    *place = value;
    Ok(())
}

fn one_word(value: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if value.is_empty() || !value.chars().all(plain) {
        return Err(format!("`# name:` needs one word of letters, digits, - and _, not `{value}`"));
    }
    Ok(value.to_owned())
}

fn test_args(value: &str) -> Result<Vec<String>, String> {
    let args: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
    if args.iter().any(|arg| arg == "--doc") {
        return Err("a doctest that fails cannot be distinguished from one that does not compile".to_owned());
    }
    Ok(args)
}

fn starts_diff(line: &str) -> bool {
    line.starts_with("diff ") || line.starts_with("--- ") || line.starts_with("Index: ")
}

/// The paths in the `---` and `+++` lines, without `a/` and `b/`.
fn touched(text: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(old) = line.strip_prefix("--- ") else {
            continue;
        };
        let Some(new) = lines.peek().and_then(|line| line.strip_prefix("+++ ")) else {
            continue;
        };
        for path in [old, new] {
            let path = path.split('\t').next().unwrap_or(path).trim_end();
            let path = path.strip_prefix("a/").or(path.strip_prefix("b/")).unwrap_or(path);
            if path != "/dev/null" && !found.iter().any(|known| known == Path::new(path)) {
                found.push(PathBuf::from(path));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x/a.rs b/x/a.rs\n--- a/x/a.rs\n+++ b/x/a.rs\n@@ -1 +1 @@\n--- a\n+b\n\
                        --- /dev/null\n+++ b/x/new.rs\t2020\n@@ -0,0 +1 @@\n+c\n";

    fn parse(head: &str) -> Result<Mutant, String> {
        Mutant::parse(Path::new("m.patch"), &format!("{head}\n{DIFF}"))
    }

    #[test]
    fn the_head_is_read() {
        let mutant = parse(
            "# name: early-release\n# kills: -p x --test loom -- deep\n# Why: the cursor\n# a remark\n\
             # rustflags: --cfg loom\n# env: A=b=c\n# env: D=\n# timeout: 7\n",
        )
        .unwrap();
        assert_eq!(mutant.name, "early-release");
        assert_eq!(mutant.kills, ["-p", "x", "--test", "loom", "--", "deep"]);
        assert_eq!(mutant.rustflags.as_deref(), Some("--cfg loom"));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(mutant.env, [pair("A", "b=c"), pair("D", "")]);
        assert_eq!(mutant.timeout, Duration::from_secs(7));
        assert_eq!(mutant.touches, [Path::new("x/a.rs"), Path::new("x/new.rs")]);
    }

    #[test]
    fn the_default_timeout_is_two_minutes() {
        let mutant = parse("# name: a\n# kills: -p x").unwrap();
        assert_eq!((mutant.timeout, mutant.rustflags), (TIMEOUT, None));
        assert!(mutant.env.is_empty());
    }

    #[test]
    fn a_wrong_head_is_refused() {
        for head in [
            "# name: a",
            "# kills: -p x",
            "# name: a b\n# kills: -p x",
            "# name: a\n# kills: -p x\n# kills: -p y",
            "# name: a\n# kills: -p x --doc",
            "# name: a\n# kills: -p x\n# timeout: soon",
            "# name: a\n# kills: -p x\n# env: A",
            "name: a\n# kills: -p x",
        ] {
            assert!(parse(head).is_err(), "{head}");
        }
        assert!(Mutant::parse(Path::new("m"), "# name: a\n# kills: -p x\n").is_err());
    }
}
