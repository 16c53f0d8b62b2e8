//! `cluster` and `worker`, with a real server on this machine.

use crate::scene::{Input, Scene, Seen, ended};
use crate::server::Server;
use std::collections::HashMap;
use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A server, and a directory.
pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) scene: Scene,
}

/// A process, which ends with the test.
pub(crate) struct Worker(pub(crate) Child);

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl Cluster {
    pub(crate) fn start(test: &str, config: &str) -> Option<Self> {
        Some(Cluster { server: Server::configured(test, config)?, scene: Scene::new() })
    }

    pub(crate) fn run(&self, args: &str, input: &[u8]) -> Seen {
        self.scene.run(self.command(args), Input::Pipe(input, 1 << 16))
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = self.scene.command("millstream", args);
        command.env("MILLSTREAM_NATS", self.server.url());
        command
    }

    #[track_caller]
    pub(crate) fn done(&self, args: &str, input: &[u8]) -> Seen {
        let seen = self.run(args, input);
        assert_eq!(seen.code, Some(0), "{args}: {}", seen.stderr);
        seen
    }

    pub(crate) fn status(&self, app: &str) -> serde_json::Value {
        let seen = self.done(&format!("cluster status --app {app} --json"), b"");
        serde_json::from_slice(&seen.stdout).unwrap()
    }

    /// The process of the worker that appends; waits until there is one.
    fn appending(&self, app: &str) -> u32 {
        loop {
            let status = self.status(app);
            let appends = status["places"].as_array().unwrap().iter().find(|place| place["state"] == "appends");
            if let Some(place) = appends {
                return place["process"].as_u64().unwrap() as u32;
            }
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn worker(&self, app: &str) -> Worker {
        let mut command = self.command(&format!("worker --app {app} --workers 1"));
        Worker(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

/// Lines of words.
pub(crate) fn lines(count: u64) -> String {
    (0..count).map(|n| format!("w{} w{} w{}\n", n % 7, n * n % 11, n % 3)).collect()
}

/// The output of `words`.
pub(crate) fn counted(text: &str) -> String {
    let (mut counts, mut output) = (HashMap::new(), String::new());
    for word in text.split_ascii_whitespace() {
        let count = counts.entry(word).or_insert(0);
        *count += 1;
        writeln!(output, "{word} {count}").unwrap();
    }
    output
}

#[test]
fn words_are_counted_by_two_workers_one_of_which_is_killed() {
    let Some(cluster) = Cluster::start("words_are_counted_by_two_workers_one_of_which_is_killed", "") else { return };
    let text = lines(3000);
    cluster.done("cluster apply words --app count --snapshot-every 4", b"");
    cluster.done("cluster apply words --app count --snapshot-every 4", b"");
    let mut workers = [cluster.worker("count"), cluster.worker("count")];
    let (first, second) = text.split_at(text.len() / 2);
    cluster.done("cluster feed --app count --batch 512", first.as_bytes());
    // The one that appends is killed, and the other one goes on.
    let appends = cluster.appending("count");
    workers.sort_by_key(|worker| worker.0.id() != appends);
    assert_eq!(workers[0].0.id(), appends);
    workers[0].0.kill().unwrap();
    cluster.done("cluster feed --app count --batch 512", second.as_bytes());
    assert_eq!(cluster.appending("count"), workers[1].0.id());
    // Skips the same input again.
    cluster.done("cluster feed --app count --batch 512 --resume", text.as_bytes());
    cluster.done("cluster drain --app count", b"");
    assert_eq!(ended(&mut workers[1].0).code(), Some(0));
    assert_eq!(cluster.done("cluster read --app count", b"").text(), counted(&text));
    let status = cluster.done("cluster status --app count", b"").text();
    assert!(status.starts_with("words: 2 replicas, each batch on 1 servers\nsnapshot: "), "{status}");
    assert!(status.contains("\n      1  ended") || status.contains("\n      0  ended"), "{status}");
    let status = cluster.status("count");
    assert_eq!(status["output"]["last"], status["input"]["last"], "{status}");

    let ended = cluster.run("cluster feed --app count", b"more\n");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("the input of the application has ended, at byte "), "{}", ended.stderr);
    cluster.done("cluster rm --app count", b"");
    let gone = cluster.run("cluster status --app count", b"");
    assert_eq!(gone.code, Some(2));
    assert!(gone.stderr.contains("there is no application \"count\" at "), "{}", gone.stderr);
}

#[test]
fn wc_and_uppercase_have_the_bytes_of_one_machine() {
    let Some(cluster) = Cluster::start("wc_and_uppercase_have_the_bytes_of_one_machine", "") else { return };
    let text = b"to be\r\nor n\xffot\n\n to be".as_slice();
    for (program, local) in [("wc", "3 6 22\n".as_bytes()), ("uppercase", b"TO BE\r\nOR N\xffOT\n\n TO BE")] {
        let mut alone = cluster.done(program, text).stdout;
        if program == "wc" {
            // On a pipe it pads its numbers, as GNU's does.
            alone = format!("{}\n", String::from_utf8(alone).unwrap().split_whitespace().collect::<Vec<_>>().join(" "))
                .into();
        }
        assert_eq!(alone, local);
        cluster.done(&format!("cluster apply {program} --app {program}"), b"");
        let _worker = cluster.worker(program);
        cluster.done(&format!("cluster feed --app {program} --batch 3"), text);
        cluster.done(&format!("cluster drain --app {program}"), b"");
        let seen = cluster.done(&format!("cluster read --app {program} --trim"), b"");
        assert_eq!(String::from_utf8_lossy(&seen.stdout), String::from_utf8_lossy(local));
        let left = cluster.status(program);
        assert_eq!(left["output"]["entries"], 1, "{left}");
    }
}

#[test]
fn a_feed_that_has_fed_all_and_is_started_again_has_nothing_to_do() {
    let test = "a_feed_that_has_fed_all_and_is_started_again_has_nothing_to_do";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply wc --app a", b"");
    let feed = "cluster feed --app a --resume --end --batch 3";
    cluster.done(feed, b"to be\nor not");
    let again = cluster.done(feed, b"to be\nor not");
    assert!(
        again.stderr.contains("--resume: the edge has all 12 bytes of this input, and its end"),
        "{}",
        again.stderr
    );
    let ended = "the input of the application has ended, at byte 12: nothing can be appended";
    for (feed, input, says) in [
        (feed, "to be\nor not to be", ended),
        ("cluster feed --app a --resume", "to be\nor not to be", ended),
        (feed, "to be\n", "--resume: this input is 6 bytes shorter than what the edge already got"),
    ] {
        let seen = cluster.run(feed, input.as_bytes());
        assert_eq!(seen.code, Some(1), "{}", seen.stderr);
        assert!(seen.stderr.contains(says), "{}", seen.stderr);
    }
}

#[test]
fn a_worker_says_that_shards_have_no_effect() {
    let Some(cluster) = Cluster::start("a_worker_says_that_shards_have_no_effect", "") else { return };
    cluster.done("cluster apply wc --app a", b"");
    cluster.done("cluster feed --app a --end", b"to be\n");
    let seen = cluster.done("worker --app a --shards 2", b"");
    assert!(seen.stderr.contains("worker: --shards has no effect: the pipeline has none"), "{}", seen.stderr);
}

#[test]
fn a_line_that_no_batch_can_hold_is_named_and_all_before_it_is_fed() {
    let test = "a_line_that_no_batch_can_hold_is_named_and_all_before_it_is_fed";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply uppercase --app a", b"");
    let before = format!("to be\n{}\nor not\n", "x".repeat((768 << 10) - 1));
    let input = format!("{before}{}\nto be\n", "y".repeat(768 << 10));
    let write = |name, text: &str| std::fs::write(cluster.scene.path(name), text).unwrap();
    write("long", &input);
    write("next", "that is\n");
    let seen = cluster.run("cluster feed --app a --end long next", b"");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    let says = "long: line 4 is longer than 768 KiB: all before it is fed, neither it nor anything after it is";
    assert!(seen.stderr.contains(says), "{}", seen.stderr);
    // The input goes on where it stopped, once the line is mended.
    write("mended", &format!("{before}to be\n"));
    let _worker = cluster.worker("a");
    cluster.done("cluster feed --app a --resume --end mended next", b"");
    let text = cluster.done("cluster read --app a", b"").text();
    assert!(text == format!("{before}to be\nthat is\n").to_uppercase(), "{} bytes", text.len());
}

#[test]
fn what_is_wrong_is_said() {
    let Some(cluster) = Cluster::start("what_is_wrong_is_said", "") else { return };
    cluster.done("cluster apply wc --app a --capacity 8", b"");
    let cases = [
        (
            "cluster apply words --app a",
            2,
            "a: the application runs a different pipeline: its program is \"wc\", and this",
        ),
        ("cluster status --app nosuch", 2, "there is no application \"nosuch\" at nats://127.0.0.1:"),
        ("worker --app nosuch", 2, "`cluster apply` makes one"),
        ("cluster read --app a.b", 2, "--app: \"a.b\" is not a name of 1 to 64 letters"),
        ("cluster drain --app a --nats nats://me:secret@127.0.0.1", 2, "can see a password on the command line"),
        ("cluster drain --app a --nats-user me", 2, "MILLSTREAM_NATS_PASSWORD is not set: set it"),
        ("cluster apply wc --app b --capacity 8 --snapshot-every 3", 2, "could be full before a snapshot"),
        ("cluster apply wc --app b --snapshot-every 16385", 2, "write `--snapshot-every 16384` at most"),
        ("cluster apply wc --app b --copies 2", 2, "1, 3 or 5"),
        ("cluster drain --app a --within 200ms", 1, "the output was not complete within the time"),
        ("cluster status --app a --nats nats://127.0.0.1:1", 1, "no server answers at nats://127.0.0.1:1: "),
    ];
    for (args, code, says) in cases {
        let seen = cluster.run(args, b"");
        assert_eq!(seen.code, Some(code), "{args}: {}", seen.stderr);
        assert!(seen.stderr.contains(says), "{args}: {}", seen.stderr);
    }
}

#[test]
fn a_batch_that_the_servers_do_not_take_stops_a_worker_for_good_and_is_named() {
    let test = "a_batch_that_the_servers_do_not_take_stops_a_worker_for_good_and_is_named";
    let Some(cluster) = Cluster::start(test, "max_payload: 65536\n") else { return };
    cluster.done("cluster apply words --app a", b"");
    // Each word of two bytes becomes a line of seven.
    let text = "a ".repeat(1 << 14) + "\n";
    std::fs::write(cluster.scene.path("four"), text.repeat(4)).unwrap();
    std::fs::write(cluster.scene.path("one"), text).unwrap();
    let limit = "and the servers take 65536 at most: raise `max_payload`";
    let seen = cluster.run("cluster feed --app a --batch 128K four", b"");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("edge \"in\", batch 1: it has 98") && seen.stderr.contains(limit), "{}", seen.stderr);
    cluster.done("cluster feed --app a one", b"");
    let seen = cluster.run("worker --app a", b"");
    assert_eq!(seen.code, Some(2), "{}", seen.stderr);
    assert!(seen.stderr.contains("edge \"out\", batch 1: it has ") && seen.stderr.contains(limit), "{}", seen.stderr);
    let status = cluster.run("cluster status --app a", b"");
    assert_eq!(status.code, Some(4), "{}", status.stderr);
    assert!(status.text().contains("alarm: replica 0: edge \"out\", batch 1: "), "{}", status.text());
}

#[test]
fn a_full_edge_holds_the_feed_back() {
    let Some(cluster) = Cluster::start("a_full_edge_holds_the_feed_back", "") else { return };
    cluster.done("cluster apply wc --app a --capacity 8", b"");
    let mut feed = cluster.command("cluster feed --app a --batch 1");
    let text = lines(20);
    std::fs::write(cluster.scene.path("text"), &text).unwrap();
    feed.arg("text").stderr(Stdio::piped()).stdout(Stdio::null());
    let mut feed = feed.spawn().unwrap();
    let status = || -> serde_json::Value {
        serde_json::from_slice(&cluster.done("cluster status --app a --json", b"").stdout).unwrap()
    };
    while status()["input"]["last"] != 8 {
        sleep(Duration::from_millis(20));
    }
    assert!(feed.try_wait().unwrap().is_none());
    // A worker makes room, and so does a reader after it.
    let _worker = cluster.worker("a");
    let into = std::fs::File::create(cluster.scene.path("read")).unwrap();
    let mut read = Worker(cluster.command("cluster read --app a --trim").stdout(into).spawn().unwrap());
    assert_eq!(ended(&mut feed).code(), Some(0));
    cluster.done("cluster drain --app a", b"");
    let words = text.split_ascii_whitespace().count();
    assert_eq!(ended(&mut read.0).code(), Some(0));
    let read = std::fs::read_to_string(cluster.scene.path("read")).unwrap();
    assert_eq!(read, format!("20 {words} {}\n", text.len()));
    assert!(status()["snapshot"].as_u64() > Some(8), "{}", status());
}

#[test]
fn the_numbers_of_an_application_change_with_its_streams() {
    let test = "the_numbers_of_an_application_change_with_its_streams";
    let Some(cluster) = Cluster::start(test, "") else { return };
    let status = || -> serde_json::Value {
        serde_json::from_slice(&cluster.done("cluster status --app a --json", b"").stdout).unwrap()
    };
    cluster.done("cluster apply wc --app a --capacity 16", b"");
    cluster.done("cluster feed --app a --batch 1", lines(12).as_bytes());
    // A number that is not given stays.
    for (given, capacity, replicas, says) in [
        (
            "--capacity 64 --replicas 3",
            64,
            3,
            "changed: `--replicas` was 2, and is 3; `--capacity` was 16, and is 64\n",
        ),
        ("--replicas 2", 64, 2, "changed: `--replicas` was 3, and is 2\n"),
        ("--snapshot-every 9", 64, 2, "changed: `--snapshot-every` was 2, and is 9\n"),
        ("", 64, 2, "2 replicas: unchanged\n"),
        (
            "--capacity 8 --snapshot-every 2",
            8,
            2,
            "changed: `--capacity` was 64, and is 8; `--snapshot-every` was 9, and is 2\n",
        ),
    ] {
        let applied = cluster.done(&format!("cluster apply wc --app a {given}"), b"");
        assert!(applied.stderr.ends_with(says), "{}", applied.stderr);
        let status = status();
        assert_eq!(status["replicas"], replicas);
        for edge in ["input", "output"] {
            assert_eq!(status[edge]["capacity"], capacity);
        }
        // What is there stays.
        assert_eq!(status["input"]["entries"], 12);
    }
    // A number that stays must fit one that is given.
    cluster.done("cluster apply wc --app b --capacity 64", b"");
    let refused = cluster.run("cluster apply wc --app b --capacity 16", b"");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("write `--snapshot-every 4` at most, or raise --capacity"), "{}", refused.stderr);
    // Another program changes nothing.
    assert_eq!(cluster.run("cluster apply words --app a --capacity 64", b"").code, Some(2));
    assert_eq!(status()["input"]["capacity"], 8);
    let refused = cluster.run("cluster apply wc --app a --capacity 8 --copies 3", b"");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("stream a-in: "), "{}", refused.stderr);
    assert!(refused.stderr.contains("replicas > 1 not supported"), "{}", refused.stderr);
    assert_eq!(status()["copies"], 1);
    let refused = cluster.run("cluster apply wc --app new --copies 3", b"");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("refuse: ") && refused.stderr.contains("not supported"), "{}", refused.stderr);
}
