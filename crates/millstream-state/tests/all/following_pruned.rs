//! A service that follows while what it is about to read is removed, at every operation of its disk.

use crate::following::{PATIENCE, Paid, add, end, follow, home, job, own, pay};
use millstream::prelude::*;
use millstream_state::disk::{Disk, DiskFile, DiskLock, LockError, OpenMode, RealDisk};
use millstream_state::journal::JournalOptions;
use millstream_state::{Following, JobError, Retention, StateDir, Storer};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What the other process does.
type Other = Box<dyn FnOnce() + Send>;

/// A disk that is only read. Before one of its operations another process does its work.
struct Busy {
    left: AtomicU64,
    other: Mutex<Option<Other>>,
}

impl Busy {
    fn step(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            let other = self.other.lock().unwrap().take();
            other.unwrap()();
        }
    }

    fn is_over(&self) -> bool {
        self.other.lock().unwrap().is_none()
    }
}

impl std::fmt::Debug for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Busy")
    }
}

impl Disk for Busy {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        assert_eq!(mode, OpenMode::Read, "{}", path.display());
        self.step();
        RealDisk.open(path, mode)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.step();
        RealDisk.list(dir)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        unreachable!("it makes {}", path.display())
    }

    fn rename(&self, from: &Path, _: &Path) -> io::Result<()> {
        unreachable!("it renames {}", from.display())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        unreachable!("it removes {}", path.display())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        unreachable!("it syncs {}", dir.display())
    }

    fn lock(&self, path: &Path, _: &str) -> Result<Box<dyn DiskLock>, LockError> {
        unreachable!("it locks {}", path.display())
    }

    fn now_unix_ms(&self) -> u64 {
        RealDisk.now_unix_ms()
    }
}

const SMALL: JournalOptions = JournalOptions {
    segment_bytes: 100,
    max_bytes: 1 << 20,
    group_bytes: 1 << 20,
    fsync: millstream_state::journal::Fsync::Every,
    compress: false,
    skip_corrupt: false,
    at_least: 0,
};

/// The other process goes on, and keeps the newest snapshot alone.
fn goes_on(client: &Client<Paid, u64>, storer: &Storer) {
    for _ in 0..2 {
        (0..6).for_each(|_| _ = pay(client, 1));
        storer.snapshot().unwrap().unwrap();
    }
}

/// Follows until the other process has gone on, and is then close to it.
fn followed(dir: &Path, busy: &Arc<Busy>) -> Result<Following<Paid, u64>, JobError> {
    let state = StateDir::read_on(busy.clone(), dir)?;
    let sums = pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named("sum");
    let mut following = job(state).follow(sums, SMALL)?.expect("there was a snapshot all the time");
    while !busy.is_over() || !following.catches_up(PATIENCE) {
        following.catches_up(PATIENCE);
        following.check()?;
    }
    following.check()?;
    Ok(following)
}

#[test]
fn a_follower_has_read_a_removed_file_or_reports_that_it_was_left_behind() {
    let (mut left_behind, mut read) = (0, 0);
    for left in 0..16 {
        let (_home, dir) = home();
        let state = StateDir::open(&dir, "sum").unwrap();
        let keep = Retention { count: Some(1), ..Retention::default() };
        let sums = pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named("sum");
        let (client, running) = job(state).keep(keep).serve(sums, SMALL).unwrap();
        goes_on(&client, &running.storer());
        (0..6).for_each(|_| _ = pay(&client, 1));
        let other = {
            let (client, storer) = (client.clone(), running.storer());
            Box::new(move || goes_on(&client, &storer))
        };
        let busy = Arc::new(Busy { left: AtomicU64::new(left), other: Mutex::new(Some(other)) });
        let following = match followed(&dir, &busy) {
            Ok(following) => {
                read += 1;
                following
            }
            Err(error) => {
                assert!(error.is_left_behind(), "operation {left}: {error}");
                left_behind += 1;
                let mut following = follow(&dir, SMALL);
                assert!(following.catches_up(PATIENCE));
                following
            }
        };
        assert_eq!(pay(&client, 1), 31);
        end((client, running));
        let present = own(following, &dir);
        assert_eq!((pay(&present.0, 1), present.1.began()), (32, 31), "operation {left}");
        end(present);
    }
    assert!(left_behind > 2 && read > 2, "{left_behind} times left behind, and {read} times not");
}
