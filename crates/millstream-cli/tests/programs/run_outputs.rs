//! The files that `run` writes beside standard output, and the text that is standard input.

use crate::run_changed::text_of;
use crate::scene::{Input, Scene, Seen};
use millstream_testkit::programs::skipped;
use std::fs::File;
use std::io::Write;
use std::process::Stdio;

/// `run` with these arguments and this standard output.
fn into(scene: &Scene, args: &[&str], output: File) -> Seen {
    let mut command = scene.command("millstream", "run --quiet");
    command.args(args).stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
    Seen::of(command.output().expect("it ends"))
}

#[test]
fn a_file_is_complete_though_standard_output_has_no_room() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return skipped("a_file_is_complete_though_standard_output_has_no_room", "no /dev/full");
    };
    let rows: String = (0..50_000).map(|n| format!("{n}\n")).collect();
    let scene = Scene::new().file("rows", &rows);
    let seen = into(&scene, &["-e", "let r = lines(\"rows\"); r | lines(\"F\"); r"], full);
    let said = "millstream run: write error: No space left on device\n";
    assert_eq!((seen.stderr.as_str(), seen.code), (said, Some(1)));
    assert!(text_of(&scene, "F") == rows, "F is not complete");
}

#[test]
fn a_sink_that_is_the_file_of_standard_output_is_refused() {
    let scene = Scene::new().file("rows", "{\"a\":1}\n").file("out", "before\n");
    let output = || File::options().append(true).open(scene.path("out")).expect("a file");
    for text in [
        "let r = jsonl(\"rows\"); r | jsonl(\"out\"); r | map(.a)",
        "let r = jsonl(\"rows\"); r | jsonl(\"/dev/stdout\"); r | map(.a) | jsonl(\"-\")",
        "jsonl(\"rows\", dead: \"./out\")",
    ] {
        let seen = into(&scene, &["-e", text], output());
        assert!(seen.stderr.contains(" is also the file of standard output"), "{text}: {}", seen.stderr);
        assert_eq!((text_of(&scene, "out").as_str(), seen.code), ("before\n", Some(2)), "{text}");
    }
    // This one prints nothing.
    let seen = into(&scene, &["-e", "jsonl(\"rows\") | jsonl(\"out\")"], output());
    assert_eq!((text_of(&scene, "out").as_str(), seen.code), ("{\"a\":1}\n", Some(0)), "{}", seen.stderr);
}

/// The report would replace the rows.
#[test]
fn a_report_is_no_file_that_the_run_writes_or_reads() {
    let scene = Scene::new().file("rows", "{\"a\":1}\n").file("empty", "").file("out", "");
    let output = || File::options().append(true).open(scene.path("out")).expect("a file");
    let cases = [
        ("jsonl(\"rows\") | jsonl(\"new\")", "--stats ./new", "--stats: ./new is the file of a sink: "),
        ("jsonl(\"rows\") | jsonl(\"new\")", "--record-picture new", "--record-picture: new is the file of a sink: "),
        ("jsonl(\"rows\", dead: \"new\")", "--stats new", "--stats: new is the file of dead letters: "),
        ("jsonl(\"rows\")", "--stats out", "--stats: out is the file of standard output: "),
        ("jsonl(\"empty\")", "--stats empty", "--stats: empty is read and would be overwritten"),
        ("jsonl(\"rows\")", "--stats new --record-picture new", "--record-picture: new is the file of --stats: "),
    ];
    for (text, flags, why) in cases {
        for state in [&[][..], &["--state", "state"]] {
            let args = [&["-e", text][..], &flags.split(' ').collect::<Vec<_>>(), state].concat();
            let seen = into(&scene, &args, output());
            assert!(seen.stderr.contains(why) && seen.code == Some(2), "{args:?}: {} {:?}", seen.stderr, seen.code);
            assert!(!scene.path("new").exists() && text_of(&scene, "out").is_empty(), "{args:?}");
        }
    }
    let seen = into(&scene, &["-e", "jsonl(\"rows\") | jsonl(\"new\")", "--stats", "report"], output());
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
}

#[test]
fn a_start_whose_last_sink_cannot_be_made_leaves_the_others_as_they_are() {
    let scene = Scene::new().file("rows", "{\"a\":1}\n").file("F", "before\n").file("out", "");
    let run = |text: &str| {
        let out = File::options().append(true).open(scene.path("out")).expect("a file");
        into(&scene, &["-e", text, "--state", "state", "--snapshot-every", "1"], out)
    };
    let one = "let r = jsonl(\"rows\"); r | jsonl(\"F\")";
    let refused = |before: &str| {
        for (name, why) in [("none/G", "No such file"), (".", "Is a directory"), ("/dev/null", "only a regular file")] {
            let seen = run(&format!("{one}; r | jsonl(\"{name}\")"));
            let expected = format!("{name}: {why}");
            assert!(seen.stderr.contains(&expected) && seen.code == Some(1), "{expected}: {}", seen.stderr);
            assert_eq!(text_of(&scene, "F"), before, "{name}");
        }
    };
    refused("before\n");
    assert_eq!(run(one).code, Some(0));
    let mut written = File::options().append(true).open(scene.path("F")).expect("a file");
    // A start that is not refused cuts it.
    written.write_all(b"more\n").expect("it can be written");
    refused("{\"a\":1}\nmore\n");
    assert_eq!(run(one).code, Some(0));
    assert_eq!(text_of(&scene, "F"), "{\"a\":1}\n");
}

#[test]
fn standard_input_is_the_text_or_the_rows() {
    let scene = Scene::new().file("rows", "{\"a\":1}\n");
    let run = |args: &str, text: &str| scene.millstream(args, Input::Pipe(text.as_bytes(), 100));
    for text in ["jsonl | count", "jsonl(\"-\") | count"] {
        let seen = run("run -", text);
        let why = "the text is standard input, which no source can read as well";
        assert!(seen.stderr.contains(why) && seen.code == Some(2), "{text}: {}", seen.stderr);
        assert_eq!(seen.text(), "");
    }
    let seen = run("run - rows", "jsonl | count");
    assert_eq!((seen.text().as_str(), seen.code), ("{\"count\":1}\n", Some(0)), "{}", seen.stderr);
    let seen = run("check - -", "jsonl | count");
    assert!(seen.stderr.contains("`-` can be named once") && seen.code == Some(2), "{}", seen.stderr);
}
