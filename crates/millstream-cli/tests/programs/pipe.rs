//! `pipe`: every block, or every line, through a command, and the output in the order of the input.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended, gnu_is_here, odd_texts, prose};
use millstream_testkit::programs::is_here;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[track_caller]
fn check(seen: &Seen, expected: &[u8], what: &str) {
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "{what}");
    assert!(seen.stdout == expected, "{what}: {} bytes and not {}, or others", seen.stdout.len(), expected.len());
}

#[track_caller]
fn check_failure(seen: &Seen, stderr: &str) {
    assert_eq!((seen.stderr.as_str(), seen.code), (stderr, Some(3)));
}

/// The advice for an exit status.
fn advice(status: u8) -> String {
    format!("(--accept 0,{status} counts that as success, --keep-going continues after it)")
}

fn shell(scene: &Scene, args: &str, script: &str) -> Command {
    let mut command = scene.command("millstream", args);
    command.args(["--", "sh", "-c", script]);
    command
}

/// Blocks of whole lines of at most `size` bytes, or of one longer line.
fn blocks(text: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match blocks.last_mut() {
            Some(block) if block.len() + line.len() <= size => block.extend(line),
            _ => blocks.push(line.to_vec()),
        }
    }
    blocks
}

#[test]
fn cat_changes_nothing() {
    for (name, text) in odd_texts() {
        let scene = Scene::new().file("text", &text);
        for args in ["-j 2", "-j 3 --block 1000", "-j 1 --block 64K", "--shards 2 --block 100000 --deploy inline"] {
            let seen = scene.millstream(&format!("pipe {args} -- cat"), Input::File("text"));
            check(&seen, &text, &format!("{name} {args}"));
        }
        let seen = scene.millstream("pipe -j 2 -- cat", Input::Pipe(&text, 1000));
        check(&seen, &text, name);
    }
}

#[test]
fn tr_has_the_same_output_without_pipe() {
    if !gnu_is_here("tr_has_the_same_output_without_pipe") {
        return;
    }
    let text = prose(5_000_000);
    let scene = Scene::new().file("text", &text);
    let expected = scene.run(scene.command("tr", "a-z A-Z"), Input::File("text"));
    for args in ["", "-j 2", "-j 4 --block 10K", "--jobs 1", "-j 2 --deploy queues", "--deploy model --ring 1"] {
        check(&scene.millstream(&format!("pipe {args} -- tr a-z A-Z"), Input::File("text")), &expected.stdout, args);
    }
}

#[test]
fn sort_sorts_every_block() {
    let text = prose(300_000);
    let scene = Scene::new().file("text", &text);
    for size in [1_000, 77_777, 1 << 20] {
        let mut expected = Vec::new();
        for block in blocks(&text, size) {
            let mut lines: Vec<_> = block.split_inclusive(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            expected.extend(lines.concat());
        }
        for way in ["-j 2", "-j 3 --ring 1", "-j 2 --deploy inline"] {
            let args = format!("pipe {way} --block {size} -- sort");
            check(&scene.millstream(&args, Input::File("text")), &expected, &args);
        }
    }
}

#[test]
fn a_slow_block_holds_its_place() {
    let scene = Scene::new();
    let script = "read line; case $line in 1) sleep 0.3;; esac; echo $line";
    let command = shell(&scene, "pipe -j 4 --block 2", script);
    check(&scene.run(command, Input::Pipe(b"1\n2\n3\n4\n", 8)), b"1\n2\n3\n4\n", script);
}

#[test]
fn an_empty_input_starts_nothing() {
    for args in ["pipe -- nosuch", "pipe --shard line -- nosuch", "pipe -j 2 -- false"] {
        check(&Scene::new().millstream(args, Input::Nothing), b"", args);
    }
}

#[test]
fn a_failed_command_is_reported_with_its_number() {
    let scene = Scene::new();
    for way in ["", "--deploy inline", "--deploy queues", "-j 3 --workers 2"] {
        let seen = scene.millstream(&format!("pipe {way} -- false"), Input::Pipe(b"a\n", 2));
        let said = "millstream: stage \"pipe\", number 0: false ended with exit status 1";
        check_failure(&seen, &format!("{said} {}\n", advice(1)));
        let command = shell(&scene, &format!("pipe --block 2 {way}"), "read x; echo $x; test $x != 3 || exit 7");
        let seen = scene.run(command, Input::Pipe(b"0\n1\n2\n3\n4\n", 10));
        let said = "millstream: stage \"pipe\", number 3: sh ended with exit status 7";
        check_failure(&seen, &format!("{said} {}\n", advice(7)));
        assert_eq!(seen.text(), "0\n1\n2\n3\n");
    }
    let seen = scene.run(shell(&scene, "pipe", "kill -9 $$"), Input::Pipe(b"a\n", 2));
    check_failure(
        &seen,
        "millstream: stage \"pipe\", number 0: sh was ended by signal 9 (--keep-going continues after it)\n",
    );
}

#[test]
fn standard_error_passes_through() {
    let scene = Scene::new();
    let seen = scene.run(shell(&scene, "pipe", "cat; echo oops >&2"), Input::Pipe(b"a\n", 2));
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("a\n", "oops\n", Some(0)));
}

#[test]
fn a_missing_command_is_reported() {
    let seen = Scene::new().millstream("pipe -- nosuch", Input::Pipe(b"a\n", 2));
    let cause = "nosuch cannot be started: No such file or directory\n";
    check_failure(&seen, &format!("millstream: stage \"pipe\", number 0: {cause}"));
    let seen = Scene::new().millstream("pipe --shard line -- nosuch", Input::Pipe(b"a\n", 2));
    check_failure(&seen, &format!("millstream: stage \"pipe\", number 0: line 1: {cause}"));
}

#[test]
fn a_command_need_not_read_its_input() {
    let text = prose(3_000_000);
    let expected: Vec<u8> = blocks(&text, 500_000)
        .iter()
        .flat_map(|block| block.split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec())
        .collect();
    let scene = Scene::new().file("text", &text);
    check(&scene.millstream("pipe -j 2 --block 500000 -- head -1", Input::File("text")), &expected, "head");
    check(&scene.millstream("pipe -j 2 -- true", Input::File("text")), b"", "true");
}

/// A pipe that is full of the answer does not hold up the block, nor the other way round.
#[test]
fn an_answer_may_be_larger_than_its_block() {
    let text = prose(2_000_000);
    let scene = Scene::new().file("text", &text);
    let expected: Vec<u8> = text.split_inclusive(|byte| *byte == b'\n').flat_map(|line| line.repeat(3)).collect();
    check(&scene.millstream("pipe -j 2 -- sed p;p", Input::File("text")), &expected, "sed");
}

#[test]
fn a_line_that_is_too_long_is_reported_after_the_lines_before_it() {
    let text = b"one\ntwo\nseventeen\nfour\n";
    for args in ["--block 4 --max-line 9", "--shard line --max-line 9"] {
        let seen = Scene::new().millstream(&format!("pipe {args} -- cat"), Input::Pipe(text, 5));
        let expected = "millstream pipe: -: line 3, which begins at byte 8, \
                        is longer than 9 bytes: raise --max-line\n";
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("one\ntwo\n", expected, Some(1)));
    }
    let seen = Scene::new().millstream("pipe --block 4 --max-line 10 -- cat", Input::Pipe(text, 5));
    check(&seen, text, "long enough");
}

#[test]
fn lines_come_back_one_for_one() {
    let mut text: Vec<u8> = (0..3_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    text.extend(b"\n\r\n\0\n\xff\xfe\r\nlast");
    for way in ["-j 1", "-j 2", "-j 5", "-j 2 --deploy inline", "-j 2 --deploy queues", "-j 2 --ring 1"] {
        let seen = Scene::new().millstream(&format!("pipe --shard line {way} -- cat"), Input::Pipe(&text, 999));
        check(&seen, &text, way);
    }
    if gnu_is_here("lines_come_back_one_for_one") {
        let scene = Scene::new().file("text", &text);
        let theirs = scene.run(scene.command("sed", r"s/.*/\U&/"), Input::File("text"));
        assert_ne!(theirs.stdout, text);
        let seen = scene.millstream(r"pipe --shard line -j 2 -- sed -u s/.*/\U&/", Input::File("text"));
        check(&seen, &theirs.stdout, "sed");
    }
}

/// A line that no pipe can hold, in both directions.
#[test]
fn a_line_may_be_long() {
    let mut text = [b'x'].repeat(3_000_000);
    text.extend(b"\nshort\n");
    check(&Scene::new().millstream("pipe --shard line -j 2 -- cat", Input::Pipe(&text, 1 << 16)), &text, "long");
}

#[test]
fn a_line_that_is_left_out_is_named() {
    let text = b"a1\na2\nb3\na4\n";
    for way in ["-j 1", "-j 2", "-j 2 --deploy queues", "--deploy inline"] {
        let args = format!("pipe --shard line --quiet --patience 50 {way} -- grep --line-buffered a");
        let seen = Scene::new().millstream(&args, Input::Pipe(text, 100));
        // grep's status shows whether it found anything, so it depends on the lines of this process.
        let cause = seen.stderr.strip_prefix(
            "millstream: stage \"pipe\", number 2: line 3: grep wrote no line for it and ended with exit status ",
        );
        let statuses = ["0", "1"].map(|status| format!("{status} (--keep-going continues after it)\n"));
        assert!(cause.is_some_and(|cause| statuses.iter().any(|s| s == cause)), "{way}: {}", seen.stderr);
        assert_eq!((seen.text().as_str(), seen.code), ("a1\na2\n", Some(3)), "{way}");
    }
}

#[test]
fn an_early_end_is_named() {
    let scene = Scene::new();
    let script = "read x; echo $x; read x; echo $x; exit 5";
    let seen = scene.run(shell(&scene, "pipe --shard line -j 1", script), Input::Pipe(b"1\n2\n3\n", 6));
    let expected = "millstream: stage \"pipe\", number 2: line 3: sh wrote no line for it and ended with exit status 5 \
                    (--keep-going continues after it)\n";
    check_failure(&seen, expected);
    assert_eq!(seen.text(), "1\n2\n");
}

#[test]
fn a_second_line_is_named() {
    let scene = Scene::new();
    let command = shell(&scene, "pipe --shard line -j 1", r#"while read x; do printf "$x\\n$x\\n"; done"#);
    let seen = scene.run(command, Input::Pipe(b"1\n2\n3\n", 6));
    check_failure(&seen, "millstream: stage \"pipe\", number 0: line 1: sh wrote more than one line for it\n");
    // A line after the answer is noticed as well, if only at the end.
    let command = shell(&scene, "pipe --shard line -j 1", "while read x; do echo $x; done; echo more");
    let seen = scene.run(command, Input::Pipe(b"1\n2\n", 4));
    check_failure(&seen, "millstream: stage \"pipe\", number 1: line 2: sh wrote more than one line for it\n");
    // Many more lines than are asked for.
    let seen = scene.millstream("pipe --shard line -- yes", Input::Pipe(b"1\n", 2));
    check_failure(&seen, "millstream: stage \"pipe\", number 0: line 1: yes wrote more than one line for it\n");
}

/// The line may be taken for the answer to the next line, but not without a failure.
#[test]
fn a_second_line_that_comes_later_is_no_answer() {
    let scene = Scene::new();
    let mut command = shell(&scene, "pipe --shard line -j 1", "while read x; do echo $x; echo late; touch done; done");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"1\n").unwrap();
    let start = Instant::now();
    // If the second line comes at once, the command has failed already.
    while !scene.path("done").exists() && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "the command does not run");
        thread::sleep(Duration::from_millis(1));
    }
    // It may have failed already.
    let _ = stdin.write_all(b"2\n");
    drop(stdin);
    assert_eq!(ended(&mut child).code(), Some(3));
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(stderr.contains("sh wrote more than one line for it"), "{stderr}");
    assert!(stderr.contains(": line 1: ") || stderr.contains(": line 2: "), "{stderr}");
}

#[test]
fn an_answer_without_end_is_named() {
    let scene = Scene::new();
    let script = "while read x; do printf %0101d $x; echo; done";
    let seen = scene.run(shell(&scene, "pipe --shard line -j 1 --max-line 101", script), Input::Pipe(b"1\n", 2));
    assert_eq!((seen.stdout.len(), seen.stderr.as_str(), seen.code), (102, "", Some(0)));
    let seen = scene.run(shell(&scene, "pipe --shard line -j 1 --max-line 100", script), Input::Pipe(b"1\n", 2));
    let cause = "line 1: sh: its answer is longer than 100 bytes";
    check_failure(&seen, &format!("millstream: stage \"pipe\", number 0: {cause}\n"));
}

#[test]
fn a_failure_after_the_last_line_is_reported() {
    let scene = Scene::new();
    let command = shell(&scene, "pipe --shard line -j 1", "while read x; do echo $x; done; exit 9");
    let seen = scene.run(command, Input::Pipe(b"1\n2\n", 4));
    let said = "millstream: stage \"pipe\", number 1: line 2: sh ended with exit status 9 after it";
    check_failure(&seen, &format!("{said} {}\n", advice(9)));
    assert_eq!(seen.text(), "1\n2\n");
}

#[test]
fn a_line_is_answered_before_the_next_goes_in() {
    let scene = Scene::new();
    let mut command = scene.command("millstream", "pipe --shard line -j 2 -- cat");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (send, lines) = std::sync::mpsc::channel();
    thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| send.send(line.unwrap())));
    for line in ["first", "second", "third"] {
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok(line));
    }
    drop(stdin);
    assert_eq!(ended(&mut child).code(), Some(0));
}

#[test]
fn an_endless_input_ends_with_its_reader() {
    if !is_here("yes", "an_endless_input_ends_with_its_reader") {
        return;
    }
    for args in ["pipe -j 2 -- cat", "pipe -j 2 --shard line -- cat", "pipe -j 2 --deploy queues -- cat"] {
        let scene = Scene::new();
        let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
        let mut command = scene.command("millstream", args);
        command.stdin(yes.stdout.take().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(command); // it holds the pipe open, and `yes` ends only when the pipe is closed
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "y\n");
        drop(output);
        assert_eq!(ended(&mut child).code(), Some(0), "{args}");
        assert_eq!(std::io::read_to_string(child.stderr.take().unwrap()).unwrap(), "", "{args}");
        ended(&mut yes);
    }
}

/// Input that was accepted before the signal goes through the command and comes out, as whole lines.
#[test]
fn a_signal_drains() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        for (args, cat) in [("pipe -j 2 --block 2", "sleep 0.2; cat"), ("pipe -j 2 --shard line", "cat")] {
            let scene = Scene::new();
            let mut command = shell(&scene, args, cat);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"1\n2\n3\n4\n5\n6\n7\n8\n").unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut text = String::new();
            output.read_line(&mut text).unwrap();
            let sent = Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", child.id())).status();
            assert!(sent.unwrap().success());
            while output.read_line(&mut text).unwrap() > 0 {}
            assert!("1\n2\n3\n4\n5\n6\n7\n8\n".starts_with(&text) && text.ends_with('\n'), "{args}: {text}");
            assert_eq!(ended(&mut child).code(), Some(code), "{args}");
            let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            let draining = "millstream pipe: draining; a second signal stops at once\n";
            assert!(["", draining].contains(&&*said), "{args}: {said}");
            drop(stdin);
        }
    }
}

#[test]
fn blocks_have_the_same_hash_wherever_they_run_and_however_they_come() {
    let text = prose(400_000);
    let scene = Scene::new().file("text", &text);
    let plain = scene.millstream("pipe -j 1 --block 9999 --hash -- cat", Input::File("text"));
    assert_eq!((plain.code, plain.stderr.starts_with("hash ")), (Some(0), true), "{}", plain.stderr);
    for way in
        ["-j 2", "-j 3 --ring 1 --workers 2", "-j 2 --deploy model", "--shards 2 --deploy inline", "--deploy queues"]
    {
        let seen = scene.millstream(&format!("pipe {way} --block 9999 --hash -- cat"), Input::Pipe(&text, 777));
        assert!(seen == plain, "{way}: {}", seen.stderr);
    }
}

#[test]
fn wrong_use_is_refused() {
    for (args, reason) in [
        ("pipe", "COMMAND"),
        ("pipe -j 0 -- cat", "at least 1"),
        ("pipe -j 2 --shards 2 -- cat", "cannot be used with"),
        ("pipe --block 0 -- cat", "at least 1"),
        ("pipe --block 2G -- cat", "at most 1G"),
        ("pipe --block xK -- cat", "number of bytes"),
        ("pipe --shard word -- cat", "word"),
        ("pipe --shard line --block 1M -- cat", "--shard block"),
        ("pipe --patience 10 -- cat", "--shard line"),
    ] {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "{args}");
        assert!(seen.stderr.contains(reason), "{args}: {}", seen.stderr);
    }
}

#[test]
fn it_has_a_plan_and_can_be_verified() {
    let plan = Scene::new().millstream("plan pipe --shards 3", Input::Nothing);
    assert!(plan.text().contains("pipe x3"), "{}", plan.text());
    let scene = Scene::new().file("text", prose(10_000));
    let seen = scene.millstream("verify pipe text", Input::Nothing);
    assert_eq!((seen.code, seen.text().lines().count()), (Some(0), 1), "{}", seen.stderr);
}
