//! The line that shows the progress of reading, seen through a pseudo-terminal that `script` makes.

use crate::scene::{Input, Scene, prose};
use millstream_testkit::programs::skipped;
use std::process::Command;

/// The output of `program` on a terminal. `program` is a script in which `millstream` is the built one.
fn on_a_terminal(scene: &Scene, program: &str) -> String {
    // Wide enough for the whole line.
    on_columns(scene, 100, program)
}

/// The same with another number of columns.
fn on_columns(scene: &Scene, columns: usize, program: &str) -> String {
    let mut command = scene.command("script", "-q -e -c");
    let millstream = env!("CARGO_BIN_EXE_millstream");
    command
        .arg(format!("stty cols {columns} rows 24; millstream() {{ '{millstream}' \"$@\"; }}; {program}"))
        .arg("/dev/null");
    command.env("SHELL", "/bin/sh");
    let seen = scene.run(command, Input::Nothing);
    assert_eq!(seen.code, Some(0), "{program}: {}", seen.text());
    seen.text()
}

fn can_run(name: &str) -> bool {
    let can = Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success());
    if !can {
        skipped(name, "there is no `script` of util-linux");
    }
    can
}

/// Slow enough for a line: the command takes 0.1 s for each of thirty blocks.
const SLOW: &str = "pipe -j 1 --ring 1 --block 10000 -- sh -c 'sleep 0.1; cat'";

#[test]
fn a_long_run_says_how_far_it_is() {
    if !can_run("a_long_run_says_how_far_it_is") {
        return;
    }
    let scene = Scene::new().file("text", prose(300_000));
    // The length of a file is known.
    let text = on_a_terminal(&scene, &format!("millstream {SLOW} < text > out"));
    for word in ["millstream pipe [", "=>", " kB of 300", "kB/s, ", "s left"] {
        assert!(text.contains(word), "{word}: {text:?}");
    }
    assert!(text.ends_with("\r\u{1b}[2K"), "the line is removed: {text:?}");
    assert!(std::fs::read(scene.path("out")).unwrap() == prose(300_000));
    // The length of a pipe is not.
    let text = on_a_terminal(&scene, "(cat text; sleep 1.1; cat text; sleep 0.5) | millstream wc");
    assert!(text.contains("millstream wc ") && text.contains("kB/s, 1s") && !text.contains("left"), "{text:?}");
    // The result replaces the line.
    assert!(text.contains("\r\u{1b}[2K  "), "{text:?}");
}

/// The input of a run that goes on later is not known from the sizes of files.
#[test]
fn a_run_with_a_state_says_how_much_it_has_read() {
    if !can_run("a_run_with_a_state_says_how_much_it_has_read") {
        return;
    }
    let scene = Scene::new().file("text", prose(300_000));
    let text =
        on_a_terminal(&scene, "(cat text; sleep 1.1; cat text; sleep 0.5) | millstream uppercase --state s >> out");
    assert!(text.contains("millstream uppercase ") && text.contains(" kB, "), "{text:?}");
    assert!(!text.contains(" of ") && !text.contains("left"), "{text:?}");
    assert_eq!(std::fs::metadata(scene.path("out")).unwrap().len(), 2 * prose(300_000).len() as u64);
}

/// A followed file grows, so that its length at the beginning is not what is read.
#[cfg(feature = "run")]
#[test]
fn a_followed_file_has_no_length() {
    if !can_run("a_followed_file_has_no_length") {
        return;
    }
    let scene = Scene::new().file("p.mill", "lines(\"log\", follow: true) | lines").file("log", prose(300_000));
    // Not the function, so that the signal gets to the process.
    let millstream = env!("CARGO_BIN_EXE_millstream");
    let grows = "for n in 1 2 3 4 5 6; do sleep 0.4; echo more >> log; done; kill -TERM $!; wait $! || true";
    let text = on_a_terminal(&scene, &format!("'{millstream}' run p.mill > out & {grows}"));
    assert!(text.contains("millstream run ") && text.contains(" kB, "), "{text:?}");
    assert!(!text.contains(" of 3") && !text.contains("left"), "{text:?}");
}

/// If the line does not fit, nothing of it remains.
#[test]
fn a_narrow_terminal_gets_a_short_line() {
    if !can_run("a_narrow_terminal_gets_a_short_line") {
        return;
    }
    let scene = Scene::new().file("text", prose(300_000));
    let text = on_columns(&scene, 24, &format!("millstream {SLOW} < text > out"));
    assert!(text.contains("%, "), "{text:?}");
    let lines = text.split("\u{1b}[2K").flat_map(|line| line.split('\r'));
    assert!(lines.clone().all(|line| line.chars().count() <= 24), "{text:?}");
    assert!(!text.contains('\n') && !text.contains("\u{1b}[1A"), "{text:?}");
}

#[test]
fn verify_says_how_far_it_is() {
    if !can_run("verify_says_how_far_it_is") {
        return;
    }
    // Several seconds: the ways with rings of one slot take microseconds a line.
    let scene = Scene::new().file("text", prose(400_000));
    let text = on_a_terminal(&scene, "millstream verify spaces text");
    for word in ["millstream verify [", " of ", " runs, "] {
        assert!(text.contains(word), "{word}: {text:?}");
    }
    let quiet = on_a_terminal(&scene, "millstream verify --quiet spaces text");
    assert!(!quiet.contains("runs"), "{quiet:?}");
}

#[test]
fn messages_have_lines_of_their_own() {
    if !can_run("messages_have_lines_of_their_own") {
        return;
    }
    let scene = Scene::new().file("text", prose(300_000));
    // No pipe holds the first text, so the program has begun before the first sleep; the second is for the line.
    let text = on_a_terminal(
        &scene,
        "(cat text; sleep 1.1; cat text; sleep 0.5) | millstream uppercase - nosuch > out || true",
    );
    assert!(text.contains("kB/s"), "{text:?}");
    let message = "\r\u{1b}[2Kmillstream uppercase: nosuch: No such file or directory\r\n";
    assert!(text.contains(message), "{text:?}");
}

/// After a failed round the shell's prompt has a line of its own.
#[test]
fn a_failed_round_leaves_no_line() {
    if !can_run("a_failed_round_leaves_no_line") {
        return;
    }
    let scene = Scene::new();
    let evolve = "evolve --model epidemic --states 100 --rounds 9999 --work 10000 --workers 1 --resume kept";
    // From then on no checkpoint can be written.
    let fails = "(sleep 2; seq -f kept/round-%09.0f.unfinished 1 9999 | xargs mkdir 2> /dev/null) &";
    let text = on_a_terminal(&scene, &format!("{fails} millstream {evolve} > out || true; wait"));
    assert!(text.contains(" of 999900 particles, "), "{text:?}");
    assert!(text.contains("millstream evolve: cannot write the checkpoint kept/round-"), "{text:?}");
    assert!(text.ends_with("\r\n"), "{text:?}");
}

#[test]
fn there_is_no_line_without_a_use() {
    if !can_run("there_is_no_line_without_a_use") {
        return;
    }
    let scene = Scene::new().file("text", prose(300_000));
    let quiet = SLOW.replace("pipe", "pipe --quiet");
    // `--quiet`; no terminal; a short run.
    for program in [
        format!("millstream {quiet} < text > out"),
        format!("millstream {SLOW} < text > out 2> messages"),
        "millstream wc text > out".to_owned(),
    ] {
        assert_eq!(on_a_terminal(&scene, &program), "", "{program}");
    }
    assert_eq!(std::fs::read_to_string(scene.path("messages")).unwrap(), "");
    let text = on_a_terminal(&scene, "(sleep 1.1; echo to be) | millstream uppercase");
    assert_eq!(text, "TO BE\r\n");
}
