//! Files that are followed, and are rotated while no process follows them.

use millstream_core::text::Block;
use millstream_core::{Arrow, TextExt, pipeline};
use millstream_exec::Rings;
use millstream_io::{FileSink, WholeBlocks};
use millstream_state::{Cadence, FollowedFile, Persistent, Places, Resumable, StateDir};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

#[test]
fn a_file_that_was_renamed_before_the_first_snapshot_is_read_from_its_beginning() {
    let home = tempfile::tempdir().unwrap();
    let (log, out) = (home.path().join("log"), home.path().join("out"));
    let counted = pipeline::<Block>()
        .lines()
        .scan(0_u64, |count, line| {
            *count += 1;
            format!("{count} {}\n", String::from_utf8_lossy(&line))
        })
        .named("count");
    let life = |expected: &str| {
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall);
        let source = FollowedFile::new(&log).interval(Duration::from_millis(1));
        let running = job.start(&counted, source, FileSink::append(&out)).unwrap();
        let begun = Instant::now();
        while fs::read_to_string(&out).unwrap() != expected {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", fs::read_to_string(&out));
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(running);
    };
    fs::write(&log, "a\nb\n").unwrap();
    life("1 a\n2 b\n");
    fs::rename(&log, home.path().join("log.1")).unwrap();
    fs::write(&log, "c\n").unwrap();
    life("1 a\n2 b\n3 c\n");
}

/// The lines after this position, and the position after each of them.
fn lines_after(log: &Path, position: Option<&Value>, count: usize) -> Vec<(String, Value)> {
    let source = FollowedFile::new(log).interval(Duration::from_millis(1));
    let mut blocks = source.begin(position).unwrap();
    let mut lines = Vec::new();
    while lines.len() < count {
        let block = blocks.next().unwrap();
        let before = blocks.place() - block.len() as u64;
        let mut read = before;
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            read += line.len() as u64;
            let line = String::from_utf8_lossy(line).trim_end().to_owned();
            lines.push((line, source.position(&read).unwrap()));
        }
    }
    source.stopper().stop();
    assert_eq!(blocks.next().as_deref(), None, "after {lines:?}");
    lines
}

/// Waits until a file that is made from now on has a later time.
fn wait_for_another_time(home: &Path) {
    let (probe, made) = (home.join("probe"), |path: &Path| fs::metadata(path).unwrap().modified().unwrap());
    fs::write(&probe, "x").unwrap();
    let first = made(&probe);
    while made(&probe) == first {
        std::thread::sleep(Duration::from_millis(1));
        fs::write(&probe, "x").unwrap();
    }
}

#[test]
fn files_that_came_and_went_while_no_process_followed_them_are_read_in_their_order() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    // An older one, which is not read again.
    fs::write(home.path().join("log.1"), "old\n").unwrap();
    wait_for_another_time(home.path());
    fs::write(&log, "a\nb\n").unwrap();
    let first = lines_after(&log, None, 2);
    let (lines, position) = (["b", "c", "d", "e", "f", "g"], first[0].1.clone());
    fs::write(&log, "a\nb\nc\n").unwrap();
    fs::copy(&log, home.path().join("log.20")).unwrap();
    fs::copy(&log, home.path().join("log.bak")).unwrap();
    for (to, next) in [("log.3", "d\n"), ("log-20261128", "e\nf\n"), ("log.2", "g\n")] {
        fs::rename(&log, home.path().join(to)).unwrap();
        wait_for_another_time(home.path());
        fs::write(&log, next).unwrap();
    }
    let read = lines_after(&log, Some(&position), 6);
    assert_eq!(read.iter().map(|(line, _)| line).collect::<Vec<_>>(), lines.each_ref());
    for (done, (_, position)) in read.iter().enumerate() {
        let rest = lines_after(&log, Some(position), 5 - done);
        assert_eq!(rest.iter().map(|(line, _)| line).collect::<Vec<_>>(), lines[done + 1..].iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_file_that_is_renamed_after_its_position_was_found_is_still_read_from_there() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    fs::write(&log, "a\nb\n").unwrap();
    let position = lines_after(&log, None, 2)[0].1.clone();
    let source = FollowedFile::new(&log).interval(Duration::from_millis(1));
    let mut blocks = source.begin(Some(&position)).unwrap();
    fs::rename(&log, home.path().join("old")).unwrap();
    fs::write(&log, "c\nd\ne\n").unwrap();
    source.stopper().stop();
    let read: Vec<u8> = blocks.by_ref().flat_map(|block| block.to_vec()).collect();
    assert_eq!(String::from_utf8(read).unwrap(), "b\nc\nd\ne\n");
    let end = source.position(&blocks.place()).unwrap();
    assert_eq!(end["offset"], 6);
}

#[test]
fn the_position_is_known_after_every_rotation_of_a_run_that_began_in_a_rotated_file() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    fs::write(&log, "a\n").unwrap();
    let position = lines_after(&log, None, 1)[0].1.clone();
    let rotate = |to: &str, next: &str| {
        fs::rename(&log, home.path().join(to)).unwrap();
        fs::write(&log, next).unwrap();
    };
    rotate("log.1", "b\n");
    let source = FollowedFile::new(&log).interval(Duration::from_millis(1));
    let mut blocks = source.begin(Some(&position)).unwrap();
    let mut read = |expected: &str, offset: u64| {
        assert_eq!(blocks.next().as_deref(), Some(expected.as_bytes()));
        assert_eq!(source.position(&blocks.place()).unwrap()["offset"], offset, "after {expected}");
    };
    read("b\n", 2);
    rotate("log.2", "c\n");
    read("c\n", 2);
    append(&log, "d\n");
    read("d\n", 4);
    rotate("log.3", "e\nf\n");
    read("e\nf\n", 4);
    append(&log, "g\n");
    read("g\n", 6);
}

fn append(file: &Path, text: &str) {
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn what_is_written_to_a_renamed_file_while_no_other_has_the_name_is_read() {
    let home = tempfile::tempdir().unwrap();
    let (log, renamed) = (home.path().join("log"), home.path().join("log.2"));
    fs::write(&log, "a\n").unwrap();
    let position = lines_after(&log, None, 1)[0].1.clone();
    append(&log, "b\n");
    fs::rename(&log, home.path().join("log.1")).unwrap();
    wait_for_another_time(home.path());
    fs::write(&log, "c\n").unwrap();
    fs::rename(&log, &renamed).unwrap();
    let source = FollowedFile::new(&log).interval(Duration::from_millis(1));
    let mut blocks = source.begin(Some(&position)).unwrap();
    // The program that writes still has it open, and writes half a line first.
    append(&renamed, "d\ne");
    append(&renamed, "f\n");
    fs::write(&log, "g\n").unwrap();
    source.stopper().stop();
    let read: Vec<u8> = blocks.by_ref().flat_map(|block| block.to_vec()).collect();
    assert_eq!(String::from_utf8(read).unwrap(), "b\nc\nd\nef\ng\n");
    // Each place after the rotated files is one of the renamed file, and then one of the new one.
    for (read, offset) in [(2, 0), (4, 2), (8, 6), (11, 2)] {
        assert_eq!(source.position(&read).unwrap()["offset"], offset, "after {read} bytes");
    }
}

/// The lines after this position, without their own positions.
fn texts_after(log: &Path, position: &Value, count: usize) -> Vec<String> {
    lines_after(log, Some(position), count).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn a_rotated_file_that_was_empty_or_had_only_its_header_is_no_copy_of_later_ones() {
    for header in ["", "# header\n"] {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("log");
        fs::write(&log, header).unwrap();
        let source = FollowedFile::new(&log);
        let begun = source.begin(None).unwrap();
        let position = source.position(&(header.len() as u64)).unwrap();
        drop(begun);
        for (to, next) in [("log.2", "x\n"), ("log.1", "y\n")] {
            fs::rename(&log, home.path().join(to)).unwrap();
            wait_for_another_time(home.path());
            fs::write(&log, format!("{header}{next}")).unwrap();
        }
        let header = header.trim_end();
        let expected: Vec<&str> = [header, "x", header, "y"].into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(texts_after(&log, &position, expected.len()), expected, "{header:?}");
    }
}

#[test]
fn an_old_rotated_file_that_was_made_again_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    let (log, old) = (home.path().join("log"), home.path().join("log.3"));
    fs::write(&log, "a\n").unwrap();
    let position = lines_after(&log, None, 1)[0].1.clone();
    wait_for_another_time(home.path());
    // As `gunzip log.3.gz` does, which keeps the time of the last change.
    fs::write(&old, "old\n").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    fs::rename(&log, home.path().join("log.1")).unwrap();
    fs::write(&log, "b\n").unwrap();
    assert_eq!(texts_after(&log, &position, 1), ["b"]);
}

/// As after a reboot.
#[test]
fn a_file_is_known_again_on_a_device_of_another_number() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    fs::write(&log, "a\nb\n").unwrap();
    let source = FollowedFile::new(&log);
    let begun = source.begin(None).unwrap();
    let [mut first, mut second] = [0, 2].map(|read| source.position(&read).unwrap());
    drop(begun);
    for position in [&mut first, &mut second] {
        position["device"] = (position["device"].as_u64().unwrap() + 1).into();
    }
    assert_eq!(texts_after(&log, &first, 2), ["a", "b"]);
    assert_eq!(texts_after(&log, &second, 1), ["b"]);
    let between: Vec<u8> = source.between(Some(&first), &second).unwrap().flat_map(|block| block.to_vec()).collect();
    assert_eq!(between, b"a\n");
    fs::rename(&log, home.path().join("log.1")).unwrap();
    fs::write(&log, "c\n").unwrap();
    assert_eq!(texts_after(&log, &second, 2), ["b", "c"]);
    // Nothing of it was read, and its first bytes say which file it is.
    assert_eq!(texts_after(&log, &first, 3), ["a", "b", "c"]);
    // If there were none, only the name does.
    first["begins"] = Value::Null;
    assert!(source.can_begin(&first).is_err());
    fs::write(home.path().join("log.1"), "A\nb\n").unwrap();
    assert!(source.can_begin(&second).unwrap_err().to_string().contains("have changed"));
}

#[test]
fn a_followed_name_that_is_a_pipe_is_refused_and_not_opened() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let source = FollowedFile::new(&pipe);
        let none = source.begin(None).unwrap().next().is_none();
        sender.send((none, source.failure().map(|error| error.to_string()))).unwrap();
    });
    let (none, failure) = receiver.recv_timeout(Duration::from_secs(60)).expect("it has opened the pipe");
    assert!(none && failure.unwrap().contains("only a regular file can be followed"));
}

/// As those of a writer that was killed before the file was rotated.
#[test]
fn a_line_without_an_end_is_whole_and_ends_with_its_file_in_every_process() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    fs::write(&log, "a\n").unwrap();
    let first = lines_after(&log, None, 1)[0].1.clone();
    append(&log, "b");
    for (to, next) in [("log.1", "c\nd"), ("log.2", "e"), ("log.3", "f\n")] {
        fs::rename(&log, home.path().join(to)).unwrap();
        wait_for_another_time(home.path());
        fs::write(&log, next).unwrap();
    }
    let (read, all) = (lines_after(&log, Some(&first), 5), ["b", "c", "d", "e", "f"]);
    assert_eq!(read.iter().map(|(line, _)| line).collect::<Vec<_>>(), all.each_ref());
    for (done, (_, position)) in read.iter().enumerate() {
        assert_eq!(texts_after(&log, position, 4 - done), all[done + 1..]);
    }
    // Once rotated between two positions.
    let (source, to) = (FollowedFile::new(&log), &read[1].1);
    let lines = |bytes| WholeBlocks::lines(bytes).map(|block| String::from_utf8_lossy(&block).into_owned());
    let between: Vec<String> = lines(source.bytes_between(Some(&first), to, Some(3)).unwrap()).collect();
    assert_eq!(between, ["b", "c\n"]);
}

/// Neither those that had lost the name before are read, nor the ones with other names.
#[test]
fn a_file_that_came_and_went_since_none_had_the_name_is_read() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    fs::write(home.path().join("log.7"), "old\n").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let source = FollowedFile::new(&log);
    let blocks = source.begin(None).unwrap();
    let absent = source.position(&blocks.place()).unwrap();
    drop(blocks);
    source.can_begin(&absent).unwrap();
    for (line, to) in [("a\n", "log.1"), ("b\n", "log.2"), ("no\n", "log.bak")] {
        fs::write(&log, line).unwrap();
        fs::rename(&log, home.path().join(to)).unwrap();
        wait_for_another_time(home.path());
    }
    // A program may still write to the last one.
    let read = lines_after(&log, Some(&absent), 2);
    assert_eq!(read.iter().map(|(line, _)| &**line).collect::<Vec<_>>(), ["a", "b"]);
    fs::write(&log, "c\nd\n").unwrap();
    let read = lines_after(&log, Some(&absent), 4);
    assert_eq!(read.iter().map(|(line, _)| &**line).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    for (done, (_, position)) in read.iter().enumerate() {
        let rest = lines_after(&log, Some(position), 3 - done);
        assert!(rest.iter().map(|(line, _)| line).eq(read[done + 1..].iter().map(|(line, _)| line)), "{rest:?}");
    }
    // One of an earlier release has no time.
    let read = lines_after(&log, Some(&Value::Null), 2);
    assert_eq!(read.iter().map(|(line, _)| &**line).collect::<Vec<_>>(), ["c", "d"]);
}

/// What was read of it since is lost, although no snapshot is within it.
#[test]
fn a_file_that_was_emptied_after_a_position_at_its_beginning_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    fs::write(&log, "a\nb\n").unwrap();
    let source = FollowedFile::new(&log);
    drop(source.begin(None).unwrap());
    let position = source.position(&0).unwrap();
    append(&log, "c\n");
    assert_eq!(texts_after(&log, &position, 3), ["a", "b", "c"]);
    for others in ["", "A\n", "A\nb\nc\nd\n"] {
        fs::write(&log, others).unwrap();
        let why = source.can_begin(&position).unwrap_err().to_string();
        assert!(why.contains("its bytes before byte 4 have changed since a snapshot was taken"), "{why}");
    }
    // There was nothing in it.
    fs::write(&log, "").unwrap();
    drop(source.begin(None).unwrap());
    let position = source.position(&0).unwrap();
    fs::write(&log, "d\n").unwrap();
    assert_eq!(texts_after(&log, &position, 1), ["d"]);
}
