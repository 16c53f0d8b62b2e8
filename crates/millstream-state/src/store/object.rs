use super::Store;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::{fmt, io};
use tokio::runtime::{Builder, Runtime};

/// A [`Store`] in any store of the crate [`object_store`](https://docs.rs/object_store), below a path. Needs the
/// feature `object-store`.
///
/// The store's requests run on a thread of their own, so it may be called from anywhere, and blocks its caller. A store
/// in S3 needs that crate's feature `aws`. A put there has the condition that there is no such object; all but the
/// oldest imitations of S3 support that. A store in local files must be made with `with_fsync(true)`, or its objects
/// are not durable.
///
/// ```
/// # use object_store::memory::InMemory;
/// use millstream::state::Saved;
/// use millstream::state::store::{ObjectStorage, StoreDir};
/// use std::sync::Arc;
///
/// // Or `AmazonS3Builder::from_env().with_bucket_name("states").build()?`.
/// let bucket = Arc::new(InMemory::new());
/// let dir = StoreDir::open(Arc::new(ObjectStorage::new(bucket, "jobs/orders")?), "orders")?;
/// dir.save(&Saved { at: 1000, ..Saved::default() })?;
/// assert_eq!(dir.newest()?.map(|newest| newest.at), Some(1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    below: String,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl ObjectStorage {
    /// The part of a store below a path, which may be empty. Sends no request.
    ///
    /// # Errors
    ///
    /// If the path is not valid in an object store, or the system refuses a thread.
    pub fn new(store: Arc<dyn ObjectStore>, below: &str) -> io::Result<Self> {
        let below = Path::parse(below).map_err(io::Error::other)?.to_string();
        let below = if below.is_empty() { below } else { format!("{below}/") };
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("object store").enable_all().build()?;
        Ok(ObjectStorage { store, below, runtime: Some(runtime) })
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}{name}", self.below))
    }

    /// Runs a request on the thread, and waits for its result.
    fn wait<R, F>(&self, request: impl FnOnce(Arc<dyn ObjectStore>) -> F) -> io::Result<R>
    where
        R: Send + 'static,
        F: Future<Output = object_store::Result<R>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel();
        let request = request(Arc::clone(&self.store));
        let Some(runtime) = &self.runtime else { return Err(io::ErrorKind::BrokenPipe.into()) };
        runtime.spawn(async move {
            // The receiver waits for it.
            let _ = sender.send(request.await);
        });
        receiver.recv().map_err(|_| io::Error::other("a request to the object store has panicked"))?.map_err(refused)
    }
}

fn refused(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        Error::NotSupported { .. } | Error::NotImplemented { .. } => io::ErrorKind::Unsupported,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

impl Store for ObjectStorage {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        let (path, bytes) = (self.path(name), PutPayload::from(pieces.concat()));
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        self.wait(|store| async move { store.put_opts(&path, bytes, options).await.map(drop) })
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let path = self.path(name);
        self.wait(|store| async move { store.get_range(&path, range).await.map(|bytes| bytes.to_vec()) })
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        // The store lists directories, and the prefix may end inside a name.
        let dir = prefix.rsplit_once('/').map_or("", |(dir, _)| dir);
        let (dir, below) = (self.path(dir), self.below.clone());
        let objects = self.wait(|store| async move {
            let objects = store.list(Some(&dir).filter(|dir| !dir.as_ref().is_empty()));
            objects.map_ok(|object| (object.location.to_string(), object.size)).try_collect::<Vec<_>>().await
        })?;
        let within =
            objects.into_iter().filter_map(|(path, length)| Some((path.strip_prefix(&below)?.to_owned(), length)));
        let mut within: Vec<_> = within.filter(|(name, _)| name.starts_with(prefix)).collect();
        within.sort();
        Ok(within)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        match self.wait(|store| async move { store.delete(&path).await }) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            deleted => deleted,
        }
    }
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStorage").field("store", &self.store).field("below", &self.below).finish_non_exhaustive()
    }
}

impl Drop for ObjectStorage {
    fn drop(&mut self) {
        // It may be dropped by a future, which must not wait for another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
