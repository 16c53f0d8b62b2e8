//! Snapshots in object stores.

use crate::directories::saved;
use millstream_state::store::{MemoryStore, Store, StoreDir};
use millstream_state::{Manifest, Retention, Saved, SnapshotEntry, StateError};
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn save(dir: &StoreDir, at: u64) -> Result<Manifest, StateError> {
    saved(at, |snapshot| dir.save(snapshot))
}

/// The numbers of the snapshots that are whole; all must be, and their parts too.
fn whole(dir: &StoreDir) -> Vec<u64> {
    let of = |entry: &SnapshotEntry| {
        let manifest = entry.manifest().unwrap_or_else(|| panic!("{entry:?}"));
        dir.verify(manifest).unwrap();
        manifest.at
    };
    dir.snapshots().unwrap().iter().map(of).collect()
}

/// What every store must do.
pub(crate) fn keeps_snapshots(store: &Arc<dyn Store>) {
    assert!(matches!(StoreDir::read(Arc::clone(store)), Err(StateError::Missing { .. })));
    let dir = StoreDir::open(Arc::clone(store), "orders").unwrap();
    assert!(dir.newest().unwrap().is_none());
    let saved: Vec<Manifest> = [100, 200, 300].map(|at| save(&dir, at).unwrap()).into();
    assert_eq!((saved[1].id, saved[1].at, saved[1].epoch), (2, 200, 1));
    let read = StoreDir::read(Arc::clone(store)).unwrap();
    assert_eq!((read.program(), read.epoch(), whole(&read)), ("orders", 1, vec![100, 200, 300]));
    assert!(matches!(save(&read, 400), Err(StateError::ReadOnly { .. })));

    let later = StoreDir::open(Arc::clone(store), "orders").unwrap();
    let parts = later.load(&saved[2]).unwrap();
    assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["total", "none", "keys"]);
    assert_eq!((&parts[0].bytes[..], &parts[1].bytes[..]), (&b"forty-two"[..], &b""[..]));
    assert_eq!(later.newest().unwrap().unwrap().source, json!({ "path": "orders.csv", "offset": 17 }));
    for refused in [save(&dir, 400).map(drop), dir.prune(Retention::default()).map(drop)] {
        assert!(matches!(refused, Err(StateError::Superseded { theirs: 2, ours: 1, .. })), "{refused:?}");
    }
    assert_eq!(save(&later, 400).unwrap().id, 4);
    let keep = Retention { count: Some(2), age: None, confirmed_from: Some(4) };
    assert_eq!(later.prune(keep).unwrap().iter().map(|snapshot| snapshot.at).collect::<Vec<_>>(), [100, 200]);
    assert_eq!(whole(&later), [300, 400]);
    store.put("snapshots/0000000001-1.snapshot.copy", &[b"not it"]).unwrap();
    assert!(matches!(later.load(&saved[0]), Err(StateError::Io { operation: "open", .. })));
    store.delete("snapshots/0000000001-1.snapshot.copy").unwrap();

    let said = StoreDir::open(Arc::clone(store), "payments").unwrap_err().to_string();
    assert!(said.contains("has the state of the program `orders`, and this is `payments`"), "{said}");
    for epoch in 3..6 {
        assert_eq!(StoreDir::open(Arc::clone(store), "orders").unwrap().epoch(), epoch);
    }
    let jobs: Vec<String> = store.list("job/").unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(jobs, ["job/00000000000000000004", "job/00000000000000000005"]);

    let (name, length) = store.list("job/").unwrap().swap_remove(1);
    let bytes = store.get(&name, 0..length).unwrap();
    assert_eq!(store.put(&name, &[b"other"]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(store.get(&name, 0..length).unwrap(), bytes);
    store.put("job/00000000000000000009", &[&bytes]).unwrap();
    let said = StoreDir::open(Arc::clone(store), "orders").unwrap_err().to_string();
    assert!(said.ends_with("its epoch is 5, and its name has another"), "{said}");
}

#[test]
fn memory_keeps_snapshots() {
    keeps_snapshots(&(Arc::new(MemoryStore::default()) as Arc<dyn Store>));
}

#[cfg(feature = "object-store")]
#[test]
fn stores_of_the_object_store_crate_keep_snapshots_side_by_side() {
    use millstream_state::store::ObjectStorage;
    use object_store::ObjectStore;
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;

    let home = tempfile::tempdir().unwrap();
    let local = LocalFileSystem::new_with_prefix(home.path()).unwrap().with_fsync(true);
    for store in [Arc::new(InMemory::new()) as Arc<dyn ObjectStore>, Arc::new(local)] {
        for below in ["jobs/orders", "jobs/orders/more", "jobs/order"] {
            keeps_snapshots(&(Arc::new(ObjectStorage::new(Arc::clone(&store), below).unwrap()) as Arc<dyn Store>));
        }
    }
    assert!(ObjectStorage::new(Arc::new(InMemory::new()), "a//b").is_err());
}

#[cfg(feature = "object-store")]
#[test]
fn a_store_may_be_used_and_dropped_by_a_future() {
    use millstream_state::store::ObjectStorage;

    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let used = runtime.spawn(async {
        let store = Arc::new(ObjectStorage::new(Arc::new(object_store::memory::InMemory::new()), "").unwrap());
        keeps_snapshots(&(store as Arc<dyn Store>));
    });
    runtime.block_on(used).unwrap();
}

#[test]
fn a_store_with_something_else_is_refused() {
    let store = Arc::new(MemoryStore::default());
    store.put("photos/cat.png", &[b"a cat"]).unwrap();
    let said = StoreDir::open(store.clone(), "orders").unwrap_err().to_string();
    assert!(said.contains("the store is not a state directory, and not empty: it has `photos/cat.png`"), "{said}");
    assert_eq!(store.list("").unwrap().len(), 1);
}

/// A store whose requests fail from a number on: they do nothing, or they do what they should and say that they failed.
#[derive(Debug, Default)]
struct Failing {
    store: MemoryStore,
    requests: AtomicU64,
    fails: AtomicU64,
    does: bool,
}

impl Failing {
    fn request<R>(&self, act: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let fails = self.requests.fetch_add(1, Ordering::Relaxed) == self.fails.load(Ordering::Relaxed);
        let done = if fails && !self.does { None } else { Some(act()) };
        done.filter(|_| !fails).unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Store for Failing {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        self.request(|| self.store.put(name, pieces))
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.request(|| self.store.get(name, range))
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        self.request(|| self.store.list(prefix))
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.request(|| self.store.delete(name))
    }
}

/// Two processes, one after the other. Returns the numbers whose `save` has returned.
fn two_processes(store: &Arc<Failing>, saved: &mut Vec<u64>) -> Result<(), StateError> {
    let dir = StoreDir::open(store.clone(), "orders")?;
    for at in [100, 200] {
        save(&dir, at)?;
        saved.push(at);
    }
    let dir = StoreDir::open(store.clone(), "orders")?;
    dir.prune(Retention { count: Some(1), age: None, confirmed_from: Some(2) })?;
    saved.retain(|at| *at != 100);
    dir.save(&Saved { at: 300, ..Saved::default() })?;
    saved.push(300);
    Ok(())
}

#[test]
fn a_request_that_fails_loses_nothing_and_leaves_nothing_half() {
    for does in [false, true] {
        for failing in 0.. {
            let store = Arc::new(Failing { does, fails: failing.into(), ..Failing::default() });
            let mut saved = Vec::new();
            let outcome = two_processes(&store, &mut saved);
            if outcome.is_ok() {
                assert!(failing > 15, "{failing} requests");
                break;
            }
            let StateError::Io { source, .. } = outcome.unwrap_err() else { panic!("request {failing}") };
            assert_eq!(source.kind(), io::ErrorKind::TimedOut);
            store.fails.store(u64::MAX, Ordering::Relaxed);
            let dir = StoreDir::open(store, "orders").unwrap();
            let found = whole(&dir);
            let missing = |at: &&u64| !found.contains(at) && **at != 100;
            assert_eq!(saved.iter().find(missing), None, "request {failing}: {found:?}");
            save(&dir, 900).unwrap();
            assert_eq!(whole(&dir), [&found[..], &[900]].concat());
        }
    }
}

#[test]
fn of_processes_that_open_at_once_each_has_its_own_epoch() {
    let store = Arc::new(MemoryStore::default());
    let epochs: Vec<u64> = std::thread::scope(|scope| {
        let open = || StoreDir::open(store.clone(), "orders").unwrap().epoch();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // One that comes too late leaves its epoch to none.
    let once: BTreeSet<u64> = epochs.iter().copied().collect();
    assert_eq!(once.len(), 8, "{epochs:?}");
}

/// A store that repeats each put of a snapshot, as if the first answer was lost.
#[derive(Debug, Default)]
struct Repeating(MemoryStore);

impl Store for Repeating {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        if name.starts_with("snapshots/") {
            self.0.put(name, pieces)?;
        }
        self.0.put(name, pieces)
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.0.get(name, range)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        self.0.list(prefix)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(name)
    }
}

#[test]
fn a_put_that_was_repeated_by_the_store_has_saved() {
    let dir = StoreDir::open(Arc::new(Repeating::default()), "orders").unwrap();
    save(&dir, 100).unwrap();
    save(&dir, 200).unwrap();
    assert_eq!(whole(&dir), [100, 200]);
}

/// A store where other processes take over just before the next object is put.
#[derive(Debug, Default)]
struct Overtaken {
    store: Arc<MemoryStore>,
    processes: AtomicU64,
}

impl Store for Overtaken {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        for _ in 0..self.processes.swap(0, Ordering::Relaxed) {
            StoreDir::open(self.store.clone(), "orders").unwrap();
        }
        self.store.put(name, pieces)
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.store.get(name, range)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        self.store.list(prefix)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.store.delete(name)
    }
}

#[test]
fn a_process_that_is_overtaken_takes_the_next_epoch_or_stops() {
    let store = Arc::new(Overtaken::default());
    store.processes.store(1, Ordering::Relaxed);
    let dir = StoreDir::open(store.clone(), "orders").unwrap();
    assert_eq!(dir.epoch(), 2);
    save(&dir, 100).unwrap();
    store.processes.store(1, Ordering::Relaxed);
    let refused = save(&dir, 200);
    assert!(matches!(refused, Err(StateError::Superseded { theirs: 3, ours: 2, .. })), "{refused:?}");
    let later = StoreDir::open(store, "orders").unwrap();
    save(&later, 150).unwrap();
    assert_eq!(whole(&later), [100, 200, 150], "it is there, and older than what the later process saves");
}

#[test]
fn an_epoch_whose_object_was_made_and_removed_meanwhile_is_not_taken_again() {
    let store = Arc::new(Overtaken::default());
    store.processes.store(4, Ordering::Relaxed);
    let dir = StoreDir::open(store.clone(), "orders").unwrap();
    assert_eq!(dir.epoch(), 5, "epoch 1 was another process's");
    save(&dir, 100).unwrap();
    assert_eq!(whole(&dir), [100]);
}

/// A store that two other processes open between a list and the read of what was listed.
#[derive(Debug, Default)]
struct OpenedMeanwhile {
    store: Arc<MemoryStore>,
    times: AtomicU64,
}

impl Store for OpenedMeanwhile {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        self.store.put(name, pieces)
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        if self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |times| times.checked_sub(1)).is_ok() {
            (0..2).for_each(|_| drop(StoreDir::open(self.store.clone(), "orders").unwrap()));
        }
        self.store.get(name, range)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        self.store.list(prefix)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.store.delete(name)
    }
}

#[test]
fn an_epoch_that_was_removed_after_it_was_listed_is_followed_by_the_next() {
    let store = Arc::new(OpenedMeanwhile::default());
    assert_eq!(StoreDir::open(store.clone(), "orders").unwrap().epoch(), 1);
    store.times.store(2, Ordering::Relaxed);
    assert_eq!(StoreDir::open(store.clone(), "orders").unwrap().epoch(), 6);
    store.times.store(1, Ordering::Relaxed);
    assert_eq!(StoreDir::read(store).unwrap().epoch(), 8);
}
