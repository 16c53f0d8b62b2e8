//! A source of a text, and its files as blocks of whole rows.

mod first_rows;
mod next_files;

use crate::columns::Columns;
use crate::raw::{Format, Raw};
use crate::table::{TableRows, cells_of, is_open, row_ends, without_end};
use first_rows::{are_names, declared_first, mark_length, names_of, rows_of, sampled_fields};
use millstream_core::text::{Block, Lines};
use millstream_io::{Failure, Framing, WholeBlocks};
use next_files::Begins;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read};
use std::sync::Arc;

/// A source of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOf {
    /// How its rows stand in its files.
    pub format: Format,
    /// Names and patterns of files; `None` for those of the command line.
    pub files: Option<String>,
    /// The declared types.
    pub columns: Option<Columns>,
    /// How many rows are sampled for the types that are not declared.
    pub sample: usize,
    /// Whether files are followed as they grow.
    pub follow: bool,
    /// The address at which rows are posted, in the place of files.
    pub listen: Option<String>,
    /// The file for the rows that fail; `None` for messages.
    pub dead: Option<String>,
    /// What its files, which are databases, are asked for: its rows come as lines of JSON.
    #[cfg(feature = "sqlite")]
    pub query: Option<String>,
}

/// Blocks of whole rows, of which the first one may begin with a header.
pub struct RowBlocks {
    blocks: Box<dyn Iterator<Item = Block> + Send>,
    failure: Failure,
    begins: Begins,
}

impl std::fmt::Debug for RowBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowBlocks").finish_non_exhaustive()
    }
}

/// Where the blocks of a file are, between two of them, and what was found out about it: they can be read on from
/// there in another process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlace {
    /// The bytes that were passed on.
    pub offset: u64,
    /// The rows in them.
    pub rows: u64,
    /// The columns, declared or sampled, of rows that have any.
    pub columns: Option<Arc<Columns>>,
}

impl SourceOf {
    /// Whether it reads the same, and in the same way.
    pub(crate) fn reads_as(&self, other: &SourceOf) -> bool {
        *self == SourceOf { dead: self.dead.clone(), ..other.clone() }
    }

    /// Whether a quote is open where these rows end, the first of which is whole.
    pub fn is_open(&self, rows: &[u8]) -> bool {
        matches!(self.format, Format::Table(separator) if is_open(rows, separator))
    }

    /// The bytes of a reader, as blocks. Bytes that come are passed on at once. A row has at most `longest` bytes.
    pub fn blocks(&self, input: impl Read + Send + 'static, longest: usize) -> RowBlocks {
        self.cut(input, longest, false, &FilePlace::default())
    }

    /// As [`blocks`](SourceOf::blocks), from a place of a file on, cut by the bytes alone: the blocks are the same from
    /// each of them on.
    pub fn even_blocks(&self, input: impl Read + Send + 'static, longest: usize, from: &FilePlace) -> RowBlocks {
        self.cut(input, longest, true, from)
    }

    fn cut(&self, input: impl Read + Send + 'static, longest: usize, even: bool, from: &FilePlace) -> RowBlocks {
        let begins = Begins::default();
        let input: Box<dyn Read + Send> = if self.follow { Box::new(begins.noted(input)) } else { Box::new(input) };
        let blocks = match self.format {
            Format::Table(separator) => {
                let header = u64::from(from.offset > 0);
                kept(WholeBlocks::of(input, TableRows(separator)).after(from.rows + header, from.offset), longest, even)
            }
            Format::Json | Format::Lines => {
                kept(WholeBlocks::of(input, Lines).after(from.rows, from.offset), longest, even)
            }
        };
        RowBlocks { begins, ..blocks }
    }
}

fn kept<K: Framing>(blocks: WholeBlocks<Box<dyn Read + Send>, K>, longest: usize, even: bool) -> RowBlocks {
    let blocks = blocks.longest(longest);
    let failure = blocks.failure();
    if even { RowBlocks::of(blocks.even(), failure) } else { RowBlocks::of(blocks, failure) }
}

impl RowBlocks {
    /// Blocks that were cut before, as by [`SourceOf::blocks`], and where it is kept why they end early.
    pub fn of(blocks: impl Iterator<Item = Block> + Send + 'static, failure: Failure) -> Self {
        RowBlocks { blocks: Box::new(blocks), failure, begins: Begins::default() }
    }

    /// Where the error is kept that ends them.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl Iterator for RowBlocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        self.blocks.next()
    }
}

/// The blocks of one file.
pub struct FileBlocks {
    source: usize,
    format: Format,
    file: Arc<str>,
    blocks: Box<dyn Iterator<Item = Block> + Send>,
    failure: Failure,
    /// Where further files begin, from where the blocks do.
    begins: Begins,
    /// The bytes of the file before the blocks.
    before: u64,
    /// The blocks that were read for the sample.
    waiting: VecDeque<Block>,
    columns: Option<Arc<Columns>>,
    sample: usize,
    /// Whether more may come at any time, so that a sample takes only the rows that are there.
    follow: bool,
    /// The declared types.
    declared: Option<Columns>,
    /// Whether nothing was found out about the rows yet.
    is_new: bool,
    skip: usize,
    /// The bytes that were passed on.
    offset: u64,
    rows: u64,
    wrong: Option<String>,
    sampled: Option<Arc<Columns>>,
    /// Whether nothing more is to be read.
    ended: bool,
}

impl std::fmt::Debug for FileBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileBlocks").field("file", &self.file).finish_non_exhaustive()
    }
}

impl FileBlocks {
    /// The blocks of a file of this name, for the source with this number. A row has at most `longest` bytes.
    pub fn new(of: &SourceOf, source: usize, file: &str, input: impl Read + Send + 'static, longest: usize) -> Self {
        FileBlocks::from_place(of, source, file, of.blocks(input, longest), FilePlace::default())
    }

    /// As [`new`](FileBlocks::new), from a place of the file on, to which these blocks have come already.
    pub fn from_place(of: &SourceOf, source: usize, file: &str, blocks: RowBlocks, place: FilePlace) -> Self {
        let RowBlocks { blocks, failure, begins } = blocks;
        let FilePlace { offset, rows, columns } = place;
        FileBlocks {
            source,
            format: of.format,
            file: file.into(),
            blocks,
            failure,
            begins,
            before: offset,
            waiting: VecDeque::new(),
            columns,
            sample: of.sample,
            follow: of.follow,
            // The header was in the first block, and so was the sample.
            is_new: offset == 0,
            declared: of.columns.clone(),
            skip: 0,
            offset,
            rows,
            wrong: None,
            sampled: None,
            ended: false,
        }
    }

    /// Its position: after the block that was returned last.
    pub fn place(&self) -> FilePlace {
        // Of no block yet, nothing is found out for good.
        let columns = self.columns.clone().filter(|_| self.offset > 0);
        FilePlace { offset: self.offset, rows: self.rows, columns }
    }

    /// Why the file ended early, if it did.
    pub fn failure(&self) -> Option<Error> {
        let wrong = self.wrong.clone().map(|why| Error::new(ErrorKind::InvalidData, why));
        wrong.or_else(|| self.failure.take())
    }

    /// The types that a sample has, once.
    pub fn sampled(&mut self) -> Option<Arc<Columns>> {
        self.sampled.take()
    }

    /// Ends the file behind the blocks that were read for the sample. Returns whether there are any.
    pub fn end(&mut self) -> bool {
        self.ended = true;
        !self.waiting.is_empty()
    }

    fn read(&mut self) -> Option<Block> {
        if self.ended { None } else { self.blocks.next() }
    }

    fn rows_in(&self, block: &[u8]) -> u64 {
        match self.format {
            Format::Table(separator) => TableRows(separator).count(block),
            Format::Json | Format::Lines => Lines.count(block) + u64::from(block.last() != Some(&b'\n')),
        }
    }

    /// The rows that are not empty in a block behind this many. No other row is sampled, or a header.
    fn filled_rows_in(&self, block: &[u8], before: usize) -> usize {
        let block = &block[if before == 0 { mark_length(block) } else { 0 }..];
        match self.format {
            Format::Table(separator) => rows_of(block, separator).filter(|row| !row.is_empty()).count(),
            Format::Json | Format::Lines => {
                block.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count()
            }
        }
    }

    /// Reads on until the sample is full, and as many rows before it; of a followed file, until it has a row.
    fn wait_for_sample(&mut self, before: usize) {
        let rows = if self.follow { self.sample.min(1) } else { self.sample };
        self.wait_for(before + rows);
    }

    fn wait_for(&mut self, rows: usize) {
        let waiting = self.waiting.iter().enumerate();
        let mut seen = waiting.map(|(before, block)| self.filled_rows_in(block, before)).sum::<usize>();
        while seen < rows {
            let Some(block) = self.read() else { return };
            seen += self.filled_rows_in(&block, self.waiting.len());
            self.waiting.push_back(block);
        }
    }

    /// Finds out the columns. Returns whether the file can be read.
    fn begin(&mut self) -> Result<(), String> {
        match (self.format, &self.declared) {
            (Format::Lines, _) => {}
            (Format::Json, Some(declared)) => self.columns = Some(Arc::new(declared.clone())),
            (Format::Json, None) if self.sample == 0 => {}
            (Format::Json, None) => {
                self.wait_for_sample(0);
                let sampled = Arc::new(sampled_fields(&self.waiting, self.sample));
                (self.columns, self.sampled) = (Some(sampled.clone()), Some(sampled));
            }
            (Format::Table(separator), _) => return self.header(separator),
        }
        Ok(())
    }

    /// Whether the next block is the first one of a further file.
    fn is_next_file(&mut self) -> bool {
        if self.follow && self.waiting.is_empty() {
            let next = self.read();
            self.waiting.extend(next);
        }
        // What is noted here was read before that block.
        self.begins.pass(self.offset.saturating_sub(self.before)) && !self.waiting.is_empty()
    }

    /// Finds out the columns of a table, or of a further one of a followed name.
    fn header(&mut self, separator: u8) -> Result<(), String> {
        self.wait_for(1);
        // An empty line is no row, and no header either.
        let is_filled = |byte: &u8| !matches!(byte, b'\r' | b'\n');
        let mut mark = self.waiting.front().map_or(0, |first| mark_length(first));
        while self.waiting.len() > 1 && !self.waiting[0][mark..].iter().any(is_filled) {
            self.offset += self.waiting.pop_front().map_or(0, |block| block.len() as u64);
            mark = 0;
        }
        self.begins.pass(self.offset - self.before);
        let known = self.columns.clone();
        let Some(first) = self.waiting.front() else { return Ok(()) };
        let Some(begin) = first[mark..].iter().position(is_filled).map(|at| mark + at) else {
            // It has no header yet.
            self.waiting.clear();
            if known.is_none() {
                (self.offset, self.is_new) = (0, true);
            }
            return Ok(());
        };
        let end = row_ends(&first[begin..], separator).next().map_or(first.len(), |length| begin + length);
        let line = without_end(&first[begin..end]);
        let names = match &known {
            Some(known) if !are_names(line, separator, known) => {
                // As of a file that was emptied, and whose writer goes on without a header.
                self.skip = begin;
                known.all.iter().map(|column| column.name.clone()).collect()
            }
            _ if is_open(&first[begin..end], separator) => {
                return Err("a quote in the header is not closed".to_owned());
            }
            _ => {
                self.skip = end;
                names_of(line, separator)?
            }
        };
        if let Some(twice) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
            return Err(format!("two columns are named {:?}", twice.1));
        }
        // If there was no row yet, the types of the known columns are not those of a sample.
        let known = known.filter(|_| self.rows > 0);
        if known.as_ref().is_some_and(|known| known.all.iter().map(|column| &column.name).eq(&names)) {
            return Ok(());
        }
        let mut columns = declared_first(&names, self.declared.as_ref(), known.as_deref())?;
        if columns.iter().any(Option::is_none) {
            self.wait_for_sample(1);
            let rows: Vec<Vec<u8>> = self.sample_rows(separator).take(self.sample).collect();
            let cells = rows.iter().map(|row| cells_of(row, separator));
            // A row that does not fit is a dead letter, of whatever types the columns are.
            let cells = cells.filter(|row| row.len() == names.len());
            let is_header = |row: &Vec<Vec<u8>>| row.iter().zip(&names).all(|(cell, name)| *cell == name.as_bytes());
            let cells: Vec<Vec<Vec<u8>>> = cells.filter(|row| !(self.follow && is_header(row))).collect();
            let some_rows = cells.iter().map(|row| row.iter().map(Vec::as_slice).collect::<Vec<&[u8]>>());
            let sampled = Columns::sampled(&names, some_rows);
            columns.iter_mut().zip(sampled.all).for_each(|(column, sampled)| _ = column.get_or_insert(sampled));
            // Nothing was found out yet if the next file begins before the first row.
            let all = Columns { all: columns.iter().flatten().cloned().collect() };
            self.sampled = (!self.follow || !cells.is_empty()).then(|| Arc::new(all));
        }
        self.columns = Some(Arc::new(Columns { all: columns.into_iter().flatten().collect() }));
        Ok(())
    }

    /// How many of the waiting blocks are of the same file as the first one.
    fn blocks_of_file(&self) -> usize {
        let Some(next) = self.begins.next() else { return self.waiting.len() };
        let mut at = self.offset - self.before;
        let is_before = |block: &&Block| {
            let begin = at;
            at += block.len() as u64;
            begin < next
        };
        self.waiting.iter().take_while(is_before).count()
    }

    /// The rows that were read for the sample, without the header.
    fn sample_rows(&self, separator: u8) -> impl Iterator<Item = Vec<u8>> {
        self.waiting.iter().take(self.blocks_of_file()).enumerate().flat_map(move |(n, block)| {
            let rows = rows_of(&block[if n == 0 { self.skip } else { 0 }..], separator);
            rows.filter(|row| !row.is_empty()).map(<[u8]>::to_vec)
        })
    }
}

impl Iterator for FileBlocks {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        let is_new = std::mem::take(&mut self.is_new);
        let is_next = !is_new && self.is_next_file();
        let begun = match self.format {
            Format::Table(separator) if is_next => self.header(separator),
            _ if is_new => self.begin(),
            _ => Ok(()),
        };
        self.wrong = self.wrong.take().or(begun.err());
        if self.wrong.is_some() {
            return None;
        }
        let block = self.waiting.pop_front().or_else(|| self.read())?;
        // A reader that begins with a file may say so.
        self.begins.pass(self.offset.saturating_sub(self.before));
        let mark = if is_next || self.offset == 0 { mark_length(&block) } else { 0 };
        let skip = std::mem::take(&mut self.skip).max(mark);
        let first = self.rows + 1;
        self.rows += self.rows_in(&block[skip..]);
        self.offset += block.len() as u64;
        let columns = self.columns.clone();
        Some(Raw { source: self.source, file: self.file.clone(), block, skip, first, columns })
    }
}
