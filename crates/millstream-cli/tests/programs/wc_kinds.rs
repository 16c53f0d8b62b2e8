//! `wc` with flags: the counts, the files, and the total.

use crate::scene::{Input, Scene, Seen, gnu_is_here, odd_texts, prose};
use millstream_testkit::programs::skipped;

/// Runs both in a locale and compares everything.
#[track_caller]
fn check_in(locale: &str, scene: &Scene, args: &str, input: Input<'_>) {
    let run = |program: &str, args: &str| {
        let mut command = scene.command(program, args);
        command.env("LC_ALL", locale);
        scene.run(command, input)
    };
    let (theirs, ours) = (run("wc", args), run("millstream", &format!("wc {args}")));
    let ours = Seen { stderr: ours.stderr.replace("millstream wc: ", "wc: "), ..ours };
    let seen = |seen: &Seen| (seen.text(), seen.stderr.clone(), seen.code);
    assert_eq!(seen(&ours), seen(&theirs), "wc {args}, {locale}");
}

#[track_caller]
fn check(scene: &Scene, args: &str, input: Input<'_>) {
    check_in("C", scene, args, input);
}

/// Whether GNU's `wc` knows UTF-8 here.
fn utf_8_is_here(name: &str) -> bool {
    let scene = Scene::new();
    let mut command = scene.command("wc", "-m");
    command.env("LC_ALL", "C.UTF-8");
    let here = scene.run(command, Input::Pipe("é".as_bytes(), 2)).text() == "1\n";
    if !here {
        skipped(name, "there is no locale C.UTF-8");
    }
    here
}

/// All combinations of some of `-l`, `-w`, `-m`, `-c` and `-L`.
fn flags(of: &str) -> Vec<String> {
    let choose = |bits: u32| (0..).zip(of.chars()).filter(move |(bit, _)| bits >> bit & 1 == 1).map(|(_, flag)| flag);
    (1..1 << of.len()).map(|bits| format!("-{}", choose(bits).collect::<String>())).collect()
}

#[test]
fn chosen_counts_are_those_of_gnu() {
    if !gnu_is_here("chosen_counts_are_those_of_gnu") {
        return;
    }
    let scene =
        Scene::new().file("text", prose(20_000)).file("tabs", "a\tb\n\tc\r\x0cdef\x0b\n\x01\x7f ").file("none", "");
    for flags in flags("lwmcL") {
        check(&scene, &format!("{flags} text"), Input::Nothing);
        check(&scene, &format!("{flags} tabs text none"), Input::Nothing);
        check(&scene, &flags, Input::Pipe(b"a b\tc\nd", 3));
    }
    for args in ["--lines text", "--words text", "--bytes text", "--chars text", "--max-line-length text", "-l -l text"]
    {
        check(&scene, args, Input::Nothing);
    }
    for args in
        ["-l nosuch text", "-l nosuch", "-l /dev/null text", "-L - text", "-l /proc/version", "-lc /proc/version"]
    {
        check(&scene, args, Input::File("text"));
    }
}

/// Lines, words and bytes as in the C locale, characters and widths as in that of UTF-8, whatever the program's locale.
#[test]
fn odd_texts_have_the_counts_of_gnu() {
    if !gnu_is_here("odd_texts_have_the_counts_of_gnu") || !utf_8_is_here("odd_texts_have_the_counts_of_gnu") {
        return;
    }
    let more: [(&str, &[u8]); 4] = [
        ("combining", "e\u{301} a\u{200d}b \u{ad}x\n".as_bytes()),
        ("wide", "言葉\t言\n한국어 😀\n".as_bytes()),
        ("cut", b"abc \xe2\x82"),
        ("surrogate", b"\xed\xa0\x80\xc0\x80 \xe0\x80\x80\xff\n"),
    ];
    let odd = odd_texts().into_iter().chain(more.map(|(name, text)| (name, text.to_vec())));
    for (name, mut text) in odd {
        if name == "noise" {
            // The C library counts sequences with these bytes as characters, which they are not.
            text.retain(|byte| *byte < 0xf4);
        }
        let scene = Scene::new().file(name, &text);
        for flags in flags("lwc") {
            check_in("C", &scene, &format!("{flags} {name}"), Input::Nothing);
        }
        for flags in ["-m", "-cm", "-lmc"] {
            check_in("C.UTF-8", &scene, &format!("{flags} {name}"), Input::Nothing);
            check_in("C.UTF-8", &scene, flags, Input::File(name));
        }
        // Random text may contain a character whose width the C library does not know.
        if name != "noise" && name != "combining" {
            check_in("C.UTF-8", &scene, &format!("-mL {name}"), Input::Nothing);
            check_in("C.UTF-8", &scene, "-L", Input::File(name));
        }
    }
}

#[test]
fn no_cut_changes_characters_and_widths() {
    let text = "é\t言葉\r\n😀 ﬀ\x0c\u{301}xx\n".repeat(40) + "é";
    for way in ["", "--shards 2", "--deploy inline", "--deploy model"] {
        for cut in [1, 2, 3, 5, 7, 64] {
            let seen = Scene::new().millstream(&format!("wc -mL {way}"), Input::Pipe(text.as_bytes(), cut));
            assert_eq!((seen.text().as_str(), seen.code), ("    561      12\n", Some(0)), "{way}, {cut}");
        }
    }
}

#[test]
fn names_come_from_lists_as_of_gnu() {
    if !gnu_is_here("names_come_from_lists_as_of_gnu") {
        return;
    }
    let scene = Scene::new().file("a", "a b\n").file("big", prose(30_000)).file("new\nline", "x\n");
    std::fs::create_dir(scene.path("directory")).unwrap();
    let lists: [&[u8]; 9] = [
        b"",
        b"a",
        b"a\0",
        b"a\0big",
        b"a\0\0big\0",
        b"\0",
        b"a\0nosuch\0-\0big\0",
        b"directory\0a\0",
        b"new\nline\0a\0",
    ];
    for list in lists {
        let scene = Scene::new().file("list", list);
        for (name, content) in [("a", "a b\n".into()), ("big", prose(30_000)), ("new\nline", b"x\n".to_vec())] {
            std::fs::write(scene.path(name), content).unwrap();
        }
        std::fs::create_dir(scene.path("directory")).unwrap();
        for flags in ["", "-l", "-lL"] {
            check(&scene, &format!("{flags} --files0-from=list"), Input::File("a"));
            check(&scene, &format!("{flags} --files0-from=-"), Input::File("list"));
            check(&scene, &format!("{flags} --files0-from=-"), Input::Pipe(list, 4));
        }
    }
    for list in ["nosuch", "no:such", "", "directory"] {
        check(&scene, &format!("--files0-from={list}"), Input::Nothing);
    }
    let seen = scene.millstream("wc --files0-from=a big", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)));
    assert!(seen.stderr.contains("--files0-from"), "{}", seen.stderr);
}

/// GNU has it since 9.2; these are its lines.
#[test]
fn totals_follow_the_flag() {
    let scene =
        Scene::new().file("a", "a b\n").file("b", "c\n\n\n\n\n\n\n\n\n\n").file("list", "a\0b").file("none", "");
    for (args, expected) in [
        ("a b", " 1  2  4 a\n10  1 11 b\n11  3 15 total\n"),
        ("--total auto a", "1 2 4 a\n"),
        ("--total=always a", "1 2 4 a\n1 2 4 total\n"),
        ("--total=never a b", " 1  2  4 a\n10  1 11 b\n"),
        ("--total=only a b", "11 3 15\n"),
        ("--total=only -l a b", "11\n"),
        ("--total=only -L a b", "3\n"),
        ("-L a b", " 3 a\n 1 b\n 3 total\n"),
        ("--total=always", "      0       0       0\n      0       0       0 total\n"),
        ("--total=only --files0-from=list", "11 3 15\n"),
        ("--total=always --files0-from=none", "0 0 0 total\n"),
        ("--total=never --files0-from=none", ""),
    ] {
        let seen = scene.millstream(&format!("wc {args}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), (expected, "", Some(0)), "wc {args}");
    }
}
