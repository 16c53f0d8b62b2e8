//! Programs of rows as text: JSON, tables and lines through filters, projections, folds by key, windows and joins.
//!
//! ```text
//! let order = csv("orders.csv", dead: "bad.jsonl");
//! order | where(.qty * .price > 500) | jsonl("big.jsonl");
//! order | sum(.qty, by: .user) | table
//! ```
//!
//! The grammar, the checks and their messages are those of [`millstream_registry`], the expressions those of
//! [`millstream_jq`]. A slot carries all rows of one block, which share its cost. Every stage keeps the clock of the
//! source: a fold answers at END, or at the block of a row that closes a window or that `each` waits for.
//!
//! ```
//! use millstream::{mill::{FileBlocks, Program}, prelude::*};
//!
//! let program = Program::load("jsonl | where(.qty > 1) | sum(.qty, by: .user)", 1, false)?;
//! let orders = &br#"{"user": "ann", "qty": 2}
//! {"user": "bo", "qty": 1}
//! {"user": "ann", "qty": 5}"#[..];
//! let blocks = FileBlocks::new(&program.sources[0], 0, "orders.jsonl", orders, 1 << 20);
//! let parts = program.pipeline.model(blocks).into_iter().flat_map(|out| out.parts);
//! let out: Vec<_> = parts.map(|(_, text)| text).collect();
//! assert_eq!(out.concat(), b"{\"user\":\"ann\",\"sum\":7}\n");
//! # Ok::<(), millstream::registry::Wrong>(())
//! ```
//!
//! [`Program::load`] makes a pipeline from a text, which runs on every deployment. This crate opens no files:
//! [`FileBlocks`] reads a file that its caller has opened, and [`Written`] is what its caller has to write.
//!
//! **Where to look**: `rows` and `columns` have what a slot carries and its types, `parse` and `table` read and print
//! it, `stages`, `fold` and `join` have the stages, `order` says which source is read first, `change` whether a run can
//! go on with another text, and `ends` what the numbers of sources and sinks mean then.
//!
//! Pipelines run on durable rings, and their states can be written. [`FilePlace`] has the place in a file, and what was
//! found out about its columns.
//!
//! **Promises, and their tests**: a program has the same bytes on every deployment, with any number of workers,
//! wherever its input is cut; a run that begins with the states before any number ends as the whole run does
//! (`tests/all/random.rs`, `places.rs`). Answers before the end are those of the rows before them (`each.rs`). A text
//! that takes the place of another at a number goes on with its states, and with the numbers of its files
//! (`tests/all/{change,goes_on}.rs`).

mod bytes;
mod change;
mod columns;
mod counted;
mod ends;
mod fold;
mod grid;
mod join;
mod key;
mod order;
mod parameters;
mod parse;
mod program;
mod raw;
mod rolling;
mod rows;
mod select;
mod sink;
mod sketch;
mod source;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stages;
mod stateless;
mod table;
mod time;
mod written;

pub use change::Allowed;
pub use columns::{Column, Columns, Type};
pub use counted::{JoinCount, RowCounts};
pub use ends::Numbers;
pub use program::{Boxes, Program};
pub use raw::{Format, Raw};
pub use rows::{FailedRow, Rows};
pub use sink::SinkOf;
pub use source::{FileBlocks, FilePlace, RowBlocks, SourceOf};
#[cfg(feature = "sqlite")]
pub use sqlite::table_of;
pub use table::TableRows;
pub use written::Written;
