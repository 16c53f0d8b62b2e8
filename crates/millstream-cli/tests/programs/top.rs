//! `millstream top`, beside a program with a page.

use crate::scene::{Input, PATIENCE, Scene, ended};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_run_of_another_process_is_shown() {
    let scene = Scene::new();
    let mut command = scene.command("millstream", "wc --page 127.0.0.1:0");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"to be\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("millstream: the run is shown at http://").unwrap().trim_end_matches('/');

    let begun = Instant::now();
    let shown = loop {
        let seen = scene.millstream(&format!("top {address}"), Input::Nothing);
        assert_eq!((seen.code, &*seen.stderr), (Some(0), ""));
        // The first frame takes a quarter of a second.
        if seen.text().contains("  running") {
            break seen.text();
        }
        assert!(begun.elapsed() < PATIENCE, "{}", seen.text());
        sleep(Duration::from_millis(50));
    };
    for part in [address, "│source", "│counts", "│sink", "▕······▏", "numbers/s", "words"] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    drop(stdin);
    assert_eq!(ended(&mut child).code(), Some(0));

    let gone = scene.millstream(&format!("top {address} --once"), Input::Nothing);
    assert_eq!(gone.code, Some(1));
    assert!(gone.stderr.starts_with(&format!("millstream top: {address}: ")), "{}", gone.stderr);
    assert!(gone.stderr.contains("--page"), "{}", gone.stderr);
}
