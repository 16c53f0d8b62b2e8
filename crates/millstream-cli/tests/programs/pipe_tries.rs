//! `pipe`: time limits, further tries, and the log of processes.

use crate::scene::{Input, PATIENCE, Scene, Seen};
use std::sync::mpsc::channel;
use std::thread;

fn shell(scene: &Scene, args: &str, script: &str, input: &str) -> Seen {
    let mut command = scene.command("millstream", args);
    command.args(["--shell", script]);
    scene.run(command, Input::Pipe(input.as_bytes(), 5))
}

const WAYS: [&str; 4] = ["-j 2", "--deploy inline", "-j 2 --deploy queues", "--deploy model"];

/// The command ends with all that it has started, even if it ignores SIGTERM.
#[test]
fn a_command_that_takes_too_long_is_ended() {
    for way in ["-j 2", "--deploy inline"] {
        for script in [
            "read x; test $x != 2 || { echo begun; sleep 1000 & wait; }; echo $x",
            "trap '' TERM; read x; test $x != 2 || { echo begun; sleep 1000; sleep 1000; }; echo $x",
        ] {
            let (send, seen) = channel();
            let args = format!("pipe {way} --block 2 --timeout 2s");
            thread::spawn(move || send.send(shell(&Scene::new(), &args, script, "1\n2\n3\n")));
            let seen = seen.recv_timeout(PATIENCE).expect("a command that takes too long is waited for");
            let said = "millstream: stage \"pipe\", number 1: sh took longer than 2s, and was stopped \
                        (--keep-going continues after it)\n";
            assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("1\nbegun\n", said, Some(3)), "{way}");
        }
    }
    let script = "read x; test $x != 2 || exec sleep 1000; echo $x";
    let seen = shell(&Scene::new(), "pipe --block 2 --timeout 1.5 --keep-going", script, "1\n2\n3\n");
    let said =
        "millstream pipe: 1 of 3 blocks failed, the first is number 1: sh took longer than 1.5s, and was stopped\n";
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("1\n3\n", said, Some(1)));
}

/// The output is that of the last try.
#[test]
fn a_block_that_failed_is_tried_again() {
    for way in WAYS {
        for (retries, code) in [(0, 3), (1, 3), (2, 0), (9, 0)] {
            let scene = Scene::new();
            let script = "read x; echo $x >> tries; n=$(grep -c $x tries); echo $x.$n; test $x != 2 -o $n = 3";
            let seen = shell(&scene, &format!("pipe {way} --block 2 --retries {retries}"), script, "1\n2\n3\n");
            let last = if code == 0 { "3.1\n".to_owned() } else { String::new() };
            let expected = format!("1.1\n2.{}\n{last}", (retries + 1).min(3));
            assert_eq!((seen.text(), seen.code), (expected, Some(code)), "{way}, {retries}: {}", seen.stderr);
        }
    }
    // A command that cannot be started is not tried again.
    let seen = Scene::new().millstream("pipe --retries 99 nosuch", Input::Pipe(b"1\n", 2));
    assert!(seen.stderr.contains("cannot be started"), "{}", seen.stderr);
}

#[test]
fn every_process_is_in_the_log() {
    let scene = Scene::new().file("else", "something else\n").file("log", "");
    let script =
        "read h; read x; case $x in 2) test -e tried || { : > tried; exit 5; };; 3) kill -9 $$;; esac; echo ab";
    let args = "pipe -j 1 --header 1 --block 2 --retries 1 --keep-going --joblog log";
    let seen = shell(&scene, args, script, "h\n1\n2\n3\n");
    assert_eq!((seen.text().as_str(), seen.code), ("ab\nab\n", Some(1)), "{}", seen.stderr);
    let log = std::fs::read_to_string(scene.path("log")).expect("a log");
    let mut rows = log.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = "Seq Host Starttime JobRuntime Send Receive Exitval Signal Command";
    assert_eq!(rows.next().expect("a head").join(" "), head);
    let rows: Vec<Vec<&str>> = rows.collect();
    let seen: Vec<String> = rows.iter().map(|row| [&row[..2], &row[4..8]].concat().join(" ")).collect();
    assert_eq!(seen, ["0 : 4 3 0 0", "1 : 4 0 5 0", "1 : 4 3 0 0", "2 : 4 0 0 9", "2 : 4 0 0 9"]);
    for row in rows {
        assert!(row[2].parse::<f64>().is_ok_and(|at| at > 1e9) && row[3].trim().parse::<f64>().is_ok(), "{row:?}");
        assert!(row[8].starts_with("sh -c 'read h; read x; case"), "{row:?}");
    }
    // The log of another run is overwritten; other files are not.
    assert_eq!(scene.millstream("pipe --joblog log cat", Input::Nothing).code, Some(0));
    assert_eq!(std::fs::read_to_string(scene.path("log")).expect("a log").lines().count(), 1);
    let seen = scene.millstream("pipe --joblog else cat", Input::Nothing);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("--joblog would overwrite else"), "{}", seen.stderr);
    let seen = scene.millstream("pipe --joblog no/such cat", Input::Nothing);
    let said = "millstream pipe: no/such: No such file or directory\n";
    assert_eq!((seen.stderr.as_str(), seen.code), (said, Some(1)));
}
