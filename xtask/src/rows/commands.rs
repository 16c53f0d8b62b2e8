//! The commands of rows: lines for bash that end with the exit code that their row expects.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use super::mapping::{Mapped, Proof};
use crate::cmd::{Cmd, Result, failure, how};

/// Words of commands that can fail: a check, a comparison, or tests.
const JUDGES: [&str; 9] = ["--check", "verify", "diff", "cmp", "grep", "test", "chaos", "mutants", "lint"];

/// The suffix of a command that must not end with 0.
const EXITS: &str = " # exits ";

/// A command shows something only if it can fail: it contains one of these words, or has an expected exit code. It must
/// not take another failure for the one that it is about, nor a run of no test for one of tests.
pub(super) fn can_fail(command: &str) -> std::result::Result<(), String> {
    let (line, expected) = split(command)?;
    let mut words = line.split(|c: char| c.is_whitespace() || ";|&()".contains(c));
    // A check may name what it judges, as in `--check=CASE`.
    let judges = |word: &str| JUDGES.contains(&word.split('=').next().unwrap_or_default());
    if expected == 0 && !words.any(judges) {
        return Err(format!("`{line}` cannot fail: it has none of {}, nor `# exits N`", JUDGES.join(", ")));
    }
    if line.contains("cargo test") && !line.contains("grep") {
        return Err(format!("`{line}` runs no test if the name is gone, and succeeds: add `| grep \"1 passed\"`"));
    }
    if line.split_whitespace().any(|word| word == "!") {
        return Err(format!("`{line}` takes any failure for success: without `!`, say `# exits N`"));
    }
    if line.contains("||") {
        return Err(format!("`{line}` hides a failure with `||`"));
    }
    Ok(())
}

/// The line for bash, and its expected exit code.
fn split(command: &str) -> std::result::Result<(&str, i32), String> {
    match command.rsplit_once(EXITS) {
        None => Ok((command, 0)),
        Some((line, code)) => match code.trim().parse() {
            Ok(code @ 1..=255) => Ok((line, code)),
            _ => Err(format!("`{}` is no exit code from 1 to 255", code.trim())),
        },
    }
}

/// Whether it is one of the chores, which take minutes.
pub(super) fn is_chore(line: &str) -> bool {
    line.contains("cargo xtask")
}

/// A command, and the rows that it shows.
#[derive(Debug, PartialEq, Eq)]
struct Shown<'a> {
    command: &'a str,
    ids: Vec<&'a str>,
}

/// Each command once, in the order of its first row; without the chores if `quick`.
fn grouped<'a>(rows: impl Iterator<Item = (&'a String, &'a Mapped)>, quick: bool) -> Vec<Shown<'a>> {
    let mut groups: Vec<Shown<'a>> = Vec::new();
    for (id, mapped) in rows {
        let Proof::Command(command) = &mapped.proof else {
            continue;
        };
        if quick && is_chore(command) {
            continue;
        }
        match groups.iter_mut().find(|group| group.command == command) {
            Some(group) => group.ids.push(id),
            None => groups.push(Shown { command, ids: vec![id] }),
        }
    }
    groups
}

/// Runs each command once. `print` gets a line for each row, `passed` or `FAILED`. Standard error gets the output of
/// the commands, and at the end the last lines of failed ones again.
pub(super) fn run<'a>(
    rows: impl Iterator<Item = (&'a String, &'a Mapped)>,
    quick: bool,
    mut print: impl FnMut(&str) -> Result,
) -> Result {
    let groups = grouped(rows, quick);
    let mut failed = Vec::new();
    for (n, group) in (1..).zip(&groups) {
        eprintln!("\n== {n} of {}: {}", groups.len(), group.ids.join(" "));
        let start = Instant::now();
        let ended = execute(group.command)?;
        let seconds = start.elapsed().as_secs_f64();
        let verdict = if ended.wrong.is_none() { "passed" } else { "FAILED" };
        for id in &group.ids {
            print(&format!("{verdict} {id} {seconds:.1} s {}\n", group.command))?;
        }
        if let Some(why) = &ended.wrong {
            eprintln!("-- {why}");
            failed.push((group, ended));
        }
    }
    for (group, ended) in &failed {
        let why = ended.wrong.as_deref().unwrap_or_default();
        eprintln!("\n== FAILED {}: {}\n-- {why}; it ended with:", group.ids.join(" "), group.command);
        for line in &ended.tail {
            eprintln!("{line}");
        }
    }
    if failed.is_empty() {
        eprintln!("{} commands passed", groups.len());
        return Ok(());
    }
    Err(failure(format!("{} of {} commands failed, shown above", failed.len(), groups.len())))
}

/// The end of a command.
#[derive(Debug)]
struct Ended {
    /// Why the end is not the expected one.
    wrong: Option<String>,
    /// The last lines of its output.
    tail: VecDeque<String>,
}

/// The lines of a failed command that are printed again.
const TAIL: usize = 40;

/// Runs a command in the root of the workspace, and prints its output as it comes.
fn execute(command: &str) -> Result<Ended> {
    let (line, expected) = split(command).map_err(failure)?;
    // A failure within a line is one of the line. Both outputs are joined.
    let script = format!("exec 2>&1\n{line}");
    let bash = Cmd::new("bash", ["-euo", "pipefail", "-c", &script]);
    // What a missing tool leaves out is not shown.
    let (mut bash, _) = bash.env("MILLSTREAM_REQUIRE", "all").into_parts();
    eprintln!("   $ {line}");
    let mut child = bash
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failure(format!("bash did not start: {error}")))?;
    let mut tail = VecDeque::new();
    let printed = child.stdout.take().expect("it is piped");
    for line in BufReader::new(printed).split(b'\n') {
        let line = line.map_err(|error| failure(format!("cannot read what `{command}` prints: {error}")))?;
        let line = String::from_utf8_lossy(&line).into_owned();
        eprintln!("{line}");
        if tail.len() == TAIL {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    let status = child.wait().map_err(|error| failure(format!("cannot wait for `{command}`: {error}")))?;
    Ok(Ended { wrong: unexpected(status, expected), tail })
}

fn unexpected(status: ExitStatus, expected: i32) -> Option<String> {
    (status.code() != Some(expected)).then(|| format!("{}, expected {expected}", how(status)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::mapping::parse;

    #[test]
    fn a_command_has_something_to_judge_by() {
        for command in [
            "cargo xtask bench sleep --quick --check",
            "cargo xtask bench transport --check=stop,single",
            "seq 9 > target/a && cargo run --release -- verify wc target/a",
            "cargo run -- wc README.md | grep -q 200",
            "cargo run -- panic --at 3 # exits 3",
            "diff <(seq 9) <(seq 9)",
            "cargo test -p a -- --exact b | grep '1 passed'",
            "cargo xtask test --law",
            "grep -r gone docs # exits 1",
        ] {
            assert_eq!(can_fail(command), Ok(()), "{command}");
        }
    }

    #[test]
    fn a_command_that_cannot_fail_is_refused() {
        for command in [
            "cargo xtask bench sleep",
            "cargo run --release -- sleep --sharded",
            "cargo run --release -- sleep --checked",
            "cargo xtask bench sleep --check || true",
            "cargo run -- panic --at 3 # exits badly",
            "cargo run -- panic --at 3 # exits 0",
            "cargo test -p a -- --exact gone",
            "! grep -r gone docs",
        ] {
            can_fail(command).unwrap_err();
        }
    }

    #[test]
    fn a_command_of_several_rows_is_run_once() {
        let text =
            "A01 command cmp a b\nA02 command cargo xtask bench b --check\nA03 test a.rs::b\nA04 command cmp a b\n";
        let (mapping, _) = parse(text);
        let all = grouped(mapping.iter(), false);
        assert_eq!(all[0], Shown { command: "cmp a b", ids: vec!["A01", "A04"] });
        assert_eq!(all.len(), 2);
        assert_eq!(grouped(mapping.iter(), true).len(), 1);
    }

    #[test]
    fn a_command_ends_as_its_row_says() {
        let wrong = |command| execute(command).unwrap().wrong;
        assert_eq!(wrong("test 1 = 1"), None);
        assert!(wrong("test 1 = 2").is_some());
        assert_eq!(wrong("exit 3 # exits 3"), None);
        assert!(wrong("exit 4 # exits 3").unwrap().contains("expected 3"));
        assert!(wrong("kill -9 $$ # exits 9").is_some());
        assert!(wrong("false | cmp - /dev/null").is_some(), "the first of a pipe counts too");
        assert!(wrong("false; test 1 = 1").is_some());
        assert_eq!(wrong("test $MILLSTREAM_REQUIRE = all"), None, "a row is not shown without its tools");
    }

    #[test]
    fn the_last_lines_of_both_outputs_are_kept() {
        let ended = execute("seq 100; echo bad >&2; test 1 = 2").unwrap();
        assert!(ended.wrong.is_some());
        assert_eq!(ended.tail.len(), TAIL);
        assert_eq!(ended.tail.back().unwrap(), "bad");
    }

    #[test]
    fn a_run_with_a_failure_fails() {
        let (mapping, _) = parse("A01 command test 1 = 1\nA02 command test 1 = 2\n");
        let mut printed = Vec::new();
        let mut print = |line: &str| {
            printed.push(line.split(' ').take(2).collect::<Vec<_>>().join(" "));
            Ok(())
        };
        run(mapping.iter().take(1), false, &mut print).unwrap();
        let failed = run(mapping.iter(), false, &mut print).unwrap_err();
        assert_eq!(failed.message, "1 of 2 commands failed, shown above");
        assert_eq!(printed, ["passed A01", "passed A01", "FAILED A02"]);
    }
}
