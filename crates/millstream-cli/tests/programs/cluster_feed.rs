//! `cluster feed`, when its input is cut.

use crate::cluster::{Cluster, Worker};
use crate::scene::ended;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn a_feed_that_a_signal_ends_feeds_whole_lines_and_is_resumed() {
    let test = "a_feed_that_a_signal_ends_feeds_whole_lines_and_is_resumed";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply uppercase --app a", b"");
    let write = |name, text: &str| std::fs::write(cluster.scene.path(name), text).unwrap();
    write("first", "to be\nor not\n");
    write("second", "that is\n");
    let mut feed = cluster.command("cluster feed --app a --end - second");
    let mut feed = Worker(feed.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    let mut input = feed.0.stdin.take().unwrap();
    input.write_all(b"to be\nor n").unwrap();
    while cluster.status("a")["input"]["last"] != 1 {
        sleep(Duration::from_millis(20));
    }
    let sent = Command::new("kill").args(["-TERM", &feed.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(ended(&mut feed.0).code(), Some(143));
    drop(input);
    assert_eq!(cluster.status("a")["input"]["last"], 1, "a part of a line, or the next file, was fed");
    let _worker = cluster.worker("a");
    cluster.done("cluster feed --app a --resume --end first second", b"");
    assert_eq!(cluster.done("cluster read --app a", b"").text(), "TO BE\nOR NOT\nTHAT IS\n");
}

#[test]
fn nothing_after_a_file_that_cannot_be_read_is_fed() {
    let Some(cluster) = Cluster::start("nothing_after_a_file_that_cannot_be_read_is_fed", "") else { return };
    cluster.done("cluster apply uppercase --app a", b"");
    let write = |name, text: &str| std::fs::write(cluster.scene.path(name), text).unwrap();
    write("first", "to be\nor not");
    write("third", "that is\n");
    let seen = cluster.run("cluster feed --app a --end first second third", b"");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("second: No such file or directory"), "{}", seen.stderr);
    assert!(seen.stderr.contains("nothing after it is fed: `--resume` goes on there"), "{}", seen.stderr);
    write("second", "\nto be\n");
    let _worker = cluster.worker("a");
    cluster.done("cluster feed --app a --resume --end first second third", b"");
    assert_eq!(cluster.done("cluster read --app a", b"").text(), "TO BE\nOR NOT\nTO BE\nTHAT IS\n");
}

#[test]
fn a_last_line_that_goes_on_later_is_fed_as_one() {
    let Some(cluster) = Cluster::start("a_last_line_that_goes_on_later_is_fed_as_one", "") else { return };
    cluster.done("cluster apply words --app a", b"");
    let write = |text: &str| std::fs::write(cluster.scene.path("log"), text).unwrap();
    write("to be\nor n");
    let seen = cluster.done("cluster feed --app a --resume log", b"");
    assert!(seen.stderr.contains("the last line has no end yet, and is not fed"), "{}", seen.stderr);
    write("to be\nor not\nto b");
    cluster.done("cluster feed --app a --resume --end log", b"");
    let _worker = cluster.worker("a");
    assert_eq!(cluster.done("cluster read --app a", b"").text(), "to 1\nbe 1\nor 1\nnot 1\nto 2\nb 1\n");
}

#[test]
fn lines_behind_a_full_buffer_are_fed_before_more_comes() {
    let test = "lines_behind_a_full_buffer_are_fed_before_more_comes";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply uppercase --app a", b"");
    // All that a pipe takes, and the first read of the feed: 655 lines of 100 bytes, and a part of one.
    let mut text = format!("{:099}\n", 1).repeat(656).into_bytes();
    text.truncate(1 << 16);
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&text).unwrap();
    let mut feed = cluster.command("cluster feed --app a --batch 48K");
    let _feed = Worker(feed.stdin(reader).stdout(Stdio::null()).spawn().unwrap());
    let fed = (0..1500).any(|_| {
        sleep(Duration::from_millis(20));
        cluster.status("a")["input"]["last"] == 2
    });
    assert!(fed, "whole lines wait for those after them");
}
