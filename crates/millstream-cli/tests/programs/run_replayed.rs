//! `state` and `replay` of a followed file, whose blocks depend on when they were read; and a signal that ends them.

use crate::scene::{Input, PATIENCE, Scene, ended};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn text_of(scene: &Scene, name: &str) -> String {
    fs::read_to_string(scene.path(name)).unwrap_or_default()
}

fn start(scene: &Scene) -> Child {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", "run");
    command.args(["p.mill", "--quiet", "--state", "state", "--snapshot-every", "2", "--snapshots", "100"]);
    command.stdout(out).stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Appends these rows, each when the one before it is in the output, so that each is a block of the run.
fn append(scene: &Scene, rows: std::ops::Range<u64>) {
    let mut log = File::options().append(true).create(true).open(scene.path("log")).expect("a file");
    for n in rows {
        writeln!(log, "{{\"n\":{n}}}").expect("a row");
        let begun = Instant::now();
        while text_of(scene, "out").lines().count() as u64 <= n {
            assert!(begun.elapsed() < PATIENCE, "row {n}: {}", text_of(scene, "out"));
            sleep(Duration::from_millis(5));
        }
    }
}

/// The numbers of the snapshots, each with the rows that were read before it.
fn stored(scene: &Scene) -> Vec<(u64, u64)> {
    let listed = scene.millstream("snapshots state --json", Input::Nothing);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let of = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let rows = &line["source"]["position"]["at"]["rows"];
        (line["at"].as_u64().expect("a number"), rows.as_u64().unwrap_or(0))
    };
    listed.text().lines().map(of).collect()
}

const ROWS: u64 = 12;

#[test]
fn a_number_of_a_followed_file_is_the_run_s_or_is_refused() {
    let text = "let row = jsonl(\"log\", follow: true); row | map({n}); row | count | jsonl(\"n\")";
    let scene = Scene::new().file("log", "").file("p.mill", text);
    let mut run = start(&scene);
    append(&scene, 0..ROWS);
    run.kill().expect("it runs");
    ended(&mut run);
    let stored = stored(&scene);
    assert!(stored.len() > 2, "{stored:?}");
    let out = text_of(&scene, "out");
    let rows = |from: u64, to: u64| -> String {
        out.lines().skip(from as usize).take((to - from) as usize).map(|line| format!("{line}\n")).collect()
    };
    let look = |args: &str| scene.millstream(args, Input::Nothing);
    for number in 1..ROWS {
        let seen = look(&format!("state state --at {number} --stage count"));
        match stored.iter().find(|(at, _)| *at == number) {
            Some((_, rows)) => {
                assert_eq!(seen.code, Some(0), "{}", seen.stderr);
                assert!(seen.text().contains(&format!("\"Count\": {rows}\n")), "at {number}: {}", seen.text());
            }
            None => {
                let why = format!("what the run had at number {number} is not known any more");
                assert!(seen.stderr.contains(&why), "at {number}: {}{}", seen.text(), seen.stderr);
                assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "at {number}");
            }
        }
    }
    for pair in stored.windows(2) {
        let [(from, first), (to, last)] = [pair[0], pair[1]];
        let seen = look(&format!("replay state --from {from} --to {to}"));
        assert_eq!((seen.text(), seen.code), (rows(first, last), Some(0)), "{from} to {to}: {}", seen.stderr);
        for between in from + 1..to {
            let seen = look(&format!("replay state --from {from} --to {between}"));
            let nearest = format!("The nearest snapshots are at {from} and {to}");
            assert!(seen.stderr.contains(&nearest), "{}", seen.stderr);
            assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "{from} to {between}");
        }
    }
    // Over several snapshots, and to the end.
    let [(from, first), .., (to, last)] = stored[..] else { panic!("{stored:?}") };
    let seen = look(&format!("replay state --from {from} --to {to}"));
    assert_eq!((seen.text(), seen.code), (rows(first, last), Some(0)), "{}", seen.stderr);
    let seen = look(&format!("replay state --from {from}"));
    assert_eq!((seen.text(), seen.code), (rows(first, ROWS), Some(0)), "{}", seen.stderr);

    // The log was rotated between two snapshots, and the rows are still there.
    let mut run = start(&scene);
    append(&scene, ROWS..ROWS + 1);
    fs::rename(scene.path("log"), scene.path("log.1")).expect("the log");
    append(&scene, ROWS + 1..2 * ROWS);
    run.kill().expect("it runs");
    ended(&mut run);
    let stored = self::stored(&scene);
    // The log was not open yet at the first one.
    let [_, (from, first), .., (to, last)] = stored[..] else { panic!("{stored:?}") };
    assert!(first < ROWS && last > ROWS, "{stored:?}");
    let out = text_of(&scene, "out");
    let seen = look(&format!("replay state --from {from} --to {to}"));
    let expected: String = out.lines().skip(first as usize).take((last - first) as usize).collect();
    assert_eq!((seen.text().replace('\n', ""), seen.code), (expected, Some(0)), "{}", seen.stderr);
    // The older log is gone.
    fs::remove_file(scene.path("log.1")).expect("the log");
    let seen = look(&format!("replay state --from {from} --to {to}"));
    assert!(seen.stderr.contains("is no longer in its directory") && seen.code == Some(1), "{}", seen.stderr);
}

/// The server does not answer them.
#[test]
fn a_signal_ends_a_look_or_a_replay_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let scene = Scene::new().file("p.mill", format!("jsonl(\"http://{address}/rows\") | map(.n)"));
    let mut run = start(&scene);
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut request = BufReader::new(stream.try_clone().expect("a stream")).lines().map_while(Result::ok);
    assert!(request.any(|line| line.is_empty()));
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\n{{\"n\":1}}\n")
        .expect("it is read");
    assert!(ended(&mut run).success());
    assert_eq!(text_of(&scene, "out"), "1\n");
    for args in ["state state --at end", "replay state"] {
        let mut command = scene.command("millstream", args);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut looks = command.spawn().expect("it starts");
        // It has begun to read.
        let waits = listener.accept().expect("a connection");
        let signal = scene.command("kill", &format!("-TERM {}", looks.id()));
        assert_eq!(scene.run(signal, Input::Nothing).code, Some(0));
        assert_eq!(ended(&mut looks).signal(), Some(15), "{args}");
        drop(waits);
    }
}
