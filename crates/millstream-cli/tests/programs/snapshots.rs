//! `snapshots`: what a state directory has, and its removal.

use crate::scene::{Input, PATIENCE, Scene, Seen, prose};
use millstream::prelude::*;
use millstream_state::dead_letters::KeptLetters;
use millstream_state::journal::JournalOptions;
use millstream_state::{Saved, StateDir};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn listed(scene: &Scene, args: &str) -> (Seen, Vec<u64>) {
    let seen = scene.millstream(&format!("snapshots state {args}"), Input::Nothing);
    let text = seen.text();
    let numbers = text.lines().skip(1).map(|line| line.split_whitespace().nth(1).expect("a number").parse());
    let numbers = numbers.map(|number| number.expect("a number")).collect();
    (seen, numbers)
}

#[test]
fn a_prune_leaves_the_newest_snapshots_and_the_run_goes_on_there() {
    let scene = Scene::new().file("text", prose(400_000));
    let count = || scene.millstream("wc --state state --snapshot-every 1 --snapshots 10 text", Input::Nothing);
    // A fast run may store one snapshot only, so there are several.
    for blocks in 1..5 {
        fs::write(scene.path("text"), prose(400_000 * blocks)).expect("a file");
        assert_eq!(count().code, Some(0));
    }
    let (seen, before) = listed(&scene, "");
    assert!(seen.code == Some(0) && before.len() > 3, "{before:?} {}", seen.stderr);
    let (seen, left) = listed(&scene, "--prune 2 --verify");
    assert_eq!((seen.code, &left[..]), (Some(0), &before[before.len() - 2..]), "{}", seen.stderr);
    assert!(seen.text().lines().skip(1).all(|line| line.ends_with(" whole")), "{}", seen.text());
    let removed = seen.stderr.lines().filter(|line| line.starts_with("millstream snapshots: removed snapshot "));
    assert_eq!(removed.count(), before.len() - 2, "{}", seen.stderr);
    assert_eq!(listed(&scene, "").1, left);
    // Without a look at a snapshot nothing is known of it.
    for (args, whole) in [("", "\"whole\":null"), (" --verify", "\"whole\":true")] {
        let lines = scene.millstream(&format!("snapshots state --json{args}"), Input::Nothing).text();
        assert!(lines.lines().count() == 2 && lines.lines().all(|line| line.contains(whole)), "{lines}");
    }
    fs::write(scene.path("text"), prose(2_000_000)).expect("a file");
    let went_on = count();
    let at = format!("goes on at number {}", left[1]);
    assert!(went_on.stderr.contains(&at), "{at}: {}", went_on.stderr);
    assert_eq!(went_on.stdout, scene.millstream("wc text", Input::Nothing).stdout);
}

/// Appends the output of `uppercase` to `out`, as it comes.
fn uppercase(scene: &Scene) -> Child {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", "uppercase --state state --snapshot-every 0.02s --quiet");
    command.stdin(Stdio::piped()).stdout(out).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Runs `uppercase` over a line, and returns the id of a snapshot that has it.
fn stored(scene: &Scene, line: &str) -> u64 {
    let before = fs::read_dir(scene.path("state/snapshots")).map_or(0, |_| *ids(scene).last().expect("a snapshot"));
    let mut child = uppercase(scene);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(line.as_bytes()).expect("it reads");
    let since = Instant::now();
    // The first one of a directory has no line.
    while !fs::exists(scene.path("state/snapshots")).is_ok_and(|there| there)
        || ids(scene).last().is_none_or(|last| *last <= before.max(1))
    {
        assert!(since.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5));
    }
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    *ids(scene).last().expect("a snapshot")
}

fn ids(scene: &Scene) -> Vec<u64> {
    let text = scene.millstream("snapshots state", Input::Nothing).text();
    let id = |line: &str| line.split_whitespace().next().expect("an id").parse().expect("a number");
    text.lines().skip(1).map(id).collect()
}

#[test]
fn a_run_goes_back_to_a_snapshot_and_reads_what_came_since_from_its_journal() {
    let scene = Scene::new();
    let first = stored(&scene, "one\n");
    assert!(stored(&scene, "two\n") > first);
    assert_eq!(fs::read_to_string(scene.path("out")).expect("a file"), "ONE\nTWO\n");
    let mut running = uppercase(&scene);
    // It has the directory once it has stored something.
    let mut refused;
    let since = Instant::now();
    loop {
        refused = scene.millstream("snapshots state --back-to 99999", Input::Nothing);
        if refused.stderr.contains(" is in use by process ") {
            break;
        }
        assert!(refused.stderr.contains("has no whole snapshot 99999") && since.elapsed() < PATIENCE);
    }
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    running.kill().expect("it is killed");
    running.wait().expect("it ends");
    let went = scene.millstream(&format!("snapshots state --back-to {first}"), Input::Nothing);
    assert_eq!((went.code, ids(&scene).last()), (Some(0), Some(&first)), "{}", went.stderr);
    assert!(went.stderr.contains("millstream snapshots: removed snapshot "), "{}", went.stderr);
    stored(&scene, "three\n");
    assert_eq!(fs::read_to_string(scene.path("out")).expect("a file"), "ONE\nTWO\nTHREE\n");
    let both = scene.millstream("snapshots state --back-to 1 --prune 1", Input::Nothing);
    assert_eq!(both.code, Some(2));
}

#[test]
fn a_database_that_has_later_rows_is_no_way_back_until_they_are_removed() {
    let scene = Scene::new();
    let dir = StateDir::open(scene.path("state"), "orders").expect("a directory");
    for next in [10, 20] {
        dir.save(&Saved { at: next, sink: json!({ "next": next }), ..Saved::default() }).expect("a snapshot");
    }
    drop(dir);
    let refused = scene.millstream("snapshots state --back-to 1", Input::Nothing);
    let why =
        "millstream snapshots: --back-to 1: the output is a database, which keeps the rows of the numbers from 10 on";
    assert!(refused.stderr.starts_with(why) && refused.stderr.contains("set `next = 10`"), "{}", refused.stderr);
    assert_eq!((refused.code, ids(&scene)), (Some(2), vec![1, 2]));
    assert_eq!(scene.millstream("snapshots state --back-to 2", Input::Nothing).code, Some(0));
    let went = scene.millstream("snapshots state --back-to 1 --rows-removed", Input::Nothing);
    assert_eq!((went.code, ids(&scene)), (Some(0), vec![1]), "{}", went.stderr);
}

/// A run keeps them, too.
#[test]
fn a_prune_leaves_what_dead_letters_need() {
    let scene = Scene::new();
    let dir = StateDir::open(scene.path("state"), "orders").expect("a directory");
    let letters = KeptLetters::open(&dir, JournalOptions::default()).expect("a directory");
    let check = |x: &u64| if *x == 15 { Err("a wrong order") } else { Ok(*x) };
    pipeline::<u64>().try_map_or_dead_letter("check", check, letters.taking()).collect(0..20).expect("it runs");
    assert_eq!(letters.list().len(), 1);
    for at in [5, 10, 20, 30] {
        dir.save(&Saved { at, ..Saved::default() }).expect("a snapshot");
    }
    drop((dir, letters));
    let (seen, left) = listed(&scene, "--prune 1");
    assert_eq!((seen.code, left), (Some(0), vec![10, 20, 30]), "{}", seen.stderr);
    assert!(seen.stderr.contains("all from snapshot 2 on stay: `redo` does"), "{}", seen.stderr);
    fs::remove_dir_all(scene.path("state/dead-letters")).expect("it is there");
    assert_eq!(listed(&scene, "--prune 1").1, [30]);
}

#[test]
fn a_damaged_snapshot_is_no_way_back() {
    let scene = Scene::new();
    let dir = StateDir::open(scene.path("state"), "orders").expect("a directory");
    let parts = [("sum", &[42, 0, 0, 0][..])];
    let saved = [1, 2].map(|at| dir.save(&Saved { at, parts: &parts, ..Saved::default() }).expect("a snapshot"));
    let file = scene.path("state/snapshots").join(saved[0].file());
    let mut bytes = fs::read(&file).expect("a snapshot");
    bytes[0] ^= 1;
    fs::write(&file, bytes).expect("a file");
    drop(dir);
    let refused = scene.millstream("snapshots state --back-to 1", Input::Nothing);
    assert!(refused.stderr.contains(" is damaged: ") && refused.code == Some(2), "{}", refused.stderr);
    assert_eq!(ids(&scene), [1, 2]);
}

#[test]
fn the_help_explains_the_columns() {
    let help = Scene::new().millstream("snapshots --help", Input::Nothing).text();
    for column in ["id", "number", "output", "bytes", "age"] {
        assert!(help.contains(&format!("\n  {column} ")), "{column}: {help}");
    }
}
