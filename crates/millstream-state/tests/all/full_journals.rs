//! Journals that are full: the job makes room for them, or says that it cannot.

use crate::journal::{append, numbers, value};
use crate::trimmed::SMALL;
use millstream::state::disk::RealDisk;
use millstream::state::journal::{Journal, JournalError, JournalOptions};
use std::sync::Arc;
use tempfile::tempdir;

#[test]
fn a_full_journal_can_be_trimmed_whatever_its_segments_may_have() {
    let home = tempdir().unwrap();
    let open = |options, epoch| Journal::open(Arc::new(RealDisk), home.path().join("journal"), options, epoch);
    let options = JournalOptions { max_bytes: 5000, segment_bytes: 1 << 20, ..SMALL };
    let (mut journal, _) = open(options, 1).unwrap();
    let (mut number, mut kept) = (0, Vec::new());
    for round in 0..6 {
        let full = loop {
            match journal.append(number, &value(number)) {
                Ok(()) => number += 1,
                Err(error) => break error,
            }
            if round % 2 == 0 {
                journal.commit().unwrap();
            }
        };
        assert!(matches!(full, JournalError::Full { max: 5000, .. }), "{full}");
        journal.commit().unwrap();
        // Something else has these from now on.
        journal.trim_below(number).unwrap();
        assert_eq!((journal.first(), journal.bytes()), (number, 0), "round {round}");
        append(&mut journal, number..number + 3);
        kept = (number..number + 3).collect();
        number += 3;
        journal.commit().unwrap();
    }
    assert_eq!(numbers(journal.read_from(kept[0]).unwrap()), kept);
    drop(journal);
    assert_eq!(numbers(open(options, 2).unwrap().0.read_from(kept[0]).unwrap()), kept);
}

#[test]
fn what_no_journal_of_this_size_could_hold_is_refused() {
    let home = tempdir().unwrap();
    let open = |max_bytes| {
        let options = JournalOptions { max_bytes, ..SMALL };
        Journal::open(Arc::new(RealDisk), home.path().join("journal"), options, 1)
    };
    let none = open(40).unwrap_err().to_string();
    assert!(none.contains("`max_bytes` is 40") && none.contains("at least "), "{none}");
    let (mut journal, _) = open(1000).unwrap();
    let long = journal.append(0, &[0; 1000]).unwrap_err();
    assert!(matches!(long, JournalError::TooLong { bytes: 1000, max: 900..1000 }), "{long}");
    journal.append(0, &[0; 900]).unwrap();
    assert_eq!(journal.commit().unwrap(), 1);
}
