//! The blocks of files of text.

use super::{FilePlace, Places, TextFiles};
use crate::before::{LastRead, named};
use millstream_core::text::Block;
use millstream_io::{Decompressed, Failure, LineBlocks};
use std::fs::File;
use std::io::{self, Error, Read};
use std::sync::PoisonError;

/// The blocks of a [`TextFiles`].
#[derive(Debug)]
pub struct FileBlocks {
    files: TextFiles,
    place: FilePlace,
    /// The bytes before the place.
    last: LastRead,
    /// Whether the last block ended with a line end.
    is_whole: bool,
    current: Option<(LineBlocks<Opened>, Failure)>,
}

#[derive(Debug)]
pub(super) enum Opened {
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
    /// The file of their [place](Places::place), counted from 0.
    #[must_use]
    pub fn file(&self) -> usize {
        self.place.file
    }

    /// The bytes of it that were read. Unlike the place, it has no hash, and so costs nothing.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.place.offset
    }

    /// Those of these files, from the first one on.
    pub(super) fn of(files: TextFiles) -> Self {
        let (place, last) = (FilePlace::default(), LastRead::default());
        FileBlocks { files, place, last, is_whole: true, current: None }
    }

    /// Goes on in this file, at a place with these bytes before it.
    pub(super) fn go_on(&mut self, place: FilePlace, opened: Opened, last: LastRead) {
        (self.place, self.last) = (place, last);
        self.read(opened);
    }

    /// Reads the rest of this file.
    fn read(&mut self, opened: Opened) {
        let blocks = LineBlocks::with_size(opened, self.files.block).longest(self.files.longest);
        let failure = blocks.failure();
        self.current = Some((blocks, failure));
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
                    self.last.pass(&block);
                    self.is_whole = block.ends_with(b"\n");
                    (self.files.read)(block.len());
                    return Some(block);
                }
                match failure.take() {
                    Some(error) => self.fail(error),
                    // The last file's end is a place in it, so that it can be read on when it has grown.
                    None if self.place.file + 1 >= self.files.paths.len() => return None,
                    None => {
                        self.place = FilePlace { file: self.place.file + 1, ..FilePlace::default() };
                        (self.last, self.current) = (LastRead::default(), None);
                    }
                }
            }
            let path = self.files.paths.get(self.place.file)?;
            if self.current.is_none() {
                match self.files.opened(path, 0) {
                    Ok(opened) => self.read(opened),
                    Err(error) => self.fail(error),
                }
            }
        }
    }
}

impl Places for FileBlocks {
    type Mark = FilePlace;

    fn place(&self) -> FilePlace {
        FilePlace { before: self.last.hash(), ..self.place }
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }
}
