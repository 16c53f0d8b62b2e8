//! A gigabyte through each program; only in the full test run, which sets MILLSTREAM_FULL.

use crate::scene::{Input, Scene, gnu_is_here, prose};
use crate::spaces::headed;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
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

/// A gigabyte of input that no program expects.
#[test]
fn a_gigabyte_of_random_bytes_is_as_from_gnu_and_from_a_byte_loop() {
    const NAME: &str = "a_gigabyte_of_random_bytes_is_as_from_gnu_and_from_a_byte_loop";
    if std::env::var("MILLSTREAM_FULL").as_deref() != Ok("1") || !gnu_is_here(NAME) {
        return;
    }
    let scene = Scene::new();
    let mut random = File::open("/dev/urandom").unwrap().take(GIGABYTE as u64);
    std::io::copy(&mut random, &mut File::create(scene.path("text")).unwrap()).unwrap();
    let theirs = scene.run(scene.command("wc", "text"), Input::Nothing);
    assert_eq!(scene.millstream("wc text", Input::Nothing), theirs);
    same_stream(&scene, "uppercase", "tr", "a-z A-Z");
    same_stream(&scene, "pipe -j 2 -- cat", "cat", "");
    for way in ["--workers 1", "--workers 2 --shards 2"] {
        let mut command = scene.command("millstream", &format!("spaces {way} text"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut got = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        let mut text = BufReader::with_capacity(1 << 20, File::open(scene.path("text")).unwrap());
        let (mut line, mut bytes) = (Vec::new(), Vec::new());
        while text.read_until(b'\n', &mut line).unwrap() > 0 {
            let expected = headed(&line);
            bytes.resize(expected.len(), 0);
            got.read_exact(&mut bytes).unwrap();
            assert!(bytes == expected, "spaces {way}: other bytes than those of the loop");
            line.clear();
        }
        assert_eq!(got.read(&mut [0]).unwrap(), 0, "spaces {way}: more than the loop writes");
        assert!(child.wait().unwrap().success());
    }
}

/// Compares the output with that of another program while both run, so that no gigabyte is held in memory.
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
