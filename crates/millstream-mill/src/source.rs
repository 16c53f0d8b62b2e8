//! A source of a text, and its files as blocks of whole rows.

use crate::columns::{Column, Columns, Type, type_of};
use crate::raw::{Format, Raw};
use crate::table::{TableRows, cells_of, is_open, row_ends, without_end};
use millstream_core::text::{Block, Lines};
use millstream_io::{Failure, Framing, WholeBlocks};
use millstream_jq::{Expression, Fields, Outputs};
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
        let input: Box<dyn Read + Send> = Box::new(input);
        match self.format {
            Format::Table(separator) => {
                let header = u64::from(from.offset > 0);
                kept(WholeBlocks::of(input, TableRows(separator)).after(from.rows + header, from.offset), longest, even)
            }
            Format::Json | Format::Lines => {
                kept(WholeBlocks::of(input, Lines).after(from.rows, from.offset), longest, even)
            }
        }
    }
}

fn kept<K: Framing>(blocks: WholeBlocks<Box<dyn Read + Send>, K>, longest: usize, even: bool) -> RowBlocks {
    let blocks = blocks.longest(longest);
    let failure = blocks.failure();
    RowBlocks { blocks: if even { Box::new(blocks.even()) } else { Box::new(blocks) }, failure }
}

impl RowBlocks {
    /// Blocks that were cut before, as by [`SourceOf::blocks`], and where it is kept why they end early.
    pub fn of(blocks: impl Iterator<Item = Block> + Send + 'static, failure: Failure) -> Self {
        RowBlocks { blocks: Box::new(blocks), failure }
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
    /// The blocks that were read for the sample.
    waiting: VecDeque<Block>,
    columns: Option<Arc<Columns>>,
    sample: usize,
    /// Whether more may come at any time, so that a sample takes only the rows that are there.
    follow: bool,
    /// `None` once the header is known.
    declared: Option<Option<Columns>>,
    skip: usize,
    /// The bytes that were passed on.
    offset: u64,
    rows: u64,
    wrong: Option<String>,
    sampled: Option<Arc<Columns>>,
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
        let RowBlocks { blocks, failure } = blocks;
        let FilePlace { offset, rows, columns } = place;
        FileBlocks {
            source,
            format: of.format,
            file: file.into(),
            blocks,
            failure,
            waiting: VecDeque::new(),
            columns,
            sample: of.sample,
            follow: of.follow,
            // The header was in the first block, and so was the sample.
            declared: (offset == 0).then(|| of.columns.clone()),
            skip: 0,
            offset,
            rows,
            wrong: None,
            sampled: None,
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

    fn rows_in(&self, block: &[u8]) -> u64 {
        match self.format {
            Format::Table(separator) => TableRows(separator).count(block),
            Format::Json | Format::Lines => Lines.count(block) + u64::from(block.last() != Some(&b'\n')),
        }
    }

    /// Reads on until the sample is full, and as many rows before it; of a followed file, until it has a row.
    fn wait_for_sample(&mut self, before: usize) {
        let rows = if self.follow { self.sample.min(1) } else { self.sample };
        self.wait_for(before + rows);
    }

    fn wait_for(&mut self, rows: usize) {
        let mut seen = self.waiting.iter().map(|block| self.rows_in(block)).sum::<u64>();
        while seen < rows as u64 {
            let Some(block) = self.blocks.next() else { return };
            seen += self.rows_in(&block);
            self.waiting.push_back(block);
        }
    }

    /// Finds out the columns. Returns whether the file can be read.
    fn begin(&mut self, declared: Option<Columns>) -> Result<(), String> {
        if let Format::Json = self.format {
            self.wait_for(1);
            self.skip = self.waiting.front().map_or(0, |first| mark_length(first));
        }
        match (self.format, declared) {
            (Format::Lines, _) => {}
            (Format::Json, Some(declared)) => self.columns = Some(Arc::new(declared)),
            (Format::Json, None) if self.sample == 0 => {}
            (Format::Json, None) => {
                self.wait_for_sample(0);
                let sampled = Arc::new(sampled_fields(&self.waiting, self.sample));
                (self.columns, self.sampled) = (Some(sampled.clone()), Some(sampled));
            }
            (Format::Table(separator), declared) => return self.header(separator, declared),
        }
        Ok(())
    }

    fn header(&mut self, separator: u8, declared: Option<Columns>) -> Result<(), String> {
        match declared {
            Some(_) => self.wait_for(1),
            None => self.wait_for_sample(1),
        }
        let Some(first) = self.waiting.front() else { return Ok(()) };
        let mark = mark_length(first);
        // An empty line is no row, and no header either.
        let begin = first[mark..].iter().position(|byte| !matches!(byte, b'\r' | b'\n')).map_or(mark, |at| mark + at);
        self.skip = row_ends(&first[begin..], separator).next().map_or(first.len(), |length| begin + length);
        let line = &first[begin..self.skip];
        if is_open(line, separator) {
            return Err("a quote in the header is not closed".to_owned());
        }
        let line = without_end(line);
        let names: Vec<String> =
            cells_of(line, separator).iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
            return Err(format!("two columns are named {:?}", twice.1));
        }
        let columns = match declared {
            Some(declared) => typed(&names, declared)?,
            None => {
                let rows: Vec<Vec<u8>> = self.sample_rows(separator).take(self.sample).collect();
                let cells: Vec<Vec<Vec<u8>>> = rows.iter().map(|row| cells_of(row, separator)).collect();
                let cells = cells.iter().map(|row| row.iter().map(Vec::as_slice).collect::<Vec<&[u8]>>());
                let sampled = Columns::sampled(&names, cells);
                self.sampled = Some(Arc::new(sampled.clone()));
                sampled
            }
        };
        self.columns = Some(Arc::new(columns));
        Ok(())
    }

    /// The rows that were read for the sample, without the header.
    fn sample_rows(&self, separator: u8) -> impl Iterator<Item = Vec<u8>> {
        self.waiting.iter().enumerate().flat_map(move |(n, block)| {
            let bytes = &block[if n == 0 { self.skip } else { 0 }..];
            let mut from = 0;
            let ends: Vec<usize> = row_ends(bytes, separator).chain([bytes.len()]).collect();
            let rows = ends.into_iter().map(move |to| {
                let row = without_end(&bytes[from..to]).to_vec();
                from = to;
                row
            });
            rows.filter(|row| !row.is_empty())
        })
    }
}

/// The length of the byte order mark at the beginning, which is no part of the first row.
fn mark_length(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// The columns of a table with these names, of the declared types; those that are not declared are texts.
fn typed(names: &[String], declared: Columns) -> Result<Columns, String> {
    if let Some(missing) = declared.all.iter().find(|column| !names.contains(&column.name)) {
        return Err(format!("there is no column {:?}; the columns are {}", missing.name, names.join(", ")));
    }
    let column = |name: &String| {
        let found = declared.all.iter().find(|column| column.name == *name).cloned();
        found.unwrap_or_else(|| Column { name: name.clone(), of: Type::Text, optional: false })
    };
    Ok(Columns { all: names.iter().map(column).collect() })
}

/// The types of the fields in the first objects of some blocks.
fn sampled_fields(blocks: &VecDeque<Block>, most: usize) -> Columns {
    let entries = Expression::new("to_entries[] | .key, .value").expect("it is a filter");
    let (mut all, mut objects): (Vec<(String, Option<Type>, usize)>, usize) = (Vec::new(), 0);
    let mark = blocks.front().map_or(0, |first| mark_length(first));
    let bytes = blocks.iter().enumerate().map(|(n, block)| &block[if n == 0 { mark } else { 0 }..]);
    let lines = bytes.flat_map(|bytes| bytes.split(|byte| *byte == b'\n'));
    for line in lines.filter(|line| !line.trim_ascii().is_empty()).take(most) {
        let (mut row, mut outputs) = (Fields::default(), Outputs::default());
        if row.read(&entries, line).is_err() || entries.write(&row, &mut outputs).is_err() {
            continue;
        }
        objects += 1;
        let parts: Vec<&[u8]> = outputs.iter().collect();
        for pair in parts.chunks_exact(2) {
            let name = match millstream_jq::scalar_of(pair[0]) {
                Some(millstream_jq::Scalar::Text(name)) => String::from_utf8_lossy(&name).into_owned(),
                _ => continue,
            };
            let of = type_of(pair[1]);
            let place = all.iter().position(|(there, ..)| *there == name).unwrap_or_else(|| {
                all.push((name, None, 0));
                all.len() - 1
            });
            let (_, known, filled) = &mut all[place];
            *filled += usize::from(of.is_some());
            *known = match (*known, of) {
                (known, None) | (None, known) => known,
                (Some(one), Some(other)) if one == other => Some(one),
                (Some(Type::Int | Type::Float), Some(Type::Int | Type::Float)) => Some(Type::Float),
                _ => Some(Type::Any),
            };
        }
    }
    let column = |(name, of, filled): (String, Option<Type>, usize)| {
        let of = of.unwrap_or(Type::Any);
        Column { name, of, optional: filled < objects }
    };
    Columns { all: all.into_iter().map(column).collect() }
}

impl Iterator for FileBlocks {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        if let Some(declared) = self.declared.take()
            && let Err(wrong) = self.begin(declared)
        {
            self.wrong = Some(wrong);
        }
        if self.wrong.is_some() {
            return None;
        }
        let block = self.waiting.pop_front().or_else(|| self.blocks.next())?;
        let skip = std::mem::take(&mut self.skip);
        let first = self.rows + 1;
        self.rows += self.rows_in(&block[skip..]);
        self.offset += block.len() as u64;
        let columns = self.columns.clone();
        Some(Raw { source: self.source, file: self.file.clone(), block, skip, first, columns })
    }
}
