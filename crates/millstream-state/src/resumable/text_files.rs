//! Files of text that are read on from a position.

mod blocks;

pub use blocks::FileBlocks;

use super::{Places, Resumable, of_another_source};
use crate::before::{self, LastRead, named};
use blocks::Opened;
use millstream_core::text::Block;
use millstream_io::{Decompressed, LineBlocks};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File, Metadata};
use std::io::{self, Error, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Several files of lines, one after the other, as a source that can begin in the middle: blocks of whole lines, whose
/// cuts depend on the bytes alone.
///
/// A position is a file, the number of its bytes that were read, and a hash of up to 4096 bytes before that place, as
/// they were read. If the file of that name has other bytes there, or is shorter, the source does not begin: another
/// file may have got the name meanwhile. It may have grown. A start reads a compressed file again up to the position,
/// and any other file from the position on.
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
    /// The hash of the bytes before the offset, as they were read.
    before: u64,
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
    /// The file of this name, from this byte of its content on.
    fn opened(&self, path: &Path, from: u64) -> io::Result<Opened> {
        let mut file = File::open(path)?;
        if self.decompress {
            return Ok(Opened::Decompressed(Box::new(Decompressed::named(file, path).from_offset(from)?)));
        }
        file.seek(SeekFrom::Start(from))?;
        Ok(Opened::Plain(file))
    }

    /// The file of a stored position, at its place, and the bytes before it, if they are what they were.
    fn found(&self, position: &Value) -> io::Result<(FilePlace, Opened, LastRead)> {
        let stored = Stored::deserialize(position).map_err(|_| of_another_source("one in a file", position))?;
        let Stored { file, path, offset, before } = stored;
        if self.paths.get(file) != Some(&path) {
            let (n, was) = (file + 1, path.display());
            let why = format!("file {n} was {was} when the snapshot was taken: name the same files in the same order");
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        let read = || {
            is_no_pipe(&fs::metadata(&path)?)?;
            let mut opened = self.opened(&path, before::begin(offset))?;
            let last = LastRead::of(offset, &mut opened)?;
            Ok::<_, Error>((opened, last))
        };
        let (opened, last) = read().map_err(|error| named(&path, error))?;
        if before::shown(last.hash()) != before {
            let why = format!("its bytes before byte {offset} have changed since they were read");
            return Err(named(&path, Error::new(ErrorKind::InvalidData, why)));
        }
        Ok((FilePlace { file, offset, ..FilePlace::default() }, opened, last))
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
        self.found(position).map(drop)
    }

    fn begin(&self, position: Option<&Value>) -> io::Result<FileBlocks> {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut blocks = FileBlocks::of(self.clone());
        if let Some(position) = position {
            let (place, opened, last) = self.found(position)?;
            blocks.go_on(place, opened, last);
        }
        Ok(blocks)
    }

    fn position(&self, &FilePlace { file, offset, before }: &FilePlace) -> io::Result<Value> {
        let path = self.paths.get(file).or(self.paths.last()).cloned().unwrap_or_default();
        match fs::metadata(&path) {
            Ok(there) => is_no_pipe(&there).map_err(|error| named(&path, error))?,
            // What was read of it is known. A file of which nothing was read may have been named by mistake.
            Err(error) if offset == 0 => return Err(named(&path, error)),
            Err(_) => {}
        }
        let file = file.min(self.paths.len().saturating_sub(1));
        Ok(serde_json::to_value(Stored { file, path, offset, before: before::shown(before) })?)
    }

    fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A reader would take bytes that do not come again.
fn is_no_pipe(there: &Metadata) -> io::Result<()> {
    if there.file_type().is_fifo() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe, which cannot be read again from a place in it"));
    }
    Ok(())
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
            // The first file ends within a line, which may be longer when it is read again.
            assert_eq!(blocks.is_whole(), taken == 0 || whole[taken - 1].ends_with(b"\n"));
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

    /// The reader goes on in the file that it has open.
    #[test]
    fn a_file_that_another_one_replaces_while_it_is_read_is_not_taken_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        for length in [10, 10_000] {
            let [old, new] = ["a", "b"].map(|letter| format!("{}\n{0}\n", letter.repeat(length)));
            fs::write(&path, &old).unwrap();
            let files = TextFiles::new([&path]).block_size(1);
            let mut blocks = files.begin(None).unwrap();
            assert_eq!(blocks.next().unwrap().len(), length + 1);
            let other = directory.path().join("new");
            fs::write(&other, &new).unwrap();
            fs::rename(&other, &path).unwrap();
            let position = files.position(&blocks.place()).unwrap();
            for refused in [files.can_begin(&position), files.begin(Some(&position)).map(drop)] {
                assert!(refused.unwrap_err().to_string().ends_with("have changed since they were read"));
            }
            // A copy of it is as good.
            fs::write(&path, &old).unwrap();
            assert_eq!(files.begin(Some(&position)).unwrap().next().as_deref(), Some(&old.as_bytes()[length + 1..]));
        }
    }

    /// A snapshot would otherwise decompress it up to there.
    #[test]
    fn a_place_is_known_without_a_look_at_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let write = || fs::write(&path, "one\ntwo\n").unwrap();
        write();
        let files = TextFiles::new([&path]).block_size(1).decompressed();
        let mut blocks = files.begin(None).unwrap();
        assert_eq!(blocks.next().as_deref(), Some(&b"one\n"[..]));
        fs::remove_file(&path).unwrap();
        let position = files.position(&blocks.place()).unwrap();
        write();
        assert_eq!(files.begin(Some(&position)).unwrap().next().as_deref(), Some(&b"two\n"[..]));
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
