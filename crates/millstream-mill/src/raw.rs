use crate::columns::Columns;
use millstream_core::text::Block;
use std::sync::Arc;

/// A block of whole rows, as a source reads it.
#[derive(Clone, Debug)]
pub struct Raw {
    /// The number of the source in the text with which the run has begun, from 0.
    pub source: usize,
    /// The name of the file that it is of.
    pub file: Arc<str>,
    /// The bytes.
    pub block: Block,
    /// How many bytes at the front are no rows: the header.
    pub skip: usize,
    /// The number of its first row in the file, from 1.
    pub first: u64,
    /// The columns, if the rows have any or were given some.
    pub columns: Option<Arc<Columns>>,
}

/// How rows stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON value on each line.
    Json,
    /// A table, with this byte between cells.
    Table(u8),
    /// A text on each line.
    Lines,
}
