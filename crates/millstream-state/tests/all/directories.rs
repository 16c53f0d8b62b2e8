//! Opening, locking, saving and loading on this machine's disk.

use millstream_state::{Manifest, Saved, StateDir, StateError};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Saves three parts at a number.
pub(crate) fn save(dir: &StateDir, at: u64) -> Manifest {
    saved(at, |snapshot| dir.save(snapshot)).unwrap()
}

/// A snapshot of three parts at a number, for `save`.
pub(crate) fn saved<R>(at: u64, save: impl FnOnce(&Saved<'_>) -> R) -> R {
    let large = vec![at as u8; 10_000];
    let parts = [("total", &b"forty-two"[..]), ("none", b""), ("keys", &large)];
    save(&Saved {
        at,
        output_at: Some(at * 2),
        source: json!({ "path": "orders.csv", "offset": 17 }),
        sink: json!(at),
        side_sinks: BTreeMap::from([("lines".to_owned(), json!(at + 1))]),
        plan: json!([{ "stage": "total" }]),
        fingerprint: "f00d",
        numbers: &[("total".to_owned(), at)],
        parts: &parts,
        base: None,
        kept: &[],
    })
}

/// The numbers of the snapshots that are whole; all must be, and their parts too.
pub(crate) fn whole(dir: &StateDir) -> Vec<u64> {
    let of = |entry: &millstream_state::SnapshotEntry| {
        let manifest = entry.manifest().unwrap_or_else(|| panic!("{entry:?}"));
        dir.verify(manifest).unwrap();
        manifest.at
    };
    dir.snapshots().unwrap().iter().map(of).collect()
}

fn temporary() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a/b");
    (home, path)
}

#[test]
fn what_was_saved_is_loaded() {
    let (_home, path) = temporary();
    let dir = StateDir::open(&path, "orders").unwrap();
    assert!(dir.newest().unwrap().is_none());
    let saved: Vec<Manifest> = [100, 200, 300].map(|at| save(&dir, at)).into();
    drop(dir);
    let dir = StateDir::open(&path, "orders").unwrap();
    assert_eq!((dir.path(), dir.program(), dir.epoch(), dir.removed().len()), (path.as_path(), "orders", 2, 0));
    let listed: Vec<Manifest> =
        dir.snapshots().unwrap().iter().map(|entry| entry.manifest().unwrap().clone()).collect();
    assert_eq!(listed, saved);
    assert_eq!((saved[1].id, saved[1].at, saved[1].output_at, saved[1].epoch), (2, 200, Some(400), 1));
    assert_eq!(saved[1].numbers.iter().collect::<Vec<_>>(), [(&"total".to_owned(), &200)]);
    assert_eq!(
        (&saved[1].source, saved[1].fingerprint.as_str()),
        (&json!({ "path": "orders.csv", "offset": 17 }), "f00d")
    );
    let parts = dir.load(&saved[1]).unwrap();
    assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["total", "none", "keys"]);
    assert_eq!(
        (&parts[0].bytes[..], &parts[1].bytes[..], &parts[2].bytes[..]),
        (&b"forty-two"[..], &b""[..], &[200; 10_000][..])
    );
    let later = save(&dir, 400);
    assert_eq!((later.id, later.epoch), (4, 2));
    assert_eq!(whole(&dir), [100, 200, 300, 400]);
}

#[test]
fn one_process_has_a_directory_and_others_may_read_it() {
    let (_home, path) = temporary();
    let dir = StateDir::open(&path, "orders").unwrap();
    save(&dir, 100);
    let said = StateDir::open(&path, "orders").unwrap_err().to_string();
    assert!(said.contains(&format!("a/b is in use by process {}: end it", std::process::id())), "{said}");
    let read = StateDir::read(&path).unwrap();
    assert_eq!((whole(&read), read.epoch()), (vec![100], 1));
    assert!(matches!(read.save(&Saved::default()), Err(StateError::ReadOnly { .. })));
    drop(dir);
    assert_eq!(StateDir::open(&path, "orders").unwrap().epoch(), 2);
}

/// Where the child of the next test finds its directory.
const HELD: &str = "MILLSTREAM_STATE_HELD";

/// What the other child finds there.
const SMALL: &str = "MILLSTREAM_STATE_SMALL";

/// This program again, for one test, started by a shell that first runs `first`.
fn child(first: &str, test: &str, variable: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first} exec \"$0\" --exact directories::{test}")]);
    command.arg(std::env::current_exe().unwrap()).env(variable, path).stdout(std::process::Stdio::null());
    command
}

/// What the child does: it has the directory until it is killed.
fn hold(path: &Path) {
    let dir = StateDir::open(path, "orders").unwrap();
    save(&dir, 100);
    fs::write(path.with_extension("held"), "").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_killed_process_gives_its_directory_back_and_its_number_was_in_the_message() {
    if let Some(path) = std::env::var_os(HELD) {
        return hold(Path::new(&path));
    }
    let (_home, path) = temporary();
    let test = "a_killed_process_gives_its_directory_back_and_its_number_was_in_the_message";
    let mut child = child("", test, HELD, &path).spawn().unwrap();
    while !path.with_extension("held").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the child ended early");
        std::thread::yield_now();
    }
    let said = StateDir::open(&path, "orders").unwrap_err().to_string();
    assert!(said.contains(&format!("in use by process {}", child.id())), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    let dir = StateDir::open(&path, "orders").unwrap();
    assert_eq!((whole(&dir), dir.epoch()), (vec![100], 2));
}

#[test]
fn a_directory_of_something_else_is_refused_and_left_as_it_was() {
    let (_home, path) = temporary();
    drop(StateDir::open(&path, "orders").unwrap());
    let said = StateDir::open(&path, "payments").unwrap_err().to_string();
    assert!(said.contains("has the state of the program `orders`, and this is `payments`"), "{said}");

    let other = path.with_file_name("photos");
    fs::create_dir(&other).unwrap();
    assert!(matches!(StateDir::read(&other), Err(StateError::Missing { .. })));
    fs::write(other.join("cat.png"), "").unwrap();
    let said = StateDir::open(&other, "orders").unwrap_err().to_string();
    assert!(said.contains("photos is not a state directory, and not empty: it has `cat.png`"), "{said}");
    assert_eq!(names(&other), ["cat.png"]);
    assert!(matches!(StateDir::open(other.join("cat.png"), "orders"), Err(StateError::Io { operation: "list", .. })));
    assert!(matches!(StateDir::read(path.with_file_name("none")), Err(StateError::Io { operation: "list", .. })));
}

fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_empty_directory_and_a_mount_point_are_taken() {
    let (home, _) = temporary();
    let path = home.path().join("volume");
    fs::create_dir_all(path.join("lost+found")).unwrap();
    save(&StateDir::open(&path, "orders").unwrap(), 100);
    assert_eq!(whole(&StateDir::open(&path, "orders").unwrap()), [100]);
}

#[test]
fn unfinished_files_are_removed_and_reported() {
    let (_home, path) = temporary();
    save(&StateDir::open(&path, "orders").unwrap(), 100);
    fs::write(path.join("job.unfinished"), "{").unwrap();
    fs::write(path.join("snapshots/0000000002-1.snapshot.unfinished"), "half").unwrap();
    assert_eq!(whole(&StateDir::read(&path).unwrap()), [100]);
    let dir = StateDir::open(&path, "orders").unwrap();
    assert_eq!(dir.removed(), ["job.unfinished", "snapshots/0000000002-1.snapshot.unfinished"]);
    assert_eq!(whole(&dir), [100]);
    assert_eq!(names(&path.join("snapshots")).len(), 1);
}

#[test]
fn two_parts_of_one_name_are_refused() {
    let (_home, path) = temporary();
    let dir = StateDir::open(&path, "orders").unwrap();
    let parts = [("total", &b"1"[..]), ("total", b"2")];
    let said = dir.save(&Saved { parts: &parts, ..Saved::default() }).unwrap_err().to_string();
    assert!(said.ends_with("two parts have the name `total`"), "{said}");
}

#[test]
fn a_plan_too_deep_to_be_read_back_is_refused() {
    let (_home, path) = temporary();
    let dir = StateDir::open(&path, "orders").unwrap();
    let deep = (0..200).fold(json!(0), |inner, _| json!([inner]));
    let said = dir.save(&Saved { plan: deep, ..Saved::default() }).unwrap_err().to_string();
    assert!(said.contains("its manifest cannot be read back after it was written: recursion limit"), "{said}");
    assert!(dir.newest().unwrap().is_none());
}

#[test]
fn a_process_that_was_superseded_saves_nothing() {
    let (_home, path) = temporary();
    let old = StateDir::open(&path, "orders").unwrap();
    save(&old, 100);
    // A lock that was lost, as on a network's file system: another file of that name has the new lock.
    fs::remove_file(path.join("lock")).unwrap();
    let new = StateDir::open(&path, "orders").unwrap();
    save(&new, 200);
    let refused = old.save(&Saved::default()).unwrap_err();
    assert!(matches!(refused, StateError::Superseded { theirs: 2, ours: 1, .. }), "{refused}");
    assert_eq!(whole(&new), [100, 200]);
}

/// The system refuses what is beyond a limit of the size of files, as it does on a full disk: a part is written.
#[test]
#[cfg(unix)]
fn a_file_that_the_system_cuts_short_leaves_the_older_snapshots() {
    if let Some(path) = std::env::var_os(SMALL) {
        let dir = StateDir::open(Path::new(&path), "orders").unwrap();
        dir.save(&Saved { at: 100, ..Saved::default() }).unwrap();
        let large = vec![1; 200_000];
        let said = dir.save(&Saved { parts: &[("large", &large)], ..Saved::default() }).unwrap_err().to_string();
        assert!(said.contains("cannot write") && said.contains("0000000002-1.snapshot.unfinished"), "{said}");
        dir.save(&Saved { at: 300, ..Saved::default() }).unwrap();
        assert_eq!(whole(&dir), [100, 300]);
        return;
    }
    let (_home, path) = temporary();
    let test = "a_file_that_the_system_cuts_short_leaves_the_older_snapshots";
    // The signal is ignored, so that the write returns an error instead.
    let done = child("trap '' XFSZ; ulimit -f 100;", test, SMALL, &path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(whole(&StateDir::open(&path, "orders").unwrap()), [100, 300]);
}

/// What a process of format 1 left: two snapshots and an epoch of 2. Every later version reads it.
#[test]
fn format_1_is_read_for_ever() {
    let (_home, path) = temporary();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1");
    fs::create_dir_all(path.join("snapshots")).unwrap();
    for file in ["job", "snapshots/0000000001-1.snapshot", "snapshots/0000000002-2.snapshot"] {
        fs::copy(fixture.join(file), path.join(file)).unwrap();
    }
    let dir = StateDir::open(&path, "orders").unwrap();
    assert_eq!(dir.epoch(), 3);
    assert_eq!(whole(&dir), [100, 200]);
    let newest = dir.newest().unwrap().unwrap();
    assert_eq!((newest.format, newest.id, newest.epoch, newest.output_at), (1, 2, 2, Some(400)));
    assert_eq!((newest.program.as_str(), newest.fingerprint.as_str()), ("orders", "f00d"));
    assert_eq!(newest.source, json!({ "path": "orders.csv", "offset": 17 }));
    assert_eq!((&newest.sink, &newest.plan), (&json!(200), &json!([{ "stage": "total" }])));
    let parts = dir.load(&newest).unwrap();
    assert_eq!((parts[0].name.as_str(), &parts[0].bytes[..]), ("total", &b"forty-two"[..]));
    assert_eq!((parts[2].name.as_str(), &parts[2].bytes[..]), ("keys", &[200; 10_000][..]));
}

#[test]
fn directories_and_journals_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<StateDir>();
    shared::<millstream_state::store::StoreDir>();
    shared::<millstream_state::journal::DurableMark>();
    moved::<millstream_state::journal::Journal>();
    moved::<millstream_state::journal::JournalReader>();
    moved::<millstream_state::journal::Records>();
}
