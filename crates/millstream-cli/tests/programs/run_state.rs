//! `run --state`: programs as text that are killed, and go on.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// `run` with its output appended to `out`.
pub(crate) fn appending(scene: &Scene, args: &[&str]) -> Command {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", "run");
    command.args(args).stdout(out).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

pub(crate) fn start(scene: &Scene, args: &[&str]) -> Child {
    appending(scene, args).spawn().expect("it starts")
}

/// To its end.
fn whole(scene: &Scene, args: &[&str]) -> Seen {
    Seen::of(start(scene, args).wait_with_output().expect("it ends"))
}

#[track_caller]
fn done(scene: &Scene, args: &[&str]) -> String {
    let seen = whole(scene, args);
    assert_eq!(seen.code, Some(0), "{args:?}: {}", seen.stderr);
    seen.stderr
}

#[track_caller]
fn refused(scene: &Scene, args: &[&str], why: &str, code: i32) {
    let before = fs::read(scene.path("out")).unwrap_or_default();
    let seen = whole(scene, args);
    assert!(seen.stderr.contains(why), "{args:?}: {}", seen.stderr);
    assert_eq!(seen.code, Some(code), "{args:?}: {}", seen.stderr);
    assert!(fs::read(scene.path("out")).unwrap_or_default() == before, "{args:?}: something is written");
}

/// A table of this many orders, some of which do not fit their types.
fn orders(rows: usize) -> String {
    let row = |n: usize| {
        let qty = if n % 997 == 996 { "many".to_owned() } else { (n % 7).to_string() };
        format!("{n},user {},{qty},{}\n", n % 50, n / 10)
    };
    "id,user,qty,at\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

const SCHEMA: &str = "schema: {id: int, user: text, qty: int, at: int}";

/// Two sources, a join, a fold by key, a window, tables, dead letters and standard output.
fn program() -> String {
    format!(
        "let user = jsonl(\"users.jsonl\");
         let order = csv(\"orders.csv\", {SCHEMA}, dead: \"bad.jsonl\");
         order | where(.qty > 4) | join(user, on: .user) | csv(\"joined.csv\");
         order | count(by: .user, every: 1m, at: .at, as: \"n\") | jsonl(\"windows.jsonl\");
         order | fold({{total: sum(.qty), p: quantile(.id, 0.5)}}, by: .user) | table(\"sums\");
         order | top(3, .id) | jsonl(\"top.jsonl\");
         order | mean(.qty, by: .user, each: 300) | jsonl(\"running.jsonl\");
         order | count(by: .user, each: 40s, at: .at) | csv(\"steps.csv\");
         order | distinct(.user) | skip(5) | take(30) | map({{id, user}})"
    )
}

const OUTPUTS: [&str; 8] =
    ["out", "joined.csv", "windows.jsonl", "sums", "top.jsonl", "running.jsonl", "steps.csv", "bad.jsonl"];

fn shop() -> Scene {
    let users: String =
        (0..50).map(|n| format!("{{\"user\": \"user {n}\", \"city\": \"city {}\"}}\n", n % 9)).collect();
    Scene::new().file("orders.csv", orders(25_000)).file("users.jsonl", users).file("p.mill", program())
}

fn outputs(scene: &Scene) -> Vec<Vec<u8>> {
    OUTPUTS.iter().map(|name| fs::read(scene.path(name)).expect("an output")).collect()
}

#[test]
fn a_program_that_is_killed_again_and_again_ends_with_the_outputs_of_one_run() {
    let one = shop();
    done(&one, &["--quiet", "p.mill"]);
    let expected = outputs(&one);
    assert!(expected.iter().all(|bytes| bytes.len() > 100), "{:?}", expected.iter().map(Vec::len).collect::<Vec<_>>());
    let scene = shop();
    // Earlier contents are replaced, as without a state.
    let scene = scene.file("joined.csv", "something else\n");
    let args = ["p.mill", "--state", "state", "--snapshot-every", "1"];
    for life in 0..10_u64 {
        let mut child = start(&scene, &args);
        sleep(Duration::from_millis(80 * life));
        // The last process leaves a snapshot after the first one, which is the one of number 0, however busy the
        // machine is.
        let start = Instant::now();
        let is_whole = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".snapshot");
        let stored = || {
            let all = fs::read_dir(scene.path("state/snapshots")).into_iter().flatten().flatten();
            all.filter(|entry| is_whole(&entry.file_name())).count()
        };
        while life == 9 && stored() < 2 && start.elapsed() < PATIENCE {
            sleep(Duration::from_millis(5));
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let said = done(&scene, &args);
    assert!(said.contains("--state: goes on at number "), "no life has left a snapshot: {said}");
    // The dead letters of all processes.
    assert!(said.contains("25 rows failed: see bad.jsonl"), "{said}");
    for ((name, expected), found) in OUTPUTS.iter().zip(&expected).zip(outputs(&scene)) {
        assert!(*expected == found, "{name}: other bytes than those of one run");
    }
    // A further start ends in the same way.
    done(&scene, &args);
    assert!(outputs(&scene) == expected, "other bytes when it is started once more");
}

/// Each process has its own standard input, whose bytes a later process cannot read again.
#[test]
fn standard_input_is_in_a_journal() {
    let text = orders(9000);
    let program = format!("csv({SCHEMA}, dead: \"bad.jsonl\") | map({{id}})");
    let tally =
        format!("let o = csv({SCHEMA}, dead: \"bad.jsonl\"); o | map({{id}}); o | count(by: .user) | csv(\"n.csv\")");
    for (text_of, file) in [(program, None), (tally, Some("n.csv"))] {
        let one = Scene::new().file("orders.csv", &text);
        done(&one, &["--quiet", "-e", &text_of, "orders.csv"]);
        let scene = Scene::new();
        let cuts: Vec<usize> =
            [3000, 6000, 9001].iter().map(|n| text.match_indices('\n').nth(n - 1).unwrap().0 + 1).collect();
        let mut from = 0;
        for (life, to) in cuts.iter().enumerate() {
            let last = life + 1 == cuts.len();
            let mut command = appending(&scene, &["-e", &text_of, "--state", "state", "--snapshot-every", "2"]);
            let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
            let mut stdin = child.stdin.take().expect("a pipe");
            stdin.write_all(&text.as_bytes()[from..*to]).expect("it is read");
            from = *to;
            let newest = format!("{{\"id\":{}}}\n", [2998, 5998, 8999][life]);
            let started = Instant::now();
            while !fs::read_to_string(scene.path("out")).is_ok_and(|out| out.contains(&newest)) {
                assert!(started.elapsed() < PATIENCE, "{life}: not all came out");
                sleep(Duration::from_millis(2));
            }
            if last {
                drop(stdin);
            } else {
                child.kill().expect("it can be killed");
            }
            let seen = Seen::of(child.wait_with_output().expect("it ends"));
            assert_eq!(seen.code, last.then_some(0), "{}", seen.stderr);
        }
        for name in ["out", "bad.jsonl"].into_iter().chain(file) {
            let bytes =
                |scene: &Scene| fs::read_to_string(scene.path(name)).expect("an output").replace("orders.csv", "-");
            assert!(bytes(&scene) == bytes(&one), "{name}: other bytes");
        }
        let seen = scene.millstream("state state --at end", Input::Nothing);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    }
}

/// Standard input beside a file: the file is not read again if the journal goes on.
#[test]
fn a_file_can_be_read_before_standard_input() {
    let scene = Scene::new().file("users.jsonl", "{\"user\":\"ann\",\"city\":\"Ulm\"}\n");
    let text = "let o = jsonl(\"-\"); o | join(jsonl(\"users.jsonl\"), on: .user); o | count | jsonl(\"n\")";
    for (life, id) in [1, 2, 3].iter().enumerate() {
        let args = ["-e", text, "--state", "state", "--snapshot-every", "1"];
        let mut child = appending(&scene, &args).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(format!("{{\"user\":\"ann\",\"id\":{id}}}\n").as_bytes()).expect("it is read");
        let started = Instant::now();
        while fs::read_to_string(scene.path("out")).unwrap_or_default().lines().count() <= life {
            assert!(started.elapsed() < PATIENCE, "{life}: it does not come out");
            sleep(Duration::from_millis(2));
        }
        if life < 2 {
            child.kill().expect("it can be killed");
        }
        drop(stdin);
        child.wait().expect("it ends");
    }
    let expected: String = (1..=3).map(|id| format!("{{\"user\":\"ann\",\"city\":\"Ulm\",\"id\":{id}}}\n")).collect();
    assert_eq!(fs::read_to_string(scene.path("out")).expect("an output"), expected);
    assert_eq!(fs::read_to_string(scene.path("n")).expect("an output"), "{\"count\":3}\n");
}

#[test]
fn a_directory_has_its_text() {
    let scene = Scene::new().file("a.csv", "id,qty\n1,2\n2,5\n").file("p.mill", "csv(\"a.csv\") | where(.qty > 3)");
    let args = ["--quiet", "p.mill", "--state", "state", "--snapshot-every", "1"];
    done(&scene, &args);
    let scene = scene.file("p.mill", "# The large ones.\ncsv( \"a.csv\" )  |\n  where(condition: .qty > 3) // so far");
    done(&scene, &args);
    assert_eq!(fs::read_to_string(scene.path("out")).expect("an output"), "id,qty\n2,5\n");
    // The tools have the text of the run.
    let seen = scene.millstream("replay state --from 0", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("id,qty\n2,5\n", Some(0)), "{}", seen.stderr);
    fs::remove_file(scene.path("p.mill")).expect("it is there");
    let seen = scene.millstream("state state --at end", Input::Nothing);
    assert!(seen.text().contains("\"print\": {") && seen.code == Some(0), "{seen:?}");
    let other =
        done(&scene, &["-e", "csv(\"a.csv\") | count | jsonl(\"n\")", "--state", "other", "--snapshot-every", "1"]);
    let seen = scene.millstream("diff state other", Input::Nothing);
    assert!(seen.stderr.contains("have the states of different texts") && seen.code == Some(2), "{other}{seen:?}");
    let other = ["-e", "csv(\"b.csv\") | where(.qty > 3)", "--state", "state"];
    refused(&scene, &other, "refused  the ends: the run cannot add the source `csv(\"b.csv\")`", 2);
    let seen = scene.millstream("wc --state state a.csv", Input::Nothing);
    assert!(seen.stderr.contains("has the state of the program `millstream run`"), "{}", seen.stderr);
}

#[test]
fn files_that_changed_between_two_runs_are_refused() {
    let scene = Scene::new().file("a.csv", orders(25_000));
    let text = format!("csv({SCHEMA}) | where(.qty >= 0) | csv(\"all.csv\")");
    let args = ["--quiet", "-e", &text, "--state", "state", "--snapshot-every", "1", "--snapshots", "1", "a.csv"];
    // Some rows do not fit, and have no file.
    assert_eq!(whole(&scene, &args).code, Some(1));
    let all = fs::read(scene.path("all.csv")).expect("an output");
    let write = |bytes: &[u8]| fs::write(scene.path("all.csv"), bytes).expect("it can be written");
    write(&all[..10]);
    refused(&scene, &args, "all.csv: it has 10 bytes, and had ", 1);
    write(&all.iter().rev().copied().collect::<Vec<_>>());
    refused(&scene, &args, "all.csv: its bytes before byte ", 1);
    write(&all);
    let source = fs::read(scene.path("a.csv")).expect("the source");
    fs::write(scene.path("a.csv"), &source[..1000]).expect("it can be written");
    refused(&scene, &args, "a.csv: it is shorter than the ", 1);
    assert!(fs::read(scene.path("all.csv")).expect("an output") == all, "the output was cut");
    fs::remove_file(scene.path("a.csv")).expect("it is there");
    refused(&scene, &args, "--state: the source: a.csv: No such file", 1);
    fs::write(scene.path("a.csv"), source.iter().map(u8::to_ascii_uppercase).collect::<Vec<_>>())
        .expect("it can be written");
    refused(&scene, &args, "a.csv: its bytes before byte ", 1);
    let moved = ["--quiet", "-e", &text, "--state", "state", "b.csv"];
    fs::write(scene.path("b.csv"), &source).expect("it can be written");
    refused(&scene, &moved, "file 1 was a.csv when the snapshot was taken", 1);
    // None of that lost anything.
    fs::write(scene.path("a.csv"), &source).expect("it can be written");
    let seen = whole(&scene, &args);
    assert!(seen.stderr.contains("rows failed before this start") && seen.code == Some(1), "{}", seen.stderr);
    assert!(fs::read(scene.path("all.csv")).expect("an output") == all, "other bytes");
}

#[test]
fn a_run_that_cannot_go_on_is_refused_before_the_work() {
    let scene = Scene::new().file("a.csv", "id\n1\n");
    let piped = |args: &str| scene.millstream(args, Input::Nothing);
    let seen = piped("run a.mill --state state");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    let scene = scene.file("p.mill", "csv(\"a.csv\") | map({id})").file("f.mill", "csv(\"a.csv\") | jsonl(\"f\")");
    let piped = |args: &str| scene.millstream(args, Input::Nothing);
    let seen = piped("run p.mill --state state");
    let why = "--state: standard output is not a file: append to one with `>> FILE`";
    assert!(seen.stderr.contains(why) && seen.code == Some(2), "{}", seen.stderr);
    // A program that writes only files needs none.
    let seen = piped("run --quiet f.mill --state files");
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    assert_eq!(fs::read_to_string(scene.path("f")).expect("an output"), "{\"id\":1}\n");
    refused(&scene, &["p.mill", "--state", "state", "--deploy", "queues"], "only runs on rings keep their state", 2);
    refused(&scene, &["p.mill", "--state", "state", "--hash"], "--hash covers a whole output", 2);
    refused(&scene, &["-e", "csv | jsonl", "--state", "state", "-", "-"], "only one source can read standard input", 2);
    refused(&scene, &["-e", "csv | jsonl", "--state", "state", "/dev/null"], "/dev/null: it is not a regular file", 1);
    refused(&scene, &["-e", "csv | jsonl", "--state", "state2", "out"], "standard output goes to the same file", 2);
    let twice = "let a = csv; a | map({id}); a | count | jsonl(\"out\")";
    refused(&scene, &["-e", twice, "--state", "state3", "a.csv"], "out is also the file of standard output", 2);
    refused(&scene, &["-e", "csv | csv(\"/dev/null\")", "--state", "state4", "a.csv"], "only a regular file", 1);
}

/// A compressed file is read again up to the place; the files of a pattern have one order.
#[test]
fn compressed_files_and_patterns_go_on() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(orders(12_000).as_bytes()).expect("memory");
    let compressed = encoder.finish().expect("memory");
    let scene = || {
        let scene = Scene::new().file("a.csv", orders(4000)).file("c.csv", orders(4000));
        scene.file("b.csv", &compressed)
    };
    let text =
        format!("let o = csv(\"?.csv\", {SCHEMA}, dead: \"bad\"); o | map({{id}}); o | count(by: .user) | csv(\"n\")");
    let (one, killed) = (scene(), scene());
    done(&one, &["--quiet", "-e", &text]);
    let args = ["-e", &text, "--state", "state", "--snapshot-every", "1"];
    for life in 0..8_u64 {
        let mut child = start(&killed, &args);
        sleep(Duration::from_millis(15 * life));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    done(&killed, &args);
    for name in ["out", "n", "bad"] {
        let bytes = |scene: &Scene| fs::read(scene.path(name)).expect("an output");
        assert!(bytes(&one) == bytes(&killed), "{name}: other bytes");
    }
}

#[test]
fn a_followed_file_goes_on_where_it_was() {
    let scene = Scene::new().file("log", "a,b\n1,x\n");
    let text = "let l = csv(\"log\", follow: true); l | map(.a); l | count(by: .b) | csv(\"n.csv\")";
    let args = ["--quiet", "-e", text, "--state", "state", "--snapshot-every", "0.02s"];
    let stored = || scene.millstream("snapshots state --json", Input::Nothing).text().contains("\"rows\":3");
    let mut log = File::options().append(true).open(scene.path("log")).expect("the log");
    for life in 1..=4 {
        let mut child = start(&scene, &args);
        log.write_all(format!("{},y\n", life + 1).as_bytes()).expect("it can be written");
        let expected: String = (1..=life + 1).map(|n| format!("{n}\n")).collect();
        let started = Instant::now();
        while fs::read_to_string(scene.path("out")).unwrap_or_default() != expected {
            assert!(started.elapsed() < PATIENCE, "{life}: {:?}", fs::read_to_string(scene.path("out")));
            sleep(Duration::from_millis(5));
        }
        // The next process finds the file, even under another name.
        while life == 2 && !stored() {
            assert!(started.elapsed() < PATIENCE, "no snapshot");
            sleep(Duration::from_millis(20));
        }
        if life < 4 {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        } else {
            let id = child.id().to_string();
            assert!(scene.run(scene.command("kill", &format!("-TERM {id}")), Input::Nothing).code == Some(0));
            assert_eq!(ended(&mut child).code(), Some(143));
        }
        // Between two starts the log is renamed, and another file gets its name.
        if life == 2 {
            fs::rename(scene.path("log"), scene.path("log.1")).expect("it is there");
            log = File::options().append(true).create(true).open(scene.path("log")).expect("a new log");
        }
    }
    assert_eq!(fs::read_to_string(scene.path("n.csv")).expect("an output"), "b,count\nx,1\ny,4\n");
}

#[test]
fn the_states_of_a_program_are_shown_and_compared() {
    let scene =
        Scene::new().file("a.csv", orders(9000)).file("b.csv", orders(9000).replace("7000,user 0,0", "7000,user 0,6"));
    for name in ["a", "b"] {
        let text = format!("csv(\"{name}.csv\", {SCHEMA}, dead: \"bad\") | sum(.qty, by: .user)");
        // One text for both: the file comes from the command line.
        let text = text.replace(&format!("\"{name}.csv\", "), "");
        let state = format!("{name}-state");
        let file = format!("{name}.csv");
        done(&scene, &["--quiet", "-e", &text, "--state", &state, "--snapshot-every", "1", "--snapshots", "3", &file]);
    }
    let listed = scene.millstream("snapshots a-state --verify", Input::Nothing);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.text().lines().filter(|line| line.ends_with(" whole")).count() > 1, "{}", listed.text());
    let seen = scene.millstream("state a-state --at 1 --stage sum", Input::Nothing);
    let state: serde_json::Value = serde_json::from_str(&seen.text()).expect("JSON");
    let of_user = &state["keys"]["\"user 7\""]["all"][0]["Sum"]["whole"];
    assert!(of_user.as_u64().is_some_and(|sum| sum > 0), "{}", seen.text());
    let seen = scene.millstream("diff a-state b-state", Input::Nothing);
    assert_eq!(seen.code, Some(4), "{}", seen.stderr);
    let (place, values) =
        seen.text().split_once(": ").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a difference");
    assert!(place.starts_with("stage \"sum\", number ") && place.ends_with("/Sum/whole"), "{}", seen.text());
    assert!(place.contains(", /keys/\"user 0\"/all/0/"), "{place}");
    let sums: Vec<u64> = values.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(matches!(sums[..], [one, other] if other == one + 6), "{values}");
    // Another name of the file is no difference.
    let text = format!("csv({SCHEMA}, dead: \"bad\") | sum(.qty, by: .user)");
    fs::copy(scene.path("a.csv"), scene.path("c.csv")).expect("a file");
    done(&scene, &["--quiet", "-e", &text, "--state", "c-state", "--snapshot-every", "1", "c.csv"]);
    let seen = scene.millstream("diff a-state c-state", Input::Nothing);
    assert!(seen.text().starts_with("no difference up to number ") && seen.code == Some(0), "{seen:?}");
    let replayed = scene.millstream("replay a-state --from 0 --to 1", Input::Nothing);
    assert_eq!((replayed.text().as_str(), replayed.code), ("", Some(0)), "{}", replayed.stderr);
}
