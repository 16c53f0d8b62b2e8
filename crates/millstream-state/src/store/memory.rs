use super::Store;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A store in the memory of this process, for tests.
///
/// ```
/// use millstream::state::store::{MemoryStore, Store};
///
/// let store = MemoryStore::default();
/// store.put("a/b", &[b"some ", b"bytes"])?;
/// assert_eq!(store.list("a/")?, [("a/b".to_owned(), 10)]);
/// assert_eq!(store.get("a/b", 5..10)?, b"bytes");
/// assert!(store.put("a/b", &[]).is_err(), "objects are never changed");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<BTreeMap<String, Vec<u8>>>);

impl Store for MemoryStore {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        objects.insert(name.to_owned(), pieces.concat());
        Ok(())
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let object = objects.get(name).ok_or(io::ErrorKind::NotFound)?;
        let place = |at: u64| usize::try_from(at).map_err(io::Error::other);
        let bytes = object.get(place(range.start)?..place(range.end)?);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let within = objects.iter().filter(|(name, _)| name.starts_with(prefix));
        Ok(within.map(|(name, object)| (name.clone(), object.len() as u64)).collect())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }
}
