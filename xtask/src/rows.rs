//! `cargo xtask rows`: the proof of each requirement.
//!
//! The requirements are the rows of docs/requirements.md. docs/rows.txt maps each to its proof.

mod anchors;
mod commands;
mod mapping;
mod tests_named;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write};
use std::path::Path;

pub(crate) use self::anchors::anchors;
use self::mapping::{MAPPING, Mapped, Proof};
use crate::cmd::{Result, failure, read, root};

const REQUIREMENTS: &str = "docs/requirements.md";

/// What to do with the rows.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also run every command that a row names, each once; fail if one ends otherwise than its row says
    #[arg(long)]
    run: bool,
    /// Leave out the commands that are chores (`cargo xtask ...`): they take minutes, and benches need an idle machine
    #[arg(long, requires = "run")]
    quick: bool,
    /// Run the commands of these rows only
    #[arg(requires = "run")]
    ids: Vec<String>,
}

/// Prints one line for each row. Fails if the mapping names something that does not exist, or that cannot fail, or
/// leaves a row out.
pub(crate) fn run(args: &Args) -> Result {
    let root = root();
    let rows = row_ids(&read(&root.join(REQUIREMENTS))?);
    let (mapping, mut wrong) = mapping::parse(&read(&root.join(MAPPING))?);
    if let Some(id) = args.ids.iter().find(|id| !rows.contains(id)) {
        return Err(failure(format!("{REQUIREMENTS} has no row {id}")));
    }
    if args.run {
        all_run(&args.ids, &mapping, args.quick)?;
    }
    print(&table(&rows, &mapping))?;
    wrong.extend(faults(&root, &rows, &mapping));
    for message in &wrong {
        eprintln!("{message}");
    }
    eprintln!("{}", counts(&rows, &mapping));
    if !wrong.is_empty() {
        return Err(failure(format!("{MAPPING}: {} errors, listed above", wrong.len())));
    }
    if args.run {
        let chosen = |id: &str| args.ids.is_empty() || args.ids.iter().any(|wanted| wanted == id);
        commands::run(mapping.iter().filter(|(id, _)| chosen(id)), args.quick, print)?;
    }
    Ok(())
}

/// Refuses a row that is asked for by its id, and has no command that would run.
fn all_run(ids: &[String], mapping: &BTreeMap<String, Mapped>, quick: bool) -> Result {
    ids.iter().try_for_each(|id| {
        let why = match mapping.get(id).map(|mapped| &mapped.proof) {
            Some(Proof::Command(command)) if quick && commands::is_chore(command) => "`--quick` leaves its chore out",
            Some(Proof::Command(_)) => return Ok(()),
            Some(Proof::Test(_)) => "a test shows it, which `cargo xtask test` runs",
            Some(Proof::NotApplicable(_)) => "it does not apply",
            Some(Proof::Open) | None => "it is open",
        };
        Err(failure(format!("{id} has no command to run: {why}")))
    })
}

/// One line for each row.
fn table(rows: &[String], mapping: &BTreeMap<String, Mapped>) -> String {
    let line = |id: &String| match mapping.get(id) {
        Some(mapped) => format!("{id} {}\n", mapped.proof),
        None => format!("{id} open\n"),
    };
    rows.iter().map(line).collect()
}

/// The entries of the mapping that do not exist, or that cannot fail, and the rows without an entry.
fn faults(root: &Path, rows: &[String], mapping: &BTreeMap<String, Mapped>) -> Vec<String> {
    let known: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    let unmapped = rows.iter().filter(|id| !mapping.contains_key(*id));
    let mut found: Vec<_> = unmapped.map(|id| format!("{MAPPING}: row {id} is left out: say why it is open")).collect();
    for (id, Mapped { line, proof }) in mapping {
        if !known.contains(id.as_str()) {
            found.push(format!("{MAPPING}:{line}: {REQUIREMENTS} has no row {id}"));
        }
        if let Err(why) = proof.holds(root) {
            found.push(format!("{MAPPING}:{line}: {id}: {why}"));
        }
    }
    found
}

/// The number of rows for each kind of proof.
fn counts(rows: &[String], mapping: &BTreeMap<String, Mapped>) -> String {
    let (mut tests, mut commands, mut not_applicable) = (0, 0, 0);
    for mapped in rows.iter().filter_map(|id| mapping.get(id)) {
        match mapped.proof {
            Proof::Test(_) => tests += 1,
            Proof::Command(_) => commands += 1,
            Proof::NotApplicable(_) => not_applicable += 1,
            Proof::Open => {}
        }
    }
    let open = rows.len() - tests - commands - not_applicable;
    format!("{} rows: {tests} test, {commands} command, {not_applicable} not-applicable, {open} open", rows.len())
}

/// Prints to standard output. A closed reader is no error.
fn print(text: &str) -> Result {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(failure(format!("cannot write: {error}"))),
        _ => Ok(()),
    }
}

/// The ids of the tables A to L, of the features of peers and of the pains, in order.
fn row_ids(requirements: &str) -> Vec<String> {
    let mut peers = false;
    let ids = requirements.lines().filter_map(|line| {
        peers = line.starts_with("| feature |") || peers && line.starts_with('|');
        if peers {
            return feature_id(line);
        }
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

/// The id of a row of the features of peers: its words.
fn feature_id(line: &str) -> Option<String> {
    let feature = line.split('|').nth(1)?.trim().to_lowercase();
    let words = feature.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.collect::<Vec<_>>().join("-");
    (!words.is_empty() && feature != "feature").then(|| format!("peer:{words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_tables_and_the_pains() {
        let page = "| id | what |\n|---|---|\n| A01 | x |\n| L17 | y |\n| M01 | z |\n| LM | z |\n\
                    | feature | LM |\n|---|---|\n| CPU pinning, physical cores | 1 |\n\n\
                    - P01 a/b#1: c\n- P1 d\n- Peer e\n";
        assert_eq!(row_ids(page), ["A01", "L17", "peer:cpu-pinning-physical-cores", "P01"]);
    }

    #[test]
    fn every_row_of_the_requirements_is_found() {
        let rows = row_ids(&read(&root().join(REQUIREMENTS)).unwrap());
        let peers = rows.iter().filter(|id| id.starts_with("peer:")).count();
        let pains = rows.iter().filter(|id| id.starts_with('P')).count();
        assert_eq!((rows.len() - peers - pains, peers, pains), (217, 49, 74));
        let unique: BTreeSet<_> = rows.iter().collect();
        assert_eq!(unique.len(), rows.len());
    }

    #[test]
    fn every_row_is_printed_as_it_is_mapped_and_open_without() {
        let rows = ["A01", "A02", "A03", "A04", "A05"].map(str::to_owned);
        let (mapping, _) = mapping::parse(
            "A01 test a.rs::b\nA02 command a | cmp - b # exits 1\nA03 open not measured\nA05 not-applicable A.md#b\n",
        );
        let printed = "A01 test a.rs::b\nA02 command a | cmp - b # exits 1\nA03 open\nA04 open\n\
                       A05 not-applicable A.md#b\n";
        assert_eq!(table(&rows, &mapping), printed);
        assert_eq!(counts(&rows, &mapping), "5 rows: 1 test, 1 command, 1 not-applicable, 2 open");
    }

    #[test]
    fn a_row_that_is_asked_for_and_has_no_command_is_refused() {
        let (mapping, _) = mapping::parse(
            "A01 command cmp a b\nA02 command cargo xtask bench a --check\nA03 test a.rs::b\nA04 open later\n\
             A05 not-applicable A.md#b\n",
        );
        let refused = |ids: &[&str], quick| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            all_run(&ids, &mapping, quick).err().map(|failure| failure.message)
        };
        assert_eq!(refused(&["A01", "A02"], false), None);
        assert_eq!(refused(&[], true), None);
        let why = refused(&["A01", "A02"], true).unwrap();
        assert_eq!(why, "A02 has no command to run: `--quick` leaves its chore out");
        let why = refused(&["A01", "A03"], false).unwrap();
        assert_eq!(why, "A03 has no command to run: a test shows it, which `cargo xtask test` runs");
        for id in ["A04", "A05", "A06"] {
            assert!(refused(&[id], false).is_some(), "{id}");
        }
    }

    #[test]
    fn a_row_that_is_not_required_or_left_out_is_a_fault() {
        let (mapping, _) = mapping::parse("A01 command cmp a b\nA02 command cmp a b\n");
        let found = faults(Path::new("."), &["A01".to_owned(), "A03".to_owned()], &mapping);
        assert_eq!(
            found,
            [
                "docs/rows.txt: row A03 is left out: say why it is open",
                "docs/rows.txt:2: docs/requirements.md has no row A02"
            ]
        );
    }
}
