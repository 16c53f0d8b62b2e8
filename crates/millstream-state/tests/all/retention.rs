//! Which snapshots stay.

use crate::directories::{save, whole};
use crate::simulated::Simulated;
use millstream_state::{Manifest, Retention, Saved, StateDir, StateError};
use std::path::Path;
use std::time::Duration;

fn three() -> (tempfile::TempDir, StateDir) {
    let home = tempfile::tempdir().unwrap();
    let dir = StateDir::open(home.path().join("state"), "orders").unwrap();
    for at in [100, 200, 300] {
        save(&dir, at);
    }
    (home, dir)
}

#[test]
fn the_newest_by_count_and_the_confirmed_snapshot_stay() {
    let all = Some(u64::MAX);
    for (count, confirmed_from, left) in [
        (Some(2), all, &[200, 300][..]),
        (Some(1), Some(3), &[300]),
        (Some(1), Some(2), &[200, 300]),
        (Some(2), Some(1), &[100, 200, 300]),
        (Some(0), all, &[300]),
        (Some(9), all, &[100, 200, 300]),
        (Some(1), None, &[100, 200, 300]),
        (None, all, &[100, 200, 300]),
    ] {
        let (_home, dir) = three();
        let removed = dir.prune(Retention { count, age: None, confirmed_from }).unwrap();
        assert_eq!(whole(&dir), left, "{count:?} {confirmed_from:?}");
        assert_eq!(removed.len(), 3 - left.len());
        assert_eq!(save(&dir, 400).id, 4, "ids are not used again");
    }
}

#[test]
fn young_snapshots_stay() {
    let (_home, dir) = three();
    let young = Retention { count: None, age: Some(Duration::from_secs(3600)), confirmed_from: Some(9) };
    assert!(dir.prune(young).unwrap().is_empty());
    std::thread::sleep(Duration::from_millis(5));
    let old = Retention { count: None, age: Some(Duration::ZERO), confirmed_from: Some(9) };
    assert_eq!(dir.prune(Retention { count: Some(2), ..old }).unwrap().len(), 1, "one rule that keeps is enough");
    assert_eq!(dir.prune(old).unwrap().len(), 1);
    assert_eq!(whole(&dir), [300]);
    assert!(matches!(StateDir::read(dir.path()).unwrap().prune(old), Err(StateError::ReadOnly { .. })));
}

#[test]
fn the_newest_and_the_confirmed_snapshot_stay_when_clocks_jump() {
    const HOUR: u64 = 3_600_000;
    let disk = Simulated::recording();
    let dir = StateDir::open_on(disk.disk(), "/state", "orders").unwrap();
    // Written in order, while the clock jumps ahead and back.
    for (at, clock) in [(100, 5), (200, 7), (300, 5), (400, 6)] {
        disk.set_clock(clock * HOUR);
        save(&dir, at);
    }
    let within_half_an_hour =
        Retention { count: None, age: Some(Duration::from_millis(HOUR / 2)), confirmed_from: Some(9) };
    // A snapshot that seems to be from the future stays, and so do later ones.
    disk.set_clock(6 * HOUR);
    assert_eq!(dir.prune(within_half_an_hour).unwrap().len(), 1);
    assert_eq!(whole(&dir), [200, 300, 400]);
    // Years ahead: all are old.
    disk.set_clock(100_000 * HOUR);
    let confirmed = Retention { confirmed_from: Some(3), ..within_half_an_hour };
    assert_eq!(dir.prune(confirmed).unwrap().len(), 1);
    assert_eq!(dir.prune(within_half_an_hour).unwrap().len(), 1);
    assert_eq!(whole(&dir), [400]);
    // And back before all of them.
    disk.set_clock(0);
    save(&dir, 500);
    assert!(dir.prune(within_half_an_hour).unwrap().is_empty());
    assert_eq!(whole(&dir), [400, 500]);
}

/// Three snapshots a day for a year, each with what has changed since the one before, and one in eight whole.
#[test]
fn a_year_of_snapshots_takes_the_room_of_ten_days() {
    const HOUR: u64 = 3_600_000;
    let disk = Simulated::of(Simulated::recording().world());
    let dir = StateDir::open_on(disk.disk(), "/state", "orders").unwrap();
    let ten_days = Retention { count: Some(3), age: Some(Duration::from_millis(240 * HOUR)), confirmed_from: None };
    let mut last: Option<Manifest> = None;
    for nth in 1..=365 * 3_u64 {
        disk.set_clock(nth * 8 * HOUR);
        let (same, new) = (vec![1; 100], nth.to_le_bytes());
        let parts: [(&str, &[u8]); 2] = [("same", &same), ("new", &new)];
        let base = last.as_ref().filter(|_| !nth.is_multiple_of(8));
        let saved = dir.save(&Saved { at: nth, parts: &parts, base, ..Saved::default() }).unwrap();
        dir.prune(Retention { confirmed_from: Some(saved.id), ..ten_days }).unwrap();
        assert_eq!(saved.id, nth, "ids go on");
        last = Some(saved);
        if nth.is_multiple_of(100) {
            let files = disk.disk().list(Path::new("/state/snapshots")).unwrap().len();
            // And the rest of the chain of the oldest.
            assert!(files <= 31 + 8, "{files} files after {nth} snapshots");
            let all = dir.snapshots().unwrap();
            assert_eq!(all.last().unwrap().manifest().unwrap().at, nth);
            assert!(all.iter().all(|entry| dir.verify(entry.manifest().unwrap()).is_ok()));
        }
    }
    let newest = dir.newest().unwrap().unwrap();
    assert_eq!(dir.load(&newest).unwrap()[1].bytes, (365 * 3_u64).to_le_bytes());
}
