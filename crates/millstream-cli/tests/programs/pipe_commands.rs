//! `pipe`: the form of a command, and the input of its processes.

use crate::scene::{Input, Scene, Seen, prose};

#[track_caller]
fn check(args: &str, input: &str, expected: &str) {
    let seen = Scene::new().millstream(args, Input::Pipe(input.as_bytes(), 5));
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), (expected, "", Some(0)), "{args}");
}

fn with(scene: &Scene, args: &str, last: &str, input: &str) -> Seen {
    let mut command = scene.command("millstream", args);
    command.arg(last);
    scene.run(command, Input::Pipe(input.as_bytes(), 5))
}

/// The same as for xargs, env and nice: the first word that is not a flag begins the command.
#[test]
fn a_command_needs_no_dashes_before_it() {
    check("pipe -j 2 --block 4 sort -r", "1\n2\n3\n4\n", "2\n1\n4\n3\n");
    check("pipe -j 2 --block 4 -- sort -r", "1\n2\n3\n4\n", "2\n1\n4\n3\n");
    check("pipe grep --color=always -e 2 --", "1\n2\n", "\u{1b}[01;31m\u{1b}[K2\u{1b}[m\u{1b}[K\n");
    check("pipe --block 9 cat -- -", "1\n", "1\n");
}

#[test]
fn a_line_for_the_shell_is_a_command() {
    let scene = Scene::new();
    for way in ["", "--deploy inline", "--deploy queues", "--deploy model"] {
        let seen = with(&scene, &format!("pipe {way} --shell"), "grep -v 2 | sort -r; echo $((1 + 1))", "1\n2\n3\n");
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("3\n1\n2\n", "", Some(0)), "{way}");
    }
    let seen = with(&scene, "pipe --shell", "exit 7", "1\n");
    assert!(seen.stderr.contains("number 0: sh ended with exit status 7"), "{}", seen.stderr);
    assert_eq!(seen.code, Some(3));
    let seen = with(&scene, "pipe --shard line --shell", "while read x; do echo \"<$x>\"; done", "1\n2\n3\n");
    assert_eq!((seen.text().as_str(), seen.code), ("<1>\n<2>\n<3>\n", Some(0)));
}

#[test]
fn a_process_knows_the_number_of_its_block() {
    let scene = Scene::new();
    let seen = with(&scene, "pipe -j 3 --block 2 --shell", "read x; echo $MILLSTREAM_BLOCK $x", "a\nb\nc\n");
    assert_eq!((seen.text().as_str(), seen.code), ("0 a\n1 b\n2 c\n", Some(0)));
}

#[test]
fn lines_can_be_tagged_with_their_numbers() {
    check("pipe -j 2 --block 4 --tag cat", "1\n2\n3\n4\n5", "0\t1\n0\t2\n1\t3\n1\t4\n2\t5");
    check("pipe -j 2 --shard line --tag cat", "1\n2\n3", "0\t1\n1\t2\n2\t3");
    check("pipe --block 4 --tag true", "1\n2\n3\n", "");
    // Also for an answer that is too large for memory.
    let text = prose(400_000);
    let scene = Scene::new().file("text", &text);
    let expected: String = String::from_utf8_lossy(&text).lines().map(|line| format!("0\t{line}\n")).collect();
    let seen = scene.millstream("pipe --block 1M --tag cat", Input::File("text"));
    assert!(seen.text() == expected, "{} bytes", seen.stdout.len());
    let seen = with(&scene, "pipe --block 1K --tag --shell", "cat text", "1\n");
    assert!(seen.text() == expected, "{} bytes", seen.stdout.len());
}

#[test]
fn lines_can_end_in_nul() {
    check("pipe -0 -j 2 --block 4 sort -z -r", "a\nb\0c\0d\0e", "a\nb\0d\0c\0e\0");
    check("pipe -0 --block 3 --tag cat", "a\n\0b\0c", "0\ta\n\x001\tb\x002\tc");
    check("pipe --null --shard line -j 1 cat", "a\nb\0c\0d", "a\nb\0c\0d");
    check("pipe -0 --header 1 --block 2 cat", "h\0a\0b\0", "h\0a\0h\0b\0");
}

#[test]
fn every_block_can_begin_with_the_first_lines() {
    check("pipe --header 1 -j 2 --block 4 cat", "h\n1\n2\n3\n4\n5", "h\n1\n2\nh\n3\n4\nh\n5");
    check("pipe --header 2 --block 99 cat", "h\ng\n1\n2", "h\ng\n1\n2");
    check("pipe --header 1 cat", "h\n", "");
    check("pipe --header 3 cat", "h\n1", "");
    check("pipe --header 1 cat", "", "");
    let seen = Scene::new().millstream("pipe --header 2 --block 2 --max-line 4 cat", Input::Pipe(b"abc\ndef\n1\n", 2));
    let said = "millstream pipe: -: the header of 2 lines is longer than 4 bytes: raise --max-line\n";
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("", said, Some(1)));
}

#[test]
fn jobs_can_be_of_the_cores() {
    for jobs in ["-j 50%", "-j100%", "-j +1", "-j -1", "--jobs=-100"] {
        check(&format!("pipe {jobs} --block 2 cat"), "1\n2\n3\n", "1\n2\n3\n");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seen = Scene::new().millstream("pipe -j +1 --stats=- cat", Input::Pipe(b"1\n", 2));
    let stats: serde_json::Value = serde_json::from_str(&seen.stderr).expect("JSON");
    let stages = stats["runs"][0]["stages"].as_array().expect("stages");
    let processes = stages.iter().filter(|stage| stage["name"] == "pipe").count();
    assert_eq!(processes, cores + 1, "{stats}");
}

#[test]
fn sizes_are_written_as_for_gnu() {
    for (size, lines) in [("1.5K", 768), ("1kB", 500), ("1KiB", 512)] {
        let text = "x\n".repeat(1000);
        let seen = Scene::new().millstream(&format!("pipe --block {size} wc -l"), Input::Pipe(text.as_bytes(), 2000));
        assert_eq!(seen.text().lines().next(), Some(lines.to_string().as_str()), "{size}");
    }
}

#[test]
fn a_line_in_place_of_a_command_hints_at_shell() {
    let scene = Scene::new();
    let mut command = scene.command("millstream", "pipe");
    command.arg("wc -l");
    let seen = scene.run(command, Input::Pipe(b"a\n", 2));
    let cause = "'wc -l' cannot be started: No such file or directory (--shell 'wc -l' runs it as a line of a shell)";
    assert_eq!(seen.stderr, format!("millstream: stage \"pipe\", number 0: {cause}\n"));
    assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)));
}

#[test]
fn habits_from_gnu_parallel_are_accepted() {
    for args in ["pipe --pipe -k -j 2 cat", "pipe --keep-order cat"] {
        let seen = Scene::new().millstream(args, Input::Pipe(b"a\nb\n", 2));
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("a\nb\n", "", Some(0)), "{args}");
    }
}
