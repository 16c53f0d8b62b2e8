use super::Store;
use crate::dir::{Identity, JOB_KIND};
use crate::disk::DiskFile;
use crate::entry::{self, SnapshotEntry};
use crate::manifest::{self, Manifest, Part};
use crate::saved::Prepared;
use crate::{Retention, Saved, StateError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

const JOBS: &str = "job/";
const SNAPSHOTS: &str = "snapshots/";

/// One job's snapshots in a [`Store`], for the process that opened it last.
///
/// ```
/// use millstream::state::store::{MemoryStore, StoreDir};
/// use millstream::state::{Saved, StateError};
/// use std::sync::Arc;
///
/// let store = Arc::new(MemoryStore::default());
/// let first = StoreDir::open(store.clone(), "orders")?;
/// let parts = [("total", &b"forty-two"[..])];
/// first.save(&Saved { at: 1000, parts: &parts, ..Saved::default() })?;
///
/// let second = StoreDir::open(store, "orders")?;
/// let newest = second.newest()?.expect("one was saved");
/// assert_eq!(second.load(&newest)?[0].bytes, b"forty-two");
/// assert!(matches!(first.save(&Saved::default()), Err(StateError::Superseded { theirs: 2, ours: 1, .. })));
/// # Ok::<(), StateError>(())
/// ```
#[derive(Debug)]
pub struct StoreDir {
    store: Arc<dyn Store>,
    job: Identity,
    /// The id of the next snapshot; `None` if the store was opened only to be read.
    next: Option<Mutex<u64>>,
}

impl StoreDir {
    /// Takes the store for a program: it becomes the process that may save there, with an epoch of its own. The
    /// process before it saves nothing more.
    ///
    /// # Errors
    ///
    /// If the store is another program's, has objects that are not a state, or has a later format; if other processes
    /// take it at the same time again and again; or if the store fails.
    pub fn open(store: Arc<dyn Store>, program: &str) -> Result<StoreDir, StateError> {
        for _ in 0..100 {
            let known = newest_job(&store)?;
            if let Some(Identity { program: theirs, .. }) = known.as_ref().filter(|job| job.program != program) {
                let (path, theirs, ours) = (JOBS.into(), theirs.clone(), program.to_owned());
                return Err(StateError::OtherProgram { path, theirs, ours });
            }
            if known.is_none()
                && let Some((found, _)) = list(&*store, "")?.first()
            {
                if found.starts_with(JOBS) {
                    // Another process has opened it since.
                    continue;
                }
                return Err(StateError::NotState { path: "the store".into(), found: format!("`{found}`") });
            }
            let epoch = known.map_or(0, |job| job.epoch) + 1;
            let (job, name) = (Identity::new(program, epoch), job_name(epoch));
            let bytes =
                JOB_KIND.write(&job).map_err(|error| StateError::io("write", Path::new(&name))(error.into()))?;
            match store.put(&name, &[&bytes]) {
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                put => put.map_err(StateError::io("put", Path::new(&name)))?,
            }
            let jobs = list(&*store, JOBS)?;
            if jobs.last().is_some_and(|(newest, _)| *newest > job_name(epoch + 1)) {
                // Others were faster, and the later of them may have removed an earlier object of this name.
                continue;
            }
            for (old, _) in jobs.iter().filter(|(name, _)| *name < job_name(epoch.saturating_sub(1))) {
                store.delete(old).map_err(StateError::io("delete", Path::new(old)))?;
            }
            let names = list(&*store, SNAPSHOTS)?;
            let ids = names.iter().filter_map(|(name, _)| manifest::parse_name(name.strip_prefix(SNAPSHOTS)?));
            let next = ids.map(|(id, _)| id.saturating_add(1)).max().unwrap_or(1);
            return Ok(StoreDir { store, job, next: Some(Mutex::new(next)) });
        }
        Err(StateError::InUse { path: JOBS.into(), holder: "processes that open it again and again".to_owned() })
    }

    /// Opens a store only to read it, even while a process uses it. Changes nothing in it.
    ///
    /// # Errors
    ///
    /// If there is no state, its format is later, or the store fails.
    pub fn read(store: Arc<dyn Store>) -> Result<StoreDir, StateError> {
        match newest_job(&store)? {
            Some(job) => Ok(StoreDir { store, job, next: None }),
            None => Err(StateError::Missing { path: JOBS.into() }),
        }
    }

    /// The program whose state it is.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.job.program
    }

    /// The epoch of this process. If it only reads, the newest epoch when it opened the store.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.job.epoch
    }

    /// As [`StateDir::snapshots`](crate::StateDir::snapshots). It reads two ranges of each object.
    ///
    /// # Errors
    ///
    /// If the store fails to list.
    pub fn snapshots(&self) -> Result<Vec<SnapshotEntry>, StateError> {
        let objects = list(&*self.store, SNAPSHOTS)?;
        let names = objects.iter().map(|(name, _)| name[SNAPSHOTS.len()..].to_owned()).collect();
        let mut lengths = objects.iter();
        let open = |path: &Path| {
            let object = lengths.find(|(name, _)| Path::new(name) == path).ok_or(io::ErrorKind::NotFound)?;
            Ok(self.object(object))
        };
        Ok(entry::list(Path::new(SNAPSHOTS), names, open))
    }

    /// As [`StateDir::newest`](crate::StateDir::newest).
    ///
    /// # Errors
    ///
    /// As [`snapshots`](StoreDir::snapshots).
    pub fn newest(&self) -> Result<Option<Manifest>, StateError> {
        Ok(entry::whole(self.snapshots()?).pop())
    }

    /// As [`StateDir::save`](crate::StateDir::save): it puts one object. The store may copy the parts.
    ///
    /// # Errors
    ///
    /// If the store fails, and then the snapshot is whole or not there; if two parts have one name, a later process
    /// has the store, or this one reads alone. If the later process came while the object was put, that is there.
    pub fn save(&self, snapshot: &Saved<'_>) -> Result<Manifest, StateError> {
        let mut next = self.writing()?;
        self.still_ours()?;
        let made = snapshot.prepare(self.program(), (*next, self.epoch()), self.store.now_unix_ms());
        let refused = |why| StateError::Refused { path: SNAPSHOTS.into(), why };
        let Prepared { manifest, mut parts, sealed } = made.map_err(refused)?;
        let objects = if snapshot.base.is_some() { list(&*self.store, SNAPSHOTS)? } else { Vec::new() };
        let is_there = |file: &&str| objects.iter().any(|(name, _)| name.strip_prefix(SNAPSHOTS) == Some(file));
        if let Some(missing) = manifest.needs().find(|file| !is_there(file)) {
            return Err(refused(format!("its base needs {missing}, which is missing")));
        }
        // The id is not used again, even if this fails: the object may be there nevertheless.
        *next += 1;
        parts.push(&sealed);
        let name = format!("{SNAPSHOTS}{}", manifest.file());
        match self.store.put(&name, &parts) {
            // No other process uses this name: an earlier try has put the object, and its answer was lost.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.verify(&manifest)?,
            put => put.map_err(StateError::io("put", Path::new(&name)))?,
        }
        self.still_ours()?;
        Ok(manifest)
    }

    /// As [`StateDir::load`](crate::StateDir::load).
    ///
    /// # Errors
    ///
    /// If the snapshot is not as it was saved, was removed, or the store fails.
    pub fn load(&self, manifest: &Manifest) -> Result<Vec<Part>, StateError> {
        let mut parts = Vec::new();
        self.read_parts(manifest, |part| parts.push(part))?;
        Ok(parts)
    }

    /// As [`load`](StoreDir::load), and keeps nothing: it takes the memory of the largest part.
    ///
    /// # Errors
    ///
    /// As [`load`](StoreDir::load).
    pub fn verify(&self, manifest: &Manifest) -> Result<(), StateError> {
        self.read_parts(manifest, drop)
    }

    /// As [`StateDir::prune`](crate::StateDir::prune).
    ///
    /// # Errors
    ///
    /// If the store fails, a later process has it, or this one reads alone. Some may be removed then.
    pub fn prune(&self, keep: Retention) -> Result<Vec<Manifest>, StateError> {
        let _writing = self.writing()?;
        self.still_ours()?;
        let mut whole = entry::whole(self.snapshots()?);
        whole.truncate(keep.removes(&whole, self.store.now_unix_ms()));
        self.remove(&whole)?;
        Ok(whole)
    }

    /// As [`StateDir::discard_after`](crate::StateDir::discard_after).
    pub(crate) fn discard_after(&self, id: u64) -> Result<(), StateError> {
        let _writing = self.writing()?;
        self.still_ours()?;
        let mut newer = entry::whole(self.snapshots()?);
        newer.retain(|manifest| manifest.id > id);
        self.remove(&newer)
    }

    /// Removes these snapshots, of which the oldest is the first.
    fn remove(&self, manifests: &[Manifest]) -> Result<(), StateError> {
        for manifest in manifests.iter().rev() {
            let name = format!("{SNAPSHOTS}{}", manifest.file());
            self.store.delete(&name).map_err(StateError::io("delete", Path::new(&name)))?;
        }
        Ok(())
    }

    pub(crate) fn read_parts(&self, manifest: &Manifest, with: impl FnMut(Part)) -> Result<(), StateError> {
        let objects = list(&*self.store, SNAPSHOTS)?;
        let open = |path: &Path| {
            let missing = || StateError::io("open", path)(io::ErrorKind::NotFound.into());
            let object = objects.iter().find(|(name, _)| Path::new(name) == path);
            object.map(|object| self.object(object)).ok_or_else(missing)
        };
        manifest::read_parts(Path::new(SNAPSHOTS), manifest, open, with)
    }

    fn object(&self, (name, length): &(String, u64)) -> Box<dyn DiskFile> {
        Box::new(Object { store: Arc::clone(&self.store), name: name.clone(), length: *length })
    }

    fn writing(&self) -> Result<std::sync::MutexGuard<'_, u64>, StateError> {
        let next = self.next.as_ref().ok_or(StateError::ReadOnly { path: JOBS.into() })?;
        Ok(next.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn still_ours(&self) -> Result<(), StateError> {
        let ours = self.epoch();
        let last = list(&*self.store, JOBS)?.pop().and_then(|(name, _)| name.strip_prefix(JOBS)?.parse().ok());
        let theirs = last.unwrap_or(ours);
        if theirs == ours { Ok(()) } else { Err(StateError::Superseded { path: JOBS.into(), theirs, ours }) }
    }
}

fn job_name(epoch: u64) -> String {
    format!("{JOBS}{epoch:020}")
}

fn list(store: &dyn Store, prefix: &str) -> Result<Vec<(String, u64)>, StateError> {
    store.list(prefix).map_err(StateError::io("list", Path::new(prefix)))
}

/// The contents of the newest epoch's object; `None` if there is none.
fn newest_job(store: &Arc<dyn Store>) -> Result<Option<Identity>, StateError> {
    let Some(mut newest) = list(&**store, JOBS)?.pop() else { return Ok(None) };
    loop {
        let found = job(store, newest.clone());
        match &found {
            Err(StateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            _ => return found.map(Some),
        }
        // Two processes have opened the store since it was listed, and the second one has removed this object.
        match list(&**store, JOBS)?.pop() {
            Some(later) if later != newest => newest = later,
            _ => return found.map(Some),
        }
    }
}

/// The contents of an epoch's object.
fn job(store: &Arc<dyn Store>, (name, length): (String, u64)) -> Result<Identity, StateError> {
    let (path, mut object) = (Path::new(&name), Object { store: Arc::clone(store), name: name.clone(), length });
    let (job, _): (Identity, u64) = JOB_KIND.read(&mut object).map_err(|why| why.at(path, &JOB_KIND))?;
    if job_name(job.epoch) == name {
        Ok(job)
    } else {
        Err(StateError::damaged(path, format!("its epoch is {}, and its name has another", job.epoch)))
    }
}

/// An object, to be read by ranges.
#[derive(Debug)]
struct Object {
    store: Arc<dyn Store>,
    name: String,
    length: u64,
}

impl DiskFile for Object {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.length.min(offset.saturating_add(buffer.len() as u64));
        if buffer.is_empty() || offset >= end {
            return Ok(0);
        }
        let bytes = self.store.get(&self.name, offset..end)?;
        buffer.get_mut(..bytes.len()).ok_or(io::ErrorKind::InvalidData)?.copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
