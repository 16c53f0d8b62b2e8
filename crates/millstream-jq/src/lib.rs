//! jq over blocks of JSON: the same output for the same input, in any process and on any thread.
//!
//! A [`Filter`] is a program in the language of jq, compiled by [jaq](https://github.com/01mf02/jaq). It reads a
//! *block*: bytes that hold whole JSON values. [`JsonValues`] cuts a stream into blocks, so that several threads can
//! work on them, and their [`Answer`]s can be put together in order:
//!
//! ```
//! use millstream::{io::{Block, WholeBlocks}, jq::{Filter, JsonValues}, prelude::*};
//!
//! let filter = Filter::new(".price * 2")?;
//! let p = pipeline::<Block>().shard(2, move |p| p.map(move |block: &Block| filter.answer(block).out));
//! let json = &br#"{"price": 3} {"price": 4} {
//!     "price": 5
//! }"#[..];
//! let out: Vec<_> = p.collect(WholeBlocks::of(json, JsonValues::default()))?.concat();
//! assert_eq!(out, b"6\n8\n10\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Pure**: a filter reads only its input. jq's names for the clock, the environment, the time zone and later inputs
//! do not exist here. [`Filter::new`] refuses a filter that uses one of them, and the message says what to do
//! ([`LEFT_OUT`]).
//!
//! **Fast**: if a filter reads only some fields of its input, such as `.qty * .price`, only these are allocated. The
//! others are still parsed, to find mistakes in them.
//!
//! **Where to look**: `boundary` cuts blocks, `demand` finds the fields that are read, `native` has filters that need
//! no jaq, `parse` reads JSON as jaq does, `syntax` reads filters, `operators`, `regex` and `functions` have what is
//! jq's and not jaq's, `left_out` has the names that are refused, `depth` has the limit of a filter's levels.
//!
//! **Promise, and its tests**: a filter has the answers of jaq, except those that `tests/all/as_in_jq.rs` has from jq,
//! wherever the stream is cut, and on every deployment (`tests/all/same.rs`, `src/parse.rs`; `src/fuzzed.rs`, fuzzed).

mod boundary;
mod demand;
mod depth;
mod evaluations;
mod expression;
mod filter;
mod functions;
#[cfg(any(test, feature = "fuzzed"))]
#[doc(hidden)]
pub mod fuzzed;
mod left_out;
mod native;
mod operators;
mod options;
mod parse;
mod regex;
mod syntax;
mod tables;
mod write;
mod wrong;

pub use boundary::JsonValues;
pub use evaluations::evaluations;
pub use expression::{Expression, Fields, Outputs, Row, Values, check_value, compare_json, scalar_of, sort_by_json};
pub use filter::{Answer, Filter, Said, What};
pub use left_out::LEFT_OUT;
pub use native::{Cell, Cells, Scalar};
pub use options::{Input, Options, Style};
pub use parse::{entries, unite};
pub use wrong::Wrong;
