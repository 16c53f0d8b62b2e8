use crate::wire::put;
use crate::{EvolveError, Token};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A population between two rounds, with a note of the calling program: enough to continue in another process.
///
/// In a directory, a checkpoint is a file `round-N.checkpoint`, with at least nine digits, that ends with a SHA-256. It
/// is written as a whole or not at all. The one before it is kept too. Files of other names are left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of rounds until then.
    pub round: u64,
    /// The number of populations until then.
    pub(crate) resets: u64,
    /// Tokens, and states as bytes.
    pub(crate) states: Vec<(Token, Vec<u8>)>,
    /// Bytes of the calling program, which gets them back.
    pub note: Vec<u8>,
}

const MAGIC: &[u8] = b"millstream checkpoint 1\n";
const DIGEST: usize = 32;

impl Checkpoint {
    /// Writes a file to a directory, and returns once it is on the disk. Creates the directory if there is none.
    ///
    /// The directory's other checkpoints are removed, except for that of the last round before this one. Those of later
    /// rounds go too: they are of a population that was given up, and [`last`](Checkpoint::last) would return them.
    ///
    /// # Errors
    ///
    /// If the system refuses access to the directory or to a file.
    pub fn save(&self, dir: &Path) -> Result<(), EvolveError> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, self)?;
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        let path = dir.join(file_name(self.round));
        let remove =
            |old: &Path| fs::remove_file(old).map_err(EvolveError::io(format!("cannot remove {}", old.display())));
        let failed = || EvolveError::io(format!("cannot write the checkpoint {}", path.display()));
        create(dir).map_err(failed())?;
        let others: Vec<_> = all(dir)?.into_iter().filter(|other| *other != path).collect();
        let is_later = |other: &&PathBuf| round_of(other) > Some(self.round);
        // They go first: after a kill in between, the last one is not of the population that was given up.
        others.iter().filter(is_later).try_for_each(|later| remove(later))?;
        let written = || {
            let beside = path.with_extension("unfinished");
            let mut file = File::create(&beside)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(dir)?.sync_all()
        };
        written().map_err(failed())?;
        let before = others.iter().rfind(|other| round_of(other) < Some(self.round));
        others.iter().filter(|other| !is_later(other) && Some(*other) != before).try_for_each(|old| remove(old))
    }

    /// The last whole checkpoint of a directory; `None` if it has no checkpoint.
    ///
    /// # Errors
    ///
    /// If there are checkpoints but none is whole, or the system refuses access.
    pub fn last(dir: &Path) -> Result<Option<Checkpoint>, EvolveError> {
        Checkpoint::last_but(dir, |_| ())
    }

    /// As [`last`](Checkpoint::last). Also calls `damaged` with the path of each later checkpoint that it skips because
    /// it is not whole.
    ///
    /// # Errors
    ///
    /// As [`last`](Checkpoint::last).
    pub fn last_but(dir: &Path, mut damaged: impl FnMut(&Path)) -> Result<Option<Checkpoint>, EvolveError> {
        let all = all(dir)?;
        let mut later = Vec::new();
        for path in all.iter().rev() {
            let bytes = fs::read(path).map_err(EvolveError::io(format!("cannot read {}", path.display())))?;
            if let Some(checkpoint) = whole(&bytes) {
                later.into_iter().for_each(&mut damaged);
                return Ok(Some(checkpoint));
            }
            later.push(path);
        }
        match all.last() {
            None => Ok(None),
            Some(last) => {
                let why = format!("{} is damaged, and no other checkpoint there is complete", last.display());
                Err(EvolveError::Checkpoint(why))
            }
        }
    }

    /// Locks a directory against other processes that call this, until the [`Lock`] is dropped or this process ends.
    /// Creates the directory if there is none. `save` and `last` do not look at the lock.
    ///
    /// # Errors
    ///
    /// If another process has the lock, or the system refuses access.
    pub fn lock(dir: &Path) -> Result<Lock, EvolveError> {
        let failed = || EvolveError::io(format!("cannot lock {}", dir.display()));
        create(dir).map_err(failed())?;
        let file = File::options().create(true).append(true).open(dir.join("lock")).map_err(failed())?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                let what = "another process writes its checkpoints there: wait for it, or use another directory";
                Err(EvolveError::Checkpoint(format!("{} is locked: {what}", dir.display())))
            }
            Err(TryLockError::Error(error)) => Err(failed()(error)),
        }
    }
}

/// Creates the directory, if there is none, so that it survives a crash of the machine.
fn create(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(dir)?;
    let parent = dir.parent().filter(|parent| *parent != Path::new(""));
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// The lock of a directory of checkpoints: see [`Checkpoint::lock`].
#[derive(Debug)]
#[must_use = "the directory is locked until this is dropped"]
pub struct Lock {
    _file: File,
}

fn whole(bytes: &[u8]) -> Option<Checkpoint> {
    let (bytes, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
    let right = Sha256::digest(bytes).as_slice() == digest;
    postcard::from_bytes(bytes.strip_prefix(MAGIC).filter(|_| right)?).ok()
}

fn file_name(round: u64) -> String {
    format!("round-{round:09}.checkpoint")
}

/// The round of a checkpoint's file; `None` if the file has another name.
fn round_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let round = name.strip_prefix("round-")?.strip_suffix(".checkpoint")?.parse().ok()?;
    (name == file_name(round)).then_some(round)
}

/// All checkpoints of a directory, by round.
fn all(dir: &Path) -> Result<Vec<PathBuf>, EvolveError> {
    let failed = || EvolveError::io(format!("cannot list {}", dir.display()));
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed())?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed())?.path();
        if let Some(round) = round_of(&path) {
            found.push((round, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(round: u64) -> Checkpoint {
        let states = vec![(Token::root(1, 2, 3), vec![1, 2, 3])];
        Checkpoint { round, resets: 1, states, note: b"note".to_vec() }
    }

    #[test]
    fn a_directory_has_one_lock() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        let lock = Checkpoint::lock(&kept).unwrap();
        let said = Checkpoint::lock(&kept).unwrap_err().to_string();
        assert!(said.contains("kept is locked: another process writes its checkpoints there"), "{said}");
        drop(lock);
        drop(Checkpoint::lock(&kept).unwrap());
    }

    #[test]
    fn the_last_whole_checkpoint_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        assert_eq!(Checkpoint::last(&below).unwrap(), None);
        (1..=12).for_each(|round| of(round).save(&below).unwrap());
        assert_eq!(Checkpoint::last(&below).unwrap(), Some(of(12)));
        assert_eq!(all(&below).unwrap().len(), 2);
        let last = below.join("round-000000012.checkpoint");
        let mut bytes = fs::read(&last).unwrap();
        bytes[40] ^= 1;
        fs::write(&last, &bytes).unwrap();
        assert_eq!(Checkpoint::last(&below).unwrap(), Some(of(11)));
        let mut damaged = Vec::new();
        assert!(Checkpoint::last_but(&below, |path| damaged.push(path.to_owned())).unwrap().is_some());
        assert_eq!(damaged, [last]);
        fs::write(below.join("round-000000011.checkpoint"), "").unwrap();
        assert!(Checkpoint::last(&below).unwrap_err().to_string().contains("is damaged"));
    }

    #[test]
    fn what_was_saved_last_is_the_last_one_also_beside_later_rounds() {
        let dir = tempfile::tempdir().unwrap();
        // A population ended after 80 rounds. The next one begins again.
        for round in [79, 80, 1, 2, 3] {
            of(round).save(dir.path()).unwrap();
            assert_eq!(Checkpoint::last(dir.path()).unwrap(), Some(of(round)));
        }
        assert_eq!(all(dir.path()).unwrap().len(), 2);
    }

    #[test]
    fn files_of_other_names_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let others = ["best", "round-1", "round-x", "zzz"].map(|name| dir.path().join(format!("{name}.checkpoint")));
        for other in &others {
            fs::write(other, "mine").unwrap();
        }
        (1..=3).for_each(|round| of(round).save(dir.path()).unwrap());
        assert!(others.iter().all(|other| other.exists()));
        let last = Checkpoint::last_but(dir.path(), |path| panic!("{} is another file", path.display()));
        assert_eq!(last.unwrap(), Some(of(3)));
    }

    #[test]
    fn checkpoints_are_ordered_by_number() {
        let dir = tempfile::tempdir().unwrap();
        for round in [999_999_998, 999_999_999, 1_000_000_000] {
            of(round).save(dir.path()).unwrap();
            assert_eq!(Checkpoint::last(dir.path()).unwrap(), Some(of(round)));
        }
        assert_eq!(all(dir.path()).unwrap().len(), 2);
    }
}
