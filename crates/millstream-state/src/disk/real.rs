use super::{Disk, DiskFile, DiskLock, LockError, OpenMode};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The file systems of this machine.
///
/// Files are synced by `fdatasync`. Locks are `flock`'s, so they end with the process, however it ends; a lock that is
/// held is waited for a moment, since its process may be ending. Elsewhere than on Unix, names cannot be synced, and a
/// crash of the machine may lose them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = File::options();
        options.read(true).write(mode != OpenMode::Read);
        options.create(mode == OpenMode::Create).truncate(mode == OpenMode::Create);
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
        let mut names = fs::read_dir(dir)?.map(name).collect::<io::Result<Vec<String>>>()?;
        names.sort();
        Ok(names)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let since = Instant::now();
        let mut locked = file.try_lock();
        while matches!(locked, Err(TryLockError::WouldBlock)) && since.elapsed() < ENDS_WITHIN {
            sleep(LOOK);
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {
                file.set_len(0)?;
                file.write_all(holder.as_bytes())?;
                Ok(Box::new(RealLock { _file: file }))
            }
            Err(TryLockError::WouldBlock) => {
                let mut written = Vec::new();
                file.take(100).read_to_end(&mut written)?;
                Err(LockError::Held(String::from_utf8_lossy(&written).trim().to_owned()))
            }
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    fn now_unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A process that was killed a moment ago holds its locks until the system has taken it apart.
const ENDS_WITHIN: Duration = Duration::from_millis(300);

/// How often a lock is tried meanwhile.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(bytes)
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[derive(Debug)]
struct RealLock {
    _file: File,
}

impl DiskLock for RealLock {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::spawn;

    #[test]
    fn a_lock_whose_holder_is_ending_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = RealDisk.lock(&path, "process 1").unwrap();
        let ending = spawn(move || {
            sleep(LOOK * 4);
            drop(held);
        });
        let next = RealDisk.lock(&path, "process 2").unwrap();
        ending.join().unwrap();
        assert!(matches!(RealDisk.lock(&path, "process 3"), Err(LockError::Held(holder)) if holder == "process 2"));
        drop(next);
    }
}
