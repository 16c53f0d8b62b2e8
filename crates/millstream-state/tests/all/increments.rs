//! Snapshots with parts of earlier ones.

use crate::simulated::Simulated;
use millstream_state::store::{MemoryStore, StoreDir};
use millstream_state::{Manifest, Retention, Saved, SnapshotEntry, StateDir, StateError};
use std::fs;
use std::sync::Arc;

/// Three parts at a number: one that never changes, one that changes every second time, and one that always does.
fn parts(at: u64) -> [(&'static str, Vec<u8>); 3] {
    [("never", vec![1; 6000]), ("seldom", vec![(at / 200) as u8; 5000]), ("always", vec![(at / 100) as u8; 3000])]
}

fn save<R>(at: u64, base: Option<&Manifest>, save: impl FnOnce(&Saved<'_>) -> R) -> R {
    let parts = parts(at);
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    save(&Saved { at, parts: &parts, base, ..Saved::default() })
}

/// The numbers of the snapshots, which are whole, each with its own parts.
fn whole(dir: &StateDir) -> Vec<u64> {
    let of = |entry: &SnapshotEntry| {
        let manifest = entry.manifest().unwrap_or_else(|| panic!("{entry:?}"));
        let loaded = dir.load(manifest).unwrap().into_iter().map(|part| (part.name, part.bytes));
        assert!(loaded.eq(parts(manifest.at).map(|(name, bytes)| (name.to_owned(), bytes))), "{}", manifest.at);
        manifest.at
    };
    dir.snapshots().unwrap().iter().map(of).collect()
}

#[test]
fn unchanged_states_are_not_written_again() {
    let home = tempfile::tempdir().unwrap();
    let dir = StateDir::open(home.path().join("state"), "orders").unwrap();
    let mut last: Option<Manifest> = None;
    let mut written = Vec::new();
    for at in [200, 300, 400, 500] {
        let saved = save(at, last.as_ref(), |snapshot| dir.save(snapshot)).unwrap();
        assert_eq!(saved.bytes(), 14_000);
        written.push(saved.written_bytes());
        let size = fs::metadata(dir.path().join("snapshots").join(saved.file())).unwrap().len();
        assert!(size < saved.written_bytes() + 1500, "{size}");
        last = Some(saved);
    }
    assert_eq!(written, [14_000, 3000, 8000, 3000]);
    assert_eq!(whole(&dir), [200, 300, 400, 500]);
    let last = last.unwrap();
    let files: Vec<&str> = last.parts.iter().map(|part| part.file.as_str()).collect();
    assert_eq!(files, ["0000000001-1.snapshot", "0000000003-1.snapshot", "0000000004-1.snapshot"]);
    dir.verify(&last).unwrap();
    // A part that is empty is in no other file, and neither is one of another name.
    let saved = dir.save(&Saved {
        at: 600,
        parts: &[("none", b""), ("ever", &[1; 6000])],
        base: Some(&last),
        ..Saved::default()
    });
    assert_eq!(saved.unwrap().written_bytes(), 6000);
}

#[test]
fn snapshots_stay_that_have_parts_of_one_that_stays() {
    let home = tempfile::tempdir().unwrap();
    let dir = StateDir::open(home.path().join("state"), "orders").unwrap();
    let keep = Retention { count: Some(1), age: None, confirmed_from: Some(u64::MAX) };
    let full = save(200, None, |snapshot| dir.save(snapshot)).unwrap();
    let second = save(300, None, |snapshot| dir.save(snapshot)).unwrap();
    let third = save(400, Some(&second), |snapshot| dir.save(snapshot)).unwrap();
    save(500, Some(&third), |snapshot| dir.save(snapshot)).unwrap();
    assert_eq!(dir.prune(keep).unwrap(), std::slice::from_ref(&full));
    assert_eq!(whole(&dir), [300, 400, 500]);
    save(600, None, |snapshot| dir.save(snapshot)).unwrap();
    assert_eq!(dir.prune(keep).unwrap().len(), 3);
    assert_eq!(whole(&dir), [600]);
    let refused = save(700, Some(&full), |snapshot| dir.save(snapshot)).unwrap_err();
    assert!(refused.to_string().ends_with("its base needs 0000000001-1.snapshot, which is missing"), "{refused}");
}

#[test]
fn damage_of_a_file_is_found_in_all_snapshots_with_parts_of_it() {
    let home = tempfile::tempdir().unwrap();
    let dir = StateDir::open(home.path().join("state"), "orders").unwrap();
    let base = save(200, None, |snapshot| dir.save(snapshot)).unwrap();
    let later = save(300, Some(&base), |snapshot| dir.save(snapshot)).unwrap();
    let path = dir.path().join("snapshots").join(base.file());
    let bytes = fs::read(&path).unwrap();
    let mut damaged = bytes.clone();
    damaged[10] ^= 1;
    fs::write(&path, &damaged).unwrap();
    for manifest in [&base, &later] {
        let said = dir.load(manifest).unwrap_err().to_string();
        assert!(said.contains("0000000001-1.snapshot is damaged: the part `never` has another hash"), "{said}");
    }
    fs::write(&path, &bytes[..3000]).unwrap();
    let said = dir.load(&later).unwrap_err().to_string();
    assert!(said.ends_with("the part `never` reaches beyond the end of the file"), "{said}");
    fs::remove_file(&path).unwrap();
    let list = format!("{:?}", dir.snapshots().unwrap());
    assert!(list.contains("parts of it are in 0000000001-1.snapshot, which is missing"), "{list}");
}

#[test]
fn a_store_writes_only_changed_states_too() {
    let dir = StoreDir::open(Arc::new(MemoryStore::default()), "orders").unwrap();
    let base = save(200, None, |snapshot| dir.save(snapshot)).unwrap();
    let later = save(300, Some(&base), |snapshot| dir.save(snapshot)).unwrap();
    assert_eq!(later.written_bytes(), 3000);
    assert_eq!(dir.load(&later).unwrap()[0].bytes, [1; 6000]);
    let keep = Retention { count: Some(1), age: None, confirmed_from: Some(u64::MAX) };
    assert!(dir.prune(keep).unwrap().is_empty());
    save(400, None, |snapshot| dir.save(snapshot)).unwrap();
    assert_eq!(dir.prune(keep).unwrap().len(), 2);
    let refused = save(500, Some(&base), |snapshot| dir.save(snapshot));
    assert!(matches!(refused, Err(StateError::Refused { .. })), "{refused:?}");
}

#[test]
fn a_crash_at_any_operation_leaves_no_snapshot_without_its_parts() {
    let disk = Simulated::recording();
    let dir = StateDir::open_on(disk.disk(), "/state", "orders").unwrap();
    let keep = Retention { count: Some(1), age: None, confirmed_from: Some(u64::MAX) };
    let mut last: Option<Manifest> = None;
    for at in [200, 300, 400, 500, 600] {
        let base = last.as_ref().filter(|_| at != 500);
        last = Some(save(at, base, |snapshot| dir.save(snapshot)).unwrap());
        disk.note("saved", at);
        dir.prune(keep).unwrap();
    }
    for world in disk.history() {
        let newest = world.notes.iter().map(|(_, at)| *at).max();
        for crashed in world.crashes() {
            let after = crashed.last.clone();
            let dir = StateDir::open_on(Simulated::of(crashed).disk(), "/state", "orders").unwrap();
            let found = whole(&dir);
            assert!(found.last().copied() >= newest, "after {after}: {found:?} and not {newest:?}");
        }
    }
}
