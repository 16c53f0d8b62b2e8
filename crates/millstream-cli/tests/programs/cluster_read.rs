//! `cluster read`: what was dropped is said, and a reader that was killed goes on exactly.

use crate::cluster::{Cluster, Worker, lines};
use crate::scene::{Seen, ended};
use std::fs::{File, OpenOptions, read, write};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// An application `a` of `uppercase`, with this text in both of its edges, a line a batch, and the end if it is to be
/// there.
fn uppercase(test: &str, text: &str, end: &str) -> Option<(Cluster, Worker)> {
    let cluster = Cluster::start(test, "")?;
    cluster.done("cluster apply uppercase --app a", b"");
    let worker = cluster.command("worker --app a --workers 1").stderr(Stdio::null()).spawn().unwrap();
    cluster.done(&format!("cluster feed --app a --batch 1 {end}"), text.as_bytes());
    Some((cluster, Worker(worker)))
}

/// Waits until the output edge has as many batches as the input.
fn computed(cluster: &Cluster) {
    loop {
        let status = cluster.done("cluster status --app a --json", b"");
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
        if status["output"]["last"] == status["input"]["last"] {
            return;
        }
    }
}

/// Runs a reader that appends to the file `out`.
fn read_into(cluster: &Cluster, args: &str) -> Seen {
    let into = OpenOptions::new().create(true).append(true).open(cluster.scene.path("out")).unwrap();
    let output = cluster.command(args).stdout(into).stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    Seen { code: output.status.code(), stdout: read(cluster.scene.path("out")).unwrap(), stderr }
}

#[test]
fn a_read_from_a_dropped_batch_fails_and_names_the_first_that_is_kept() {
    let test = "a_read_from_a_dropped_batch_fails_and_names_the_first_that_is_kept";
    let Some((cluster, _worker)) = uppercase(test, "a\nb\nc\nd\n", "") else { return };
    computed(&cluster);
    let first = cluster.done("cluster read --app a --so-far --trim", b"");
    assert_eq!(first.text(), "A\nB\nC\nD\n");
    assert!(first.stderr.contains("stopped before batch 5: `--from 5` goes on there"), "{}", first.stderr);
    let seen = cluster.run("cluster read --app a --so-far --from 2", b"");
    assert_eq!((seen.code, seen.text()), (Some(1), String::new()));
    let says = "batches 2 to 3 were dropped from the edge: the first that is kept is 4: write `--from 4`";
    assert!(seen.stderr.contains(says), "{}", seen.stderr);
    let seen = cluster.done("cluster read --app a --so-far --from 4", b"");
    assert_eq!(seen.text(), "D\n");
    assert!(!seen.stderr.contains("dropped"), "{}", seen.stderr);
    // Without a number it begins with what there is, and says so.
    let seen = cluster.done("cluster read --app a --so-far", b"");
    assert_eq!(seen.text(), "D\n");
    let says = "begins with batch 4, the first that is kept: batches 1 to 3 were dropped";
    assert!(seen.stderr.contains(says), "{}", seen.stderr);
}

#[test]
fn a_reader_with_a_position_goes_on_where_it_was() {
    let test = "a_reader_with_a_position_goes_on_where_it_was";
    let Some((cluster, worker)) = uppercase(test, "a\nb\nc\n", "") else { return };
    computed(&cluster);
    let reads = "cluster read --app a --position place --trim";
    write(cluster.scene.path("out"), "before\n").unwrap();
    let so_far = format!("{reads} --so-far");
    let seen = read_into(&cluster, &so_far);
    assert_eq!((seen.code, seen.text().as_str()), (Some(0), "before\nA\nB\nC\n"), "{}", seen.stderr);
    // As if it had been killed after it printed a part of what comes next, and the machine had been started again,
    // which may give the device of the output another number.
    write(cluster.scene.path("out"), "before\nA\nB\nC\nD").unwrap();
    let mut place: serde_json::Value = serde_json::from_slice(&read(cluster.scene.path("place")).unwrap()).unwrap();
    place["output"][0] = serde_json::json!(1);
    write(cluster.scene.path("place"), place.to_string()).unwrap();
    cluster.done("cluster feed --app a --batch 1 --end", b"d\ne\n");
    computed(&cluster);
    // Twice: the second one finds that all is printed.
    for _ in 0..2 {
        let seen = read_into(&cluster, reads);
        assert_eq!((seen.code, seen.text().as_str()), (Some(0), "before\nA\nB\nC\nD\nE\n"), "{}", seen.stderr);
    }
    // Another output is not gone on with, nor is another application.
    write(cluster.scene.path("out"), "other").unwrap();
    let seen = read_into(&cluster, reads);
    assert_eq!((seen.code, seen.text().as_str()), (Some(2), "other"));
    assert!(seen.stderr.contains("standard output has only 5: to begin a new output"), "{}", seen.stderr);
    write(cluster.scene.path("out"), "before\nA\nB\nC\nX\nY\nZ\n").unwrap();
    let seen = read_into(&cluster, reads);
    assert_eq!((seen.code, seen.text().as_str()), (Some(2), "before\nA\nB\nC\nX\nY\nZ\n"));
    assert!(seen.stderr.contains("standard output has others: to begin a new output"), "{}", seen.stderr);
    write(cluster.scene.path("out"), "before\nA\nB\nC\nD\nE\n").unwrap();
    drop(worker);
    cluster.done("cluster rm --app a --force", b"");
    cluster.done("cluster apply uppercase --app a", b"");
    let _worker = Worker(cluster.command("worker --app a --workers 1").stderr(Stdio::null()).spawn().unwrap());
    cluster.done("cluster feed --app a --batch 1", b"v\nw\n");
    computed(&cluster);
    // It waits for an edge that is shorter than it was: its batches may come again.
    let into = OpenOptions::new().append(true).open(cluster.scene.path("out")).unwrap();
    let reader = cluster.command(&so_far).stdout(into).stderr(Stdio::piped()).spawn();
    let mut reader = Worker(reader.unwrap());
    let mut said = BufReader::new(reader.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let waits = said.next().unwrap();
    assert!(waits.contains("waiting for the servers: the edge ends with batch 2, and had batch 6"), "{waits}");
    cluster.done("cluster feed --app a --batch 1", b"x\ny\nz\nz\n");
    computed(&cluster);
    let says = said.next().unwrap();
    assert!(says.contains("batch 6 of the edge is another one"), "{says}");
    assert_eq!(ended(&mut reader.0).code(), Some(2));
    assert_eq!(std::fs::read_to_string(cluster.scene.path("out")).unwrap(), "before\nA\nB\nC\nD\nE\n");
    // An output that cannot be cut, and a file that is none of this flag.
    for (args, says) in [
        (so_far.as_str(), "standard output is not a file: append to one with `>> FILE`"),
        ("cluster read --app a --position out", "standard output is not a file"),
    ] {
        let seen = cluster.run(args, b"");
        assert_eq!(seen.code, Some(2), "{args}: {}", seen.stderr);
        assert!(seen.stderr.contains(says), "{args}: {}", seen.stderr);
    }
    let seen = read_into(&cluster, "cluster read --app a --position out");
    assert!(seen.code == Some(2) && seen.stderr.contains("out is not a file of this flag"), "{}", seen.stderr);
    let mut command = cluster.command(&so_far);
    let seen = command.stdout(File::create(cluster.scene.path("emptied")).unwrap()).output().unwrap();
    assert_eq!(seen.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&seen.stderr).contains("write `>> FILE`"));
}

#[test]
fn a_reader_with_a_position_that_is_killed_prints_every_batch_once() {
    let text = lines(1500);
    let test = "a_reader_with_a_position_that_is_killed_prints_every_batch_once";
    let Some((cluster, _worker)) = uppercase(test, &text, "--end") else { return };
    let start = || {
        let into = OpenOptions::new().create(true).append(true).open(cluster.scene.path("out")).unwrap();
        let mut command = cluster.command("cluster read --app a --position place --trim");
        Worker(command.stdout(into).stderr(Stdio::null()).spawn().unwrap())
    };
    let length = || std::fs::metadata(cluster.scene.path("out")).map_or(0, |file| file.len());
    for kill in 0..8 {
        // Killed as soon as something more was printed: in the midst of noting it, and of trimming.
        let (before, mut reader) = (length(), start());
        while length() <= before && reader.0.try_wait().unwrap().is_none() {}
        sleep(Duration::from_micros(kill * 700));
        drop(reader);
    }
    let mut reader = start();
    assert_eq!(ended(&mut reader.0).code(), Some(0));
    let printed = std::fs::read_to_string(cluster.scene.path("out")).unwrap();
    assert!(printed == text.to_uppercase(), "{} bytes of {}", printed.len(), text.len());
}

#[test]
fn a_reader_trims_what_one_before_it_has_printed() {
    let some = "{ user: some, password: p, permissions: { publish: { deny: [\"$JS.API.STREAM.PURGE.a-out\"] } } }";
    let users = format!("no_auth_user: all\nauthorization {{ users: [\n{{ user: all, password: p }}\n{some}\n] }}\n");
    let Some(cluster) = Cluster::start("a_reader_trims_what_one_before_it_has_printed", &users) else { return };
    let text = lines(24);
    write(cluster.scene.path("text"), &text).unwrap();
    cluster.done("cluster apply uppercase --app a --capacity 8", b"");
    let _worker = cluster.worker("a");
    let feed = cluster.command("cluster feed --app a --batch 1 --end text").stdout(Stdio::null()).spawn();
    let mut feed = Worker(feed.unwrap());
    while cluster.status("a")["output"]["entries"] != 8 {
        sleep(Duration::from_millis(20));
    }
    let start = |args: &str| {
        let into = OpenOptions::new().create(true).append(true).open(cluster.scene.path("out")).unwrap();
        let mut command = cluster.command(&format!("cluster read --app a --position place --trim {args}"));
        Worker(command.env("MILLSTREAM_NATS_PASSWORD", "p").stdout(into).stderr(Stdio::null()).spawn().unwrap())
    };
    // As if it was killed before it trimmed: nothing more comes until that is done.
    assert_eq!(ended(&mut start("--nats-user some").0).code(), Some(1));
    let printed = || std::fs::read_to_string(cluster.scene.path("out")).unwrap();
    assert_eq!(printed().lines().count(), 8);
    assert_eq!((ended(&mut start("").0).code(), ended(&mut feed.0).code()), (Some(0), Some(0)));
    assert_eq!(printed(), text.to_uppercase());
}

#[test]
fn a_reader_says_that_it_waits_for_the_servers() {
    let Some((mut cluster, worker)) = uppercase("a_reader_says_that_it_waits_for_the_servers", "a\n", "") else {
        return;
    };
    computed(&cluster);
    let mut reader = cluster.command("cluster read --app a");
    let mut reader = Worker(reader.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(reader.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "A\n");
    cluster.server.kill();
    line.clear();
    BufReader::new(reader.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting for the servers: "), "{line}");
    drop(worker);
}
