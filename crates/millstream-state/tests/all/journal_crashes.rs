//! The journal on the simulated disk: crashes, failed syncs, full disks.

use crate::journal::{SMALL, append, numbers, value};
use crate::simulated::{Faults, Simulated, World};
use millstream_state::disk::OpenMode;
use millstream_state::journal::{Fsync, Journal, JournalError, JournalOptions, JournalReader, Recovered};
use std::path::Path;
use std::time::Duration;

pub(crate) const DIR: &str = "/job/journal";

pub(crate) fn open(
    disk: &Simulated,
    options: JournalOptions,
    epoch: u64,
) -> Result<(Journal, Recovered), JournalError> {
    Journal::open(disk.disk(), DIR, options, epoch)
}

/// Appends and commits a group, and notes what was returned as durable.
pub(crate) fn commit(disk: &Simulated, journal: &mut Journal, values: u64) -> Result<u64, JournalError> {
    let next = journal.next_number();
    append(journal, next..next + values);
    disk.note("appended", next + values);
    let durable = journal.commit()?;
    disk.note("durable", durable);
    Ok(durable)
}

fn greatest(world: &World, what: &str) -> u64 {
    world.notes.iter().filter(|(of, _)| *of == what).map(|(_, number)| *number).max().unwrap_or(0)
}

pub(crate) fn files(disk: &Simulated) -> Vec<String> {
    let names = disk.disk().list(Path::new(DIR)).unwrap().into_iter();
    names.filter(|name| name.ends_with(".journal")).map(|name| format!("{DIR}/{name}")).collect()
}

pub(crate) fn get(disk: &Simulated, path: &str) -> Vec<u8> {
    let mut file = disk.disk().open(Path::new(path), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

pub(crate) fn put(disk: &Simulated, path: &str, bytes: &[u8]) {
    let mut file = disk.disk().open(Path::new(path), OpenMode::Create).unwrap();
    file.write_at(bytes, 0).unwrap();
}

/// A process starts after a crash: it has all that was returned as durable, and nothing that was not appended; it goes
/// on, crashes, and starts again.
fn starts_again(world: World, epoch: u64) -> Vec<u64> {
    let (after, durable, appended) = (world.last.clone(), greatest(&world, "durable"), greatest(&world, "appended"));
    let trimmed = greatest(&world, "trimmed");
    let disk = Simulated::of(world);
    let (mut journal, recovered) = open(&disk, SMALL, epoch).unwrap_or_else(|error| panic!("after {after}: {error}"));
    let (first, next) = (recovered.first, recovered.next);
    assert!(durable <= next && next <= appended, "after {after}: {recovered}; {durable} was durable");
    assert!(first <= trimmed, "after {after}: {recovered}");
    assert_eq!(numbers(journal.read_from(first).unwrap()), (first..next).collect::<Vec<_>>(), "after {after}");
    let durable = commit(&disk, &mut journal, 3).unwrap();
    assert_eq!(durable, next + 3);
    drop(journal);
    // What is durable is so whatever a second crash keeps.
    let all_lost = disk.world().crashes().swap_remove(0);
    let again = Simulated::of(all_lost);
    let (journal, recovered) = open(&again, SMALL, epoch + 1).unwrap();
    assert_eq!((recovered.next, recovered.cut), (next + 3, None), "after {after}");
    numbers(journal.read_from(first).unwrap())
}

/// Two processes, one after the other, with segments of a few commits, one of which is longer than several pages.
fn two_processes(disk: &Simulated, fsync: Fsync) {
    let options = JournalOptions { fsync, ..SMALL };
    let (mut journal, _) = open(disk, options, 1).unwrap();
    for values in [3, 2, 5, 60, 1] {
        commit(disk, &mut journal, values).unwrap();
        journal.mark().unwrap();
    }
    disk.note("trimmed", 30);
    journal.trim_below(30).unwrap();
    drop(journal);
    let (mut journal, _) = open(disk, options, 2).unwrap();
    for values in [4, 1, 2] {
        commit(disk, &mut journal, values).unwrap();
    }
}

#[test]
fn a_crash_at_any_operation_keeps_what_was_durable_and_nothing_half() {
    for fsync in [Fsync::Every, Fsync::Interval(Duration::from_secs(3600))] {
        let disk = Simulated::recording();
        two_processes(&disk, fsync);
        let mut states = 0;
        for world in disk.history() {
            for crashed in world.crashes() {
                states += 1;
                starts_again(crashed, 3);
            }
        }
        assert!(states > 200, "{states}");
    }
}

#[test]
fn every_subset_of_the_unsynced_pages_of_the_last_commit_opens() {
    let disk = Simulated::recording();
    let (mut journal, _) = open(&disk, JournalOptions { segment_bytes: 1 << 20, ..SMALL }, 1).unwrap();
    commit(&disk, &mut journal, 7).unwrap();
    disk.history();
    let disk = Simulated::recording_on(disk.world());
    drop(journal);
    let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
    commit(&disk, &mut journal, 5).unwrap();
    commit(&disk, &mut journal, 75).unwrap();
    let history = disk.history();
    let written = history.iter().rfind(|world| world.last.starts_with("write")).unwrap();
    let crashes = written.crashes();
    assert!(crashes.len() >= 1 << 4, "{}", crashes.len());
    let ends: Vec<u64> = crashes.into_iter().map(|crashed| *starts_again(crashed, 3).last().unwrap() + 1).collect();
    assert!(ends.contains(&(12 + 3)) && ends.contains(&(12 + 75 + 3)), "all of the commit, or nothing: {ends:?}");
    assert!(ends.iter().all(|end| [15, 90].contains(end)), "{ends:?}");
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_a_restart_trusts_no_page_cache() {
    for failing in 0..12 {
        for text in ["sync /job", "sync_dir /job"] {
            let disk = Simulated::recording();
            let options = JournalOptions { segment_bytes: 300, ..SMALL };
            let (mut journal, _) = open(&disk, options, 1).unwrap();
            disk.set_faults(Faults { fail: Some((text, failing)), forgets_names: true, ..Faults::default() });
            let error = loop {
                match commit(&disk, &mut journal, 2) {
                    Ok(_) if journal.next_number() > 60 => return assert!(failing > 5, "{failing}"),
                    Ok(_) => (),
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains("the journal takes nothing more; start a new process: cannot sync /job"), "{error}");
            let number = journal.next_number();
            assert_eq!(journal.append(number, b"").unwrap_err().to_string(), error);
            for _ in 0..3 {
                assert_eq!(journal.commit().unwrap_err().to_string(), error);
                assert_eq!(journal.sync().unwrap_err().to_string(), error);
                assert_eq!(journal.mark().unwrap_err().to_string(), error);
                assert_eq!(journal.trim_below(9).unwrap_err().to_string(), error);
            }
            drop(journal);
            // A new process on the same machine sees the page cache. What it reports stays, whatever a crash keeps.
            let (journal, recovered) = open(&disk, options, 2).unwrap();
            disk.note("durable", recovered.next);
            drop(journal);
            for crashed in disk.world().crashes() {
                starts_again(crashed, 3);
            }
        }
    }
}

#[test]
fn a_full_disk_holds_commits_back_and_loses_none() {
    let disk = Simulated::recording();
    let options = JournalOptions { segment_bytes: 1 << 20, ..SMALL };
    let (mut journal, _) = open(&disk, options, 1).unwrap();
    commit(&disk, &mut journal, 5).unwrap();
    for room in (0..700).step_by(97) {
        disk.set_faults(Faults { room: Some(journal.bytes() as usize + room), ..Faults::default() });
        let before = journal.bytes();
        let number = journal.next_number();
        append(&mut journal, number..number + 5);
        for _ in 0..2 {
            let error = journal.commit().unwrap_err();
            assert!(matches!(error, JournalError::Io { operation: "write", .. }), "{error}");
            assert_eq!((journal.bytes(), journal.durable()), (before, number));
            assert_eq!(get(&disk, &files(&disk)[0]).len() as u64, before, "what was written gives its room back");
        }
        for crashed in disk.world().crashes() {
            let (journal, recovered) = open(&Simulated::of(crashed), options, 2).unwrap();
            assert_eq!(recovered.next, number);
            assert_eq!(numbers(journal.read_from(0).unwrap()), (0..number).collect::<Vec<_>>());
        }
        disk.set_faults(Faults::default());
        assert_eq!(journal.commit().unwrap(), number + 5);
    }
    let all = journal.next_number();
    assert_eq!(numbers(journal.read_from(0).unwrap()), (0..all).collect::<Vec<_>>());
}

#[test]
fn replay_of_ten_times_a_group_needs_the_memory_of_one() {
    let disk = Simulated::recording();
    disk.history();
    let disk = Simulated::of(disk.world());
    let options = JournalOptions { group_bytes: 40_000, segment_bytes: 200_000, ..SMALL };
    let (mut journal, _) = open(&disk, options, 1).unwrap();
    for number in 0..300 {
        match journal.append(number, &value(number).repeat(9)) {
            Err(JournalError::GroupFull { .. }) => {
                journal.commit().unwrap();
                journal.append(number, &value(number).repeat(9)).unwrap();
            }
            appended => appended.unwrap(),
        }
    }
    journal.commit().unwrap();
    assert!(journal.bytes() > 10 * 40_000, "{}", journal.bytes());
    drop(journal);
    let (journal, _) = open(&disk, options, 2).unwrap();
    let read = journal.read_from(0).unwrap().map(|record| record.unwrap().1.len()).sum::<usize>();
    assert!(read > 10 * 35_000 && disk.largest_read() <= 65_536, "{read} {}", disk.largest_read());
    let mut reader = JournalReader::new(disk.disk(), DIR);
    assert!(reader.read_from(0).unwrap().map(|record| record.unwrap().1.len()).sum::<usize>() > 100_000);
    assert!(disk.largest_read() <= 65_536);
}

#[test]
fn commits_that_are_lost_in_any_order_are_no_damage() {
    let disk = Simulated::recording();
    let fsync = Fsync::Interval(Duration::from_secs(3600));
    let (mut journal, _) = open(&disk, JournalOptions { fsync, segment_bytes: 1 << 20, ..SMALL }, 1).unwrap();
    commit(&disk, &mut journal, 3).unwrap();
    journal.sync().unwrap();
    // Each of them has pages of its own, so a later one may be whole although an earlier one is not.
    for _ in 0..3 {
        commit(&disk, &mut journal, 60).unwrap();
    }
    let crashes = disk.world().crashes();
    let mut ends: Vec<u64> = crashes.into_iter().map(|crashed| *starts_again(crashed, 2).last().unwrap()).collect();
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(ends, [5, 65, 125, 185]);
}

#[test]
fn a_failed_write_ends_the_journal_unless_only_room_is_missing() {
    let disk = Simulated::recording();
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    commit(&disk, &mut journal, 3).unwrap();
    disk.set_faults(Faults { fail: Some(("write /job", 0)), ..Faults::default() });
    append(&mut journal, 3..5);
    for _ in 0..2 {
        let error = journal.commit().unwrap_err();
        assert!(matches!(&error, JournalError::Poisoned { why } if why.starts_with("cannot write /job")), "{error}");
    }
    drop(journal);
    disk.world().crashes().into_iter().for_each(|crashed| drop(starts_again(crashed, 2)));
}

#[test]
fn an_empty_segment_of_the_same_epoch_is_used_again() {
    let disk = Simulated::recording();
    disk.set_faults(Faults { room: Some(10), ..Faults::default() });
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    append(&mut journal, 0..3);
    assert!(matches!(journal.commit(), Err(JournalError::Io { operation: "write", .. })));
    drop(journal);
    disk.set_faults(Faults::default());
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    commit(&disk, &mut journal, 3).unwrap();
    journal.trim_below(3).unwrap();
    assert_eq!(numbers(journal.read_from(0).unwrap()), [0, 1, 2]);
    disk.world().crashes().into_iter().for_each(|crashed| drop(starts_again(crashed, 2)));
}
