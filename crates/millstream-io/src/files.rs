mod decompressed;
#[cfg(feature = "glob")]
mod matching;

use crate::named::named;
pub use decompressed::Decompressed;
#[cfg(feature = "glob")]
pub use matching::matching;
use std::fs::File;
use std::io::{ErrorKind, Read, Result};
use std::path::{Path, PathBuf};
use std::vec;

/// Several files, one after the other, as one reader. [`Blocks`](crate::Blocks) of it are a source.
///
/// The bytes are those of `cat`: nothing is inserted between two files, even if the first one's last line has no end.
/// One file is open at a time, from its first read to its end, so any number of files needs one descriptor. No block
/// has bytes of two files.
///
/// ```
/// use millstream::{io::{Block, Blocks, Files}, prelude::*};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// std::fs::write("monday", "rain\n")?;
/// std::fs::write("tuesday", "sun\n")?;
/// let blocks = Blocks::new(Files::new(["monday", "tuesday"]));
/// let failure = blocks.failure();
/// let p = pipeline::<Block>().map(|block| block.len());
/// assert_eq!(p.collect(blocks)?, [5, 4]);
/// assert!(failure.take().is_none(), "all has been read");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a file cannot be opened, read or decompressed. The error names the file and the operation. Later files are not
/// read.
#[derive(Debug)]
pub struct Files {
    paths: vec::IntoIter<PathBuf>,
    open: Option<(PathBuf, Reader)>,
    decompress: bool,
}

impl Files {
    /// The files of these names, in this order, without decompression.
    pub fn new(paths: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        Files { paths: paths.into_iter(), open: None, decompress: false }
    }

    /// Decompresses files that begin as gzip (feature `gzip`) or zstd (feature `zstd`) does, whatever their names, as
    /// [`Decompressed`] does. All other files are read as they are. If a file's name ends in `.gz` or `.zst` and its
    /// content is neither format, it is damaged.
    ///
    /// A file may have several members, or frames, whose bytes follow each other. A file that ends within a member
    /// yields the bytes before that and then an error, and so does a file with other data after a member.
    ///
    /// ```
    /// # #[cfg(feature = "gzip")] {
    /// use millstream::io::{Blocks, Files};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// // echo hello | gzip
    /// let compressed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcbH\xcd\xc9\xc9\xe7\x02\0 0:6\x06\0\0\0";
    /// std::fs::write("log.gz", compressed)?;
    /// let mut blocks = Blocks::new(Files::new(["log.gz"]).decompressed());
    /// assert_eq!(*blocks.next().unwrap(), *b"hello\n");
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn decompressed(self) -> Self {
        Files { decompress: true, ..self }
    }
}

impl Read for Files {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some((path, reader)) = &mut self.open {
                match reader.read(buffer) {
                    Ok(0) => self.open = None,
                    Ok(read) => return Ok(read),
                    Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                    Err(error) => return Err(named(path, reader.doing(), error)),
                }
            }
            let Some(path) = self.paths.next() else { return Ok(0) };
            let reader = Reader::open(&path, self.decompress).map_err(|error| named(&path, "open", error))?;
            self.open = Some((path, reader));
        }
    }
}

/// An open file, and the decoder of its bytes.
#[derive(Debug)]
enum Reader {
    Plain(File),
    Decompressed(Decompressed<File>),
}

impl Reader {
    fn open(path: &Path, decompress: bool) -> Result<Self> {
        let file = File::open(path)?;
        Ok(if decompress { Reader::Decompressed(Decompressed::named(file, path)) } else { Reader::Plain(file) })
    }

    /// The operation that a read performs, for an error.
    fn doing(&self) -> &'static str {
        match self {
            Reader::Plain(_) => "read",
            Reader::Decompressed(decompressed) => decompressed.doing(),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Reader::Plain(file) => file.read(buffer),
            Reader::Decompressed(decompressed) => decompressed.read(buffer),
        }
    }
}
