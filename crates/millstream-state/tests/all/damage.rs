//! Files that are not as they were written, and those of other formats.

use crate::directories::save;
use crate::jobs::{job, lines, numbers};
use millstream::io::FileSink;
use millstream_state::{Cadence, JobError, Manifest, SnapshotEntry, StateDir, StateError, again};
use std::fs;

#[test]
fn damage_of_any_byte_of_a_snapshot_is_found() {
    let home = tempfile::tempdir().unwrap();
    let dir = StateDir::open(home.path().join("state"), "orders").unwrap();
    save(&dir, 100);
    let saved = save(&dir, 200);
    let path = dir.path().join("snapshots").join(saved.file());
    let bytes = fs::read(&path).unwrap();
    let is_found = |damaged: &[u8]| {
        fs::write(&path, damaged).unwrap();
        let list = dir.snapshots().unwrap();
        assert_eq!(list[0].manifest().map(|manifest| manifest.at), Some(100));
        match &list[1] {
            SnapshotEntry::Unreadable { why, .. } => why.to_string().contains(&saved.file()),
            SnapshotEntry::Whole(manifest) => {
                let said = dir.verify(manifest).unwrap_err().to_string();
                dir.load(manifest).is_err() && said.contains("the part `")
            }
            _ => false,
        }
    };
    // Each byte of the last 1500, and some of the large part.
    for at in (0..bytes.len()).filter(|at| at % 997 < 10 || *at + 1500 > bytes.len()) {
        for flipped in [1, 0x20, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flipped;
            assert!(is_found(&damaged), "byte {at}");
        }
        assert!(is_found(&bytes[..at]), "cut at {at}");
    }
    assert!(is_found(&[&bytes[..], b"\n"].concat()));
    fs::write(&path, &bytes).unwrap();
    dir.verify(&saved).unwrap();
}

#[test]
fn a_job_begins_at_the_snapshot_before_one_whose_part_is_damaged() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let run = |n| job(home.path(), Cadence::Numbers(10)).run(&lines(), again(numbers(n, None)), FileSink::append(&out));
    let damage = |snapshot: &Manifest, bit: u8| {
        let path = home.path().join("state/snapshots").join(snapshot.file());
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] ^= bit;
        fs::write(&path, bytes).unwrap();
    };
    // A fast run may store one snapshot only, so there are two runs.
    run(50).unwrap();
    run(90).unwrap();
    let whole = fs::read_to_string(&out).unwrap();
    let state = StateDir::read(home.path().join("state")).unwrap();
    let newest = state.newest().unwrap().unwrap();
    assert!(newest.written_bytes() > 0, "{newest:?}");
    damage(&newest, 1);
    assert_eq!(state.newest().unwrap().as_ref(), Some(&newest), "its manifest is whole");
    let next = job(home.path(), Cadence::Numbers(10));
    let running = next.start(&lines(), again(numbers(90, None)), FileSink::append(&out)).unwrap();
    let [why] = running.passed_over() else { panic!("{:?}", running.passed_over()) };
    assert!(why.contains(&newest.file()) && why.contains("is damaged"), "{why}");
    let (_, stored) = running.wait().unwrap();
    assert!(stored.began > 0 && stored.began < newest.at, "{stored:?} before {}", newest.at);
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
    // Without one that is whole, the output stays as it is.
    state.snapshots().unwrap().iter().for_each(|entry| damage(entry.manifest().unwrap(), 2));
    let refused = run(90).unwrap_err();
    assert!(matches!(refused, JobError::State(StateError::Damaged { .. })), "{refused}");
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
}

#[test]
fn a_file_with_no_snapshots_name_is_listed() {
    let home = tempfile::tempdir().unwrap();
    let dir = StateDir::open(home.path().join("state"), "orders").unwrap();
    let saved = save(&dir, 100);
    let snapshots = dir.path().join("snapshots");
    fs::write(snapshots.join("notes.txt"), "mine").unwrap();
    fs::copy(snapshots.join(saved.file()), snapshots.join("0000000007-1.snapshot")).unwrap();
    let said: Vec<String> = dir.snapshots().unwrap().iter().map(|entry| format!("{entry:?}")).collect();
    assert!(said[0].contains("its name is not that of a snapshot"), "{said:?}");
    assert!(said[1].starts_with("Whole"), "{said:?}");
    assert!(said[2].contains("its name should be 0000000001-1.snapshot"), "{said:?}");
}

#[test]
fn damage_of_any_byte_of_the_job_file_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state");
    drop(StateDir::open(&path, "orders").unwrap());
    let job = path.join("job");
    let bytes = fs::read(&job).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        for damaged in [&damaged[..], &bytes[..at]] {
            fs::write(&job, damaged).unwrap();
            let refused = StateDir::open(&path, "orders").unwrap_err();
            assert!(matches!(refused, StateError::Damaged { .. }), "byte {at}: {refused}");
            assert!(StateDir::read(&path).is_err());
        }
    }
}

/// Puts a later format's number and a right checksum into sealed JSON.
pub(crate) fn later(mut bytes: Vec<u8>, kind: &str, from: usize) -> Vec<u8> {
    let seal = bytes.len() - kind.len() - " 0001 000000000000 00000000\n".len();
    bytes[seal + kind.len() + 1..][..4].copy_from_slice(b"0003");
    let summed = bytes.len() - "00000000\n".len();
    let sum = format!("{:08x}\n", crc32fast::hash(&bytes[from..summed]));
    bytes.truncate(summed);
    bytes.extend(sum.as_bytes());
    bytes
}

#[test]
fn a_later_format_is_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state");
    let dir = StateDir::open(&path, "orders").unwrap();
    let saved = save(&dir, 100);
    let file = path.join("snapshots").join(saved.file());
    let later_one = later(fs::read(&file).unwrap(), "millstream-snapshot", saved.bytes() as usize);
    fs::write(&file, later_one).unwrap();
    let said = format!("{:?}", dir.snapshots().unwrap());
    assert!(said.contains("LaterFormat") && said.contains("format: 3, known: 2"), "{said}");
    drop(dir);
    let job = path.join("job");
    fs::write(&job, later(fs::read(&job).unwrap(), "millstream-job", 0)).unwrap();
    let said = StateDir::open(&path, "orders").unwrap_err().to_string();
    assert!(said.ends_with("job has the format 3; this version reads formats up to 1"), "{said}");
}
