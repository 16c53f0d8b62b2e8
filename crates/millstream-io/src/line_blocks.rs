use crate::{Block, Failure};
use std::io::{Error, ErrorKind, Read};

/// The bytes of a reader, as owned blocks of whole lines.
///
/// A block ends after the last line end among its first `size` bytes; a longer line is a block of its own. Thus blocks
/// of one byte are lines. Only the last block may have no line end. The cuts depend on the bytes alone and not on the
/// reads, so a block waits until it is full or the input ends, and a block of one byte waits for its line.
///
/// **Errors** fail the run, after all whole lines before them: one of the reader, or a line longer than
/// [`longest`](LineBlocks::longest), with its number, from 1, and the number of bytes before it. An error unwinds,
/// without a panic's message. If the iterator's [`Failure`] is held, the error is kept there, and the iterator ends. An
/// interrupted read is repeated.
///
/// **Memory**: a block, or the longest line, and the bytes of one more read; blocks have memory of their own. As a
/// source, at most 16 blocks wait in its ring or queue; `source::few::<4, _>(blocks)` makes it fewer.
///
/// ```
/// use millstream::io::LineBlocks;
/// let blocks: Vec<_> = LineBlocks::with_size(&b"to be\nor\nnot to be"[..], 9)
///     .map(|block| block.to_vec())
///     .collect();
/// assert_eq!(blocks, [&b"to be\nor\n"[..], b"not to be"]);
/// ```
#[derive(Debug)]
pub struct LineBlocks<R> {
    /// `None` once the stream has ended, so that a terminal is not read beyond its end.
    reader: Option<R>,
    size: usize,
    longest: usize,
    /// The byte that ends a line.
    end: u8,
    /// The bytes that were read: passed on up to `start`, and waiting up to `filled`. Then there is free room.
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    /// The bytes from `start` on that are known to have no line end; only used for a block or more.
    searched: usize,
    failure: Failure,
    /// An error that comes after the lines before it.
    pending: Option<Error>,
    /// The lines and bytes that were passed on.
    lines: u64,
    bytes: u64,
}

/// The room for one read.
const READ: usize = 64 * 1024;

impl<R: Read> LineBlocks<R> {
    /// The default of the longest line.
    pub const LONGEST: usize = 16 * 1024 * 1024;

    /// Blocks of at most `size` bytes, except for longer lines.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn with_size(reader: R, size: usize) -> Self {
        assert!(size > 0, "a block needs room for at least one byte");
        LineBlocks {
            reader: Some(reader),
            size,
            longest: Self::LONGEST.max(size),
            end: b'\n',
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            searched: 0,
            failure: Failure::default(),
            pending: None,
            lines: 0,
            bytes: 0,
        }
    }

    /// Sets the longest line in bytes, including its end. A block's size is the minimum.
    #[must_use]
    pub fn longest(mut self, bytes: usize) -> Self {
        self.longest = bytes.max(self.size);
        self
    }

    /// Sets the byte that ends a line, instead of a line feed.
    ///
    /// ```
    /// use millstream::io::LineBlocks;
    /// let names: Vec<_> = LineBlocks::with_size(&b"a\nb\0c\0"[..], 1)
    ///     .ended_by(0)
    ///     .map(|name| name.to_vec())
    ///     .collect();
    /// assert_eq!(names, [b"a\nb\0".as_slice(), b"c\0"]);
    /// ```
    #[must_use]
    pub fn ended_by(mut self, end: u8) -> Self {
        self.end = end;
        self
    }

    /// The place where an error is kept. As long as it is held, an error ends the iterator; otherwise it fails the run.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// The length of the next block, if the bytes that were read determine it.
    fn cut(&mut self) -> Option<usize> {
        let held = &self.buffer[self.start..self.filled];
        if held.len() < self.size {
            return None;
        }
        if self.searched < self.size
            && let Some(at) = memchr::memrchr(self.end, &held[..self.size])
        {
            return Some(at + 1);
        }
        let from = self.searched.max(self.size);
        let end = memchr::memchr(self.end, &held[from..]);
        self.searched = held.len();
        end.map(|at| from + at + 1)
    }

    /// Passes on the next `length` bytes.
    fn pass_on(&mut self, length: usize) -> Block {
        let bytes = self.buffer[self.start..self.start + length].to_vec();
        self.start += length;
        self.searched = 0;
        self.bytes += bytes.len() as u64;
        self.lines += bytecount::count(&bytes, self.end) as u64;
        bytes.into()
    }

    /// Reads once. Removes the reader at the end, or after an error.
    fn read(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < self.filled + READ {
            self.buffer.resize(self.filled.max(self.size) + READ, 0);
        }
        let Some(reader) = &mut self.reader else { return };
        match reader.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.reader = None,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // The incomplete last line is dropped.
                let whole = memchr::memrchr(self.end, &self.buffer[..self.filled]);
                self.filled = whole.map_or(0, |at| at + 1);
                self.fail(error);
            }
        }
    }

    fn fail(&mut self, error: Error) {
        self.reader = None;
        self.pending = Some(error);
    }

    /// Ends the stream before a line that is too long.
    fn refuse(&mut self) {
        let (line, at, longest) = (self.lines + 1, self.bytes, self.longest);
        let text = format!("line {line}, which begins at byte {at}, is longer than {longest} bytes");
        self.filled = self.start;
        self.searched = 0;
        self.fail(Error::new(ErrorKind::InvalidData, text));
    }
}

impl<R: Read> Iterator for LineBlocks<R> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            let cut = self.cut();
            let held = self.filled - self.start;
            // Without a line end in the first block, the waiting bytes begin with one line of at least this length.
            if cut.unwrap_or(self.searched) > self.longest {
                self.refuse();
                continue;
            }
            match cut {
                Some(length) => return Some(self.pass_on(length)),
                None if self.reader.is_some() => self.read(),
                None if held == 0 => {
                    self.pending.take().into_iter().for_each(|error| self.failure.keep(error));
                    return None;
                }
                None => return Some(self.pass_on(held)),
            }
        }
    }
}
