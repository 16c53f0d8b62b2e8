//! `spaces`: a header before every line, compared with a loop over its bytes.

mod byte_loop;
mod golden;

use crate::scene::{Input, PATIENCE, Scene, ended, resident_peak};
pub(crate) use byte_loop::headed;
use millstream_testkit::programs::{is_here, skipped};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Ways to run; none of these changes a byte.
const WAYS: [&str; 7] = [
    "",
    "--workers 1",
    "--workers 2 --shards 3",
    "--ring 1 --workers 2",
    "--ring 4 --batch 1",
    "--deploy inline",
    "--deploy queues",
];

#[track_caller]
fn check(scene: &Scene, args: &str, input: Input<'_>, expected: &[u8], what: &str) {
    let seen = scene.millstream(&format!("spaces {args}"), input);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "spaces {args}: {what}");
    assert!(seen.stdout == expected, "spaces {args}: {what}: other bytes");
}

#[test]
fn written_outputs_are_given() {
    for (text, expected) in golden::WRITTEN {
        assert_eq!(headed(text), expected);
        let scene = Scene::new().file("text", text);
        for way in WAYS {
            check(&scene, way, Input::File("text"), expected, "written");
        }
    }
}

#[test]
fn odd_texts_get_the_headers_of_a_byte_loop() {
    for (name, text) in golden::texts() {
        let (scene, expected) = (Scene::new().file("text", &text), headed(&text));
        for way in WAYS {
            check(&scene, &format!("{way} text"), Input::Nothing, &expected, name);
        }
        check(&scene, "--deploy model", Input::File("text"), &expected, name);
        check(&scene, "", Input::Pipe(&text, 1 << 16), &expected, name);
    }
}

#[test]
fn no_cut_of_a_pipe_changes_the_output() {
    let text = b"to be\r\n or not\n\n to be \nlast";
    for cut in 1..8 {
        check(&Scene::new(), "-", Input::Pipe(text, cut), &headed(text), "cut");
    }
}

/// A file's last line ends with the file, as for `sed` and `grep`.
#[test]
fn files_follow_each_other() {
    let scene = Scene::new().file("one", "a b").file("two", " c\nd").file("empty", "");
    let expected = b"[spaces: 1]a b\n[spaces: 1] c\n[spaces: 0]d\n[spaces: 1] piped\n[spaces: 1]a b\n";
    check(&scene, "one two empty - one", Input::Pipe(b" piped\n", 3), expected, "files");
}

#[test]
fn an_endless_input_ends_with_its_reader() {
    if !is_here("yes", "an_endless_input_ends_with_its_reader") {
        return;
    }
    let scene = Scene::new();
    let mut yes = Command::new("yes").arg("to be").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = scene.command("millstream", "spaces");
    command.stdin(yes.stdout.take().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command); // it holds the pipe open, and `yes` ends only when the pipe is closed
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "[spaces: 1]to be\n");
    drop(output);
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(std::io::read_to_string(child.stderr.take().unwrap()).unwrap(), "");
    ended(&mut yes);
}

#[test]
fn a_line_comes_out_before_the_next_goes_in() {
    for way in ["", "--shards 2", "--deploy inline", "--deploy queues", "--ring 1", "--batch 64"] {
        let mut command = Scene::new().command("millstream", &format!("spaces {way}"));
        let mut child = command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| send.send(line.unwrap())));
        for line in ["first", "the second", "the  third"] {
            stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
            let expected = headed(line.as_bytes());
            let got = lines.recv_timeout(PATIENCE).map(|line| format!("{line}\n").into_bytes());
            assert_eq!(got, Ok(expected), "{way}");
        }
        drop(stdin);
        assert_eq!(ended(&mut child).code(), Some(0), "{way}");
    }
}

#[test]
fn a_full_disk_is_a_failed_output() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return skipped("a_full_disk_is_a_failed_output", "there is no /dev/full");
    };
    let scene = Scene::new().file("text", "to be\n".repeat(100_000));
    for way in WAYS {
        let mut command = scene.command("millstream", &format!("spaces {way} text"));
        let command = command.stdin(Stdio::null()).stdout(full.try_clone().unwrap()).stderr(Stdio::piped());
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message, "millstream spaces: write error: No space left on device\n", "{way}");
        assert_eq!(output.status.code(), Some(1), "{way}");
    }
}

#[test]
fn unreadable_files_are_reported_and_left_out() {
    let scene = Scene::new().file("one", "one\n").file("two", "t w o\n");
    let seen = scene.millstream("spaces one nosuch two", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("[spaces: 0]one\n[spaces: 2]t w o\n", Some(1)));
    assert_eq!(seen.stderr, "millstream spaces: nosuch: No such file or directory\n");
}

/// If the output is not read, the input soon is not read either, and waiting blocks take no more memory.
#[test]
fn an_output_that_is_not_read_holds_everything_up() {
    // A queue holds a block in every slot.
    for way in ["", "--workers 2", "--deploy inline", "--deploy queues --ring 16"] {
        let mut command = Scene::new().command("millstream", &format!("spaces {way}"));
        let mut child = command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        let text = b"to be or not to be\n".repeat(1000);
        let feeding = thread::spawn(move || {
            while stdin.write_all(&text).is_ok() {
                count.fetch_add(text.len(), Ordering::Relaxed);
            }
        });
        let mut before = 0;
        // The program has come to rest when no more input was taken for a while.
        loop {
            thread::sleep(Duration::from_millis(200));
            let now = taken.load(Ordering::Relaxed);
            assert!(now < 64_000_000, "{way}: {now} bytes of input were taken, and no output was read");
            if now > 0 && now == before {
                break;
            }
            before = now;
        }
        let peak = resident_peak(child.id());
        drop(stdout);
        assert_eq!(ended(&mut child).code(), Some(0), "{way}");
        assert!(peak.is_none_or(|peak| peak < 64_000_000), "{way}: {peak:?} bytes");
        feeding.join().unwrap();
    }
}
