//! A disk that records, fails on request, and crashes.
//!
//! It knows two truths: what programs see, and what is durable. Between them are the pages of files that were written
//! since their last sync, the lengths that files had, and the names that changed since their directory's last sync.
//! A crash keeps any of these and loses the others: any version of each page of 4 KiB, any length, any of the names.

mod crash;
mod file;

use millstream_state::disk::{Disk, DiskFile, DiskLock, LockError, OpenMode};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use file::Content;

/// Everything on the disk, and what the programs that used it know.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    files: Vec<Content>,
    dirs: BTreeMap<PathBuf, Dir>,
    /// What the test notes: calls that have returned.
    pub(crate) notes: BTreeSet<(&'static str, u64)>,
    /// The last operation.
    pub(crate) last: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    File(usize),
    Dir,
}

#[derive(Clone, Debug, Default)]
struct Dir {
    durable: BTreeMap<String, Entry>,
    now: BTreeMap<String, Entry>,
    pending: Vec<Change>,
}

/// A change of names, which happens as a whole or not at all.
#[derive(Clone, Debug)]
struct Change {
    removed: Option<String>,
    made: Option<(String, Entry)>,
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, Entry>) {
        if let Some(name) = &self.removed {
            names.remove(name);
        }
        if let Some((name, entry)) = &self.made {
            names.insert(name.clone(), *entry);
        }
    }
}

/// When operations fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Operations whose name and path contain this text are counted, and the one of this number, from 0, fails once.
    pub(crate) fail: Option<(&'static str, usize)>,
    /// Whether what a failed sync of a directory was for is lost.
    pub(crate) forgets_names: bool,
    /// A directory that this process may not open.
    pub(crate) closed: Option<&'static str>,
    /// The bytes that all files together may have.
    pub(crate) room: Option<usize>,
}

#[derive(Debug, Default)]
struct Inner {
    world: World,
    history: Option<Vec<World>>,
    faults: Faults,
    locks: BTreeMap<PathBuf, String>,
    clock: u64,
    largest_read: usize,
}

/// The disk. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulated(Arc<Mutex<Inner>>);

impl Simulated {
    /// An empty disk, with its root, that keeps the world after each operation.
    pub(crate) fn recording() -> Self {
        let dirs = BTreeMap::from([(PathBuf::from("/"), Dir::default())]);
        Simulated::recording_on(World { dirs, ..World::default() })
    }

    /// As that, on what is there.
    pub(crate) fn recording_on(world: World) -> Self {
        let disk = Simulated::of(world);
        disk.inner().history = Some(Vec::new());
        disk
    }

    /// A machine that has started again with this disk.
    pub(crate) fn of(world: World) -> Self {
        Simulated(Arc::new(Mutex::new(Inner { world, ..Inner::default() })))
    }

    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    pub(crate) fn world(&self) -> World {
        self.inner().world.clone()
    }

    /// The worlds after each operation, in order.
    pub(crate) fn history(&self) -> Vec<World> {
        self.inner().history.take().unwrap_or_default()
    }

    pub(crate) fn note(&self, what: &'static str, number: u64) {
        self.inner().world.notes.insert((what, number));
    }

    /// Lets the clock jump.
    pub(crate) fn set_clock(&self, unix_ms: u64) {
        self.inner().clock = unix_ms;
    }

    /// The bytes that all files together have.
    pub(crate) fn used(&self) -> usize {
        self.inner().world.used()
    }

    /// The most bytes that one call has read.
    pub(crate) fn largest_read(&self) -> usize {
        self.inner().largest_read
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        self.inner().faults = faults;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// Does an operation that changes the disk, unless it is to fail.
    fn act<R>(&self, what: &str, path: &Path, act: impl FnOnce(&mut Inner) -> io::Result<R>) -> io::Result<R> {
        let mut inner = self.inner();
        let said = format!("{what} {}", path.display());
        if let Some((text, left)) = inner.faults.fail.filter(|(text, _)| said.contains(text)) {
            inner.faults.fail = left.checked_sub(1).map(|left| (text, left));
            if left == 0 {
                if let (true, Some(file)) = (what == "sync", inner.world.find(path)) {
                    inner.world.files[file].lose_dirty();
                }
                let forgets = what == "sync_dir" && inner.faults.forgets_names;
                if let (true, Some(dir)) = (forgets, inner.world.dirs.get_mut(path)) {
                    dir.pending.clear();
                }
                return Err(io::Error::from_raw_os_error(5));
            }
        }
        let result = act(&mut inner);
        inner.world.last = said;
        let world = inner.world.clone();
        if let Some(history) = &mut inner.history {
            history.push(world);
        }
        result
    }
}

impl World {
    fn find(&self, path: &Path) -> Option<usize> {
        match self.dirs.get(path.parent()?)?.now.get(&name(path))? {
            Entry::File(file) => Some(*file),
            Entry::Dir => None,
        }
    }

    fn used(&self) -> usize {
        self.files.iter().map(|file| file.bytes().len()).sum()
    }

    fn dir(&mut self, path: &Path) -> io::Result<&mut Dir> {
        self.dirs.get_mut(path).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn change(&mut self, dir: &Path, change: Change) -> io::Result<()> {
        let dir = self.dir(dir)?;
        change.apply(&mut dir.now);
        dir.pending.push(change);
        Ok(())
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

impl Disk for Simulated {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let known = self.inner().world.find(path);
        let file = match (known, mode) {
            (Some(file), OpenMode::Create) => self.act("empty", path, |inner| {
                inner.world.files[file].set_len(0);
                Ok(file)
            })?,
            (Some(file), _) => file,
            (None, OpenMode::Create) => self.act("create", path, |inner| {
                let file = inner.world.files.len();
                let made = Some((name(path), Entry::File(file)));
                inner.world.change(parent(path), Change { removed: None, made })?;
                inner.world.files.push(Content::default());
                Ok(file)
            })?,
            (None, _) => return Err(ErrorKind::NotFound.into()),
        };
        Ok(Box::new(OpenFile { disk: self.clone(), path: path.to_owned(), file }))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        Ok(self.inner().world.dir(dir)?.now.keys().cloned().collect())
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.act("make_dir", path, |inner| {
            if inner.world.dirs.contains_key(path) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            inner.world.change(parent(path), Change { removed: None, made: Some((name(path), Entry::Dir)) })?;
            inner.world.dirs.insert(path.to_owned(), Dir::default());
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        assert_eq!(from.parent(), to.parent(), "a file keeps its directory");
        self.act("rename", to, |inner| {
            let file = inner.world.find(from).ok_or(ErrorKind::NotFound)?;
            let change = Change { removed: Some(name(from)), made: Some((name(to), Entry::File(file))) };
            inner.world.change(parent(to), change)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.act("remove", path, |inner| {
            inner.world.find(path).ok_or(ErrorKind::NotFound)?;
            inner.world.change(parent(path), Change { removed: Some(name(path)), made: None })
        })
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if self.inner().faults.closed.is_some_and(|closed| Path::new(closed) == dir) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.act("sync_dir", dir, |inner| {
            let Dir { durable, pending, .. } = inner.world.dir(dir)?;
            pending.drain(..).for_each(|change| change.apply(durable));
            Ok(())
        })
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        if let Some(holder) = self.inner().locks.get(path) {
            return Err(LockError::Held(holder.clone()));
        }
        if self.inner().world.find(path).is_none() {
            self.open(path, OpenMode::Create)?;
        }
        self.inner().locks.insert(path.to_owned(), holder.to_owned());
        Ok(Box::new(Locked { disk: self.clone(), path: path.to_owned() }))
    }

    fn now_unix_ms(&self) -> u64 {
        let mut inner = self.inner();
        inner.clock += 1;
        inner.clock
    }
}

#[derive(Debug)]
struct Locked {
    disk: Simulated,
    path: PathBuf,
}

impl DiskLock for Locked {}

impl Drop for Locked {
    fn drop(&mut self) {
        self.disk.inner().locks.remove(&self.path);
    }
}

#[derive(Debug)]
struct OpenFile {
    disk: Simulated,
    path: PathBuf,
    file: usize,
}

impl DiskFile for OpenFile {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.disk.inner();
        inner.largest_read = inner.largest_read.max(buffer.len());
        let bytes = inner.world.files[self.file].bytes();
        let rest = &bytes[bytes.len().min(offset as usize)..];
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.disk.act("write", &self.path, |inner| {
            let used = inner.world.used();
            let file = &mut inner.world.files[self.file];
            let beyond = (offset as usize + bytes.len()).saturating_sub(file.bytes().len());
            match inner.faults.room.and_then(|room| (used + beyond).checked_sub(room)) {
                None | Some(0) => file.write(bytes, offset as usize),
                Some(over) => {
                    // As a real disk does: it writes what it has room for.
                    file.write(&bytes[..bytes.len().saturating_sub(over)], offset as usize);
                    return Err(ErrorKind::StorageFull.into());
                }
            }
            Ok(())
        })
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.disk.act("set_len", &self.path, |inner| {
            inner.world.files[self.file].set_len(length as usize);
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.disk.inner().world.files[self.file].bytes().len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.act("sync", &self.path, |inner| {
            inner.world.files[self.file].sync();
            Ok(())
        })
    }
}
