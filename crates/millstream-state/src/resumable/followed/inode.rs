//! Files that are known by their inodes.

use crate::before::{self, named};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How often a file is looked for: it may be renamed between two looks.
const MOST_LOOKS: u32 = 3;

/// The file of this inode, and its name: `followed`, or another one of the same directory. Without a device, of any.
pub(super) fn of_inode(followed: &Path, device: Option<u64>, inode: u64) -> io::Result<Option<(PathBuf, File)>> {
    let open = |path: PathBuf| {
        let is = |file: &Metadata| file.ino() == inode && device.is_none_or(|device| device == file.dev());
        // Another file is not opened: a pipe would wait for a writer.
        if !fs::metadata(&path).is_ok_and(|file| is(&file)) {
            return Ok(None);
        }
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(named(&path, error)),
            Ok(file) => Ok(is(&file.metadata()?).then_some((path, file))),
        }
    };
    for _ in 0..MOST_LOOKS {
        if let Some(found) = open(followed.to_owned())? {
            return Ok(Some(found));
        }
        let directory = followed.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        for entry in fs::read_dir(directory).map_err(|error| named(directory, error))? {
            if let Some(found) = open(entry?.path())? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// The hash of the bytes before this place of a file; none if the file is shorter.
pub(super) fn hash_before(file: &mut File, offset: u64) -> io::Result<Option<String>> {
    file.seek(SeekFrom::Start(before::begin(offset)))?;
    before::hash(offset, file)
}
