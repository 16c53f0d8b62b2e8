//! The targets of the fuzzer: no bytes on a disk make a process panic, hang, or take more memory than their own length;
//! and values that are appended after them are read again.
//!
//! The checksums are right, since a fuzzer guesses none. Each target also takes the bytes as they are.

use crate::StateDir;
use crate::disk::{Disk, DiskFile, DiskLock, LockError, OpenMode};
use crate::journal::{self, Journal, JournalError, JournalOptions};
use crate::manifest;
use crate::sealed::Kind;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Any bytes, as a snapshot and as the file `job`: the first byte says how many of them come before the JSON. Returns
/// how many parts were loaded.
pub fn manifest(bytes: &[u8]) -> usize {
    let Some((in_front, rest)) = bytes.split_first() else { return 0 };
    let mut parts_loaded = 0;
    let (parts, json) = rest.split_at(rest.len().min(usize::from(*in_front)));
    let sealed = |kind: &Kind| [parts, &kind.seal_json(json)].concat();
    for (job, snapshot) in [(sealed(&crate::dir::JOB_KIND), sealed(&manifest::KIND)), (rest.to_vec(), rest.to_vec())] {
        let disk = Files::with(&[("/s/job", &job)]);
        let _ = StateDir::open_on(disk, "/s", "program");
        let disk = Files::with(&[("/s/snapshots/0000000001-1.snapshot", &snapshot)]);
        let Ok(dir) = StateDir::open_on(disk, "/s", "program") else { continue };
        for entry in dir.snapshots().expect("the directory can be listed") {
            let Some(manifest) = entry.manifest() else { continue };
            let loaded = dir.load(manifest);
            assert_eq!(loaded.is_ok(), dir.verify(manifest).is_ok());
            let length: usize = loaded.iter().flatten().map(|part| part.bytes.len()).sum();
            assert!(length <= snapshot.len());
            parts_loaded += loaded.map_or(0, |parts| parts.len());
        }
    }
    parts_loaded
}

/// Any bytes, as a segment of a journal. Each record takes 20 of them for its header, and for its payload as many as
/// the last of the 20 says. Returns how many values were read.
pub fn segment(bytes: &[u8]) -> usize {
    let (mut made, mut next) = (Vec::new(), 0);
    let mut rest = bytes;
    while let Some((header, behind)) = rest.split_first_chunk::<20>() {
        let (payload, behind) = behind.split_at(behind.len().min(usize::from(header[19])));
        made.extend(journal::fuzzed::record(header, payload, made.len() as u64, &mut next));
        rest = behind;
    }
    made.extend(rest);
    let on = |segment: &[u8]| Files::with(&[("/j/00000000000000000000-1.journal", segment)]);
    [goes_on(&on(bytes), false), goes_on(&on(bytes), true), goes_on(&on(&made), false), goes_on(&on(&made), true)]
        .iter()
        .sum()
}

/// If the journal opens, all of it is read, and so are appended values.
fn goes_on(disk: &Arc<Files>, skip_corrupt: bool) -> usize {
    let options = JournalOptions { skip_corrupt, ..JournalOptions::default() };
    let open = |epoch| Journal::open(Arc::clone(disk) as Arc<dyn Disk>, "/j", options, epoch);
    let Ok((mut journal, recovered)) = open(2) else { return 0 };
    let lost: u64 = recovered.lost.iter().map(|lost| lost.end - lost.start).sum();
    let held = recovered.next - recovered.first - lost;
    // A fuzzer can claim that 2^64 numbers are lost, but not that they are held.
    let read =
        journal.read_from(recovered.first).expect("nothing was trimmed").map(|record| record.expect("it is whole"));
    let read = read.count();
    assert_eq!(read as u64, held);
    match journal.append(recovered.next, b"last") {
        Err(JournalError::Gap { number: u64::MAX, .. }) => return read,
        appended => appended.expect("it is the next number"),
    }
    journal.commit().expect("the disk takes it");
    drop(journal);
    let (journal, again) = open(3).expect("it was opened before");
    assert_eq!((again.next, again.cut), (recovered.next + 1, None));
    let mut last = journal.read_from(recovered.next).expect("it is there");
    assert_eq!(last.next().and_then(Result::ok), Some((recovered.next, b"last".to_vec())));
    read
}

/// Files in memory.
#[derive(Debug, Default)]
struct Files(Mutex<BTreeMap<PathBuf, Arc<Mutex<Vec<u8>>>>>);

impl Files {
    fn with(files: &[(&str, &[u8])]) -> Arc<Self> {
        let file = |(path, bytes): &(&str, &[u8])| (PathBuf::from(path), Arc::new(Mutex::new(bytes.to_vec())));
        Arc::new(Files(Mutex::new(files.iter().map(file).collect())))
    }

    fn take(&self, path: &Path) -> io::Result<Arc<Mutex<Vec<u8>>>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.remove(path).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn put(&self, path: &Path, file: Arc<Mutex<Vec<u8>>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), file);
    }
}

impl Disk for Files {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let file = match mode {
            OpenMode::Create => Arc::default(),
            OpenMode::Read | OpenMode::Write => self.take(path)?,
        };
        self.put(path, Arc::clone(&file));
        Ok(Box::new(Open(file)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let within = files.keys().filter(|path| path.parent() == Some(dir));
        Ok(within.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn make_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.take(from)?;
        self.put(to, file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.take(path).map(drop)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: &Path, _: &str) -> Result<Box<dyn DiskLock>, LockError> {
        Ok(Box::new(Unlocked))
    }

    fn now_unix_ms(&self) -> u64 {
        0
    }
}

#[derive(Debug)]
struct Unlocked;

impl DiskLock for Unlocked {}

#[derive(Debug)]
struct Open(Arc<Mutex<Vec<u8>>>);

impl DiskFile for Open {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&mut self, written: &[u8], offset: u64) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = usize::try_from(offset).map_err(io::Error::other)?;
        let end = begin + written.len();
        let length = bytes.len().max(end);
        bytes.resize(length, 0);
        bytes[begin..end].copy_from_slice(written);
        Ok(())
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).resize(length, 0);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{manifest, segment};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_may_be_a_snapshot(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            assert_eq!(manifest(&bytes), 0);
        }

        #[test]
        fn any_bytes_may_be_a_segment(
            records in prop::collection::vec((small(), prop::collection::vec(0..6_u8, 0..30)), 0..8),
            rest in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let record = |(mut header, payload): (Vec<u8>, Vec<u8>)| {
                header[19] = payload.len() as u8;
                [header, payload].concat()
            };
            segment(&[records.into_iter().flat_map(record).collect(), rest].concat());
        }
    }

    /// The fuzzer's seeds, and the inputs with which it reached new code.
    #[test]
    fn the_corpus_is_survived() {
        for (target, run) in [("manifest", manifest as fn(&[u8]) -> usize), ("segment", segment)] {
            let corpus = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
            let mut whole = 0;
            for file in std::fs::read_dir(corpus).unwrap() {
                whole += run(&std::fs::read(file.unwrap().path()).unwrap());
            }
            assert!(whole > 0, "no {target} is whole");
        }
    }

    /// Headers that are right now and then.
    fn small() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![4 => Just(0_u8), 2 => 0..4_u8, 1 => any::<u8>()], 20)
    }
}
