//! `cluster rm --force` while workers, readers, feeds and drains run.

use crate::cluster::{Cluster, Worker};
use crate::scene::ended;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

#[test]
fn workers_of_an_application_that_is_removed_end_and_do_not_work_for_the_next_one() {
    let test = "workers_of_an_application_that_is_removed_end_and_do_not_work_for_the_next_one";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply words --app count --replicas 1", b"");
    // One works, and one waits for a place.
    let mut works = cluster.worker("count");
    while cluster.status("count")["places"][0]["state"] != "follows" {
        sleep(Duration::from_millis(20));
    }
    let mut waits = cluster.command("worker --app count");
    waits.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut waits = Worker(waits.spawn().unwrap());
    let mut said = BufReader::new(waits.0.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("waiting for a free place"), "{line}");
    cluster.done("cluster rm --app count --force", b"");
    cluster.done("cluster apply uppercase --app count", b"");
    cluster.done("cluster feed --app count --end", b"to be\n");
    assert_eq!(ended(&mut works.0).code(), Some(2));
    assert_eq!(ended(&mut waits.0).code(), Some(2));
    line.clear();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("count: the application was removed while this worker ran for it"), "{line}");
    let _worker = cluster.worker("count");
    assert_eq!(cluster.done("cluster read --app count", b"").text(), "TO BE\n");
}

#[test]
fn a_reader_of_an_application_that_is_removed_ends_and_reads_nothing_of_the_next_one() {
    let test = "a_reader_of_an_application_that_is_removed_ends_and_reads_nothing_of_the_next_one";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply uppercase --app a", b"");
    let mut worker = cluster.worker("a");
    cluster.done("cluster feed --app a --batch 1", b"a\nb\nc\n");
    let into = OpenOptions::new().create(true).append(true).open(cluster.scene.path("out")).unwrap();
    let mut reader = cluster.command("cluster read --app a --position place --trim");
    let mut reader = Worker(reader.stdout(into).stderr(Stdio::piped()).spawn().unwrap());
    let printed = || std::fs::read_to_string(cluster.scene.path("out")).unwrap();
    while printed() != "A\nB\nC\n" || cluster.status("a")["output"]["entries"] != 1 {
        sleep(Duration::from_millis(20));
    }
    cluster.done("cluster rm --app a --force", b"");
    cluster.done("cluster apply uppercase --app a", b"");
    assert_eq!(ended(&mut worker.0).code(), Some(2));
    let _worker = cluster.worker("a");
    cluster.done("cluster feed --app a --batch 1 --end", b"u\nv\nw\nx\ny\nz\n");
    assert_eq!(ended(&mut reader.0).code(), Some(2));
    let mut said = String::new();
    reader.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("a: the application was removed while this reader ran for it"), "{said}");
    assert_eq!(printed(), "A\nB\nC\n");
    assert_eq!(cluster.done("cluster read --app a", b"").text(), "U\nV\nW\nX\nY\nZ\n");
}

/// Its next batch would be the next one of that application, too.
#[test]
fn a_feed_that_pauses_appends_nothing_to_the_next_application_with_as_many_batches() {
    let test = "a_feed_that_pauses_appends_nothing_to_the_next_application_with_as_many_batches";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply uppercase --app a", b"");
    let mut feed = cluster.command("cluster feed --app a");
    let mut feed = Worker(feed.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut input = feed.0.stdin.take().unwrap();
    input.write_all(b"old\n").unwrap();
    while cluster.status("a")["input"]["last"] != 1 {
        sleep(Duration::from_millis(20));
    }
    cluster.done("cluster rm --app a --force", b"");
    cluster.done("cluster apply uppercase --app a", b"");
    cluster.done("cluster feed --app a", b"new\n");
    sleep(Duration::from_millis(600));
    input.write_all(b"older\n").unwrap();
    assert_eq!(ended(&mut feed.0).code(), Some(2));
    assert_eq!(cluster.status("a")["input"]["last"], 1);
}

#[test]
fn a_feed_and_a_drain_of_an_application_that_is_removed_end_and_are_none_of_the_next_one() {
    let test = "a_feed_and_a_drain_of_an_application_that_is_removed_end_and_are_none_of_the_next_one";
    let Some(cluster) = Cluster::start(test, "") else { return };
    let start = |args: &str| {
        let mut command = cluster.command(args);
        Worker(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let has_got = |batches: u64| {
        while cluster.status("a")["input"]["last"] != batches {
            sleep(Duration::from_millis(20));
        }
    };
    cluster.done("cluster apply uppercase --app a", b"");
    let mut feed = start("cluster feed --app a");
    // It stays open.
    let mut input = feed.0.stdin.take().unwrap();
    input.write_all(b"old\n").unwrap();
    has_got(1);
    // It ends the input, and waits for the output.
    let mut drain = start("cluster drain --app a");
    has_got(2);
    cluster.done("cluster rm --app a --force", b"");
    cluster.done("cluster apply uppercase --app a", b"");
    cluster.done("cluster feed --app a --batch 1", b"new\nnewer\n");
    input.write_all(b"older\n").unwrap();
    for (process, name) in [(&mut feed, "feed"), (&mut drain, "drain")] {
        assert_eq!(ended(&mut process.0).code(), Some(2), "{name}");
        let mut said = String::new();
        process.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains(&format!("a: the application was removed while this {name} ran for it")), "{said}");
    }
    cluster.done("cluster feed --app a --end", b"");
    let _worker = cluster.worker("a");
    assert_eq!(cluster.done("cluster read --app a", b"").text(), "NEW\nNEWER\n");
}
