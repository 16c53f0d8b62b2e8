//! Files that are replaced, appended to, synced, rotated and resumed, and full disks.

use millstream_core::{Arrow, ModelExt, SequenceNumber, Sink, Val, pipeline};
use millstream_exec::{JobExt, JobRefExt, RunError};
use millstream_io::time::VirtualClock;
use millstream_io::{FileSink, SyncPolicy};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

fn place() -> (TempDir, PathBuf) {
    let directory = tempdir().unwrap();
    let file = directory.path().join("out");
    (directory, file)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The names of the files in its directory, in order.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn at(number: u64) -> Option<SequenceNumber> {
    Some(SequenceNumber(number))
}

#[test]
fn a_replaced_file_is_the_old_one_until_it_is_the_new_one() {
    let (_directory, out) = place();
    fs::write(&out, "old").unwrap();
    let mut sink = FileSink::replace(&out).open().unwrap();
    sink.write(0.into(), b"new\n").unwrap();
    sink.write(7.into(), b"and newer\n").unwrap();
    assert_eq!((text(&out), names(&out).len()), ("old".into(), 2));
    assert_eq!(sink.finish().unwrap(), at(7));
    assert_eq!((text(&out), names(&out)), ("new\nand newer\n".into(), vec!["out".into()]));
}

#[test]
fn an_unfinished_one_leaves_the_old_file_and_no_litter() {
    let (_directory, out) = place();
    fs::write(&out, "old").unwrap();
    let mut sink = FileSink::replace(&out).buffered(100).open().unwrap();
    sink.write(0.into(), &[b'x'; 1000]).unwrap();
    sink.write(1.into(), b"y").unwrap();
    drop(sink);
    assert_eq!((text(&out), names(&out)), ("old".into(), vec!["out".into()]));
}

/// In a container, each process may have the same number.
#[test]
fn a_file_that_a_killed_process_of_the_same_number_has_left_is_not_in_the_way() {
    let (directory, out) = place();
    // More than the tests of this process open.
    let left: Vec<PathBuf> =
        (0..1000).map(|n| directory.path().join(format!(".out.{}.{n}.tmp", std::process::id()))).collect();
    left.iter().for_each(|path| fs::write(path, "left").unwrap());
    let mut sink = FileSink::replace(&out).open().unwrap();
    sink.write(0.into(), b"new\n").unwrap();
    sink.finish().unwrap();
    assert_eq!(text(&out), "new\n");
    assert!(left.iter().all(|path| text(path) == "left"));
}

#[test]
fn a_run_that_fails_leaves_the_old_file_and_no_litter() {
    let (_directory, out) = place();
    let p = pipeline::<u64>().map(|x| if *x == 500 { panic!("five hundred") } else { format!("{x}\n") });
    let sink = FileSink::replace(&out).open().unwrap();
    assert!(p.from(0..1000).to(sink).run().is_err());
    assert_eq!(names(&out), Vec::<String>::new());
}

#[test]
fn a_new_file_has_the_permissions_of_the_old_one_and_a_link_stays_one() {
    let (directory, out) = place();
    fs::write(&out, "old").unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).unwrap();
    let link = directory.path().join("link");
    symlink("out", &link).unwrap();
    FileSink::replace(&link).open().unwrap().finish().unwrap();
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!((text(&out), fs::read_link(&link).unwrap()), (String::new(), "out".into()));
    // Links in several directories to a file that is not there yet.
    fs::create_dir(directory.path().join("days")).unwrap();
    let (latest, today) = (directory.path().join("latest"), directory.path().join("days/1"));
    symlink("days/today", &latest).unwrap();
    symlink("1", directory.path().join("days/today")).unwrap();
    for _ in 0..2 {
        FileSink::replace(&latest).open().unwrap().finish().unwrap();
        assert_eq!((text(&today), fs::read_link(&latest).unwrap()), (String::new(), "days/today".into()));
    }
    fs::remove_file(&today).unwrap();
    symlink(directory.path().join("latest"), &today).unwrap();
    assert!(FileSink::replace(&latest).open().is_err(), "links in a circle");
}

#[test]
fn appending_continues_after_the_contents() {
    let (_directory, out) = place();
    for round in ["a", "b", "c"] {
        let mut sink = FileSink::append(&out).open().unwrap();
        assert_eq!(sink.last(), None);
        sink.write(0.into(), round.as_bytes()).unwrap();
        assert_eq!(sink.position().unwrap().last, at(0));
        drop(sink);
    }
    assert_eq!(text(&out), "abc");
}

#[test]
fn values_are_gathered_until_a_pause() {
    fn pause(sink: &mut impl Sink<Val<String>, Error = std::io::Error>) {
        sink.pause().unwrap();
    }
    let (_directory, out) = place();
    let mut sink = FileSink::append(&out).open().unwrap();
    sink.write(0.into(), b"a").unwrap();
    assert_eq!((sink.last(), text(&out)), (None, String::new()));
    pause(&mut sink);
    assert_eq!((sink.last(), text(&out)), (at(0), "a".into()));
    sink.write(1.into(), &[b'b'; 70_000]).unwrap();
    assert_eq!(sink.last(), at(1), "what the buffer has no room for is written at once");
    drop(sink);
    let mut sink = FileSink::append(&out).keep_at_pauses().open().unwrap();
    sink.write(2.into(), b"c").unwrap();
    pause(&mut sink);
    assert_eq!((sink.last(), text(&out).len()), (None, 70_001));
    assert_eq!(sink.finish().unwrap(), at(2));
    assert_eq!(text(&out).len(), 70_002);
}

#[test]
fn a_number_that_was_written_is_skipped() {
    let (_directory, out) = place();
    for buffer in [0, 3, 100] {
        let mut sink = FileSink::replace(&out).buffered(buffer).open().unwrap();
        for number in [0, 1, 2, 0, 1, 2, 3] {
            sink.write(number.into(), number.to_string().as_bytes()).unwrap();
        }
        assert_eq!(sink.finish().unwrap(), at(3));
        assert_eq!(text(&out), "0123");
    }
}

#[test]
fn the_last_number_is_of_a_value_in_the_file() {
    let (_directory, out) = place();
    let mut sink = FileSink::append(&out).buffered(4).open().unwrap();
    let mut write = |number: u64, bytes: &str, last, file: &str| {
        sink.write(number.into(), bytes.as_bytes()).unwrap();
        assert_eq!((sink.last(), text(&out)), (last, file.into()));
    };
    write(0, "aa", None, "");
    write(1, "bb", None, "");
    write(2, "c", at(1), "aabb");
    write(3, "", at(1), "aabb");
    write(4, "long value", at(4), "aabbclong value");
    write(9, "d", at(4), "aabbclong value");
    write(10, "", at(4), "aabbclong value");
    assert_eq!(sink.position().unwrap().last, at(10));
    assert_eq!(sink.position().unwrap().length, 16);
    drop(sink);
}

#[test]
fn a_dropped_buffer_is_written() {
    let (_directory, out) = place();
    let mut sink = FileSink::append(&out).buffered(100).open().unwrap();
    sink.write(0.into(), b"last words").unwrap();
    drop(sink);
    assert_eq!(text(&out), "last words");
}

#[test]
fn a_sync_by_bytes_is_due_when_they_are_written() {
    let (_directory, out) = place();
    let mut sink = FileSink::append(&out).buffered(1000).sync(SyncPolicy::EveryBytes(10)).open().unwrap();
    for (number, last) in [None, None, at(2), at(2), at(2), at(5)].into_iter().enumerate() {
        sink.write((number as u64).into(), b"four").unwrap();
        assert_eq!(sink.last(), last, "what is synced has been written: number {number}");
    }
}

#[test]
fn a_sync_by_time_is_due_when_it_has_gone_by() {
    let (_directory, out) = place();
    let clock = VirtualClock::default();
    let every = SyncPolicy::Every(Duration::from_secs(10));
    let mut sink = FileSink::append(&out).buffered(1000).sync(every).clock(clock.clone()).open().unwrap();
    for (number, last) in [None, None, at(2), at(2), at(2), at(5)].into_iter().enumerate() {
        clock.advance(Duration::from_secs(4));
        sink.write((number as u64).into(), b"x").unwrap();
        assert_eq!(sink.last(), last, "what is synced has been written: number {number}");
    }
}

#[test]
fn every_policy_leaves_the_same_file() {
    let (_directory, out) = place();
    let policies = [SyncPolicy::Never, SyncPolicy::AtEnd, SyncPolicy::EveryBytes(1), SyncPolicy::Every(Duration::ZERO)];
    for sync in policies {
        for sink in [FileSink::replace(&out), FileSink::append(&out)] {
            fs::write(&out, "").unwrap();
            let mut sink = sink.sync(sync).open().unwrap();
            (0..3).for_each(|n: u64| sink.write(n.into(), b"x").unwrap());
            sink.finish().unwrap();
            assert_eq!(text(&out), "xxx", "{sync:?}");
        }
    }
}

#[test]
fn every_file_begins_with_its_header_once() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    for (numbers, buffer) in [(0..2_u64, 0), (2..4, 64)] {
        let mut sink = FileSink::append(&out).header("n\n").rotate(6, 2).buffered(buffer).open().unwrap();
        for number in numbers {
            sink.write(number.into(), format!("{number}\n").as_bytes()).unwrap();
        }
        sink.finish().unwrap();
    }
    // Two values have room after a header.
    assert_eq!((read("out.1"), read("out")), ("n\n0\n1\n".to_owned(), "n\n2\n3\n".to_owned()));

    let mut sink = FileSink::append(dir.path().join("resumed")).header("n\n").open().unwrap();
    let begun = sink.position().unwrap();
    sink.write(0.into(), b"zero").unwrap();
    drop(sink);
    let resumed = FileSink::append(dir.path().join("resumed")).header("n\n").resume(begun).open().unwrap();
    resumed.finish().unwrap();
    assert_eq!(read("resumed"), "n\n");
}

#[test]
fn rotated_files_are_numbered_from_the_newest_to_the_oldest() {
    for buffer in [0, 3, 100] {
        let (_directory, out) = place();
        fs::write(&out, "before").unwrap();
        let mut sink = FileSink::append(&out).rotate(6, 2).buffered(buffer).open().unwrap();
        for (number, value) in ["aaa", "bbb", "", "cc", "larger than a file", "d", "eeeee"].iter().enumerate() {
            sink.write((number as u64).into(), value.as_bytes()).unwrap();
        }
        assert_eq!(sink.finish().unwrap(), at(6));
        assert_eq!(names(&out), ["out", "out.1", "out.2"]);
        let numbered = |n: u32| text(&out.with_extension(n.to_string()));
        assert_eq!((text(&out), numbered(1), numbered(2)), ("deeeee".into(), "larger than a file".into(), "cc".into()));
    }
}

#[test]
fn a_rotation_that_fails_loses_nothing() {
    let (directory, out) = place();
    let mut sink = FileSink::append(&out).rotate(3, 1).open().unwrap();
    sink.write(0.into(), b"one").unwrap();
    fs::create_dir(directory.path().join("out.1")).unwrap();
    let error = sink.write(1.into(), b"two").unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: cannot rotate: ", out.display())), "{error}");
    assert_eq!((sink.last(), text(&out)), (at(0), "one".into()));
    fs::remove_dir(directory.path().join("out.1")).unwrap();
    sink.write(1.into(), b"two").and_then(|()| sink.flush()).unwrap();
    assert_eq!((text(&out), text(&directory.path().join("out.1"))), ("two".into(), "one".into()));
}

#[test]
fn a_run_goes_on_in_another_process() {
    let (_directory, out) = place();
    let p = pipeline::<u64>().filter(|x| x % 3 != 0).map(|x| format!("{x}\n"));
    let run = |sink: FileSink, to| (&p).from(0..to).to(sink).run().unwrap().0;
    let position = run(FileSink::append(&out).buffered(64).open().unwrap(), 500);
    assert_eq!(position, millstream_io::Position { last: at(499), length: fs::metadata(&out).unwrap().len() });
    let further = FileSink::append(&out).resume(position).open().unwrap();
    run(further, 700); // written, and not known to a process that kept the first position
    let written = run(FileSink::append(&out).resume(position).open().unwrap(), 1000);
    assert_eq!(written.last, at(998));
    assert_eq!(text(&out), p.model(0..1000).concat());
}

#[test]
fn an_error_of_open_says_why() {
    let (_directory, out) = place();
    let error = |opened: std::io::Result<FileSink>| opened.map(drop).unwrap_err().to_string();
    let starts = |error: String, words: &str| assert!(error.contains(words), "{error:?} without {words:?}");
    let open = |what: &str| format!("{}: cannot open: {what}", out.display());
    let position = FileSink::append(&out).open().unwrap().position().unwrap();
    let further = millstream_io::Position { length: 5, ..position };
    starts(
        error(FileSink::append(&out).resume(further).open()),
        &open("it has only 0 bytes, so it cannot be resumed at byte 5"),
    );
    starts(error(FileSink::replace(&out).resume(position).open()), &open("a replaced file cannot be resumed"));
    starts(error(FileSink::replace(&out).rotate(1, 1).open()), &open("a replaced file cannot be rotated"));
    let both = FileSink::append(&out).rotate(1, 1).resume(position);
    starts(error(both.open()), &open("a rotated file cannot be resumed"));
    starts(error(FileSink::append(out.join("x")).open()), &format!("{}/x: cannot open: ", out.display()));
    starts(error(FileSink::replace("/dev/null").open()), "/dev/null: cannot open: only a regular file can be replaced");
    starts(error(FileSink::append("/dev/null").rotate(1, 1).open()), "only a regular file can be rotated");
    starts(error(FileSink::replace(out.parent().unwrap()).open()), "only a regular file can be replaced");
    assert_eq!(names(&out), ["out"], "and leaves nothing");
}

#[test]
fn a_device_is_not_synced() {
    let mut sink = FileSink::append("/dev/null").sync(SyncPolicy::EveryBytes(1)).open().unwrap();
    sink.write(0.into(), b"gone").unwrap();
    assert_eq!(sink.finish().unwrap(), at(0));
}

#[test]
fn a_full_disk_is_named() {
    for buffer in [0, 100] {
        let mut sink = FileSink::append("/dev/full").buffered(buffer).open().unwrap();
        let error = sink.write(0.into(), b"x").and_then(|()| sink.flush()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("/dev/full: cannot write: No space left on device"), "{error}");
        assert_eq!(sink.last(), None);
        assert_eq!(sink.finish().unwrap(), None, "values that could not be written are dropped");
    }
}

#[test]
fn a_full_disk_fails_the_run_at_its_number() {
    let sink = FileSink::append("/dev/full").buffered(0).open().unwrap();
    let p = pipeline::<u64>().filter(|x| *x > 6).map(|x| x.to_string());
    let ended = p.from(0..100).to(sink).start().unwrap().join();
    let Some(RunError::Stage { stage, number, .. }) = &ended.failure else { panic!("{:?}", ended.failure) };
    assert_eq!((&**stage, *number), ("sink", at(7)));
    let words = ended.failure.as_ref().unwrap().to_string();
    assert!(words.contains("/dev/full: cannot write: No space left on device"), "{words}");
    assert_eq!(ended.output.expect("a sink that failed says how far it has come").last, None);
    let source = std::error::Error::source(ended.failure.as_ref().unwrap()).unwrap();
    assert_eq!(source.downcast_ref::<std::io::Error>().unwrap().kind(), ErrorKind::StorageFull);
}

/// Runs itself in a process whose files cannot grow beyond a few thousand bytes: a write is then cut within a value.
#[test]
fn a_disk_that_is_full_within_a_value_leaves_whole_ones() {
    const LIMITED: &str = "MILLSTREAM_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_none() {
        let name = "file_sink::a_disk_that_is_full_within_a_value_leaves_whole_ones";
        let shell = r#"trap "" XFSZ; ulimit -f 8; exec "$0" --exact "$1""#;
        let myself = std::env::current_exe().unwrap();
        let child = Command::new("sh").args(["-c", shell]).arg(myself).arg(name).env(LIMITED, "1").output().unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        assert!(String::from_utf8_lossy(&child.stdout).contains("1 passed"));
        return;
    }
    let (_directory, out) = place();
    for buffer in [0, 5000] {
        let _ = fs::remove_file(&out);
        let mut sink = FileSink::append(&out).buffered(buffer).open().unwrap();
        let value = [b'x'; 1500];
        let failed = (0..100_u64).find_map(|n| sink.write(n.into(), &value).err()).expect("there is a limit");
        assert_eq!(failed.kind(), ErrorKind::FileTooLarge);
        let last = sink.last().map_or(0, |number| number.0 + 1);
        assert_eq!(fs::metadata(&out).unwrap().len(), 1500 * last, "whole values, {buffer}");
        assert!(buffer > 0 || last > 0);
        let _ = sink.write(last.into(), b"short").and_then(|()| sink.flush());
        assert_eq!(fs::metadata(&out).unwrap().len(), 1500 * last + 5, "and it continues after them");
    }
}

/// The name of a directory that is looked up again tells whether it was synced.
#[test]
fn the_name_of_a_new_file_is_durable_before_its_first_position_is() {
    let home = tempdir().unwrap();
    let (there, moved) = (home.path().join("there"), home.path().join("moved"));
    for policy in [SyncPolicy::Never, SyncPolicy::AtEnd] {
        fs::create_dir(&there).unwrap();
        let mut sink = FileSink::append(there.join("out")).sync(policy).open().unwrap();
        sink.write(0.into(), b"x").unwrap();
        fs::rename(&there, &moved).unwrap();
        let position = sink.synced_position().map_err(|error| error.to_string());
        let refused = position.as_ref().is_err_and(|why| why.contains("out: cannot sync"));
        assert_eq!((position.is_ok(), refused), (policy == SyncPolicy::Never, policy == SyncPolicy::AtEnd));
        fs::rename(&moved, &there).unwrap();
        assert_eq!(sink.synced_position().unwrap().length, 1);
        fs::rename(&there, &moved).unwrap();
        assert_eq!(sink.synced_position().unwrap().length, 1, "it is synced once");
        fs::remove_dir_all(&moved).unwrap();
    }
}
