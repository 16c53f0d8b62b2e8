//! Versions of one program: names, migrations, and the way back.

use super::{AS, command};
use millstream::Program;
use millstream::prelude::*;
use std::fs::{self, File};
use std::path::Path;
use std::process::{ExitCode, Stdio};

/// Counts lines. Its second version has a wider state, and other lines. Some versions have a name of their own.
pub(crate) fn bank() -> ExitCode {
    let name = std::env::var("NAME").ok();
    if std::env::var("VERSION").as_deref() == Ok("2") {
        let count = pipeline::<u64>().scan(0_u64, |n, _| {
            *n += 1;
            format!("{n} wide")
        });
        let program = Program::new(count.named("count")).lasting().migrate("count", |old: u32| u64::from(old));
        return name.into_iter().fold(program, Program::named).main();
    }
    let count = pipeline::<u64>().scan(0_u32, |n, _| {
        *n += 1;
        format!("{n}")
    });
    let program = Program::new(count.named("count")).lasting();
    name.into_iter().fold(program, Program::named).main()
}

/// A version of the program: its number, the name of its file, and the name that it gives itself.
#[derive(Clone, Copy)]
struct Version(&'static str, &'static str, Option<&'static str>);

impl Version {
    /// Its output, what it said, and its exit code.
    fn does(self, home: &Path, args: &str, out: Option<&str>) -> (String, String, Option<i32>) {
        let Version(version, file, name) = self;
        let mut command = command(file);
        command.env(AS, "bank").env("VERSION", version).current_dir(home).stdin(Stdio::null());
        command.args(args.split_whitespace());
        if let Some(name) = name {
            command.env("NAME", name);
        }
        if let Some(out) = out {
            command.stdout(File::options().append(true).create(true).open(home.join(out)).expect("a file"));
        }
        let output = command.output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr), output.status.code())
    }

    /// A run over the numbers below this one.
    fn runs(self, home: &Path, below: u64) -> (String, Option<i32>) {
        fs::write(home.join("numbers.txt"), (0..below).map(|n| format!("{n}\n")).collect::<String>()).expect("a file");
        let args = "run --state state --snapshot-every 100 --snapshots 50 --ring 8 --batch 8 numbers.txt";
        let (_, said, code) = self.does(home, args, Some("out"));
        (said, code)
    }

    /// The ids of the snapshots.
    fn ids(self, home: &Path) -> Vec<u64> {
        let (listed, said, code) = self.does(home, "snapshots state", None);
        assert_eq!((said.as_str(), code), ("", Some(0)));
        let id = |line: &str| line.split_whitespace().next().expect("an id").parse().expect("a number");
        listed.lines().skip(1).map(id).collect()
    }
}

fn out(home: &Path) -> String {
    fs::read_to_string(home.join("out")).expect("a file")
}

fn counts(below: u64) -> String {
    (1..=below).map(|n| format!("{n}\n")).collect()
}

pub(crate) fn a_file_of_another_name_goes_on_with_the_state_of_the_named_program() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let [old, new] = ["bank-1.9", "bank-2.0"].map(|file| Version("1", file, Some("bank")));
    assert_eq!(old.runs(home, 1000), (String::new(), Some(0)));
    let (said, code) = new.runs(home, 2000);
    assert!(said.starts_with("bank run: --state: goes on at number ") && code == Some(0), "{said}");
    assert_eq!(out(home), counts(2000));
    let (said, code) = Version("1", "other", None).runs(home, 2000);
    assert_eq!(code, Some(2), "{said}");
    for part in
        ["other run: ", "has the state of the program `bank`, and this is `other`", "its name (`Program::named`"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Without a name, that of the file counts.
    fs::remove_dir_all(home.join("state")).expect("a directory");
    fs::remove_file(home.join("out")).expect("a file");
    assert_eq!(Version("1", "bank.exe", None).runs(home, 1000), (String::new(), Some(0)));
    assert_eq!(Version("1", "some-bank", Some("bank")).runs(home, 2000).1, Some(0));
    assert_eq!(out(home), counts(2000));
    let (_, said, code) = new.does(home, "run --state state --ring 3 numbers.txt", None);
    assert!(said.starts_with("bank run: invalid value '3' for '--ring <N>'") && code == Some(2), "{said}");
    let (_, said, code) = new.does(home, "run --nosuch", None);
    assert!(said.starts_with("bank run: ") && said.contains("Usage: bank-2.0 run ") && code == Some(2), "{said}");
    let (_, said, code) = new.does(home, "run --hash --state state numbers.txt", None);
    assert!(said.starts_with("bank run: --state: --hash covers") && code == Some(2), "{said}");
}

pub(crate) fn the_tools_of_a_version_use_its_migrations() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let [old, new] = ["1", "2"].map(|version| Version(version, "bank", None));
    assert_eq!(old.runs(home, 1000), (String::new(), Some(0)));
    let (state, said, code) = new.does(home, "state state --at 500 --stage count", None);
    assert_eq!((state.as_str(), said.as_str(), code), ("500\n", "", Some(0)));
    let (lines, said, code) = new.does(home, "replay state --from 990 --to 1000", None);
    assert!(lines.ends_with("999 wide\n1000 wide\n") && code == Some(0), "{lines} {said}");
    assert!(said.starts_with("bank replay: replayed the numbers from "), "{said}");
    for (version, file) in [(old, "old.json"), (new, "new.json")] {
        fs::write(home.join(file), version.does(home, "plan --json", None).0).expect("a file");
    }
    let (verdict, said, code) = new.does(home, "upgrade --check old.json new.json", None);
    assert_eq!((said.as_str(), code), ("", Some(0)), "{verdict}");
    assert!(verdict.contains("migrated count: u32 version 1 -> u64 version 1\n"), "{verdict}");
    // The old version knows of no migration, and one to itself migrates nothing.
    assert_eq!(old.does(home, "upgrade --check old.json new.json", None).2, Some(4));
    let (verdict, _, code) = new.does(home, "upgrade --check new.json new.json", None);
    assert!(verdict.contains("1 kept, 0 migrated") && code == Some(0), "{verdict}");
}

pub(crate) fn a_version_goes_back_to_its_snapshot_and_its_output_is_that_of_one_run() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let [old, new] = ["1", "2"].map(|version| Version(version, "bank", None));
    assert_eq!(old.runs(home, 1000), (String::new(), Some(0)));
    let last = *old.ids(home).last().expect("a snapshot");
    assert_eq!(new.runs(home, 2000).1, Some(0));
    assert!(out(home).ends_with("2000 wide\n"));
    let (said, code) = old.runs(home, 2000);
    assert!(said.contains("the pipeline cannot go on with the states of snapshot") && code == Some(2), "{said}");
    let lines = ": convert each of these by `migrate`, or let it be lost by `dropping`:\n  \
                 count: its state is a u64 version 1, and would be u32 version 1\n";
    assert!(said.ends_with(lines), "{said}");
    let (_, said, code) = old.does(home, "snapshots state --back-to 99999", None);
    assert!(said.contains("has no whole snapshot 99999: `snapshots` lists those that it has"), "{said}");
    assert_eq!(code, Some(2));
    let (listed, said, code) = old.does(home, &format!("snapshots state --back-to {last}"), None);
    assert!(said.lines().all(|line| line.starts_with("bank snapshots: removed snapshot ")), "{said}");
    assert_eq!((listed.lines().count() - 1, code), (old.ids(home).len(), Some(0)), "{listed}");
    assert_eq!(old.ids(home).last(), Some(&last));
    let (said, code) = old.runs(home, 2000);
    assert!(said.contains("--state: goes on at number ") && code == Some(0), "{said}");
    assert_eq!(out(home), counts(2000));
}
