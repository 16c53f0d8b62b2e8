//! `run --state` with a text that is edited between two starts.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use serde_json::Value;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn appending(scene: &Scene, args: &str) -> Command {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", &format!("run p.mill --state state {args}"));
    command.stdout(out).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn start(scene: &Scene, args: &str) -> Child {
    appending(scene, args).spawn().expect("it starts")
}

fn whole(scene: &Scene, args: &str) -> Seen {
    Seen::of(appending(scene, args).output().expect("it ends"))
}

pub(crate) fn kill(mut child: Child) {
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

/// Ends it by a signal, after everything in its log.
fn end(scene: &Scene, mut child: Child) -> String {
    let signal = scene.command("kill", &format!("-TERM {}", child.id()));
    assert_eq!(scene.run(signal, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut child).code(), Some(143));
    Seen::of(child.wait_with_output().expect("it ends")).stderr
}

pub(crate) fn text_of(scene: &Scene, name: &str) -> String {
    fs::read_to_string(scene.path(name)).unwrap_or_default()
}

pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(2));
    }
}

pub(crate) fn random(below: u64) -> Duration {
    Duration::from_millis(RandomState::new().build_hasher().finish() % below)
}

/// How many rows are before the newest snapshot.
fn rows_behind(scene: &Scene) -> u64 {
    let seen = scene.millstream("snapshots state --json", Input::Nothing);
    let newest: Value = serde_json::from_str(seen.text().lines().last().expect("a snapshot")).expect("JSON");
    // The first snapshot may not know the place.
    newest["source"]["position"]["at"]["rows"].as_u64().unwrap_or(0)
}

pub(crate) const OLD: &str =
    "let row = jsonl(\"log\", follow: true, dead: \"bad.jsonl\"); let n = row | count(by: .k); n | csv(\"n.csv\");
    row | where(.id % 7 > 4) | map({id}) | csv(\"some.csv\"); row | sum(.id) | jsonl(\"sum.jsonl\");
    row | map({id}) | jsonl(\"all.jsonl\"); row | where(.id % 3 == 0) | map(.id)";
pub(crate) const NEW: &str =
    "let row = jsonl(\"log\", follow: true, dead: \"worse.jsonl\"); let n = row | count(by: .k);
    row | where(.id % 3 == 1) | map(.id); row | map({id, k}) | jsonl(\"new.jsonl\"); n | csv(\"n.csv\");
    row | where(.id % 7 > 2) | map({id}) | csv(\"some.csv\"); row | top(2, .id) | jsonl(\"top.jsonl\")";

pub(crate) fn is_bad(id: u64) -> bool {
    id % 97 == 96
}

pub(crate) fn row(id: u64) -> String {
    if is_bad(id) { format!("bad {id}\n") } else { format!("{{\"id\":{id},\"k\":\"k{}\"}}\n", id % 5) }
}

/// The outputs of the old text up to a number of rows, and of the new text after it.
pub(crate) fn model(all: u64, changed: u64) -> Vec<(&'static str, String)> {
    let lines = |from: u64, to: u64, is_there: &dyn Fn(u64) -> bool, line: &dyn Fn(u64) -> String| -> String {
        (from..to).filter(|id| !is_bad(*id) && is_there(*id)).map(line).collect()
    };
    let old = |is_there: &dyn Fn(u64) -> bool, line: &dyn Fn(u64) -> String| lines(0, changed, is_there, line);
    let new = |is_there: &dyn Fn(u64) -> bool, line: &dyn Fn(u64) -> String| lines(changed, all, is_there, line);
    let (plain, object) = (|id: u64| format!("{id}\n"), |id: u64| format!("{{\"id\":{id}}}\n"));
    let count = |k: u64| (0..all).filter(|id| !is_bad(*id) && id % 5 == k).count();
    let dead = |from: u64, to: u64| -> String {
        let letter = |id: u64| {
            let (number, row) = (id + 1, format!("bad {id}"));
            format!("{number} {row}\n")
        };
        (from..to).filter(|id| is_bad(*id)).map(letter).collect()
    };
    let mut last: Vec<u64> = (changed..all).filter(|id| !is_bad(*id)).rev().take(2).collect();
    last.sort_unstable_by(|one, other| other.cmp(one));
    vec![
        ("out", old(&|id| id % 3 == 0, &plain) + &new(&|id| id % 3 == 1, &plain)),
        ("some.csv", "id\n".to_owned() + &old(&|id| id % 7 > 4, &plain) + &new(&|id| id % 7 > 2, &plain)),
        ("all.jsonl", old(&|_| true, &object)),
        ("new.jsonl", new(&|_| true, &row)),
        ("sum.jsonl", String::new()),
        ("top.jsonl", last.into_iter().map(row).collect()),
        ("n.csv", "k,count\n".to_owned() + &(0..5).map(|k| format!("k{k},{}\n", count(k))).collect::<String>()),
        ("bad.jsonl", dead(0, changed)),
        ("worse.jsonl", dead(changed, all)),
    ]
}

/// A file as in the model: of a dead letter, the number and the row.
fn shown(scene: &Scene, name: &str) -> String {
    let text = text_of(scene, name);
    if name != "bad.jsonl" && name != "worse.jsonl" {
        return text;
    }
    let letter = |line| serde_json::from_str::<Value>(line).expect("JSON");
    text.lines().map(letter).map(|dead| format!("{} {}\n", dead["number"], dead["row"].as_str().unwrap())).collect()
}

#[track_caller]
pub(crate) fn has(scene: &Scene, expected: Vec<(&'static str, String)>) {
    for (name, expected) in expected {
        let found = shown(scene, name);
        assert!(found == expected, "{name}:\n{found}\n-- is not --\n{expected}");
    }
}

/// Appends rows, and waits until the last one has come out in this file.
pub(crate) fn append(scene: &Scene, rows: std::ops::Range<u64>, file: &str) {
    let mut log = File::options().append(true).create(true).open(scene.path("log")).expect("the log");
    for id in rows.clone() {
        log.write_all(row(id).as_bytes()).expect("it can be written");
    }
    let last = rows.rev().find(|id| !is_bad(*id)).expect("a row");
    until("the last row", || text_of(scene, file).contains(&format!("\"id\":{last}")));
}

#[test]
fn rows_already_read_went_through_the_old_text_and_the_rest_goes_through_the_new_one() {
    for round in 0..4 {
        let scene = Scene::new().file("log", "").file("new.jsonl", "of before\n").file("p.mill", OLD);
        let old = "--snapshot-every 0.03s";
        let mut written = 0;
        for _ in 0..3 {
            let child = start(&scene, old);
            for _ in 0..4 {
                append(&scene, written..written + 200, "all.jsonl");
                written += 200;
            }
            sleep(random(60));
            kill(child);
        }
        fs::write(scene.path("p.mill"), NEW).expect("the text");
        // A refusal changes nothing.
        let refused = whole(&scene, old);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        let why = "refused  sum: the new text has no such stage to take the state of `sum(.id)`";
        assert!(refused.stderr.contains(why) && refused.stderr.contains("`--drop STAGE`"), "{}", refused.stderr);
        assert!(refused.stderr.contains("in another directory:\n  kept "), "{}", refused.stderr);
        assert!(refused.stderr.contains("\n  kept     n, with its state\n"), "{}", refused.stderr);
        let changed = rows_behind(&scene);
        let new = "--snapshot-every 0.03s --drop sum";
        for life in 0..3 {
            // The process may die before it has stored anything.
            let child = start(&scene, new);
            if life > 0 || round % 2 == 0 {
                append(&scene, written..written + 300, "new.jsonl");
                written += 300;
            }
            sleep(random(60));
            kill(child);
        }
        let child = start(&scene, new);
        append(&scene, written..written + 300, "new.jsonl");
        written += 300;
        let said = end(&scene, child);
        assert!(said.contains("--state: goes on at number "), "{said}");
        has(&scene, model(written, changed));
    }
}

/// The new process judges the states before it asks the old one.
#[test]
fn an_edited_text_takes_over() {
    let scene = Scene::new().file("log", "").file("p.mill", OLD);
    let old = start(&scene, "--snapshot-every 0.05s");
    append(&scene, 0..500, "all.jsonl");
    fs::write(scene.path("p.mill"), NEW).expect("the text");
    let refused = whole(&scene, "--take-over");
    assert!(refused.stderr.contains("refused  sum: ") && refused.code == Some(2), "{}", refused.stderr);
    append(&scene, 500..600, "all.jsonl");
    let new = start(&scene, "--take-over --snapshot-every 0.05s --drop sum");
    let seen = Seen::of(old.wait_with_output().expect("it ends"));
    assert!(seen.stderr.contains("--take-over: retired at number ") && seen.code == Some(0), "{}", seen.stderr);
    let changed =
        text_of(&scene, "all.jsonl").lines().count() as u64 + (0..600).filter(|id| is_bad(*id)).count() as u64;
    append(&scene, 600..900, "new.jsonl");
    let said = end(&scene, new);
    assert!(said.contains("--state: this text replaces the one in state: "), "{said}");
    assert_eq!(changed, 600);
    has(&scene, model(900, 600));
}

/// The old process goes on with its own text if the new one dies, although the file has the other text by then.
#[test]
fn the_old_process_goes_on_with_the_old_text() {
    let scene = Scene::new().file("log", "").file("p.mill", OLD);
    let old = start(&scene, "--snapshot-every 0.05s");
    append(&scene, 0..500, "all.jsonl");
    // The new process cannot begin: its new file is a directory.
    fs::create_dir(scene.path("new.jsonl")).expect("a directory");
    fs::write(scene.path("p.mill"), NEW).expect("the text");
    let failed = whole(&scene, "--take-over --drop sum");
    assert!(failed.stderr.contains("new.jsonl") && failed.code == Some(1), "{}", failed.stderr);
    append(&scene, 500..900, "all.jsonl");
    let said = end(&scene, old);
    assert!(said.contains("did not take over, so this process goes on"), "{said}");
    let plain = |is_there: &dyn Fn(u64) -> bool| -> String {
        (0..900).filter(|id| !is_bad(*id) && is_there(*id)).map(|id| format!("{id}\n")).collect()
    };
    assert_eq!(text_of(&scene, "out"), plain(&|id| id % 3 == 0));
    assert_eq!(text_of(&scene, "some.csv"), "id\n".to_owned() + &plain(&|id| id % 7 > 4));
}

/// A file that leaves the text and comes back is appended to. The state of its sink was lost with it, so the sink
/// writes its header again, which the file has already.
#[test]
fn a_sink_that_comes_back_goes_on_with_its_file() {
    let scene = Scene::new().file("log", "");
    let row = "let row = jsonl(\"log\", follow: true); row | map({id}) | jsonl(\"all.jsonl\");";
    let (with, without) = (format!("{row} row | map({{id}}) | csv(\"a.csv\")"), row);
    for (life, text) in [with.as_str(), without, with.as_str()].into_iter().enumerate() {
        fs::write(scene.path("p.mill"), text).expect("the text");
        let (child, from) = (start(&scene, "--snapshot-every 0.02s"), life as u64 * 10);
        append(&scene, from..from + 10, "all.jsonl");
        until("a snapshot", || rows_behind(&scene) == from + 10);
        kill(child);
    }
    let lines = |ids: std::ops::Range<u64>| ids.map(|id| format!("{id}\n")).collect::<String>();
    assert_eq!(text_of(&scene, "a.csv"), format!("id\n{}{}", lines(0..10), lines(20..30)));
    let seen = scene.millstream("replay state --from 0", Input::Nothing);
    assert!(seen.stderr.contains("the text was changed at number ") && seen.code == Some(2), "{}", seen.stderr);
}

#[test]
fn a_kept_stage_that_has_changed_is_reported() {
    let scene = Scene::new()
        .file("a.jsonl", "{\"n\":2}\n{\"n\":5}\n")
        .file("p.mill", "let s = jsonl(\"a.jsonl\") | sum(.n); s");
    let args = "--quiet --snapshot-every 1";
    assert_eq!(whole(&scene, args).code, Some(0));
    let edit = |text: &str| fs::write(scene.path("p.mill"), text).expect("the text");
    edit("let s = jsonl(\"a.jsonl\") | sum(.n * 2); s");
    let refused = whole(&scene, args);
    let why = "refused  s: its parameter `of` was `.n` and is now `.n * 2`: `keep s` keeps its state nevertheless";
    assert!(refused.stderr.contains(why) && refused.code == Some(2), "{}", refused.stderr);
    let refused = whole(&scene, &format!("{args} --keep t"));
    let why = "no stage \"t\" keeps a state; the stages that do are print, s";
    assert!(refused.stderr.contains(why) && refused.code == Some(2), "{}", refused.stderr);
    edit("let s = jsonl(\"b.jsonl\") | sum(.n); s");
    let refused = whole(&scene, args);
    assert!(refused.stderr.contains("the run cannot add the source `jsonl(\"b.jsonl\")`"), "{}", refused.stderr);
    assert_eq!(text_of(&scene, "out"), "{\"sum\":7}\n");
    edit("let s = jsonl(\"a.jsonl\") | sum(.n * 2); keep s; s");
    fs::write(scene.path("a.jsonl"), "{\"n\":2}\n{\"n\":5}\n{\"n\":1}\n").expect("more rows");
    let seen = whole(&scene, args);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    let out = text_of(&scene, "out");
    // The last snapshot is the one of the beginning, or the one after the only block.
    assert!(["{\"sum\":16}\n", "{\"sum\":9}\n"].contains(&out.as_str()), "{out}");
    let wrong = scene.millstream("run p.mill --keep s", Input::Nothing);
    assert!(wrong.stderr.contains("--state") && wrong.code == Some(2), "{}", wrong.stderr);
}

/// A state belongs to the name that `let` binds.
#[test]
fn a_text_with_other_names_is_another_text() {
    let scene = Scene::new().file("rows", "{\"p\":1,\"q\":100}\n").file("p.mill", "");
    let args = "--quiet --snapshot-every 1";
    let edit = |text: &str| fs::write(scene.path("p.mill"), text).expect("the text");
    let of = |p: &str, q: &str| {
        format!(
            "let r = jsonl(\"rows\"); let {p} = r | sum(.p); let {q} = r | sum(.q); {p} | jsonl(\"A\"); {q} | jsonl(\"B\")"
        )
    };
    let sums = || (text_of(&scene, "A"), text_of(&scene, "B"));
    let expected = ("{\"sum\":1}\n".to_owned(), "{\"sum\":100}\n".to_owned());
    edit(&of("a", "b"));
    assert_eq!(whole(&scene, args).code, Some(0));
    for (changed, why) in [
        (of("b", "a"), "refused  a: its parameter `of` was `.p` and is now `.q`"),
        (of("total", "b"), "refused  a: the new text has no such stage to take the state of `sum(.p)`"),
    ] {
        edit(&changed);
        let refused = whole(&scene, args);
        assert!(refused.stderr.contains(why) && refused.code == Some(2), "{}", refused.stderr);
        assert_eq!(sums(), expected);
    }
    // The name of what keeps no state does not matter, and neither do spaces and comments.
    edit(&of("a", "b").replace("let r ", "let row ").replace("r |", "row |").replace("(.p)", "( .p # all\n)"));
    let seen = whole(&scene, args);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    assert_eq!(sums(), expected);
    edit(&of("total", "b"));
    let seen = whole(&scene, &format!("{args} --drop a"));
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
}

#[test]
fn a_file_that_the_run_has_written_is_not_emptied_by_another_name_of_it() {
    let scene = Scene::new().file("rows", "{\"p\":1}\n").file("p.mill", "");
    let edit = |file: &str| {
        fs::write(scene.path("p.mill"), format!("jsonl(\"rows\") | map(.p) | jsonl(\"{file}\")")).expect("the text");
    };
    for file in ["N", "M"] {
        edit(file);
        assert_eq!(whole(&scene, "--quiet --snapshot-every 1").code, Some(0));
        edit("./N");
        // Without a later snapshot, the start with the second text has emptied it.
        let before = text_of(&scene, "N");
        let refused = whole(&scene, "--quiet");
        let why = "./N is the file N, which the run has written: name it N in the new text, too";
        assert!(refused.stderr.contains(why) && refused.code == Some(1), "{}", refused.stderr);
        assert_eq!(text_of(&scene, "N"), before);
        assert!(file != "N" || before == "1\n");
    }
}

#[test]
fn a_rule_for_an_unknown_stage_is_refused_though_nothing_changes() {
    let scene = Scene::new().file("rows", "{\"n\":1}\n");
    let run = |state: &str, rule: &str| {
        let args = format!("run --quiet -e jsonl|sum(.n) --state {state} {rule} rows");
        let out = File::options().append(true).create(true).open(scene.path(state).with_extension("out"));
        let mut command = scene.command("millstream", &args);
        let command = command.stdin(Stdio::null()).stdout(out.expect("a file")).stderr(Stdio::piped());
        Seen::of(command.spawn().expect("it starts").wait_with_output().expect("it ends"))
    };
    assert_eq!(run("state", "").code, Some(0));
    for (state, rule) in [("state", "--drop nosuch"), ("state", "--keep nosuch"), ("new", "--drop nosuch")] {
        let refused = run(state, rule);
        assert!(
            refused.stderr.contains("no stage \"nosuch\" keeps a state; the stages that do are "),
            "{}",
            refused.stderr
        );
        assert_eq!(refused.code, Some(2));
    }
}
