//! The journal on the simulated disk: torn ends and damage.

use crate::journal::{SMALL, append, numbers};
use crate::journal_crashes::{DIR, commit, files, get, open, put};
use crate::simulated::Simulated;
use millstream_state::journal::{Journal, JournalError, JournalOptions, JournalReader};
use std::ops::Range;
use std::path::Path;

/// A disk with a journal of four commits of some values, its one file, and where each commit ends.
fn four_commits(values: u64) -> (Simulated, String, Vec<u8>, Vec<usize>) {
    let disk = Simulated::recording();
    let (mut journal, _) = open(&disk, JournalOptions { segment_bytes: 1 << 20, ..SMALL }, 1).unwrap();
    let mut ends = Vec::new();
    for _ in 0..4 {
        commit(&disk, &mut journal, values).unwrap();
        ends.push(journal.bytes() as usize);
    }
    drop(journal);
    let [path] = &files(&disk)[..] else { panic!("one segment") };
    let bytes = get(&disk, path);
    disk.history();
    (Simulated::of(disk.world()), path.clone(), bytes, ends)
}

#[test]
fn a_tail_is_torn_and_appended_to_at_every_byte_of_the_last_two_commits() {
    let (disk, path, bytes, ends) = four_commits(4);
    for at in ends[1]..=bytes.len() {
        let commits = ends.iter().filter(|end| **end <= at).count();
        for behind in [&[][..], &[0xff; 3], &[0; 5000], &[b'm'; 70]] {
            let disk = Simulated::of(disk.world());
            put(&disk, &path, &[&bytes[..at], behind].concat());
            // The last byte of a commit may be a zero.
            let mended = ends.get(commits).filter(|end| bytes[at..**end].iter().eq(behind.iter().take(*end - at)));
            let commits = if mended.is_some() { commits + 1 } else { commits };
            let (mut journal, recovered) = open(&disk, SMALL, 2).unwrap();
            let whole = commits as u64 * 4;
            assert_eq!((recovered.first, recovered.next), (0, whole), "at {at}");
            let tail = at + behind.len() - ends[commits - 1];
            assert_eq!(recovered.cut.as_ref().map_or(0, |cut| cut.bytes), tail as u64, "at {at}");
            assert_eq!(recovered.to_string().contains("unfinished record"), tail > 0);
            commit(&disk, &mut journal, 3).unwrap();
            commit(&disk, &mut journal, 2).unwrap();
            drop(journal);
            // And a crash in the last commit.
            let last = files(&disk).pop().unwrap();
            let written = get(&disk, &last);
            put(&disk, &last, &written[..written.len() - 1 - at % 40]);
            let (journal, recovered) = open(&disk, SMALL, 3).unwrap();
            assert_eq!((recovered.next, recovered.cut.is_some()), (whole + 3, true), "at {at}");
            assert_eq!(numbers(journal.read_from(0).unwrap()), (0..whole + 3).collect::<Vec<_>>());
        }
    }
}

#[test]
fn damage_of_any_byte_before_the_last_commit_is_refused_or_skipped() {
    damage_of_any_byte(4, |lost| format!("from {} to {} are lost", lost.start, lost.end - 1));
    damage_of_any_byte(1, |lost| format!("from {} to {0} are lost", lost.start));
}

fn damage_of_any_byte(values: u64, says: impl Fn(&Range<u64>) -> String) {
    let (disk, path, bytes, ends) = four_commits(values);
    let all = 4 * values;
    for at in 0..ends[2] {
        let commit_of = ends.iter().filter(|end| **end <= at).count();
        let offset = commit_of.checked_sub(1).map_or(0, |before| ends[before] as u64);
        let disk = Simulated::of(disk.world());
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        put(&disk, &path, &damaged);
        let refused = open(&disk, SMALL, 2).unwrap_err();
        let JournalError::Corrupt { path: file, offset: said, why } = &refused else { panic!("at {at}: {refused}") };
        assert_eq!((file.to_str(), *said), (Some(path.as_str()), offset), "at {at}");
        let lost = commit_of as u64 * values..(commit_of as u64 + 1) * values;
        assert!(why.ends_with(&says(&lost)), "at {at}: {why}");
        assert_eq!(get(&disk, &path), damaged, "it changed nothing");

        let (mut journal, recovered) = open(&disk, JournalOptions { skip_corrupt: true, ..SMALL }, 2).unwrap();
        assert_eq!((recovered.next, &recovered.lost[..]), (all, &[lost.clone()][..]), "at {at}");
        commit(&disk, &mut journal, 2).unwrap();
        let left: Vec<u64> = (0..all + 2).filter(|number| !lost.contains(number)).collect();
        assert_eq!(numbers(journal.read_from(0).unwrap()), left, "at {at}");
        let mut reader = JournalReader::new(disk.disk(), DIR);
        let read: Vec<_> = reader.read_from(0).unwrap().collect();
        assert_eq!(read.len() as u64, lost.start + 1, "at {at}: as far as the damage, and an error");
        assert!(matches!(read.last(), Some(Err(JournalError::Corrupt { .. }))));
        let mut reader = JournalReader::new(disk.disk(), DIR).skip_corrupt();
        assert_eq!(numbers(reader.read_from(0).unwrap()), &left[..left.len() - 2], "at {at}");
    }
}

#[test]
fn damage_of_the_last_commit_is_known_from_another_place_alone() {
    let (disk, path, bytes, ends) = four_commits(4);
    let mut damaged = bytes;
    damaged[ends[2] + 60] ^= 1;
    put(&disk, &path, &damaged);
    let refused = open(&disk, JournalOptions { at_least: 16, ..SMALL }, 2).unwrap_err();
    assert!(matches!(refused, JournalError::Behind { next: 12, at_least: 16, .. }), "{refused}");
    assert_eq!(get(&disk, &path), damaged, "it changed nothing");
    let (_, recovered) = open(&disk, SMALL, 2).unwrap();
    assert_eq!((recovered.next, recovered.cut.is_some()), (12, true));
}

#[test]
fn a_segment_that_is_missing_is_refused_or_skipped() {
    let disk = Simulated::recording();
    let (mut journal, _) = open(&disk, JournalOptions { segment_bytes: 1, ..SMALL }, 1).unwrap();
    for _ in 0..4 {
        commit(&disk, &mut journal, 4).unwrap();
    }
    drop(journal);
    let second = files(&disk).swap_remove(1);
    disk.disk().remove(Path::new(&second)).unwrap();
    let refused = open(&disk, SMALL, 2).unwrap_err();
    assert!(refused.to_string().contains("00000000000000000000-1.journal is damaged"), "{refused}");
    assert!(refused.to_string().ends_with("the numbers from 4 to 7 are lost"), "{refused}");
    let (journal, recovered) = open(&disk, JournalOptions { skip_corrupt: true, ..SMALL }, 2).unwrap();
    assert_eq!((recovered.next, &recovered.lost[..]), (16, &[Range { start: 4, end: 8 }][..]));
    assert!(recovered.to_string().ends_with("the numbers from 4 to 7 are lost"), "{recovered}");
    let left: Vec<u64> = (0..4).chain(8..16).collect();
    assert_eq!(numbers(journal.read_from(0).unwrap()), left);
}

#[test]
fn a_value_with_the_bytes_of_a_journal_is_no_journal() {
    // The last commit is torn, and its value holds records that would say that it was durable.
    let (_, _, bytes, _) = four_commits(4);
    let disk = Simulated::recording();
    let (mut journal, _) = open(&disk, SMALL, 1).unwrap();
    journal.append(0, &bytes).unwrap();
    journal.commit().unwrap();
    drop(journal);
    let path = files(&disk).swap_remove(0);
    let mut written = get(&disk, &path);
    written[20] ^= 1;
    put(&disk, &path, &written);
    let (_, recovered) = open(&disk, SMALL, 2).unwrap();
    assert_eq!((recovered.next, recovered.cut.is_some()), (0, true));
}

#[test]
fn a_record_is_found_wherever_it_begins() {
    for longer in 0..12 {
        let disk = Simulated::recording();
        let (mut journal, _) = open(&disk, JournalOptions { segment_bytes: 1 << 20, ..SMALL }, 1).unwrap();
        journal.append(0, &vec![0; 65_536 - 52 - 6 + longer]).unwrap();
        journal.commit().unwrap();
        commit(&disk, &mut journal, 2).unwrap();
        drop(journal);
        let path = files(&disk).swap_remove(0);
        let mut bytes = get(&disk, &path);
        bytes[20] ^= 1;
        put(&disk, &path, &bytes);
        assert!(matches!(open(&disk, SMALL, 2), Err(JournalError::Corrupt { offset: 0, .. })), "{longer}");
    }
}

#[test]
fn a_segment_under_another_name_is_refused() {
    let (disk, path, bytes, _) = four_commits(4);
    for other in ["00000000000000000000-3", "00000000000000000001-1"] {
        let disk = Simulated::of(disk.world());
        disk.disk().remove(Path::new(&path)).unwrap();
        put(&disk, &format!("{DIR}/{other}.journal"), &bytes);
        let opened = open(&disk, JournalOptions { at_least: 16, ..SMALL }, 4);
        assert!(matches!(opened, Err(JournalError::Corrupt { .. } | JournalError::Behind { .. })), "{opened:?}");
    }
}

#[test]
fn a_later_format_is_named() {
    let (disk, path, mut bytes, ends) = four_commits(4);
    bytes[4] = 3;
    let mut summed = [0; 16].to_vec();
    summed.extend(&bytes[..44]);
    summed.extend(&bytes[48..ends[0]]);
    bytes[44..48].copy_from_slice(&crc32fast::hash(&summed).to_le_bytes());
    put(&disk, &path, &bytes);
    let refused = open(&disk, JournalOptions { skip_corrupt: true, ..SMALL }, 2).unwrap_err();
    assert!(
        refused.to_string().contains("has the format 0x3 at byte 0; this version reads formats up to 2"),
        "{refused}"
    );
}

#[test]
fn damage_before_the_records_of_a_zombie_loses_no_more() {
    let (disk, path, bytes, ends) = four_commits(4);
    // The second commit and the third are damaged; the last two are those of a zombie, since another process took over.
    let (mut journal, _) = open(&disk, SMALL, 2).unwrap();
    commit(&disk, &mut journal, 4).unwrap();
    drop(journal);
    let mut damaged = bytes;
    for end in [ends[0], ends[1]] {
        damaged[end + 60] ^= 1;
    }
    put(&disk, &path, &damaged);
    let taken_over = Simulated::of(disk.world());
    let next = files(&taken_over).swap_remove(1);
    taken_over.disk().remove(Path::new(&next)).unwrap();
    // A process of epoch 2 that began at number 8.
    let (mut journal, _) = Journal::open(taken_over.disk(), "/other", SMALL, 2).unwrap();
    append(&mut journal, 8..12);
    journal.commit().unwrap();
    drop(journal);
    let name = "00000000000000000008-2.journal";
    let segment = get(&taken_over, &format!("/other/{name}"));
    put(&taken_over, &format!("{DIR}/{name}"), &segment);
    let (journal, recovered) = open(&taken_over, JournalOptions { skip_corrupt: true, ..SMALL }, 3).unwrap();
    assert_eq!((recovered.next, &recovered.lost[..]), (12, &[Range { start: 4, end: 8 }][..]));
    assert_eq!(numbers(journal.read_from(0).unwrap()), [0, 1, 2, 3, 8, 9, 10, 11]);
}
