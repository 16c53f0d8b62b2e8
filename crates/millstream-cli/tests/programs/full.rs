//! A gigabyte through each program; only in the full test run, which sets MILLSTREAM_FULL.

use crate::scene::{Input, Scene, gnu_is_here, prose};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

const GIGABYTE: usize = 1_000_000_000;

#[test]
fn a_gigabyte_is_as_from_gnu() {
    if std::env::var("MILLSTREAM_FULL").as_deref() != Ok("1") || !gnu_is_here("a_gigabyte_is_as_from_gnu") {
        return;
    }
    let scene = Scene::new();
    let (piece, mut file) = (prose(10_000_000), File::create(scene.path("text")).unwrap());
    for _ in 0..GIGABYTE / piece.len() + 1 {
        file.write_all(&piece).unwrap();
    }
    drop(file);
    let theirs = scene.run(scene.command("wc", "text"), Input::Nothing);
    assert_eq!(scene.millstream("wc text", Input::Nothing), theirs);
    same_stream(&scene, "uppercase --shards 2", "tr", "a-z A-Z");
    same_stream(&scene, "pipe -j 2 -- cat", "cat", "");
    same_stream(&scene, "pipe -j 3 --block 10M -- tr a-z A-Z", "tr", "a-z A-Z");
}

/// The same bytes as those of another program, compared while both run, so that no gigabyte is held in memory.
fn same_stream(scene: &Scene, args: &str, program: &str, theirs: &str) {
    let text = || File::open(scene.path("text")).unwrap();
    let mut theirs = scene.command(program, theirs).stdin(text()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ours = scene.command("millstream", args).stdin(text()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut their_bytes, mut our_bytes) = (theirs.stdout.take().unwrap(), ours.stdout.take().unwrap());
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    loop {
        expected.clear();
        got.clear();
        their_bytes.by_ref().take(1 << 20).read_to_end(&mut expected).unwrap();
        our_bytes.by_ref().take(1 << 20).read_to_end(&mut got).unwrap();
        assert!(expected == got, "{args}: other bytes than {program}'s");
        if expected.is_empty() {
            break;
        }
    }
    assert!(theirs.wait().unwrap().success());
    assert!(ours.wait().unwrap().success());
}
