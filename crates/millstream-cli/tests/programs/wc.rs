use crate::scene::{Input, Scene, Seen, gnu_is_here, odd_texts, prose};

/// Runs both and compares everything. GNU's messages begin with `wc:`, ours with `millstream wc:`.
#[track_caller]
fn check(scene: &Scene, args: &str, input: Input<'_>) {
    let theirs = scene.run(scene.command("wc", args), input);
    let ours = scene.millstream(&format!("wc {args}"), input);
    let ours = Seen { stderr: ours.stderr.replace("millstream wc: ", "wc: "), ..ours };
    assert_eq!(
        (ours.text(), ours.stderr, ours.code),
        (theirs.text(), theirs.stderr, theirs.code),
        "wc {args}, {input:?}"
    );
}

#[test]
fn odd_texts_are_counted_as_gnu_does() {
    if !gnu_is_here("odd_texts_are_counted_as_gnu_does") {
        return;
    }
    for (name, text) in odd_texts() {
        let scene = Scene::new().file(name, &text);
        check(&scene, name, Input::Nothing);
        check(&scene, "", Input::File(name));
        check(&scene, "-", Input::File(name));
        check(&scene, "", Input::Pipe(&text, usize::MAX));
    }
}

#[test]
fn no_cut_of_a_pipe_changes_the_counts() {
    if !gnu_is_here("no_cut_of_a_pipe_changes_the_counts") {
        return;
    }
    let scene = Scene::new();
    let text = [prose(5_000), (0..=255).collect()].concat();
    for cut in [1, 2, 3, 7, 63, 64, 65, 1000, 4096] {
        check(&scene, "", Input::Pipe(&text, cut));
        check(&scene, "-", Input::Pipe(&text, cut));
    }
}

#[test]
fn columns_are_those_of_gnu() {
    if !gnu_is_here("columns_are_those_of_gnu") {
        return;
    }
    let scene =
        Scene::new().file("empty", "").file("tiny", "a b\n").file("nine", "123456789").file("ten", "1234567890");
    let scene = scene.file("98", "x".repeat(98)).file("big", prose(150_000)).file("-dash", "a\n");
    std::fs::create_dir(scene.path("directory")).unwrap();
    let cases = [
        "empty empty",
        "tiny",
        "tiny tiny",
        "nine",
        "ten",
        "nine empty",
        "nine tiny",
        "98 empty",
        "98 98",
        "big",
        "tiny big",
        "big tiny empty",
        "nosuch",
        "nosuch tiny",
        "tiny nosuch big",
        "nosuch nosuch",
        "directory",
        "directory directory",
        "directory tiny",
        "tiny directory big",
        "/dev/null",
        "/dev/null tiny",
        "tiny nosuch directory -",
        "- tiny",
        "tiny -",
        "- -",
        "-- -dash",
        "-- - -dash",
        "/proc/version",
        "/proc/version tiny",
    ];
    for args in cases {
        check(&scene, args, Input::File("tiny"));
        check(&scene, args, Input::Pipe(b"of a pipe\n", 4));
    }
    check(&scene, "", Input::Nothing);
}

#[test]
fn names_are_shown_as_gnu_does() {
    if !gnu_is_here("names_are_shown_as_gnu_does") {
        return;
    }
    let names =
        ["with space", "it's", "new\nline", "co:lon", "#hash", "~home", "{", "{}", "a=b", "back\\slash", "tab\t", ""];
    for name in names {
        let scene = Scene::new().file("tiny", "a b\n");
        let run = |program: &str, first: &[&str]| {
            let mut command = scene.command(program, "");
            command.args(first).arg(name).arg("tiny");
            scene.run(command, Input::Nothing)
        };
        for there in [false, true] {
            if there && !name.is_empty() {
                std::fs::write(scene.path(name), "c\n").unwrap();
            }
            let (theirs, ours) = (run("wc", &[]), run("millstream", &["wc"]));
            assert_eq!(ours.text(), theirs.text(), "{name:?}");
            assert_eq!(ours.stderr.replace("millstream wc: ", "wc: "), theirs.stderr, "{name:?}");
        }
    }
}

#[test]
fn a_missing_file_does_not_stop_the_others() {
    let scene = Scene::new().file("first", "a\n").file("last", "b c\n");
    let seen = scene.millstream("wc first nosuch last", Input::Nothing);
    assert_eq!(seen.text(), "1 1 2 first\n1 2 4 last\n2 3 6 total\n");
    assert_eq!(seen.stderr, "millstream wc: nosuch: No such file or directory\n");
    assert_eq!(seen.code, Some(1));
}

/// Three folds read one ring, and their results at END make one line, also for an empty input.
#[test]
fn three_folds_beside_each_other_make_one_line() {
    let scene = Scene::new().file("text", "two words\nand three more\n").file("empty", "");
    let plan = scene.millstream("plan wc --json", Input::Nothing).text();
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    let stages: Vec<_> = plan["stages"].as_array().expect("stages").iter().collect();
    let of = |stage: &serde_json::Value| (stage["kind"].clone(), stage["reads"].clone());
    for fold in &stages[..3] {
        assert_eq!(of(fold), ("fold".into(), serde_json::json!([0])), "{fold}");
    }
    assert_eq!(stages.len(), 4);
    assert_eq!(of(stages[3]), ("map".into(), serde_json::json!([1, 2, 3])));
    for (file, line) in [("text", " 2  5 25 text\n"), ("empty", "0 0 0 empty\n")] {
        assert_eq!(scene.millstream(&format!("wc {file}"), Input::Nothing).text(), line);
    }
    assert_eq!(scene.millstream("wc", Input::Pipe(b"", 1)).text(), "      0       0       0\n");
}
