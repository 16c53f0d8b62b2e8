//! `verify`: every edge that is the same everywhere, or the stage and the number of the first difference.

#[cfg(feature = "run")]
use crate::scene::ended;
use crate::scene::{Input, Scene, prose};
#[cfg(feature = "run")]
use std::process::Stdio;

/// The edges, their hashes and counts.
fn lines(text: &str) -> Vec<(&str, &str, u64)> {
    let line = |line: &'_ str| -> Option<(usize, usize)> { Some((line.find(' ')?, line.rfind(' ')?)) };
    text.lines()
        .map(|text| {
            let (first, last) = line(text).expect("EDGE HASH COUNT");
            (&text[..first], &text[first + 1..last], text[last + 1..].parse().expect("a count"))
        })
        .collect()
}

#[test]
fn every_program_is_the_same_everywhere() {
    let scene = Scene::new().file("text", prose(300_000));
    let edges = [
        ("wc text", &["parts", "lines", "words", "bytes", "counts"][..]),
        ("uppercase text", &["uppercase"]),
        ("spaces text", &["lines_with_ends-1", "spaces"]),
        ("sleep", &["first", "left", "right", "last"]),
        ("panic", &["first", "second", "third"]),
        ("idle", &["idle"]),
        ("copying", &["mix", "sum"]),
    ];
    for (program, expected) in edges {
        let seen = scene.millstream(&format!("verify {program}"), Input::Nothing);
        let said = "millstream verify: the same on 42 deployments\n";
        assert_eq!((seen.stderr.as_str(), seen.code), (said, Some(0)), "{program}");
        let text = seen.text();
        let seen = lines(&text);
        assert_eq!(seen.iter().map(|line| line.0).collect::<Vec<_>>(), expected, "{program}");
        assert!(seen.iter().all(|(_, hash, count)| hash.len() == 16 && *count > 0), "{program}: {text}");
    }
}

/// The hash of the last edge is the `--hash` of a run.
#[test]
fn the_last_hash_is_that_of_a_run() {
    let scene = Scene::new().file("text", prose(300_000));
    for program in ["wc text", "uppercase text", "spaces text"] {
        let text = scene.millstream(&format!("verify {program}"), Input::Nothing).text();
        let (_, hash, count) = *lines(&text).last().unwrap();
        let run = scene.millstream(&format!("{program} --hash"), Input::Nothing);
        assert_eq!(run.stderr, format!("hash {hash} count {count}\n"), "{program}");
    }
    let piped = scene.millstream("verify uppercase", Input::File("text")).text();
    assert_eq!(piped, scene.millstream("verify uppercase text", Input::Nothing).text());
}

#[test]
fn a_hidden_clock_is_found_with_its_stage_and_number() {
    let seen = Scene::new().millstream("verify hidden-clock", Input::Nothing);
    assert_eq!(seen.code, Some(4));
    let text = seen.text();
    assert_eq!(lines(&text).iter().map(|line| line.0).collect::<Vec<_>>(), ["square"]);
    assert_eq!(
        seen.stderr,
        "millstream: stage \"stamp\", number 0: --deploy model and --deploy inline --ring 1 --batch 1 differ\n"
    );
}

#[test]
fn quiet_leaves_out_the_number_of_deployments() {
    let seen = Scene::new().millstream("verify --quiet sleep", Input::Nothing);
    assert_eq!((seen.stderr.as_str(), seen.code, seen.text().lines().count()), ("", Some(0), 4));
}

#[test]
fn an_input_that_fails_is_reported() {
    let seen = Scene::new().millstream("verify wc nosuch", Input::Nothing);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("nosuch") && !seen.stderr.contains("the same on"), "{}", seen.stderr);
    let seen = Scene::new().millstream("verify sleep nosuch", Input::Nothing);
    assert_eq!(seen.code, Some(2));
}

/// A run waits for more, but every run of `verify` has the same input.
#[cfg(feature = "run")]
#[test]
fn a_followed_file_is_read_to_its_present_end() {
    let scene = Scene::new().file("log", "a\n1\n2\n");
    let scene = scene.file("follows.mill", "csv(\"log\", follow: true, schema: {a: int}) | sum(.a)");
    let mut command = scene.command("millstream", "verify follows.mill");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(ended(&mut child).code(), Some(0));
    let verified = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    let whole = scene.file("reads.mill", "csv(\"log\", schema: {a: int}) | sum(.a)");
    assert_eq!(verified, whole.millstream("verify reads.mill", Input::Nothing).text());
    assert!(verified.starts_with("output "), "{verified}");
}

/// `verify` also refuses an input that the program refuses.
#[test]
fn the_longest_line_is_the_program_s() {
    let scene = Scene::new().file("text", "a\na line that is long\n");
    let run = scene.millstream("spaces --max-line 9 text", Input::Nothing);
    let seen = scene.millstream("verify spaces --max-line 9 text", Input::Nothing);
    assert_eq!((seen.code, run.code), (Some(1), Some(1)), "{}", seen.stderr);
    assert_eq!(seen.stderr.split_once(": ").unwrap().1, run.stderr.split_once(": ").unwrap().1);
}
