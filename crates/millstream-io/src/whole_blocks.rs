use crate::{Block, Failure, NextFile};
use millstream_core::text::{BlockPool, Draft, Lines, LinesWithEnds, Prefixed, Records};
use std::io::{Error, ErrorKind, Read};

/// The ends of records in a stream of bytes, between which it can be cut.
pub trait Framing: Send + 'static {
    /// The name of a record in a message.
    const RECORD: &'static str;
    /// Whether the bytes after the last whole record are a record too, at the end of the stream.
    const REST_IS_ONE: bool;
    /// The end of the last whole record in `bytes`, which begin with a record; `None` if there is none. An earlier call
    /// found none up to `searched`.
    fn end(&self, bytes: &[u8], searched: usize) -> Option<usize>;
    /// The number of records in these bytes, which are whole ones.
    fn count(&self, bytes: &[u8]) -> u64;
}

impl Framing for Lines {
    const RECORD: &'static str = "line";
    const REST_IS_ONE: bool = true;

    fn end(&self, bytes: &[u8], searched: usize) -> Option<usize> {
        memchr::memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1)
    }

    fn count(&self, bytes: &[u8]) -> u64 {
        crate::text::line_ends(bytes)
    }
}

impl Framing for LinesWithEnds {
    const RECORD: &'static str = Lines::RECORD;
    const REST_IS_ONE: bool = Lines::REST_IS_ONE;

    fn end(&self, bytes: &[u8], searched: usize) -> Option<usize> {
        Lines.end(bytes, searched)
    }

    fn count(&self, bytes: &[u8]) -> u64 {
        Lines.count(bytes)
    }
}

impl Framing for Records {
    const RECORD: &'static str = "record";
    const REST_IS_ONE: bool = false;

    fn end(&self, bytes: &[u8], _: usize) -> Option<usize> {
        let whole = bytes.len() - bytes.len() % self.bytes();
        (whole > 0).then_some(whole)
    }

    fn count(&self, bytes: &[u8]) -> u64 {
        (bytes.len() / self.bytes()) as u64
    }
}

impl Framing for Prefixed {
    const RECORD: &'static str = "record";
    const REST_IS_ONE: bool = false;

    fn end(&self, bytes: &[u8], _: usize) -> Option<usize> {
        let mut whole = None;
        while let Some(end) = Prefixed::end(*self, bytes, whole.unwrap_or(0)).filter(|end| *end <= bytes.len()) {
            whole = Some(end);
        }
        whole
    }

    fn count(&self, bytes: &[u8]) -> u64 {
        let (mut from, mut records) = (0, 0);
        while let Some(end) = Prefixed::end(*self, bytes, from) {
            (from, records) = (end, records + 1);
        }
        records
    }
}

/// The bytes of a reader, as blocks of whole lines or records, which `lines`, `records` and `prefixed` split without a
/// copy.
///
/// The whole records of a read are passed on at once, however few: a line typed at a terminal does not wait. The rest
/// of the read is copied to the front of the next block. Thus the cuts between blocks depend on the reads, but the
/// records do not; [`even`](WholeBlocks::even) blocks depend on the bytes alone. The last line may have no line end.
///
/// **Long records**: a block grows until its first record is whole. A record longer than
/// [`longest`](WholeBlocks::longest) ends the stream with an error, or is [split](WholeBlocks::splitting).
///
/// **Errors** fail the run, after all whole records before them: one of the reader; a record that is too long; a stream
/// that ends within a record. The latter two contain the record's number, from 1, and the number of bytes before it. An
/// error unwinds, without a panic's message. If the iterator's [`Failure`] is held, the error is kept there, and the
/// iterator ends. An interrupted read is repeated.
///
/// **Several files**: if the reader says by [`NextFile`] that another file begins, as a [`Follow`](crate::Follow) does,
/// the last line of the file before may have no line end, and a record that the file before does not end is an error.
///
/// **Memory**: the memory of a block is used again once the block is dropped. As a source, at most 16 blocks wait in
/// its ring or queue; `source::few::<4, _>(blocks)` makes it fewer.
///
/// ```
/// use millstream::{io::WholeBlocks, prelude::*};
/// let blocks = WholeBlocks::lines(&b"to be\nor not\nto be"[..]);
/// assert_eq!(pipeline().lines().model(blocks), ["to be", "or not", "to be"]);
/// ```
#[derive(Debug)]
pub struct WholeBlocks<R, K = Lines> {
    /// `None` once the stream has ended, so that a terminal is not read beyond its end.
    reader: Option<R>,
    framing: K,
    size: usize,
    longest: usize,
    split: bool,
    /// Whether a block is filled before it is cut.
    even: bool,
    pool: BlockPool,
    /// The bytes that were read after the last whole record.
    rest: Vec<u8>,
    failure: Failure,
    /// An error that comes after the records before it.
    pending: Option<Error>,
    /// The records and bytes that were passed on.
    records: u64,
    bytes: u64,
}

impl<R: Read> WholeBlocks<R, Lines> {
    /// Blocks of whole lines.
    pub fn lines(reader: R) -> Self {
        Self::of(reader, Lines)
    }
}

impl<R: Read, K: Framing> WholeBlocks<R, K> {
    /// The default of the most bytes in one read.
    pub const DEFAULT_SIZE: usize = 64 * 1024;
    /// The default of the longest record.
    pub const LONGEST: usize = 16 * 1024 * 1024;

    /// Blocks of whole records of some kind: [`Lines`], [`Records`], [`Prefixed`].
    pub fn of(reader: R, framing: K) -> Self {
        WholeBlocks {
            reader: Some(reader),
            framing,
            size: Self::DEFAULT_SIZE,
            longest: Self::LONGEST,
            split: false,
            even: false,
            pool: BlockPool::new(4 * Self::DEFAULT_SIZE),
            rest: Vec::new(),
            failure: Failure::default(),
            pending: None,
            records: 0,
            bytes: 0,
        }
    }

    /// Sets the most bytes in one read, which come after the rest of the last block.
    ///
    /// # Panics
    ///
    /// If `bytes` is 0.
    #[must_use]
    pub fn size(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a block needs room for at least one byte");
        self.size = bytes;
        self.pool = BlockPool::new(bytes.saturating_mul(4));
        self
    }

    /// Sets the longest record in bytes, including line ends and prefixes.
    ///
    /// # Panics
    ///
    /// If `bytes` is 0, or not less than [`Block::MOST`].
    #[must_use]
    pub fn longest(mut self, bytes: usize) -> Self {
        assert!((1..Block::MOST).contains(&bytes), "records of at most {bytes} bytes");
        self.longest = bytes;
        self
    }

    /// Cuts blocks by the bytes alone, and not by the reads: a block ends with the last record that ends in its first
    /// [`size`](WholeBlocks::size) bytes, or else in twice as many, and so on. It waits until it is so long, or the
    /// reader ends. A reader that begins at the first byte of a block has the same blocks from there on.
    ///
    /// ```
    /// use millstream::io::WholeBlocks;
    /// let blocks: Vec<_> = WholeBlocks::lines(&b"to be\nor\nnot to be"[..])
    ///     .size(9)
    ///     .even()
    ///     .map(|block| block.to_vec())
    ///     .collect();
    /// assert_eq!(blocks, [&b"to be\nor\n"[..], b"not to be"]);
    /// ```
    #[must_use]
    pub fn even(self) -> Self {
        WholeBlocks { even: true, ..self }
    }

    /// Counts for messages from here on: the reader begins after this many records and bytes of a stream.
    #[must_use]
    pub fn after(self, records: u64, bytes: u64) -> Self {
        WholeBlocks { records, bytes, ..self }
    }

    /// The place where an error is kept. As long as it is held, an error ends the iterator; otherwise it fails the run.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// The block of a draft's first bytes, which are whole records. The later bytes, up to `filled`, are kept.
    fn pass_on(&mut self, draft: Draft, whole: usize, filled: usize) -> Block {
        self.rest.extend_from_slice(&draft.bytes[whole..filled]);
        self.bytes += whole as u64;
        self.records += self.framing.count(&draft.bytes[..whole]);
        self.pool.finish(draft, whole)
    }

    fn fail(&mut self, error: Error) {
        self.reader = None;
        self.failure.keep(error);
    }

    /// Ends the stream before a record that cannot be passed on.
    fn refuse(&mut self, why: &str) {
        self.fail(self.refused(why));
    }

    fn refused(&self, why: &str) -> Error {
        let (record, number, at) = (K::RECORD, self.records + 1, self.bytes);
        Error::new(ErrorKind::InvalidData, format!("{record} {number}, which begins at byte {at}, {why}"))
    }

    /// The block of the last bytes of a file, the first ones of which are whole records. The next file follows.
    fn file_ends(&mut self, draft: Draft, whole: usize, filled: usize) -> Option<Block> {
        if K::REST_IS_ONE {
            let records = self.records + self.framing.count(&draft.bytes[..whole]) + 1;
            let block = self.pass_on(draft, filled, filled);
            self.records = records;
            return Some(block);
        }
        let why = "is cut short by the end of its file";
        if whole == 0 {
            self.refuse(why);
            return None;
        }
        let block = self.pass_on(draft, whole, whole);
        (self.reader, self.pending) = (None, Some(self.refused(why)));
        Some(block)
    }

    /// The first part of a record that is too long by at least its last byte; with its end, if only that is left.
    fn too_long(&mut self, draft: Draft, filled: usize, end: Option<usize>) -> Option<Block> {
        if self.split {
            let part = end.unwrap_or(self.longest);
            return Some(self.pass_on(draft, part, filled));
        }
        self.refuse(&format!("is longer than {} bytes", self.longest));
        None
    }

    /// The next block, cut by its bytes alone.
    fn next_even(&mut self, mut draft: Draft, mut filled: usize) -> Option<Block> {
        let (mut goal, mut searched) = (self.size.min(self.longest), 0);
        loop {
            while filled < goal {
                draft.bytes.resize(draft.bytes.len().max(goal), 0);
                let reader = self.reader.as_mut()?;
                match reader.read(&mut draft.bytes[filled..goal]) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if NextFile::is(&error) => {
                        let whole = self.framing.end(&draft.bytes[..filled], searched).unwrap_or(0);
                        if whole < filled {
                            return self.file_ends(draft, whole, filled);
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        // The incomplete last record is dropped, but not those before it.
                        let Some(whole) = self.framing.end(&draft.bytes[..filled], searched) else {
                            self.fail(error);
                            return None;
                        };
                        (self.reader, self.pending) = (None, Some(error));
                        return Some(self.pass_on(draft, whole, whole));
                    }
                }
            }
            // The rest of the block before may have been longer than this one is to be.
            let seen = filled.min(goal);
            match self.framing.end(&draft.bytes[..seen], searched) {
                end if seen > self.longest => return self.too_long(draft, filled, end),
                Some(whole) => return Some(self.pass_on(draft, whole, filled)),
                None if filled < goal => return self.last(draft, filled),
                None => {
                    // One byte more tells a record that is too long from one that ends with the stream.
                    goal = if seen == self.longest { seen + 1 } else { goal.saturating_mul(2).min(self.longest) };
                    searched = seen;
                }
            }
        }
    }

    /// The last block, once the reader has ended.
    fn last(&mut self, draft: Draft, filled: usize) -> Option<Block> {
        self.reader = None;
        if filled == 0 {
            return None;
        }
        if K::REST_IS_ONE {
            return Some(self.pass_on(draft, filled, filled));
        }
        self.refuse("is cut short by the end of the input");
        None
    }
}

impl<R: Read> WholeBlocks<R, Lines> {
    /// Passes lines that are too long on in parts of the longest length. The last part has the line end.
    #[must_use]
    pub fn splitting(mut self) -> Self {
        self.split = true;
        self
    }
}

impl<R: Read, K: Framing> Iterator for WholeBlocks<R, K> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        self.pending.take().into_iter().for_each(|error| self.failure.keep(error));
        self.reader.as_ref()?;
        let mut draft = self.pool.draft();
        let mut filled = self.rest.len();
        draft.bytes.resize(draft.bytes.len().max(filled + self.size), 0);
        draft.bytes[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        if self.even {
            return self.next_even(draft, filled);
        }
        // The rest of the last block contains no end of a record.
        let mut searched = filled;
        loop {
            // The longer a record is, the more is read at once; but never more than the longest record, and one byte.
            let most = if filled < self.longest { self.size.max(filled).min(self.longest - filled) } else { 1 };
            draft.bytes.resize(draft.bytes.len().max(filled + most), 0);
            let reader = self.reader.as_mut()?;
            match reader.read(&mut draft.bytes[filled..filled + most]) {
                Ok(0) => return self.last(draft, filled),
                Ok(read) => filled += read,
                Err(error) if NextFile::is(&error) && filled > 0 => return self.file_ends(draft, 0, filled),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    // The incomplete last record is dropped.
                    self.fail(error);
                    return None;
                }
            }
            let end = self.framing.end(&draft.bytes[..filled], searched);
            match end {
                _ if filled > self.longest => return self.too_long(draft, filled, end),
                Some(whole) => return Some(self.pass_on(draft, whole, filled)),
                None => searched = filled,
            }
        }
    }
}
