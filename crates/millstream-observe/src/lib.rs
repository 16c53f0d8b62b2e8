//! The activity of a running pipeline, and the stage that limits it.
//!
//! A [`Watch`] samples a run's counters every millisecond from a thread of its own.
//! [`Observer`](millstream_exec::Observer) describes the counters and their cost, which is next to nothing. Several
//! times a second the watch makes a [`Frame`] of its samples: plain data for pages, metrics, terminals and recordings.
//! A [`Graph`] describes the stages and rings of the frames.
//!
//! ```
//! use millstream::{observe::Watch, prelude::*};
//! use std::{thread::sleep, time::Duration};
//!
//! let p = pipeline::<u64>()
//!     .map(|x| x + 1)
//!     .map_blocking(|x: &u64| { sleep(Duration::from_millis(2)); *x })
//!     .named("slow");
//! let run = Rings::new().start((&p).from(source::ready(0..100)).to_each(|_, _| ()))?;
//! let watch = Watch::attach(run.observer())?;
//! run.wait()?;
//! let last = watch.finish();
//! let slow = last.stage("slow").expect("it is in the plan");
//! assert_eq!(slow.moved, 101); // END counts
//! assert!(slow.working > 0.8);
//! let bottleneck = last.bottleneck.as_ref().unwrap();
//! assert!(bottleneck.sentence.starts_with("`slow` holds the run back"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Promises, and their tests** (in `tests`): the numbers of a frame are those of the run, and its measures those of
//! a stage that is known (`watch`); so are those of pictures and recordings (`all/graph`, `all/recording`); the page,
//! its metrics and the dashboard say the same (`all/page`, `all/browser`).

mod frame;
mod graph;
mod latency;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "page")]
mod page;
mod recording;
mod sampler;
mod still;
mod tally;
mod watch;

pub use frame::{Change, Frame, Latency, RingFrame, StageFrame, Stuck, WorkerFrame};
pub use graph::{Graph, Layout, Node, Spot, Wire};
#[cfg(feature = "otlp")]
pub use otlp::Otlp;
#[cfg(feature = "page")]
pub use page::{Dashboard, Page, PageRoutes};
pub use recording::{Elements, Level, Moment, RecordedVersion, Recorder, Recording};
/// The values of a [`Dashboard`] are this crate's.
#[cfg(feature = "page")]
pub use serde_json;
pub use watch::{Options, Watch};
