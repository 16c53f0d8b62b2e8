//! Sinks of `run` that fail while its source has no end.

use crate::run_posted::{Run, post, text_of};
use crate::scene::{Input, PATIENCE, Scene, ended};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A run of this text. Every write to `/dev/full` fails, as on a full disk.
fn listens(text: &str, deploy: &str) -> (Scene, Run) {
    let scene = Scene::new().file("p.mill", text);
    let mut command = scene.command("millstream", &format!("run {deploy} p.mill"));
    command.stdin(Stdio::null());
    let run = Run::of(&scene, command);
    (scene, run)
}

const FULL: &str = "/dev/full: No space left on device";

#[test]
fn a_run_that_listens_takes_no_rows_behind_a_sink_that_failed_and_ends() {
    for deploy in ["rings", "queues", "inline"] {
        let text = "jsonl(listen: \"127.0.0.1:0\") | jsonl(\"/dev/full\")";
        let (_scene, mut run) = listens(text, &format!("--deploy {deploy}"));
        assert_eq!(post(run.port, "{\"n\":1}\n{\"n\":2}\n"), Some(202), "{deploy}");
        run.says(FULL);
        let later = post(run.port, "{\"n\":3}\n");
        assert!(later.is_none_or(|status| status == 503), "{deploy}: {later:?}");
        assert_eq!(ended(&mut run.child).code(), Some(1), "{deploy}");
        // What was taken before is not in the output, which is not hidden.
        run.says("/dev/full: up to 2 lines are not in it");
    }
}

#[test]
fn rows_that_were_taken_before_a_sink_failed_are_in_the_other_sinks() {
    for one in ["jsonl(\"good\")", "jsonl"] {
        let text =
            format!("let a = jsonl(listen: \"127.0.0.1:0\"); a | {one}; a | where(.n > 5) | jsonl(\"/dev/full\")");
        let (scene, mut run) = listens(&text, "");
        let (mut taken, begun) = (String::new(), Instant::now());
        for n in 0.. {
            assert!(begun.elapsed() < PATIENCE, "{one}: all rows are taken");
            let row = format!("{{\"n\":{n}}}\n");
            match post(run.port, &row) {
                Some(202) => taken += &row,
                refused => {
                    assert!(refused.is_none_or(|status| status == 503), "{refused:?}");
                    break;
                }
            }
        }
        assert_eq!(ended(&mut run.child).code(), Some(1), "{one}");
        run.says("/dev/full: up to ");
        assert_eq!(text_of(&scene, if one == "jsonl" { "out" } else { "good" }), taken, "{one}");
    }
}

#[test]
fn a_run_that_listens_ends_if_dead_letters_cannot_be_written() {
    let (_scene, mut run) = listens("jsonl(listen: \"127.0.0.1:0\", dead: \"/dev/full\") | jsonl(\"good\")", "");
    assert_eq!(post(run.port, "x\n"), Some(202));
    assert_eq!(ended(&mut run.child).code(), Some(1));
    run.says("/dev/full: up to 1 line is not in it");
}

#[test]
fn a_run_that_follows_a_file_ends_when_its_sink_has_failed() {
    for deploy in ["rings", "queues", "inline"] {
        let scene = Scene::new().file("p.mill", "jsonl(\"log\", follow: true) | jsonl(\"/dev/full\")");
        let scene = scene.file("log", "{\"n\":1}\n");
        let mut command = scene.command("millstream", &format!("run --deploy {deploy} p.mill"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let code = ended(&mut child).code();
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert!(said.contains(FULL) && said.contains("/dev/full: up to 1 line is not in it"), "{deploy}: {said}");
        assert_eq!(code, Some(1), "{deploy}: {said}");
    }
}

/// The signal ends the source, and the model finds the failure after that.
#[test]
fn a_failed_sink_is_in_the_exit_code_after_a_signal() {
    for (deploy, source) in [("model", "\"log\", follow: true"), ("rings", "\"pipe\"")] {
        let text = format!("let a = jsonl({source}); a | jsonl(\"/dev/full\"); a | jsonl(\"good\")");
        let scene = Scene::new().file("p.mill", text).file("log", "{\"n\":1}\n");
        assert_eq!(scene.run(scene.command("mkfifo", "pipe"), Input::Nothing).code, Some(0));
        let mut command = scene.command("millstream", &format!("run --deploy {deploy} p.mill"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let pipe = (deploy == "rings").then(|| {
            let mut pipe = OpenOptions::new().write(true).open(scene.path("pipe")).expect("a reader");
            pipe.write_all(b"{\"n\":1}\n").expect("it is read");
            let begun = Instant::now();
            while fs::read_to_string(scene.path("good")).unwrap_or_default().is_empty() {
                assert!(begun.elapsed() < PATIENCE, "nothing comes");
                sleep(Duration::from_millis(5));
            }
            pipe
        });
        // It has begun to listen to signals when its sinks are open.
        let begun = Instant::now();
        while !scene.path("good").exists() {
            assert!(begun.elapsed() < PATIENCE, "it does not begin");
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(300));
        let kill = scene.command("kill", &format!("-TERM {}", child.id()));
        assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
        let code = ended(&mut child).code();
        drop(pipe);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert!(said.contains(FULL), "{deploy}: {said}");
        assert_eq!((code, text_of(&scene, "good").as_str()), (Some(1), "{\"n\":1}\n"), "{deploy}: {said}");
    }
}

#[test]
fn a_run_that_reads_a_pipe_ends_when_no_sink_is_left() {
    let text = "let a = jsonl(\"pipe\"); a | jsonl(\"/dev/full\"); a | where(.n > 1) | csv(\"/dev/full\")";
    for deploy in ["rings", "queues", "inline"] {
        let scene = Scene::new().file("p.mill", text.replacen("/dev/full", "full", 1));
        std::os::unix::fs::symlink("/dev/full", scene.path("full")).expect("a link");
        assert_eq!(scene.run(scene.command("mkfifo", "pipe"), Input::Nothing).code, Some(0));
        let mut command = scene.command("millstream", &format!("run --deploy {deploy} p.mill"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut pipe = OpenOptions::new().write(true).open(scene.path("pipe")).expect("a reader");
        pipe.write_all(b"{\"n\":1}\n").expect("it is read");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        said.read_line(&mut first).expect("text");
        assert!(first.contains(": No space left on device"), "{deploy}: {first}");
        // One sink is left.
        sleep(Duration::from_millis(200));
        assert!(child.try_wait().expect("it can be waited for").is_none(), "{deploy}");
        pipe.write_all(b"{\"n\":2}\n").expect("it is read");
        assert_eq!(ended(&mut child).code(), Some(1), "{deploy}");
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("text");
        assert!(rest.contains("full: up to 2 lines are not in it"), "{deploy}: {rest}");
    }
}
