//! Files of text that are read on from a position.

use super::{Places, Resumable, of_another_source};
use crate::before::{self, named};
use millstream_core::text::Block;
use millstream_io::{Decompressed, Failure, LineBlocks};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Several files of lines, one after the other, as a source that can begin in the middle: blocks of whole lines, whose
/// cuts depend on the bytes alone.
///
/// A position is a file, the number of its bytes that were read, and a hash of up to 4096 bytes before that place. If
/// the file of that name has other bytes there, or is shorter, the source does not begin. It may have grown. A
/// compressed file is read again up to the position; any other file is read from the position on.
///
/// **Memory**: as [`LineBlocks`], for the file that is open.
///
/// ```
/// use millstream::state::{Places, Resumable, TextFiles};
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// std::fs::write("log", "one\ntwo\nthree\n")?;
/// let files = TextFiles::new(["log"]).block_size(4);
/// let mut blocks = files.begin(None)?;
/// assert_eq!(blocks.next().as_deref(), Some(&b"one\n"[..]));
/// let position = files.position(&blocks.place())?;
/// assert_eq!(files.begin(Some(&position))?.next().as_deref(), Some(&b"two\n"[..]));
///
/// std::fs::write("log", "ONE\ntwo\nthree\n")?;
/// let refused = files.begin(Some(&position)).unwrap_err().to_string();
/// assert_eq!(refused, "log: its bytes before byte 4 have changed since they were read");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// A file that cannot be opened or read, or has too long a line, ends the values;
/// [`failure`](Resumable::failure) says why.
#[derive(Clone, Debug)]
pub struct TextFiles {
    paths: Arc<[PathBuf]>,
    block: usize,
    longest: usize,
    decompress: bool,
    read: fn(usize),
    /// The error of the values that began last.
    failure: Arc<Mutex<Option<Error>>>,
}

impl TextFiles {
    /// The default of a block's size in bytes.
    pub const DEFAULT_BLOCK: usize = 64 * 1024;

    /// The files of these names, in this order.
    pub fn new(paths: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        TextFiles {
            paths: paths.into_iter().map(Into::into).collect(),
            block: Self::DEFAULT_BLOCK,
            longest: LineBlocks::<File>::LONGEST,
            decompress: false,
            read: |_| (),
            failure: Arc::default(),
        }
    }

    /// Sets the bytes of a block: it ends after the last line end among that many, and a longer line is a block of its
    /// own. With 1, every block is a line.
    ///
    /// # Panics
    ///
    /// If `bytes` is 0.
    #[must_use]
    pub fn block_size(self, bytes: usize) -> Self {
        assert!(bytes > 0, "a block needs room for at least one byte");
        TextFiles { block: bytes, ..self }
    }

    /// Sets the longest line in bytes, with its end; 16 MiB unless this is called.
    #[must_use]
    pub fn longest(self, bytes: usize) -> Self {
        TextFiles { longest: bytes, ..self }
    }

    /// Calls `read` with the bytes of every block, for a display of the progress.
    #[must_use]
    pub fn on_read(self, read: fn(usize)) -> Self {
        TextFiles { read, ..self }
    }

    /// Decompresses the files that begin as gzip or zstd does, as [`Files::decompressed`](millstream_io::Files).
    #[must_use]
    pub fn decompressed(self) -> Self {
        TextFiles { decompress: true, ..self }
    }
}

/// Where a [`TextFiles`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePlace {
    /// The file, counted from 0.
    file: usize,
    /// The bytes of it that were read.
    offset: u64,
}

impl FilePlace {
    /// The file, counted from 0; after the last file, the number of files.
    #[must_use]
    pub fn file(self) -> usize {
        self.file
    }

    /// The bytes of it that were read.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.offset
    }
}

/// A place, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    file: usize,
    #[serde(with = "super::stored_path")]
    path: PathBuf,
    offset: u64,
    /// A hash of the bytes before the offset.
    before: String,
}

impl TextFiles {
    /// The place of a stored position, if its file is still what it was.
    fn checked(&self, position: &Value) -> io::Result<Stored> {
        let stored = Stored::deserialize(position).map_err(|_| of_another_source("one in a file", position))?;
        let Stored { file, path, offset, before } = &stored;
        if self.paths.get(*file) != Some(path) {
            let (n, was) = (file + 1, path.display());
            let why = format!("file {n} was {was} when the snapshot was taken: name the same files in the same order");
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        let hashed = hash_before(path, *offset, self.decompress).map_err(|error| named(path, error))?;
        if hashed.as_ref() != Some(before) {
            let why = format!("its bytes before byte {offset} have changed since they were read");
            return Err(named(path, Error::new(ErrorKind::InvalidData, why)));
        }
        Ok(stored)
    }
}

impl Resumable<Block> for TextFiles {
    type Mark = FilePlace;
    type Values = FileBlocks;
    const WAITS: bool = false;

    /// The last block of a file ends where the file ended, and the file may have grown.
    fn is_at(&self, mark: &FilePlace, position: &Value) -> Option<bool> {
        let stored = Stored::deserialize(position).ok()?;
        let file = mark.file.min(self.paths.len().saturating_sub(1));
        Some((file, mark.offset) == (stored.file, stored.offset))
    }

    fn can_begin(&self, position: &Value) -> io::Result<()> {
        self.checked(position).map(drop)
    }

    fn begin(&self, position: Option<&Value>) -> io::Result<FileBlocks> {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut blocks = FileBlocks { files: self.clone(), place: FilePlace::default(), current: None };
        let Some(position) = position else { return Ok(blocks) };
        let Stored { file, path, offset, .. } = self.checked(position)?;
        blocks.open(FilePlace { file, offset }).map_err(|error| named(&path, error))?;
        Ok(blocks)
    }

    fn position(&self, &FilePlace { file, offset }: &FilePlace) -> io::Result<Value> {
        let path = self.paths.get(file).or(self.paths.last()).cloned().unwrap_or_default();
        let before = if self.paths.is_empty() { None } else { hash_before(&path, offset, self.decompress)? };
        let file = file.min(self.paths.len().saturating_sub(1));
        let before = before.ok_or_else(|| named(&path, Error::other("it is shorter than the part that was read")))?;
        Ok(serde_json::to_value(Stored { file, path, offset, before })?)
    }

    fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The blocks of a [`TextFiles`].
#[derive(Debug)]
pub struct FileBlocks {
    files: TextFiles,
    place: FilePlace,
    current: Option<(LineBlocks<Opened>, Failure)>,
}

#[derive(Debug)]
enum Opened {
    Plain(File),
    Decompressed(Box<Decompressed<File>>),
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Opened::Plain(file) => file.read(buffer),
            Opened::Decompressed(file) => file.read(buffer),
        }
    }
}

impl FileBlocks {
    fn open(&mut self, place: FilePlace) -> io::Result<()> {
        let path = &self.files.paths[place.file];
        let mut file = File::open(path)?;
        let opened = if self.files.decompress {
            Opened::Decompressed(Box::new(Decompressed::named(file, path).from_offset(place.offset)?))
        } else {
            file.seek(SeekFrom::Start(place.offset))?;
            Opened::Plain(file)
        };
        let blocks = LineBlocks::with_size(opened, self.files.block).longest(self.files.longest);
        let failure = blocks.failure();
        (self.place, self.current) = (place, Some((blocks, failure)));
        Ok(())
    }

    fn fail(&mut self, error: Error) {
        let error = named(&self.files.paths[self.place.file], error);
        *self.files.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.place.file = self.files.paths.len();
        self.current = None;
    }
}

impl Iterator for FileBlocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            if let Some((blocks, failure)) = &mut self.current {
                if let Some(block) = blocks.next() {
                    self.place.offset += block.len() as u64;
                    (self.files.read)(block.len());
                    return Some(block);
                }
                match failure.take() {
                    Some(error) => self.fail(error),
                    // The last file's end is a place in it, so that it can be read on when it has grown.
                    None if self.place.file + 1 >= self.files.paths.len() => return None,
                    None => (self.place, self.current) = (FilePlace { file: self.place.file + 1, offset: 0 }, None),
                }
            }
            if self.place.file >= self.files.paths.len() {
                return None;
            }
            if self.current.is_none()
                && let Err(error) = self.open(self.place)
            {
                self.fail(error);
            }
        }
    }
}

impl Places for FileBlocks {
    type Mark = FilePlace;

    fn place(&self) -> FilePlace {
        self.place
    }
}

/// The hash of the bytes before this place of a file; none if the file is shorter.
pub(super) fn hash_before(path: &Path, offset: u64, decompress: bool) -> io::Result<Option<String>> {
    // A reader would take bytes that do not come again.
    if fs::metadata(path)?.file_type().is_fifo() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe, which cannot be read again from a place in it"));
    }
    let mut file = File::open(path)?;
    let begin = before::begin(offset);
    if decompress {
        return before::hash(offset, Decompressed::named(file, path).from_offset(begin)?);
    }
    file.seek(SeekFrom::Start(begin))?;
    before::hash(offset, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From every place on, the blocks are those of a source that goes on.
    #[test]
    fn from_every_place_on_the_same_blocks_follow() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["a", "empty", "b"].map(|name| directory.path().join(name));
        fs::write(&paths[0], "one\ntwo\n\nfour, which is longer\nfive").unwrap();
        fs::write(&paths[1], "").unwrap();
        fs::write(&paths[2], "six\nseven\n").unwrap();
        let files = TextFiles::new(&paths).block_size(6);
        let whole: Vec<Vec<u8>> = files.begin(None).unwrap().map(|block| block.to_vec()).collect();
        assert_eq!(whole.concat(), b"one\ntwo\n\nfour, which is longer\nfivesix\nseven\n");
        let mut blocks = files.begin(None).unwrap();
        for taken in 0..=whole.len() {
            let position = files.position(&blocks.place()).unwrap();
            let rest: Vec<Vec<u8>> = files.begin(Some(&position)).unwrap().map(|block| block.to_vec()).collect();
            assert_eq!(rest, whole[taken..], "{position}");
            assert_eq!(blocks.next().is_some(), taken < whole.len());
        }
    }

    #[test]
    fn a_file_that_has_grown_is_read_on_and_another_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, "one\n").unwrap();
        let files = TextFiles::new([&path]);
        let mut blocks = files.begin(None).unwrap();
        assert!(blocks.next().is_some() && blocks.next().is_none());
        let position = files.position(&blocks.place()).unwrap();
        fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(files.begin(Some(&position)).unwrap().next().as_deref(), Some(&b"two\n"[..]));
        fs::write(&path, "on").unwrap();
        assert!(files.begin(Some(&position)).unwrap_err().to_string().ends_with("have changed since they were read"));
        let others = TextFiles::new([directory.path().join("other")]);
        assert!(others.begin(Some(&position)).unwrap_err().to_string().starts_with("file 1 was"));
    }

    #[test]
    fn a_place_of_another_source_is_refused() {
        let refused = |files: &TextFiles| files.can_begin(&7.into()).unwrap_err().to_string();
        let why = "the snapshot was taken of another source: its place there is 7, and not one in a file";
        assert_eq!(refused(&TextFiles::new(["log"])), why);
    }

    #[test]
    fn a_file_that_is_not_there_ends_the_values() {
        let files = TextFiles::new(["/nowhere"]);
        assert!(files.begin(None).unwrap().next().is_none());
        assert!(files.failure().unwrap().to_string().starts_with("/nowhere: "));
    }
}
