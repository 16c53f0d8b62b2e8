//! `pipe` with a command that fails: the output, the messages, and the blocks that are still run.

use crate::scene::{Input, PATIENCE, Scene, Seen};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;

const ADVICE: &str = "counts that as success, --keep-going continues after it)";

fn shell(scene: &Scene, args: &str, script: &str) -> Command {
    let mut command = scene.command("millstream", args);
    command.args(["--", "sh", "-c", script]);
    command
}

#[track_caller]
fn check(seen: &Seen, stdout: &str, stderr: &str, code: i32) {
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), (stdout, stderr, Some(code)));
}

const WAYS: [&str; 5] = ["", "-j 3 --workers 2", "-j 1 --deploy inline", "-j 2 --deploy queues", "--deploy model"];

#[test]
fn statuses_can_be_accepted() {
    for way in WAYS {
        for accept in ["--accept 1", "--accept 0,1", "--accept 7,1 --keep-going"] {
            let args = format!("pipe {way} --block 4 {accept} -- grep 3");
            let seen = Scene::new().millstream(&args, Input::Pipe(b"1\n2\n3\n4\n13\n5\n", 14));
            check(&seen, "3\n13\n", "", 0);
        }
    }
    let args = "pipe -j 1 --block 2 --accept 1,2 -- grep 3";
    let seen = Scene::new().millstream(args, Input::Pipe(b"1\n3\n", 4));
    check(&seen, "3\n", "", 0);
    // Line by line, the status is that of a process at its end.
    let command = |accept| format!("pipe --shard line -j 1 {accept}");
    let script = "while read x; do echo $x; done; exit 4";
    let scene = Scene::new();
    let seen = scene.run(shell(&scene, &command("--accept 4"), script), Input::Pipe(b"1\n2\n", 4));
    check(&seen, "1\n2\n", "", 0);
}

/// The output has every block before the failure, and what the failing command wrote, for any number of processes.
#[test]
fn the_output_of_a_failing_block_is_kept() {
    for way in WAYS {
        let scene = Scene::new();
        let script = "read x; case $x in 0) sleep 0.2;; 3) echo torn; exit 7;; esac; echo $x";
        let seen =
            scene.run(shell(&scene, &format!("pipe --block 2 {way}"), script), Input::Pipe(b"0\n1\n2\n3\n4\n5\n", 12));
        let said = "millstream: stage \"pipe\", number 3: sh ended with exit status 7 (--accept 0,7";
        check(&seen, "0\n1\n2\ntorn\n", &format!("{said} {ADVICE}\n"), 3);
    }
}

/// Commands of later blocks may have ended well before.
#[test]
fn the_hash_ends_with_the_failed_block() {
    let plain = "read x; test $x != 3 || exit 1; echo $x";
    let waits = "read x; test $x != 3 || { while ! test -e done; do sleep 0.01; done; sleep 0.1; exit 1; }; \
                 echo $x; test $x != 4 || : > done";
    let hash = |way: &str, script: &str| {
        let scene = Scene::new();
        let seen = scene
            .run(shell(&scene, &format!("pipe --block 1 --hash {way}"), script), Input::Pipe(b"1\n2\n3\n4\n5\n", 10));
        assert_eq!((seen.text().as_str(), seen.code), ("1\n2\n", Some(3)), "{way}");
        seen.stderr.lines().last().unwrap_or_default().to_owned()
    };
    let expected = hash("--deploy inline", plain);
    assert!(expected.starts_with("hash ") && expected.ends_with(" count 3"), "{expected}");
    assert_eq!(hash("--deploy model", plain), expected);
    for way in ["-j 4", "-j 4 --deploy queues"] {
        assert_eq!(hash(way, waits), expected, "{way}");
    }
}

/// Of two failures the first block's is reported, even if the second block's comes sooner.
#[test]
fn the_first_failure_is_reported() {
    let scene = Scene::new();
    let script = "read x; test $x != 1 || { while ! test -e failed; do sleep 0.01; done; exit 1; }; : > failed; exit 2";
    let seen = scene.run(shell(&scene, "pipe -j 2 --block 2", script), Input::Pipe(b"1\n2\n3\n", 6));
    let said = "millstream: stage \"pipe\", number 0: sh ended with exit status 1 (--accept 0,1";
    check(&seen, "", &format!("{said} {ADVICE}\n"), 3);
}

#[test]
fn it_can_go_on_after_failures() {
    for way in WAYS {
        let scene = Scene::new();
        let script = "read x; echo $x; case $x in 2) exit 5;; 4) kill -9 $$;; esac";
        let args = format!("pipe --keep-going --block 2 {way}");
        let seen = scene.run(shell(&scene, &args, script), Input::Pipe(b"1\n2\n3\n4\n5\n", 10));
        let said = "millstream pipe: 2 of 5 blocks failed, the first is number 1: \
                    sh ended with exit status 5 (--accept 0,5 counts that as success)\n";
        check(&seen, "1\n2\n3\n4\n5\n", said, 1);
    }
    // Not if no block can succeed.
    let seen = Scene::new().millstream("pipe --keep-going -- nosuch", Input::Pipe(b"a\n", 2));
    let said = "millstream: stage \"pipe\", number 0: nosuch cannot be started: No such file or directory\n";
    check(&seen, "", said, 3);
}

#[test]
fn it_can_go_on_after_lines_without_an_answer() {
    let args = "pipe --shard line -j 1 --patience 50 --quiet --keep-going -- grep --line-buffered a";
    let seen = Scene::new().millstream(args, Input::Pipe(b"a1\nb2\na3\nb4\n", 12));
    assert_eq!((seen.text().as_str(), seen.code), ("a1\na3\n", Some(1)));
    let said =
        "millstream pipe: 2 of 4 lines failed, the first is number 1: line 2: grep wrote no line for it and ended";
    assert!(seen.stderr.starts_with(said), "{}", seen.stderr);
}

#[test]
fn statistics_have_the_failure() {
    let seen = Scene::new().millstream("pipe -j 1 --stats -- false", Input::Pipe(b"a\n", 2));
    let stats = &seen.stderr[seen.stderr.find("\n{").expect("statistics") + 1..];
    let stats: serde_json::Value = serde_json::from_str(stats).expect("JSON");
    let run = &stats["runs"][0];
    assert_eq!(run["ending"], "failed");
    assert!(run["failure"].as_str().is_some_and(|why| why.contains("false ended with exit status 1")), "{run}");
}

/// A block that fails ends the commands of later blocks, even if they ignore SIGTERM.
#[test]
fn a_failure_does_not_wait_for_later_blocks() {
    for (way, trap) in [("-j 3 --block 2", ""), ("-j 3 --block 2", "trap '' TERM;"), ("-j 3 --shard line", "")] {
        let scene = Scene::new();
        let script = format!(
            "{trap} read x; test $x = 1 || {{ : > began; exec sleep 1000; }}; \
             while ! test -e began; do sleep 0.01; done; exit 9"
        );
        let command = shell(&scene, &format!("pipe {way}"), &script);
        let (send, seen) = channel();
        thread::spawn(move || send.send(scene.run(command, Input::Pipe(b"1\n2\n3\n", 6))));
        let seen = seen.recv_timeout(PATIENCE).expect("it waits for commands that are not needed");
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)), "{way}");
        assert!(seen.stderr.contains("number 0: ") && seen.stderr.contains("exit status 9"), "{way}: {}", seen.stderr);
    }
}

#[test]
fn wrong_statuses_are_refused() {
    for accept in ["256", "x", "1,,2", "-1"] {
        let seen = Scene::new().millstream(&format!("pipe --accept {accept} -- cat"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "{accept}");
    }
}
