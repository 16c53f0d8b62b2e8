//! The journal on this machine's disk.

use crate::simulated::Simulated;
use millstream_state::StateDir;
use millstream_state::disk::RealDisk;
use millstream_state::journal::{Fsync, Journal, JournalError, JournalOptions, JournalReader, Recovered};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io};

/// The value at a number: some are empty, and some have several hundred bytes.
pub(crate) fn value(number: u64) -> Vec<u8> {
    vec![number as u8; (number * 37 % 331) as usize]
}

pub(crate) fn append(journal: &mut Journal, numbers: Range<u64>) {
    numbers.for_each(|number| journal.append(number, &value(number)).unwrap());
}

/// The numbers of what is read, and each has its own value.
pub(crate) fn numbers(records: impl Iterator<Item = Result<(u64, Vec<u8>), JournalError>>) -> Vec<u64> {
    let number = |record: Result<(u64, Vec<u8>), JournalError>| {
        let (number, bytes) = record.unwrap();
        assert_eq!(bytes, value(number), "number {number}");
        number
    };
    records.map(number).collect()
}

fn open(dir: &Path, options: JournalOptions, epoch: u64) -> Result<(Journal, Recovered), JournalError> {
    Journal::open(Arc::new(RealDisk), dir, options, epoch)
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("state/journal");
    (home, dir)
}

pub(crate) const SMALL: JournalOptions = JournalOptions {
    segment_bytes: 1000,
    max_bytes: 1 << 30,
    group_bytes: 4 << 20,
    fsync: Fsync::Every,
    compress: false,
    skip_corrupt: false,
    at_least: 0,
};

/// The files of a journal, and their bytes.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "journal"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn what_was_committed_is_read_from_any_number_on() {
    let (_home, dir) = temporary();
    for epoch in 1..=5 {
        let (mut journal, recovered) = open(&dir, SMALL, epoch).unwrap();
        let next = (epoch - 1) * 20;
        assert_eq!((recovered.first, recovered.next, &recovered.cut, recovered.lost.len()), (0, next, &None, 0));
        for begin in (next..next + 20).step_by(4) {
            append(&mut journal, begin..begin + 4);
            assert_eq!(journal.commit().unwrap(), begin + 4);
        }
        append(&mut journal, next + 20..next + 22);
        assert_eq!(numbers(journal.read_from(0).unwrap()), (0..next + 20).collect::<Vec<_>>());
        assert_eq!((journal.durable(), journal.next_number()), (next + 20, next + 22));
    }
    let (journal, _) = open(&dir, SMALL, 6).unwrap();
    for from in 0..=101 {
        assert_eq!(numbers(journal.read_from(from).unwrap()), (from..100).collect::<Vec<_>>());
    }
    assert!(files(&dir).len() > 10);
    let refused = open(&dir, SMALL, 7).unwrap_err();
    assert!(refused.to_string().contains(&format!("journal is in use by process {}", std::process::id())), "{refused}");
}

#[test]
fn an_empty_journal_begins_with_any_number_and_has_no_gap() {
    let (_home, dir) = temporary();
    let (mut journal, _) = open(&dir, SMALL, 1).unwrap();
    assert_eq!(journal.commit().unwrap(), 0);
    append(&mut journal, 1000..1001);
    for number in [1000, 1002, 0] {
        let refused = journal.append(number, b"").unwrap_err();
        assert!(matches!(refused, JournalError::Gap { next: 1001, .. }), "{refused}");
    }
    append(&mut journal, 1001..1003);
    assert_eq!(journal.commit().unwrap(), 1003);
    assert!(matches!(journal.append(0, b""), Err(JournalError::Gap { number: 0, next: 1003 })));
    drop(journal);
    let (journal, recovered) = open(&dir, SMALL, 2).unwrap();
    assert_eq!((recovered.first, recovered.next), (1000, 1003));
    assert!(matches!(journal.read_from(999), Err(JournalError::Trimmed { number: 999, first: 1000 })));
}

#[test]
fn whole_segments_are_trimmed_and_never_the_last() {
    let (_home, dir) = temporary();
    let (mut journal, _) = open(&dir, SMALL, 1).unwrap();
    for number in 0..50 {
        append(&mut journal, number..number + 1);
        journal.commit().unwrap();
    }
    let before = (journal.bytes(), files(&dir).len());
    journal.trim_below(25).unwrap();
    let first = journal.first();
    assert!(first > 15 && first <= 25 && journal.bytes() < before.0 && files(&dir).len() < before.1, "{first}");
    assert_eq!(numbers(journal.read_from(first).unwrap()), (first..50).collect::<Vec<_>>());
    journal.trim_below(1000).unwrap();
    assert_eq!(files(&dir).len(), 1);
    drop(journal);
    let (mut journal, recovered) = open(&dir, SMALL, 2).unwrap();
    assert_eq!(recovered.next, 50);
    append(&mut journal, 50..51);
    journal.commit().unwrap();
}

#[test]
fn a_mark_begins_no_segment() {
    let (_home, dir) = temporary();
    let (mut journal, _) = open(&dir, JournalOptions { segment_bytes: 1, ..SMALL }, 1).unwrap();
    for number in 0..4 {
        append(&mut journal, number..number + 1);
        journal.commit().unwrap();
        journal.mark().unwrap();
    }
    assert_eq!(files(&dir).len(), 4);
    journal.trim_below(3).unwrap();
    assert_eq!(numbers(journal.read_from(3).unwrap()), [3]);
    drop(journal);
    assert_eq!(open(&dir, SMALL, 2).unwrap().1.next, 4);
}

#[test]
fn a_mark_lets_a_reader_see_what_an_earlier_process_has_written() {
    let (_home, dir) = temporary();
    let read = || JournalReader::new(Arc::new(RealDisk), &dir).durable().unwrap();
    for epoch in 1..5 {
        let (mut journal, recovered) = open(&dir, SMALL, epoch).unwrap();
        if epoch < 3 {
            append(&mut journal, recovered.next..recovered.next + 2);
            journal.commit().unwrap();
            // It is killed before it has said more.
            assert_eq!(read(), recovered.next, "epoch {epoch}");
            continue;
        }
        journal.mark().unwrap();
        let (names, known) = (files(&dir), read());
        journal.mark().unwrap();
        assert_eq!((known, files(&dir)), (4, names), "epoch {epoch}");
        append(&mut journal, 4..if epoch == 3 { 4 } else { 6 });
        journal.commit().unwrap();
    }
    assert_eq!(numbers(open(&dir, SMALL, 9).unwrap().0.read_from(0).unwrap()), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_full_journal_and_a_full_group_take_no_more_until_there_is_room() {
    let (_home, dir) = temporary();
    let options = JournalOptions { max_bytes: 5000, group_bytes: 300, ..SMALL };
    let (mut journal, _) = open(&dir, options, 1).unwrap();
    let mut number = 0;
    let full = loop {
        match journal.append(number, &[0; 100]) {
            Ok(()) => number += 1,
            Err(JournalError::GroupFull { bytes: 360, max: 300 }) => drop(journal.commit().unwrap()),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, JournalError::Full { max: 5000, .. }), "{full}");
    journal.commit().unwrap();
    assert!(journal.bytes() <= 5000 && journal.bytes() > 4800, "{}", journal.bytes());
    assert!(matches!(journal.append(number, &[0; 100]), Err(JournalError::Full { .. })));
    journal.trim_below(number / 2).unwrap();
    journal.append(number, &[0; 1000]).unwrap();
    assert_eq!(journal.commit().unwrap(), number + 1);
}

#[test]
fn the_policy_says_when_a_commit_is_durable() {
    let hour = Fsync::Interval(Duration::from_secs(3600));
    for (fsync, returned, durable) in [(hour, 0, 0), (Fsync::Interval(Duration::ZERO), 3, 3), (Fsync::Never, 3, 0)] {
        let (_home, dir) = temporary();
        let (mut journal, _) = open(&dir, JournalOptions { fsync, ..SMALL }, 1).unwrap();
        append(&mut journal, 0..3);
        assert_eq!(journal.commit().unwrap(), returned, "{fsync:?}");
        assert_eq!((journal.durable(), journal.durable_mark().get()), (durable, durable));
        assert_eq!((journal.sync().unwrap(), journal.durable_mark().get()), (3, 3));
    }
}

#[test]
fn a_zombie_is_refused() {
    let (_home, dir) = temporary();
    let (mut journal, _) = open(&dir, SMALL, 7).unwrap();
    append(&mut journal, 0..3);
    journal.commit().unwrap();
    drop(journal);
    let refused = open(&dir, SMALL, 6).unwrap_err();
    assert!(matches!(refused, JournalError::Superseded { theirs: 7, ours: 6, .. }), "{refused}");
    assert!(
        refused.to_string().contains("00000000000000000000-7.journal belongs to a process of epoch 7"),
        "{refused}"
    );
}

#[test]
fn what_a_zombie_writes_after_the_take_over_does_not_count() {
    let (_home, dir) = temporary();
    let (mut zombie, _) = open(&dir, SMALL, 1).unwrap();
    append(&mut zombie, 0..3);
    zombie.commit().unwrap();
    // Its lock was lost without notice.
    fs::remove_file(dir.join("lock")).unwrap();
    let (mut journal, recovered) = open(&dir, SMALL, 2).unwrap();
    assert_eq!(recovered.next, 3);
    append(&mut journal, 3..6);
    journal.commit().unwrap();
    for number in 3..9 {
        zombie.append(number, b"of the zombie").unwrap();
        zombie.commit().unwrap();
    }
    assert_eq!(numbers(journal.read_from(0).unwrap()), [0, 1, 2, 3, 4, 5]);
    drop((zombie, journal));
    let (journal, recovered) = open(&dir, SMALL, 3).unwrap();
    assert_eq!((recovered.next, recovered.cut), (6, None));
    assert_eq!(numbers(journal.read_from(0).unwrap()), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_reader_does_not_pass_what_is_durable() {
    let (_home, dir) = temporary();
    let mut reader = JournalReader::new(Arc::new(RealDisk), &dir);
    assert_eq!(reader.durable().unwrap(), 0);
    let options = JournalOptions { fsync: Fsync::Interval(Duration::from_secs(3600)), segment_bytes: 1 << 20, ..SMALL };
    let (mut journal, _) = open(&dir, options, 1).unwrap();
    let mut here = JournalReader::new(Arc::new(RealDisk), &dir).marked_by(journal.durable_mark());
    for begin in (0..40).step_by(4) {
        append(&mut journal, begin..begin + 4);
        journal.commit().unwrap();
        assert_eq!(numbers(reader.read_from(0).unwrap()), [0; 0], "nothing was synced");
    }
    assert_eq!(journal.sync().unwrap(), 40);
    assert_eq!(numbers(reader.read_from(0).unwrap()), [0; 0], "and no record says it");
    assert_eq!(numbers(here.read_from(33).unwrap()), (33..40).collect::<Vec<_>>());
    append(&mut journal, 40..42);
    journal.mark().unwrap();
    assert_eq!(numbers(reader.read_from(0).unwrap()), (0..40).collect::<Vec<_>>());
    let bytes = journal.bytes();
    journal.mark().unwrap();
    assert_eq!(journal.bytes(), bytes, "it is said already");
    journal.commit().unwrap();
    assert_eq!(numbers(reader.read_from(38).unwrap()), [38, 39]);
    drop(journal);
    // A new process makes durable what it finds.
    let (mut journal, recovered) = open(&dir, options, 2).unwrap();
    assert_eq!(recovered.next, 42);
    append(&mut journal, 42..43);
    journal.commit().unwrap();
    assert_eq!(numbers(reader.read_from(38).unwrap()), (38..42).collect::<Vec<_>>());
}

#[test]
fn a_reader_follows_a_writer_that_trims() {
    let disk = Simulated::of(Simulated::recording().world());
    let (read, all) = (AtomicU64::new(0), 1200);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut journal, _) = Journal::open(disk.disk(), "/j/journal", SMALL, 1).unwrap();
            for begin in (0..all).step_by(3) {
                append(&mut journal, begin..begin + 3);
                journal.commit().unwrap();
                // A reader that goes on is not left behind, so there is something to trim.
                for _ in 0..100_000 {
                    if begin <= read.load(Ordering::Acquire) + 200 {
                        break;
                    }
                    std::thread::yield_now();
                }
                journal.trim_below(read.load(Ordering::Acquire)).unwrap();
            }
            journal.mark().unwrap();
            assert!(journal.first() > 0, "nothing was trimmed");
        });
        let mut reader = JournalReader::new(disk.disk(), "/j/journal");
        while read.load(Ordering::Acquire) < all {
            let from = read.load(Ordering::Acquire);
            let found = numbers(reader.read_from(from).unwrap());
            assert_eq!(found, (from..from + found.len() as u64).collect::<Vec<_>>());
            read.store(from + found.len() as u64, Ordering::Release);
        }
    });
}

/// What a process of format 1 left. Every later version reads it.
#[test]
fn format_1_is_read_for_ever() {
    let (_home, dir) = temporary();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1/journal");
    fs::create_dir_all(&dir).unwrap();
    let files = files(&fixture);
    assert_eq!(files.len(), 4);
    for (path, bytes) in files {
        fs::write(dir.join(path.file_name().unwrap()), bytes).unwrap();
    }
    let (journal, recovered) = open(&dir, SMALL, 3).unwrap();
    assert_eq!((recovered.first, recovered.next, recovered.cut.is_some()), (1000, 1017, true));
    assert_eq!(numbers(journal.read_from(1000).unwrap()), (1000..1017).collect::<Vec<_>>());
}

/// What a process left that compressed some groups. Every later version reads it.
#[test]
fn format_2_is_read_for_ever() {
    let (_home, dir) = temporary();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-2/journal");
    fs::create_dir_all(&dir).unwrap();
    for (path, bytes) in files(&fixture) {
        fs::write(dir.join(path.file_name().unwrap()), bytes).unwrap();
    }
    let (journal, recovered) = open(&dir, SMALL, 3).unwrap();
    assert_eq!((recovered.first, recovered.next, recovered.cut.is_some()), (0, 60, false));
    assert_eq!(numbers(journal.read_from(0).unwrap()), (0..60).collect::<Vec<_>>());
}

#[test]
fn groups_are_compressed_where_that_makes_them_shorter() {
    let bytes = |compress: bool, value: &[u8]| {
        let (_home, dir) = temporary();
        let options = JournalOptions { compress, segment_bytes: 1 << 20, ..SMALL };
        let (mut journal, _) = open(&dir, options, 1).unwrap();
        for number in 0..1000 {
            journal.append(number, value).unwrap();
            if number % 100 == 99 {
                journal.commit().unwrap();
            }
        }
        let bytes = journal.bytes();
        drop(journal);
        // It is read without the option, and goes on with groups of the other kind.
        let (mut journal, recovered) = open(&dir, JournalOptions { compress: !compress, ..options }, 2).unwrap();
        assert_eq!(recovered.next, 1000);
        journal.append(1000, value).unwrap();
        journal.commit().unwrap();
        let read: Vec<_> = journal.read_from(990).unwrap().map(Result::unwrap).collect();
        assert!(read == (990..=1000).map(|number| (number, value.to_vec())).collect::<Vec<_>>());
        bytes
    };
    let line = b"127.0.0.1 - - [26/Nov/2026:12:00:00 +0000] \"GET /index.html HTTP/1.1\" 200 1234";
    let (plain, compressed) = (bytes(false, line), bytes(true, line));
    assert!(compressed * 5 < plain, "{compressed} of {plain} bytes");
}

#[test]
fn a_state_directory_has_its_journal() {
    let (home, _) = temporary();
    let path = home.path().join("orders");
    let dir = StateDir::open(&path, "orders").unwrap();
    let (mut journal, _) = dir.journal(SMALL).unwrap();
    append(&mut journal, 0..3);
    journal.commit().unwrap();
    assert!(matches!(dir.journal(SMALL), Err(JournalError::InUse { .. })));
    drop(journal);
    drop(dir);
    let dir = StateDir::open(&path, "orders").unwrap();
    assert_eq!(dir.journal(SMALL).unwrap().1.next, 3);
    let read = StateDir::read(&path).unwrap();
    assert!(matches!(read.journal(SMALL), Err(JournalError::ReadOnly { .. })));
    let behind = dir.journal(JournalOptions { at_least: 4, ..SMALL }).unwrap_err();
    assert!(behind.to_string().contains("journal ends at number 3, and numbers below 4 were durable"), "{behind}");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let (home, _) = temporary();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = open(&file.join("journal"), SMALL, 1).unwrap_err();
    let JournalError::Io { operation: "make", source, .. } = &refused else { panic!("{refused}") };
    assert_eq!(source.kind(), io::ErrorKind::NotADirectory);
}
