use crate::scene::{Input, Scene, gnu_is_here, odd_texts, prose};

#[track_caller]
fn check(scene: &Scene, args: &str, input: Input<'_>, expected: &[u8]) {
    let seen = scene.millstream(&format!("uppercase {args}"), input);
    assert!(seen.stdout == expected, "uppercase {args}, other bytes than tr's");
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "uppercase {args}");
}

#[test]
fn odd_texts_come_out_as_from_tr() {
    if !gnu_is_here("odd_texts_come_out_as_from_tr") {
        return;
    }
    for (name, text) in odd_texts() {
        let scene = Scene::new().file(name, &text);
        let expected = scene.run(scene.command("tr", "a-z A-Z"), Input::File(name)).stdout;
        check(&scene, name, Input::Nothing, &expected);
        check(&scene, "", Input::File(name), &expected);
        check(&scene, "--shards 3", Input::Pipe(&text, usize::MAX), &expected);
    }
}

#[test]
fn no_cut_of_a_pipe_changes_the_output() {
    let scene = Scene::new();
    let text = prose(5_000);
    for cut in [1, 2, 3, 7, 64, 1000] {
        check(&scene, "-", Input::Pipe(&text, cut), &text.to_ascii_uppercase());
    }
}

#[test]
fn files_follow_each_other() {
    let scene = Scene::new().file("one", "one").file("two", "two\n").file("empty", "");
    check(&scene, "one empty two - one", Input::Pipe(b"piped ", 2), b"ONETWO\nPIPED ONE");
}

#[test]
fn unreadable_files_are_reported_and_left_out() {
    let scene = Scene::new().file("one", "one\n").file("two", "two\n");
    std::fs::create_dir(scene.path("directory")).unwrap();
    let seen = scene.millstream("uppercase one nosuch directory two", Input::Nothing);
    assert_eq!(seen.text(), "ONE\nTWO\n");
    let expected =
        "millstream uppercase: nosuch: No such file or directory\nmillstream uppercase: directory: Is a directory\n";
    assert_eq!(seen.stderr, expected);
    assert_eq!(seen.code, Some(1));
}
