//! `millstream jq`: its flags, its messages and its exit codes.

use crate::scene::{Input, Scene, Seen};

fn jq(scene: &Scene, args: &[&str], input: &str) -> Seen {
    let mut command = scene.command("millstream", "jq");
    command.args(args);
    scene.run(command, Input::Pipe(input.as_bytes(), usize::MAX))
}

#[track_caller]
fn check(args: &[&str], input: &str, expected: &str) {
    let seen = jq(&Scene::new(), args, input);
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), (expected, "", Some(0)), "{args:?}");
}

#[track_caller]
fn refused(args: &[&str], input: &str, out: &str, message: &str, code: i32) {
    let seen = jq(&Scene::new(), args, input);
    assert!(seen.stderr.contains(message), "{args:?}: {}", seen.stderr);
    assert_eq!((seen.text().as_str(), seen.code), (out, Some(code)), "{args:?}");
}

#[test]
fn values_are_read_wherever_they_are_cut() {
    check(&["-c", "."], "{\"a\":\n[1,\n2]}[3] 4 \"]\" # }\n5", "{\"a\":[1,2]}\n[3]\n4\n\"]\"\n5\n");
    check(&["."], "[0, {\"b\": []}]", "[\n  0,\n  {\n    \"b\": []\n  }\n]\n");
    check(&["."], "  \n", "");
    // A byte order mark is not a part of a value, but it is a part of a line.
    check(&["-c", "."], "\u{feff}{\"a\":1} 2", "{\"a\":1}\n2\n");
    check(&["-c", "-s", "."], "\u{feff}\n1 2", "[1,2]\n");
    check(&["-R", "length"], "\u{feff}a\n", "2\n");
    let scene = Scene::new();
    let text = "{\"a\": \"}\\\"\", \"b\": [1, 2]}\n[\"{\"] true ".repeat(50);
    let whole = jq(&scene, &["-c", "."], &text);
    for cut in [1, 2, 3, 7, 64] {
        let mut command = scene.command("millstream", "jq -c .");
        command.args(["--workers", "2"]);
        assert_eq!(scene.run(command, Input::Pipe(text.as_bytes(), cut)), whole, "{cut}");
    }
}

#[test]
fn outputs_are_written_as_asked() {
    let object = "{\"b\":1,\"a\":{\"d\":\"x\",\"c\":[]}}";
    check(&["-c", "-S", "."], object, "{\"a\":{\"c\":[],\"d\":\"x\"},\"b\":1}\n");
    check(&["--tab", ".a"], object, "{\n\t\"d\": \"x\",\n\t\"c\": []\n}\n");
    check(&["--indent", "1", ".a"], object, "{\n \"d\": \"x\",\n \"c\": []\n}\n");
    check(&["--indent", "0", ".a"], object, "{\"d\":\"x\",\"c\":[]}\n");
    check(&["-r", ".a.d, .b"], object, "x\n1\n");
    check(&["-j", ".a.d, .b, .a.d"], object, "x1x");
    check(&["-rc", "[.b, .a.d] | @csv, @tsv"], object, "1,\"x\"\n1\tx\n");
    check(&["-C", "-c", ".b"], object, "\u{1b}[39m1\u{1b}[0m\n");
    check(&["-M", "."], "1", "1\n");
    // The last of two flags counts, so that an alias may have one.
    check(&["-c", "--tab", ".a.c, [1]"], object, "[]\n[\n\t1\n]\n");
    check(&["--tab", "-c", "[1]"], object, "[1]\n");
    check(&["-c", "--indent", "1", "[1]"], object, "[\n 1\n]\n");
    check(&["--indent", "1", "--tab", "[1]"], object, "[\n\t1\n]\n");
    check(&["-C", "-M", ".b"], object, "1\n");
}

#[test]
fn inputs_are_what_the_flags_say() {
    let text = "one\ntwo 2\n\nlast";
    check(&["-R", "."], text, "\"one\"\n\"two 2\"\n\"\"\n\"last\"\n");
    check(&["-Rs", "."], text, "\"one\\ntwo 2\\n\\nlast\"\n");
    check(&["-s", "-c", "."], "1 [2]\n3", "[1,[2],3]\n");
    check(&["-s", "-c", "."], "", "[]\n");
    check(&[], "[0]", "[\n  0\n]\n");
    check(&["-R"], "a", "\"a\"\n");
    check(&["-n", "-c", "[., 1]"], "no JSON", "[null,1]\n");
    check(&["-nR", "."], "a", "null\n");
    check(&["-sn", "."], "a", "null\n");
    check(&["--", "-.[0]"], "[1]", "-1\n");
    check(&["-c", ""], "[0]", "[0]\n");
    let scene = Scene::new().file("one", "{\"a\":1}").file("two", "{\"a\":2} {\"a\":3}");
    assert_eq!(jq(&scene, &[".a", "two", "one", "-"], "{\"a\":4}").text(), "2\n3\n1\n4\n");
    assert_eq!(jq(&scene, &["-s", "-c", "map(.a)", "two", "one"], "").text(), "[2,3,1]\n");
    assert_eq!(jq(&scene, &["-r", "input_filename", "two", "one"], "").text(), "two\ntwo\none\n");
    assert_eq!(jq(&scene, &["-c", "[input_filename]"], "0").text(), "[null]\n");
}

#[test]
fn variables_come_from_the_command_line() {
    check(&["--arg", "x", "a\"b", "--arg", "y", "1", "-c", "[$x, $y]"], "0", "[\"a\\\"b\",\"1\"]\n");
    check(&["--argjson", "x", "{\"a\": [1]}", "$x.a[0] + ."], "2", "3\n");
    // A value is the word that follows, whatever it is.
    check(&["--arg", "x", "-n", "--arg", "y", "--args", "-c", "[$x, $y]"], "0", "[\"-n\",\"--args\"]\n");
    check(
        &["-n", "--argjson", "x", "-1", "--arg", "y", "--", "--arg", "z", "-1 day", "-c", "[$x, $y, $z]"],
        "",
        "[-1,\"--\",\"-1 day\"]\n",
    );
    let named = "{\"positional\":[\"p\",\"q\"],\"named\":{\"x\":1}}\n";
    check(&["-c", "--argjson", "x", "1", "--args", "$ARGS", "p", "q"], "0", named);
    check(&["--args", "-c", "$ARGS.positional", "p"], "0", "[\"p\"]\n");
    let scene = Scene::new().file("c", "{\"a\":1}\n").file("all.jq", "[., $ARGS.positional]");
    let with_words = "[{\"a\":1},[\"x\",\"y\"]]\n";
    // Words before `--args` are files.
    assert_eq!(jq(&scene, &["-c", "[., $ARGS.positional]", "c", "--args", "x", "y"], "").text(), with_words);
    assert_eq!(jq(&scene, &["-f", "all.jq", "c", "--args", "x", "-c", "y"], "").text(), with_words);
    assert_eq!(jq(&scene, &["-c", "-f", "all.jq", "--args", "x", "y"], "{\"a\":1}").text(), with_words);
    let scene = Scene::new().file("f", "1 [2]").file("filter.jq", "def f: . + 1;\nf | f").file("3", "3");
    assert_eq!(
        jq(&scene, &["-c", "--slurpfile", "f", "f", "--rawfile", "r", "f", "[$f, $r]"], "0").text(),
        "[[1,[2]],\"1 [2]\"]\n"
    );
    let scene = scene.file("bytes", b"a\xff");
    assert_eq!(
        jq(&scene, &["-c", "--rawfile", "b", "bytes", "($b | tobytes) == ([97, 255] | tobytes)"], "0").text(),
        "true\n"
    );
    let scene = scene.file("-r", "7");
    let files = ["--rawfile", "r", "-r", "--slurpfile", "s", "-r", "-c", "[$r, $s]"];
    assert_eq!(jq(&scene, &files, "0").text(), "[\"7\",[7]]\n");
    assert_eq!(jq(&scene, &["-f", "filter.jq", "3"], "").text(), "5\n");
    assert_eq!(jq(&scene, &["-rf", "filter.jq"], "4").text(), "6\n");
    refused(&["--argjson", "x", "[1", "."], "", "", "--argjson x", 2);
    refused(&["--arg", "1x", "a", "."], "", "", "`1x` cannot be the name of a variable", 3);
}

#[test]
fn a_value_for_which_the_filter_fails_is_reported_and_the_next_one_follows() {
    let message = "millstream jq: -:3: value 3: cannot index 5 with \"a\"\n";
    refused(&[".a"], "{\"a\":1}\n{\"a\":2}\n5 {\"a\":3}", "1\n2\n3\n", message, 5);
    refused(&["1, error({\"a\": .})"], "7", "1\n", "-:1: value 1: {\"a\":7} (not a string)\n", 5);
    refused(&[".a", "nosuch"], "", "", "millstream jq: nosuch: No such file or directory\n", 1);
    // The line and the number are the file's, not the block's.
    let long = "{\"a\":\n1}\n".repeat(9000);
    let scene = Scene::new().file("long", format!("{long}\n3 {long}"));
    let seen = jq(&scene, &[".a | empty", "long", "long"], "");
    let message = "millstream jq: long:18002: value 9001: cannot index 3 with \"a\"\n";
    assert_eq!((seen.stderr, seen.code), (message.repeat(2), Some(5)));
}

#[test]
fn a_file_ends_at_bytes_that_are_no_json() {
    let scene = Scene::new().file("bad", format!("{}\n{{\"a\": ]}}\n{}", "1\n".repeat(9), "2 ".repeat(20_000)));
    for workers in ["1", "2"] {
        let seen = jq(&scene, &["-c", ".", "--workers", workers, "bad", "-"], "3");
        assert_eq!(seen.text(), "1\n".repeat(9) + "3\n");
        assert_eq!(seen.stderr, "millstream jq: bad:11: value 10 is not JSON: expected a value\n");
        assert_eq!(seen.code, Some(1));
    }
    refused(&["."], "[1,\n2", "", "-:2: value 1 is not JSON: the input ends within a value\n", 1);
    refused(&["-s", "."], "1 [2}", "", "-:1: value 2 is not JSON: expected a comma or `]`\n", 1);
    // Of several files that are one input, it is the line of the bad one.
    let scene = Scene::new().file("a", "1\n2\n[").file("b", "3\n");
    for (files, number) in [(["a", "b"], 3), (["b", "a"], 4)] {
        let seen = jq(&scene, &["-s", ".", files[0], files[1]], "");
        let message = format!("millstream jq: a:3: value {number} is not JSON: the input ends within a value\n");
        assert_eq!((seen.text().as_str(), seen.stderr, seen.code), ("", message, Some(1)));
    }
    let large = format!("1 \"{}\" 2", "x".repeat(3000));
    let message = "-: value 2, which begins at byte 2, is longer than 2048 bytes: raise --max-value";
    refused(&["--max-value", "2K", "."], &large, "1\n", message, 1);
}

#[test]
fn a_text_that_is_no_filter_is_refused_with_all_its_mistakes() {
    let message =
        "there is no filter `foo`, at column 1\n  foo | bar(1)\n  ^^^\nthere is no filter `bar` with an argument";
    refused(&["foo | bar(1)"], "0", "", message, 3);
    refused(&[".a |"], "0", "", "expected term, found the end, at column 5", 3);
    refused(&["{"], "0", "", "expected closing brace, found the end", 3);
    refused(&["$x"], "0", "", "there is no variable `$x`", 3);
    for (name, instead) in [("now", "--arg"), ("input", "--slurp"), ("$ENV", "--arg"), ("localtime", "gmtime")] {
        refused(&[name], "0", "", instead, 3);
    }
    refused(&["import \"m\" as m; m::f"], "0", "", "modules cannot be loaded", 3);
}

#[test]
fn halt_ends_the_run_in_the_order_of_the_input() {
    let text = format!("{} 77 {}", "1 ".repeat(8000), "2 ".repeat(8000));
    for workers in ["1", "2"] {
        let args = ["if . == 77 then halt_error else . end", "--workers", workers];
        let seen = jq(&Scene::new(), &args, &text);
        assert_eq!(seen.text(), "1\n".repeat(8000));
        assert_eq!((seen.stderr.as_str(), seen.code), ("77\n", Some(5)));
    }
    check(&["1, halt, 2"], "0 0", "1\n");
    // An input before it could not be read, and is not forgotten; one behind it counts for nothing.
    let scene = Scene::new().file("a", "1").file("bad", "]");
    for (args, code) in [
        (&["halt", "nosuch", "a"][..], 1),
        (&["halt", "bad", "a"], 1),
        (&["-s", "halt", "a", "nosuch"], 1),
        (&["halt", "a", "nosuch", "bad"], 0),
        (&["-n", "halt", "nosuch"], 0),
        (&["halt_error(3)", "nosuch", "a"], 3),
    ] {
        assert_eq!(jq(&scene, args, "").code, Some(code), "{args:?}");
    }
    refused(&["\"bye\\n\" | halt_error(1)"], "0", "", "bye\n", 1);
}

#[test]
fn a_halt_ends_a_wait_for_input() {
    let scene = Scene::new();
    let mut command = scene.command("millstream", "jq halt");
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("the program starts");
    use std::io::Write;
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"1 ").expect("it reads");
    assert_eq!(crate::scene::ended(&mut child).code(), Some(0));
    drop(stdin);
}

#[test]
fn a_signal_ends_a_filter_that_does_not_come_back() {
    let filter = "isempty(repeat(1) | select(. == 2))";
    does_not_come_back(&["jq", filter], "millstream jq: the filter makes no answer, and is stopped\n");
    #[cfg(feature = "run")]
    does_not_come_back(
        &["run", "-e", &format!("jsonl | where(({filter}))")],
        "millstream run: an expression makes no answer, and the run is stopped\n",
    );
}

#[track_caller]
fn does_not_come_back(args: &[&str], stopped: &str) {
    let scene = Scene::new();
    let mut command = scene.command("millstream", "");
    command.args(args);
    command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    use std::io::Write;
    stdin.write_all(b"1\n").expect("it reads");
    while rustix::io::ioctl_fionread(&stdin).expect("a pipe") > 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let kill = format!("kill -TERM {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    let code = crate::scene::ended(&mut child).code();
    let said = std::io::read_to_string(child.stderr.take().expect("a pipe")).expect("text");
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains(stopped), "{said}");
    drop(stdin);
}

#[test]
fn the_exit_status_can_be_that_of_the_last_output() {
    for (filter, code) in [(".", 0), ("empty", 4), ("null", 1), ("., false", 1), ("null, 0", 0)] {
        assert_eq!(jq(&Scene::new(), &["-e", filter], "1").code, Some(code), "{filter}");
    }
    assert_eq!(jq(&Scene::new(), &["-e", "."], "").code, Some(4));
    assert_eq!(jq(&Scene::new(), &["-e", "if . == 2 then empty else . end"], "null 2").code, Some(1));
}

#[test]
fn messages_of_a_filter_are_in_order() {
    let seen = jq(&Scene::new(), &["debug | ., (\"x\" | stderr | empty), error(\"y\")"], "1 2");
    let value = |n: u8| format!("[\"DEBUG:\",{n}]\nxmillstream jq: -:1: value {n}: y\n");
    assert_eq!((seen.text(), seen.stderr), ("1\n2\n".to_owned(), value(1) + &value(2)));
}

const WAYS: [&str; 8] = [
    "--deploy model",
    "--deploy inline",
    "--deploy queues",
    "--workers 1",
    "--workers 2",
    "--shards 3 --workers 2",
    "--ring 1 --shards 4",
    "--batch 1",
];

/// How far an input is read behind a `halt`, or behind bytes that are no JSON, depends on time.
#[test]
fn what_is_not_printed_is_not_hashed() {
    let values = |from: u64| (from..from + 100_000).map(|n| format!("{n}\n")).collect::<String>();
    let scene = Scene::new().file("values", values(0)).file("bad", values(0) + "]\n" + &values(0));
    for (args, files, code) in [
        (["if . == 50000 then halt else . end", "--hash"], &["values"][..], 0),
        ([".", "--hash"], &["bad", "values"], 1),
    ] {
        let run = |way: &str| {
            let mut command = scene.command("millstream", &format!("jq -c {way}"));
            command.args(args).args(files);
            scene.run(command, Input::Nothing)
        };
        let first = run("");
        assert_eq!(first.code, Some(code), "{}", first.stderr);
        for way in WAYS {
            assert!(run(way) == first, "{way} {args:?}: {} instead of {}", run(way).stderr, first.stderr);
        }
    }
}

#[test]
fn a_run_is_the_same_wherever_it_is() {
    let text: String = (0..3000).map(|n| format!("{{\"id\":{n},\"qty\":{},\"x\":[{n},\"é\"]}}\n", n % 7)).collect();
    let scene = Scene::new().file("values", &text);
    let filter = "select(.qty > 2) | {id, x: .x[1], twice: (.qty * 2)}";
    let first = jq(&scene, &["-c", "--hash", filter, "values"], "");
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.len() > 10_000);
    for way in WAYS {
        let mut command = scene.command("millstream", &format!("jq -c --hash {way}"));
        command.args([filter, "values"]);
        assert_eq!(scene.run(command, Input::Nothing), first, "{way}");
    }
}
