//! `run --state` with files that are followed.

use crate::run_state::start;
use crate::scene::{PATIENCE, Scene, ended};
use std::fs;
use std::io::Read;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_file_that_is_rotated_before_the_second_snapshot_is_read_from_its_beginning() {
    let scene = Scene::new().file("log", "a,b\n1,x\n2,y\n");
    let text = "csv(\"log\", follow: true) | map(.a)";
    for expected in ["1\n2\n", "1\n2\n3\n"] {
        let mut child = start(&scene, &["--quiet", "-e", text, "--state", "state", "--snapshot-every", "1000000"]);
        let since = Instant::now();
        while fs::read_to_string(scene.path("out")).unwrap_or_default() != expected {
            assert!(since.elapsed() < PATIENCE, "{:?}", fs::read_to_string(scene.path("out")));
            sleep(Duration::from_millis(2));
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let _ = fs::rename(scene.path("log"), scene.path("log.1"));
        fs::write(scene.path("log"), "3,z\n").expect("a new log");
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let scene = Scene::new();
    let made = Command::new("mkfifo").arg(scene.path("pipe")).status();
    assert!(made.expect("mkfifo").success());
    for (text, why) in [
        ("csv(\"pipe\", follow: true) | map(.a)", "only a regular file can be followed"),
        ("csv(\"pipe\") | map(.a)", "it is not a regular file"),
    ] {
        let state = text.len().to_string();
        let mut child = start(&scene, &["--quiet", "-e", text, "--state", &state]);
        let status = ended(&mut child);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("a text");
        assert!(said.contains(why) && status.code() == Some(1), "{status}: {said}");
    }
}
