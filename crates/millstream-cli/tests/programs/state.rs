//! Runs whose state is kept: they are killed, and go on; and the tools that read the state.

use crate::scene::{Input, PATIENCE, Scene, Seen, prose};
use millstream_testkit::programs::skipped;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn append(scene: &Scene, args: &str) -> Child {
    let out = File::options().append(true).create(true).open(scene.path("out")).unwrap();
    let mut command = scene.command("millstream", args);
    command.stdout(out).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A run that appends to `out`, to its end.
fn whole(scene: &Scene, args: &str) -> Seen {
    Seen::of(append(scene, args).wait_with_output().unwrap())
}

fn tool(scene: &Scene, args: &str) -> Seen {
    scene.millstream(args, Input::Nothing)
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_with_the_output_of_one() {
    let text = prose(3_000_000);
    for (program, every) in [("spaces", "3"), ("uppercase --shards 2", "0.002s")] {
        let scene = Scene::new().file("text", &text);
        let expected = tool(&scene, &format!("{program} text")).stdout;
        let args = format!("{program} --state state --snapshot-every {every} text");
        for life in 0..12_u64 {
            let mut child = append(&scene, &args);
            sleep(Duration::from_millis(5 * life));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let seen = whole(&scene, &args);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        assert!(fs::read(scene.path("out")).unwrap() == expected, "{program}: other bytes than those of one run");
    }
}

#[test]
fn a_run_whose_state_is_gone_says_that_it_writes_after_what_is_there() {
    let scene = Scene::new().file("text", "one\n");
    let said = "standard output has 4 bytes already, and state has no snapshot";
    let args = "uppercase --state state text";
    for goes_on in [false, true] {
        let seen = whole(&scene, args);
        assert!(seen.code == Some(0) && !seen.stderr.contains(said), "{goes_on}: {}", seen.stderr);
    }
    fs::remove_dir_all(scene.path("state")).unwrap();
    let seen = whole(&scene, args);
    assert!(seen.code == Some(0) && seen.stderr.contains(said), "{}", seen.stderr);
    assert_eq!(fs::read(scene.path("out")).unwrap(), b"ONE\nONE\n");
}

#[test]
fn a_file_that_has_grown_is_counted_on() {
    let scene = Scene::new().file("log", "one two\n".repeat(40_000));
    let count = |columns: &str| {
        let seen = tool(&scene, &format!("wc {columns} --state state{columns} --snapshot-every 1 log"));
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        seen
    };
    for columns in ["", "-lwcmL"] {
        fs::write(scene.path("log"), "one two\n".repeat(40_000)).unwrap();
        count(columns);
        fs::write(scene.path("log"), "one two\n".repeat(50_000) + "three").unwrap();
        let seen = count(columns);
        assert!(seen.stderr.starts_with("millstream wc: --state: goes on at number "), "{}", seen.stderr);
        assert_eq!(seen.stdout, tool(&scene, &format!("wc {columns} log")).stdout);
    }
}

/// As after a kill between two instructions: what the file has then is made by hand.
#[test]
fn a_line_is_printed_into_a_file_once() {
    let scene = Scene::new().file("log", "one two\n".repeat(3)).file("out", "before\n");
    let line = tool(&scene, "wc log").stdout;
    let count = |output: &[u8]| {
        let seen = whole(&scene, "wc --state state log");
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        let out = fs::read(scene.path("out")).unwrap();
        assert_eq!(out, output, "{}", String::from_utf8_lossy(&out));
    };
    let once = [b"before\n", &line[..]].concat();
    count(&once);
    count(&once);
    for written in 0..line.len() {
        fs::write(scene.path("out"), &once[..b"before\n".len() + written]).unwrap();
        count(&once);
    }
    assert_eq!(tool(&scene, "wc --state state log").stdout, line, "a pipe gets it each time");
    // A line of other counts is another answer, which comes after the first, or after the piece that is cut off.
    fs::write(scene.path("log"), "one two\n".repeat(4)).unwrap();
    let grown = tool(&scene, "wc log").stdout;
    fs::write(scene.path("out"), &once[..once.len() - 1]).unwrap();
    count(&[b"before\n", &grown[..]].concat());
    fs::write(scene.path("log"), "one two\n".repeat(5)).unwrap();
    let more = tool(&scene, "wc log").stdout;
    let both = [b"before\n", &grown[..], &more[..]].concat();
    count(&both);
    // Another program has written since.
    let others = [&both[..], b"after\n"].concat();
    fs::write(scene.path("out"), &others).unwrap();
    count(&[&others[..], &more[..]].concat());
}

/// Each process has its own standard input, whose bytes a later process cannot read again.
#[test]
fn standard_input_is_in_a_journal() {
    let text = prose(900_000);
    let parts: Vec<&[u8]> = text.chunks(300_000).collect();
    let scene = Scene::new();
    for (life, part) in parts.iter().enumerate() {
        let last = life + 1 == parts.len();
        let mut command = scene.command("millstream", "uppercase --state state --snapshot-every 2 --fsync 1ms");
        let out = File::options().append(true).create(true).open(scene.path("out")).unwrap();
        let mut child = command.stdout(out).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(part).unwrap();
        let upper = text[..300_000 * life + part.len()].to_ascii_uppercase();
        let started = Instant::now();
        while !fs::read(scene.path("out")).is_ok_and(|out| out.len() >= upper.len()) {
            assert!(started.elapsed() < PATIENCE, "{life}: not all came out");
            sleep(Duration::from_millis(2));
        }
        if last {
            drop(stdin);
        } else {
            child.kill().unwrap();
        }
        let seen = Seen::of(child.wait_with_output().unwrap());
        assert_eq!(seen.code, last.then_some(0), "{}", seen.stderr);
        assert!(fs::read(scene.path("out")).unwrap() == upper, "{life}: other bytes");
    }
    let counted = tool(&scene, "state state --at end");
    assert_eq!(counted.code, Some(0), "{}", counted.stderr);
    assert!(counted.text().contains("\"states\": {}"), "{}", counted.text());
}

#[test]
fn the_states_at_a_number_are_shown_and_replayed() {
    let scene = Scene::new().file("text", prose(1_000_000));
    let seen = tool(&scene, "wc --state state --snapshot-every 2 --snapshots 3 text");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let listed = tool(&scene, "snapshots state --verify");
    assert_eq!(
        (listed.code, listed.text().lines().filter(|line| line.ends_with(" whole")).count() > 1),
        (Some(0), true)
    );
    let at = |number: u64, stage: &str| {
        let seen = tool(&scene, &format!("state state --at {number} --stage {stage}"));
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        seen.text().trim().to_owned()
    };
    assert_eq!((at(0, "lines"), at(0, "bytes")), ("0".to_owned(), "0".to_owned()));
    let (two, three): (u64, u64) = (at(2, "bytes").parse().unwrap(), at(3, "bytes").parse().unwrap());
    assert!(0 < two && two < three, "{two}, {three}");
    let text = fs::read(scene.path("text")).unwrap();
    let lines = text[..usize::try_from(two).unwrap()].iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(at(2, "lines"), lines.to_string());
    let all = tool(&scene, "state state --at 2");
    assert!(all.text().contains("\"words\": {") && all.text().contains("\"at\": 2"), "{}", all.text());
    let none = tool(&scene, "state state --stage nothing");
    assert_eq!(none.code, Some(2));
    assert!(
        none.stderr.contains("no stage \"nothing\" keeps a state; these do: bytes, lines, words"),
        "{}",
        none.stderr
    );
    assert_eq!(tool(&scene, "state state --at end --stage bytes").text().trim(), text.len().to_string());
    let beyond = tool(&scene, "state state --at 1000000");
    assert_eq!(beyond.code, Some(1));
    let said = "millstream state: the source: it ends at number ";
    assert!(beyond.stderr.starts_with(said), "{}", beyond.stderr);

    whole(&scene, "uppercase --state loud --snapshot-every 1 text");
    let replayed = tool(&scene, "replay loud --from 0 --to 2");
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert_eq!(replayed.stderr, "millstream replay: replayed the numbers from 0 to 2\n");
    let none = tool(&scene, "state loud --stage uppercase");
    assert_eq!((none.stderr.as_str(), none.code), ("millstream state: no stage of this run keeps a state\n", Some(2)));
    let first = usize::try_from(two).unwrap();
    assert!(replayed.stdout == text[..first].to_ascii_uppercase(), "the first two blocks");
    assert!(fs::read(scene.path("out")).unwrap() == text.to_ascii_uppercase(), "a replay writes nothing there");
}

/// Directories, too: the state has the one in which the run was started.
#[test]
fn names_that_are_not_utf_8_are_kept_and_read_again() {
    let name = OsStr::from_bytes(b"caf\xe9");
    let scene = Scene::new();
    let dir = scene.path("").join(name);
    if let Err(error) = fs::create_dir(&dir) {
        return skipped("names_that_are_not_utf_8_are_kept_and_read_again", &error.to_string());
    }
    let text = prose(200_000);
    fs::write(dir.join(name), &text).unwrap();
    let run = |args: &str, file: Option<&OsStr>| {
        let mut command = scene.command("millstream", args);
        let out = File::options().append(true).create(true).open(scene.path("out")).unwrap();
        command.args(file).current_dir(&dir).stdout(out).stdin(Stdio::null()).stderr(Stdio::piped());
        Seen::of(command.spawn().unwrap().wait_with_output().unwrap())
    };
    for program in ["wc", "uppercase"] {
        let seen = run(&format!("{program} --state {program} --snapshot-every 1"), Some(name));
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        fs::remove_file(scene.path("out")).unwrap();
        let seen = run(&format!("state {program} --at end"), None);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    }
    fs::remove_file(scene.path("out")).unwrap();
    let seen = run("replay uppercase --from 0", None);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(fs::read(scene.path("out")).unwrap() == text.to_ascii_uppercase());
}

#[test]
fn the_first_difference_of_two_runs_is_found() {
    let text = prose(1_000_000);
    let mut other = text.clone();
    // The word is in the third block, whose number is 2.
    other[150_000] = if other[150_000] == b'\n' { b' ' } else { b'\n' };
    let scene = Scene::new().file("one", &text).file("two", other);
    for file in ["one", "two"] {
        let seen = tool(&scene, &format!("wc --state {file}-state --snapshot-every 1 --snapshots 100 {file}"));
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    }
    let seen = tool(&scene, "diff one-state two-state");
    assert_eq!(seen.code, Some(4), "{}", seen.stderr);
    assert!(seen.text().starts_with("stage \"lines\", number 2: "), "{}", seen.text());
    let same = tool(&scene, "diff one-state one-state");
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    assert!(same.text().starts_with("no difference up to number "), "{}", same.text());
    whole(&scene, "uppercase --state loud one");
    let other = tool(&scene, "diff one-state loud");
    assert!(
        other.code == Some(2) && other.stderr.contains("that of `millstream uppercase`: compare two runs"),
        "{other:?}"
    );
}

#[test]
fn two_processes_cannot_keep_their_state_in_one_directory() {
    let scene = Scene::new().file("text", prose(8_000_000));
    let mut first = append(&scene, "spaces --state state --snapshot-every 1 text");
    let started = Instant::now();
    while !scene.path("state/snapshots").is_dir() {
        assert!(started.elapsed() < PATIENCE, "no state directory");
        sleep(Duration::from_millis(1));
    }
    let id = first.id();
    let signal = |name: &str| scene.run(scene.command("kill", &format!("-{name} {id}")), Input::Nothing);
    signal("STOP");
    if first.try_wait().unwrap().is_none() {
        let second = whole(&scene, "spaces --state state text");
        signal("CONT");
        assert_eq!(second.code, Some(1), "{}", second.stderr);
        let holder = format!("is in use by process {id}");
        assert!(second.stderr.contains(&holder), "{}", second.stderr);
    }
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_run_that_cannot_go_on_is_refused_before_the_work() {
    let scene = Scene::new().file("text", prose(300_000)).file("other", "a\n");
    let refused = |args: &str, code: i32, why: &str| {
        let seen = tool(&scene, args);
        assert_eq!(seen.code, Some(code), "{args}: {}", seen.stderr);
        assert!(seen.stderr.contains(why), "{args}: {}", seen.stderr);
        assert_eq!(seen.text(), "", "{args}");
    };
    refused("uppercase --state state text", 2, "standard output is not a file: append to one with `>> FILE`");
    refused("wc --state state -- - text", 2, "`wc` reads one file");
    refused("wc --state state --fsync often text", 2, "must be every, never, or milliseconds, such as 5ms");
    refused("wc --state state text other", 2, "`wc` reads one file");
    refused("wc --state state --deploy inline text", 2, "only runs on rings keep their state");
    refused("wc --state state --hash text", 2, "--hash covers a whole output");
    refused("sleep --state state", 2, "`sleep` keeps no state");
    refused("wc --snapshot-every 5 text", 2, "--state <DIR>");
    refused("wc --state state --snapshot-every 0 text", 2, "must be a count of numbers");
    for (tool, args) in
        [("state", "nowhere"), ("snapshots", "nowhere"), ("replay", "nowhere --to 3"), ("diff", "nowhere text")]
    {
        let seen = scene.millstream(&format!("{tool} {args}"), Input::Nothing);
        let said = format!("millstream {tool}: cannot list {}: No such file", scene.path("nowhere").display());
        assert!(seen.stderr.starts_with(&said) && seen.stderr.lines().count() == 1, "{}", seen.stderr);
        assert_eq!((seen.text(), seen.code), (String::new(), Some(1)), "{tool}");
    }
    refused("replay nowhere --from 7 --to 7", 2, "use `--to 8` to run number 7");
    refused("snapshots text", 1, "text");
    tool(&scene, "wc --state state --snapshot-every 1 text");
    refused("wc --state state other", 1, "file 1 was text when the snapshot was taken");
    refused("uppercase --state state text", 2, "standard output is not a file");
    refused("wc -l --state state text", 2, "other counts: use the flags with which it was begun, or another directory");
    let seen = whole(&scene, "uppercase --state state text");
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("has the state of the program `millstream wc`"), "{}", seen.stderr);
    let overwritten = File::create(scene.path("new")).unwrap();
    let mut command = scene.command("millstream", "uppercase --state fresh text");
    let seen = Seen::of(command.stdout(overwritten).stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap());
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("by `>`, which empties the file at each start: write `>> FILE`"), "{}", seen.stderr);
    // A file that has been emptied in the meantime.
    let scene = scene.file("text", prose(5_000_000));
    let again = "uppercase --state loud --snapshot-every 1 --snapshots 1 text";
    whole(&scene, again);
    fs::write(scene.path("out"), "").unwrap();
    let seen = whole(&scene, again);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("the sink holds less than it did when number "), "{}", seen.stderr);
}

/// What an earlier start has written is not cut before it is known that this one can begin.
#[test]
fn a_start_with_another_input_is_refused_and_the_output_stays() {
    let scene = Scene::new().file("one", "one\n").file("two", "two\n").file("long", prose(5_000_000));
    let output = || fs::read(scene.path("out")).unwrap_or_default();
    let refused = |args: &str, why: &str| {
        let before = output();
        let seen = whole(&scene, args);
        assert_eq!(seen.code, Some(1), "{args}: {}", seen.stderr);
        assert!(seen.stderr.contains(why), "{args}: {}", seen.stderr);
        assert!(output() == before, "{args}: the output is another one");
    };
    let begun = |args: &str| assert_eq!(whole(&scene, args).code, Some(0), "{args}");
    // These runs end before their first snapshot.
    begun("uppercase --state files one");
    refused("uppercase --state files two", "file 1 was one when the snapshot was taken");
    refused("uppercase --state files nowhere", "file 1 was one when the snapshot was taken");
    refused("uppercase --state files", "the snapshot was taken of another source: its place there is {\"before\":");
    begun("uppercase --state piped");
    refused("uppercase --state piped one", "its place there is 0, and not one in a file");
    // The newest snapshot of this one is in the middle.
    fs::write(scene.path("out"), "").unwrap();
    let long = "uppercase --state kept --snapshot-every 1 --snapshots 1 long";
    begun(long);
    refused("uppercase --state kept two", "file 1 was long when the snapshot was taken");
    let text = fs::read(scene.path("long")).unwrap();
    fs::write(scene.path("long"), &text[1..]).unwrap();
    refused(long, "have changed since they were read");
    fs::remove_file(scene.path("long")).unwrap();
    refused(long, "long: No such file");
    fs::write(scene.path("long"), &text).unwrap();
    begun(long);
    assert!(output() == text.to_ascii_uppercase(), "other bytes");
}

#[test]
fn losses_of_a_damaged_journal_are_named_and_the_run_goes_on() {
    let scene = Scene::new();
    let life = |args: &str, input: &[u8]| {
        let out = File::options().append(true).create(true).open(scene.path("out")).unwrap();
        let mut command = scene.command("millstream", &format!("uppercase --state state {args}"));
        let mut child = command.stdout(out).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let written = child.stdin.take().unwrap().write_all(input);
        let seen = Seen::of(child.wait_with_output().unwrap());
        // A run that is refused may end before it is written to.
        if seen.code == Some(0) {
            written.unwrap();
        }
        seen
    };
    assert_eq!(life("--snapshot-every 1000", b"first\n").code, Some(0));
    assert_eq!(life("--snapshot-every 1000", b"second\n").code, Some(0));
    let journals = fs::read_dir(scene.path("state/journal")).unwrap().map(|file| file.unwrap().path());
    for path in journals.filter(|path| path.extension().is_some_and(|end| end == "journal")) {
        let bytes = fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(5).position(|part| part == b"first") {
            fs::write(&path, [&bytes[..at], b"FIRST", &bytes[at + 5..]].concat()).unwrap();
        }
    }
    let refused = life("", b"third\n");
    assert!(refused.code == Some(1) && refused.stderr.contains("the numbers from 0 to 0 are lost"), "{refused:?}");
    let seen = life("--skip-corrupt", b"third\n");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let named = "millstream uppercase: --state: the journal is damaged: its numbers from 0 to 0 are left out\n";
    assert!(seen.stderr.contains(named), "{}", seen.stderr);
    // What came of it is in the output: the snapshot at the end of that life is behind it.
    assert_eq!(fs::read_to_string(scene.path("out")).unwrap(), "FIRST\nSECOND\nTHIRD\n");
}
