use crate::{Block, Failure};
use millstream_core::text::{BlockPool, Draft, Lines, LinesWithEnds, Prefixed, Records};
use std::io::{Error, ErrorKind, Read};

/// Where records end in a stream of bytes, so that it can be cut between them.
pub trait Framing: Send + 'static {
    /// What a record is called in a message.
    const RECORD: &'static str;
    /// Whether what is left at the end of the stream, behind the last whole record, is one as well.
    const REST_IS_ONE: bool;
    /// Where the last whole record ends in `bytes`, which begin with a record; none if there is none. Up to `searched`
    /// none ended when it was asked before.
    fn end(&self, bytes: &[u8], searched: usize) -> Option<usize>;
    /// How many records there are in these bytes, which are whole ones.
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

/// The bytes of a reader, as blocks of whole lines or records: what `lines`, `records` and `prefixed` cut without a
/// copy.
///
/// What a read brings is passed on as far as it holds whole records, however little that is: a line typed at a terminal
/// is not held back. What is left of it is copied to the front of the next block. Where blocks are cut so depends on
/// how the bytes come; what they are cut into does not. The last line may end without a line end.
///
/// **Long records**: a block grows until the record it begins with is in it. One longer than
/// [`longest`](WholeBlocks::longest) ends the stream with an error, or is [split](WholeBlocks::splitting).
///
/// **Errors** end the iterator and are kept in its [`Failure`]: one of the reader; a record that is too long; a stream
/// that ends in the middle of a record. The latter two tell the record's number, from 1, and the number of bytes in
/// front of it. All whole records before it have been passed on. An interrupted read is repeated.
///
/// **Memory**: blocks are used again once nobody has them any more. As a source, at most 16 of them wait in its ring or
/// queue;
/// `source::few::<4, _>(blocks)` makes it fewer.
///
/// ```
/// use millstream_core::{ModelExt, TextExt, pipeline};
/// use millstream_io::WholeBlocks;
/// let blocks = WholeBlocks::lines(&b"to be\nor not\nto be"[..]);
/// assert_eq!(pipeline().lines().model(blocks), ["to be", "or not", "to be"]);
/// ```
#[derive(Debug)]
pub struct WholeBlocks<R, K = Lines> {
    /// None once the stream has ended: a terminal could be read beyond its end.
    reader: Option<R>,
    framing: K,
    size: usize,
    longest: usize,
    split: bool,
    pool: BlockPool,
    /// What was read behind the last whole record.
    rest: Vec<u8>,
    failure: Failure,
    /// Records and bytes that were passed on.
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
    /// How much is read at once, unless chosen otherwise.
    pub const DEFAULT_SIZE: usize = 64 * 1024;
    /// The longest record, unless chosen otherwise.
    pub const LONGEST: usize = 16 * 1024 * 1024;

    /// Blocks of whole records of some kind: [`Lines`], [`Records`], [`Prefixed`].
    pub fn of(reader: R, framing: K) -> Self {
        WholeBlocks {
            reader: Some(reader),
            framing,
            size: Self::DEFAULT_SIZE,
            longest: Self::LONGEST,
            split: false,
            pool: BlockPool::new(4 * Self::DEFAULT_SIZE),
            rest: Vec::new(),
            failure: Failure::default(),
            records: 0,
            bytes: 0,
        }
    }

    /// Reads at most so many bytes at once, behind what is left of the last block.
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

    /// With records of at most so many bytes, line ends and prefixes counted.
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

    /// Where an error is kept.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// The block of a draft's first bytes, which are whole records; what is behind them, up to `filled`, is kept.
    fn pass_on(&mut self, draft: Draft, whole: usize, filled: usize) -> Block {
        self.rest.extend_from_slice(&draft.bytes[whole..filled]);
        self.bytes += whole as u64;
        self.records += self.framing.count(&draft.bytes[..whole]);
        self.pool.finish(draft, whole)
    }

    fn fail(&mut self, error: Error) {
        self.failure.keep(error);
        self.reader = None;
    }

    /// A record that cannot be passed on.
    fn refuse(&mut self, why: &str) {
        let (record, number, at) = (K::RECORD, self.records + 1, self.bytes);
        self.fail(Error::new(ErrorKind::InvalidData, format!("{record} {number}, which begins at byte {at}, {why}")));
    }

    /// The first part of a record that is too long by its last byte, at least; with its end, where that is all that is
    /// left.
    fn too_long(&mut self, draft: Draft, filled: usize, end: Option<usize>) -> Option<Block> {
        if self.split {
            let part = end.unwrap_or(self.longest);
            return Some(self.pass_on(draft, part, filled));
        }
        self.refuse(&format!("is longer than {} bytes", self.longest));
        None
    }

    /// What there is when nothing more comes.
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
    /// Lines that are too long are passed on in parts of the longest length, the last one with its line end.
    #[must_use]
    pub fn splitting(mut self) -> Self {
        self.split = true;
        self
    }
}

impl<R: Read, K: Framing> Iterator for WholeBlocks<R, K> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        self.reader.as_ref()?;
        let mut draft = self.pool.draft();
        let mut filled = self.rest.len();
        draft.bytes.resize(draft.bytes.len().max(filled + self.size), 0);
        draft.bytes[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        // What is left of the last block has no end of a record.
        let mut searched = filled;
        loop {
            // The more there is of a long record, the more is read at once; but never more than it may have, and one
            // byte.
            let most = if filled < self.longest { self.size.max(filled).min(self.longest - filled) } else { 1 };
            draft.bytes.resize(draft.bytes.len().max(filled + most), 0);
            let reader = self.reader.as_mut()?;
            match reader.read(&mut draft.bytes[filled..filled + most]) {
                Ok(0) => return self.last(draft, filled),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    // The record that it has cut short is none.
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
