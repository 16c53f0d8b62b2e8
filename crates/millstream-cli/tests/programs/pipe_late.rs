//! `pipe --shard line` with commands that hold their output back.

use crate::scene::{Input, PATIENCE, Scene};
use std::thread;

/// A command that holds its output back until its input ends has the same output, but is slow.
#[test]
fn late_answers_are_answers() {
    let script = "read x; read y; echo $x";
    for quiet in ["", "--quiet"] {
        let scene = Scene::new();
        let mut command = scene.command("millstream", &format!("pipe --shard line -j 2 --patience 20 {quiet}"));
        command.args(["--", "sh", "-c", script]);
        let seen = scene.run(command, Input::Pipe(b"1\n2\n3\n", 6));
        assert_eq!((seen.text().as_str(), seen.code), ("1\n2\n3\n", Some(0)), "{}", seen.stderr);
        assert_eq!(seen.stderr.contains("sh answered only when its input ended"), quiet.is_empty(), "{}", seen.stderr);
        assert_eq!(seen.stderr.lines().count(), usize::from(quiet.is_empty()));
    }
}

/// A command that holds its output back delays two lines, and no more.
#[test]
fn late_answers_are_recognized() {
    let text: String = (0..500).map(|n| format!("{n}\n")).collect();
    let (send, seen) = std::sync::mpsc::channel();
    let input = text.clone();
    thread::spawn(move || {
        let args = "pipe --shard line -j 1 --patience 1000 -- tr 0-9 a-j";
        send.send(Scene::new().millstream(args, Input::Pipe(input.as_bytes(), 5000)))
    });
    // A second for each line would take far too long.
    let seen = seen.recv_timeout(PATIENCE).expect("every line waits");
    let expected: String = text.chars().map(|c| c.to_digit(10).map_or(c, |d| (b'a' + d as u8).into())).collect();
    assert_eq!((seen.text(), seen.code), (expected, Some(0)), "{}", seen.stderr);
    assert!(seen.stderr.contains("`mawk -W interactive`") && seen.stderr.lines().count() == 1, "{}", seen.stderr);
}
