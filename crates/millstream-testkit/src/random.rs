//! Random pipelines: syntax trees that print, shrink, and build a pipeline of boxes.
//!
//! ```
//! use millstream::testkit::random::{Pipe, Value};
//! let tree =
//!     Pipe::Then(Box::new(Pipe::Filter { modulus: 2 }), Box::new(Pipe::Delay { first: 7 }));
//! assert_eq!(tree.to_string(), "filter(2).delay(7)");
//! let slots = tree.build().model_slots(vec![Value::I(2), Value::I(3), Value::I(5)]);
//! assert_eq!(
//!     slots,
//!     [None, Some(Value::pair(Value::I(7), Value::I(!7))), Some(Value::I(3)), None]
//! );
//! ```

mod answer;
mod block;
mod build;
mod changes;
mod edge;
mod fan_in;
mod fold_windows;
mod join;
mod kind;
mod leaf;
mod logs;
mod order;
mod producers;
mod refusing;
mod row;
mod samples;
mod service;
mod shape;
mod sinks;
mod snapshots;
mod stages;
mod steps;
mod strategy;
mod streak;
mod stream;
mod text;
mod timed;
mod tree;
mod try_scan;
mod upgrades;
mod value;
mod versions;
mod windows;

pub use answer::Answer;
pub use build::Built;
pub use changes::Restart;
pub use fold_windows::FoldWindows;
pub use producers::{Joining, Producers, producers};
pub use row::{LastOfRow, Row};
pub use samples::every_stage;
pub use service::BuiltService;
pub use stages::QUEUE_HELPERS;
pub use strategy::{Pipes, graphs, pipes, quiet_pipes, streams};
pub use stream::Stream;
pub use timed::{Timed, Timing, timed};
pub use tree::{Edit, Graph, Pipe, Related, Statement};
pub use try_scan::TryScanBy;
pub use value::{Value, values};
pub use versions::Versions;
pub use windows::Windows;
