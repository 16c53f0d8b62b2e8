//! `upgrade ADDR FILE.mill` for a run whose state is kept.

use crate::run_changed::{NEW, OLD, append, has, is_bad, kill, model, random, row, text_of, until};
use crate::scene::{Input, Scene, Seen, ended};
use millstream_state::{Manifest, SnapshotEntry, StateDir};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::Duration;

/// A run that keeps its state, and accepts other texts.
struct Kept {
    child: Option<Child>,
    address: String,
    said: Arc<Mutex<String>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.child.take().into_iter().for_each(kill);
    }
}

fn command(scene: &Scene, args: &str) -> Command {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", &format!("run {args} --state state --snapshots 1000"));
    command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
    command
}

impl Kept {
    fn start(scene: &Scene, args: &str) -> Self {
        let args = format!("{args} --page 127.0.0.1:0 --accept-upgrades");
        let mut child = command(scene, &args).spawn().expect("it starts");
        let (mut lines, mut line) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
        while !line.contains(": the run is shown at http://") {
            line.clear();
            assert!(lines.read_line(&mut line).expect("text") > 0, "it has no page");
        }
        let address = line.trim_end().trim_end_matches('/').rsplit('/').next().expect("an address").to_owned();
        let said = Arc::<Mutex<String>>::default();
        let later = said.clone();
        thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                later.lock().expect("a lock").push_str(&std::mem::take(&mut line));
            }
        });
        Kept { child: Some(child), address, said }
    }

    fn asks(&self, scene: &Scene, args: &str) -> Child {
        let mut command = scene.command("millstream", &format!("upgrade {} {args}", self.address));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    fn upgrade(&self, scene: &Scene, args: &str) -> Seen {
        loop {
            let seen = Seen::of(self.asks(scene, args).wait_with_output().expect("it ends"));
            // The page is open before the run begins.
            if !seen.stderr.contains("the run has not begun") {
                return seen;
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn kill(mut self) {
        self.child.take().into_iter().for_each(kill);
    }

    /// Ends it by a signal. Returns its messages.
    fn end(mut self, scene: &Scene) -> String {
        let mut child = self.child.take().expect("it runs");
        let signal = scene.command("kill", &format!("-TERM {}", child.id()));
        assert_eq!(scene.run(signal, Input::Nothing).code, Some(0));
        assert_eq!(ended(&mut child).code(), Some(143));
        self.said.lock().expect("a lock").clone()
    }
}

/// The stored snapshots, the oldest first.
fn stored(scene: &Scene) -> Vec<Manifest> {
    let listed = StateDir::read(scene.path("state")).and_then(|dir| dir.snapshots()).unwrap_or_default();
    let whole = |entry| match entry {
        SnapshotEntry::Whole(manifest) => Some(manifest),
        _ => None,
    };
    listed.into_iter().filter_map(whole).collect()
}

/// The first snapshot with the new text.
fn first_of_new(scene: &Scene) -> Option<Manifest> {
    let has_new = |manifest: &Manifest| manifest.plan["job"]["text"].as_str().is_some_and(|text| text == NEW);
    stored(scene).into_iter().find(has_new)
}

/// How many rows are below a snapshot.
fn rows_of(manifest: &Manifest) -> u64 {
    manifest.source["position"]["at"]["rows"].as_u64().unwrap_or(0)
}

/// Appends rows to the log until it is dropped.
struct Writing {
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Writing {
    fn begin(scene: &Scene) -> Self {
        let (ends, path) = (Arc::<AtomicBool>::default(), scene.path("log"));
        let over = ends.clone();
        let write = move || {
            let (mut log, mut written) = (File::options().append(true).open(path).expect("the log"), 0);
            while !over.load(Ordering::Relaxed) {
                let rows: String = (written..written + 7).map(row).collect();
                log.write_all(rows.as_bytes()).expect("it can be written");
                written += 7;
                sleep(Duration::from_millis(1));
            }
            written
        };
        Writing { ends, thread: Some(thread::spawn(write)) }
    }

    /// Returns how many rows there are.
    fn end(mut self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().expect("it writes").join().expect("it has written")
    }
}

fn scene() -> Scene {
    Scene::new().file("log", "").file("new.jsonl", "of before\n").file("p.mill", OLD).file("q.mill", NEW)
}

const OFTEN: &str = "--snapshot-every 0.03s";

/// Kills the run before, in and after the change, and starts it again with the stored text.
#[test]
fn every_byte_is_that_of_one_text_or_the_other_whatever_kills_the_run() {
    let mut answered = 0;
    for round in 0..6 {
        let scene = scene();
        let mut writing = Some(Writing::begin(&scene));
        let mut lives = 0;
        while first_of_new(&scene).is_none() {
            let run = Kept::start(&scene, &format!("p.mill {OFTEN}"));
            sleep(random(80));
            if lives < 4 && round % 3 > 0 {
                let asks = run.asks(&scene, "q.mill --drop sum");
                sleep(random(60));
                run.kill();
                let seen = Seen::of(asks.wait_with_output().expect("it ends"));
                assert!(seen.code != Some(0) || first_of_new(&scene).is_some(), "{seen:?}");
            } else {
                let seen = run.upgrade(&scene, "q.mill --drop sum");
                assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{}", seen.text());
                let first = first_of_new(&scene).expect("it is stored when that is answered");
                let version = format!("version 2 from number {} on, ", first.at);
                assert!(seen.text().starts_with(&version), "{} is not {version}", seen.text());
                answered += 1;
                sleep(random(60));
                run.kill();
            }
            lives += 1;
        }
        let first = first_of_new(&scene).expect("it is stored");
        assert_eq!(first.plan["job"]["changed_at"], first.at);
        let (all, old) = (stored(&scene), |manifest: &Manifest| manifest.fingerprint != first.fingerprint);
        assert!(all.iter().all(|manifest| old(manifest) == (manifest.at < first.at || manifest.id < first.id)));
        // The old text is an edited one.
        let refused = Seen::of(command(&scene, "p.mill").output().expect("it ends"));
        let why = "refused  top: the new text has no such stage to take the state of `top(2, .id)`";
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{}", refused.stderr);
        for _ in 0..2 {
            let run = Kept::start(&scene, &format!("q.mill {OFTEN}"));
            sleep(random(80));
            run.kill();
        }
        let run = Kept::start(&scene, &format!("q.mill {OFTEN}"));
        let written = writing.take().expect("it writes").end();
        let last = (0..written).rev().find(|id| !is_bad(*id)).expect("a row");
        until("the last row", || text_of(&scene, "new.jsonl").contains(&format!("\"id\":{last},")));
        run.end(&scene);
        has(&scene, model(written, rows_of(&first)));
    }
    assert!(answered >= 2);
}

/// No row comes in the meantime: the change is at the number of the last snapshot.
#[test]
fn a_change_is_stored_although_no_row_comes() {
    let scene = scene();
    let run = Kept::start(&scene, &format!("p.mill {OFTEN}"));
    append(&scene, 0..50, "all.jsonl");
    until("a snapshot", || stored(&scene).last().is_some_and(|newest| rows_of(newest) == 50));
    for check in ["--check", ""] {
        let seen = run.upgrade(&scene, &format!("q.mill {check}"));
        let why = "refused  sum: the new text has no such stage to take the state of `sum(.id)`";
        assert!((seen.text() + &seen.stderr).contains(why) && seen.code == Some(4), "{seen:?}");
        let seen = run.upgrade(&scene, &format!("q.mill --drop sum {check}"));
        assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{check}: {}", seen.text());
        assert_eq!(first_of_new(&scene).is_some(), check.is_empty());
        assert_eq!(text_of(&scene, "new.jsonl"), if check.is_empty() { "" } else { "of before\n" });
    }
    let at = first_of_new(&scene).expect("it is stored").at;
    // Exactly the rows that have been printed belong to the old text.
    let (before, out) = (text_of(&scene, "out"), |args: &str| scene.millstream(args, Input::Nothing));
    let replayed = out(&format!("replay state --from 0 --to {at}"));
    assert_eq!((replayed.text(), replayed.code), (before, Some(0)), "{}", replayed.stderr);
    let replayed = out("replay state --from 0");
    let why = format!("the text was changed at number {at}, ");
    assert!(replayed.stderr.contains(&why) && replayed.code == Some(2), "{}", replayed.stderr);
    run.kill();
    let run = Kept::start(&scene, &format!("q.mill {OFTEN}"));
    append(&scene, 50..150, "new.jsonl");
    // And back to the old text, in another process.
    let seen = run.upgrade(&scene, "p.mill --drop top");
    assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{}", seen.text());
    append(&scene, 150..200, "all.jsonl");
    let said = run.end(&scene);
    assert!(said.contains("millstream run: p.mill: version 2 from number "), "{said}");
    let lines = |ids: std::ops::Range<u64>| -> String {
        ids.filter(|id| !is_bad(*id)).map(|id| format!("{{\"id\":{id}}}\n")).collect()
    };
    assert_eq!(text_of(&scene, "all.jsonl"), lines(0..50) + &lines(150..200));
    let sum: u64 = (150..200).filter(|id| !is_bad(*id)).sum();
    assert_eq!(text_of(&scene, "sum.jsonl"), format!("{{\"sum\":{sum}}}\n"));
}

#[test]
fn a_run_that_takes_no_text_says_so() {
    let scene = scene();
    let mut child = command(&scene, "p.mill --page 127.0.0.1:0").spawn().expect("it starts");
    let (mut lines, mut line) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
    lines.read_line(&mut line).expect("a line");
    let address = line.trim_end().trim_end_matches('/').rsplit('/').next().expect("an address").to_owned();
    let seen = scene.millstream(&format!("upgrade {address} q.mill --drop sum"), Input::Nothing);
    kill(child);
    let why = "the run was started without --accept-upgrades, so its text cannot be replaced";
    assert!(seen.stderr.contains(why) && seen.code == Some(4), "{seen:?}");
}

/// Posts rows. Returns the status.
#[cfg(feature = "serve")]
fn post(port: &str, rows: &str) -> u16 {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    let head = format!("POST /ingest HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}", rows.len());
    write!(stream, "{head}\r\nConnection: close\r\n\r\n{rows}").expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

/// Senders do not notice a change: no row is refused, and each is in the output of one text.
#[cfg(feature = "serve")]
#[test]
fn rows_posted_during_a_change_are_taken() {
    let text = |word: &str| {
        let sinks = format!("row | map({{{word}: .n}}) | jsonl(\"{word}.jsonl\"); row | map(.n)");
        format!("let row = jsonl(listen: \"127.0.0.1:0\"); {sinks}")
    };
    let scene = Scene::new().file("p.mill", text("one")).file("q.mill", text("two"));
    let run = Kept::start(&scene, &format!("p.mill {OFTEN}"));
    let port = |run: &Kept| {
        let said = || run.said.lock().expect("a lock").clone();
        until("an address", || said().contains("listening at "));
        let said = said();
        let at = said.split_once("listening at http://127.0.0.1:").expect("an address").1;
        at.split('/').next().expect("a port").to_owned()
    };
    let first = port(&run);
    let (posts, ends) = (Arc::<AtomicBool>::default(), first.clone());
    let over = posts.clone();
    let sender = thread::spawn(move || {
        let mut n = 0;
        while !over.load(Ordering::Relaxed) {
            assert_eq!(post(&ends, &format!("{{\"n\":{n}}}\n")), 200);
            n += 1;
        }
        n
    });
    sleep(Duration::from_millis(100));
    let seen = run.upgrade(&scene, "q.mill");
    assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{}", seen.text());
    sleep(Duration::from_millis(100));
    posts.store(true, Ordering::Relaxed);
    let sent = sender.join().expect("it has sent");
    run.kill();
    let run = Kept::start(&scene, &format!("q.mill {OFTEN}"));
    assert_eq!(post(&port(&run), &format!("{{\"n\":{sent}}}\n")), 200);
    let all: String = (0..=sent).map(|n| format!("{n}\n")).collect();
    until("all rows", || text_of(&scene, "out").len() >= all.len());
    run.end(&scene);
    assert_eq!(text_of(&scene, "out"), all);
    let ones = text_of(&scene, "one.jsonl").lines().count();
    let of = |word: &str, ns: std::ops::RangeInclusive<usize>| -> String {
        ns.map(|n| format!("{{\"{word}\":{n}}}\n")).collect()
    };
    assert_eq!(text_of(&scene, "one.jsonl"), of("one", 0..=ones - 1));
    assert_eq!(text_of(&scene, "two.jsonl"), of("two", ones..=sent));
    assert!(fs::metadata(scene.path("one.jsonl")).is_ok_and(|file| file.len() > 0));
}
