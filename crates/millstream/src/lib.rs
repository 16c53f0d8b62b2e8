//! Typed stream pipelines whose output does not depend on threads or timing.
//!
//! You write a pipeline once, as a value. The same value runs as a plain function on lists (the *model*), on one
//! thread, or across cores on ring buffers, where fan-out and sharding copy nothing. Its output is the same, number by
//! number, wherever it runs: the pipeline is *determinate*.
//!
//! ```
//! use millstream::prelude::*;
//!
//! let p = pipeline::<u64>()
//!     .fanout(|p| p, |p| p.map(|x| x % 2 == 0));
//!
//! let expected = [(1, false), (2, true), (3, false), (4, true), (5, false)];
//! assert_eq!(p.model(1..=5), expected);
//! assert_eq!(p.collect(1..=5)?, expected);
//! # Ok::<(), RunError>(())
//! ```
//!
//! The combinators are the methods of [`Arrow`](prelude::Arrow) and of the traits beside it ([all of
//! them](core::combinators)). [`pipeline!`] writes them as Haskell's operators:
//!
//! ```
//! use millstream::prelude::*;
//!
//! let p = pipeline!(pipeline::<u64>() >>> id() &&& .map(|x| x % 2 == 0));
//! assert_eq!(p.model(1..=2), [(1, false), (2, true)]);
//! ```
//!
//! Lines, words and records flow as pieces of shared blocks, without a copy ([`TextExt`](prelude::TextExt)):
//!
//! ```
//! use millstream::{io::WholeBlocks, prelude::*};
//!
//! let words = pipeline().lines().words().filter(|word| word.len() > 2);
//! let blocks = WholeBlocks::lines(&b"to be or not\nto be"[..]);
//! assert_eq!(words.collect(blocks)?, ["not"]);
//! # Ok::<(), RunError>(())
//! ```
//!
//! A source, a pipeline and a sink are a [`Job`](prelude::Job). A [`Runner`](prelude::Runner) runs it: on rings, on one
//! thread or on queues. [`ModelExt`](prelude::ModelExt) runs a pipeline as its model, for tests.
//! [`ThroughExt`](prelude::ThroughExt) and [`ParMapExt`](prelude::ParMapExt) run one on an iterator. [`io`] has files
//! and ticks as sources, and files as sinks. The
//! [book](https://github.com/millstream/millstream/blob/main/docs/book/src/SUMMARY.md) begins with a first hour.
//!
//! # Features
//!
//! None is on by default.
//!
//! | Feature | It adds |
//! | --- | --- |
//! | `cli` | [`main`] and [`Program`]: a pipeline as a program with the subcommands of `millstream` |
//! | `durable` | [`Durable`](prelude::Durable): states that can leave the process, and snapshots as bytes |
//! | `cluster` | [`cluster`]: the same pipeline on several machines, over a replicated log |
//! | `evolve` | [`evolve`]: populations of states on many workers, as in particle filters |
//! | `glob` | [`io::matching`]: names of files by patterns |
//! | `gzip`, `zstd` | [`io::Decompressed`] of these formats; `zstd` needs a C compiler |
//! | `mill` | [`mill`]: rows of JSON, tables and lines, and the stages that text can name |
//! | `nats` | [`cluster::JetStream`]: the log of NATS servers |
//! | `net` | [`net`]: services and lines over HTTP |
//! | `object-store` | [`state::store::ObjectStorage`]: snapshots in S3 and other object stores |
//! | `observe` | [`observe`]: what a run does, and which stage holds it back |
//! | `otlp` | [`observe::Otlp`]: the same for an OpenTelemetry collector |
//! | `page` | [`observe::Page`]: the same in the browser, and for Prometheus; `--page` of a program with `cli` |
//! | `jq` | [`jq`]: filters in the language of jq |
//! | `post` | [`net::http::PostSink`]: batches to a URL |
//! | `postgres` | [`state::postgres`]: tables of PostgreSQL as a sink that goes on after a crash |
//! | `queues` | [`Queues`](prelude::Queues), the deployment on queues |
//! | `registry` | [`registry`]: pipelines from text, of stages that a program registers |
//! | `serde` | plans and reports as JSON |
//! | `service` | [`service`](prelude::service): pipelines that answer their callers |
//! | `sqlite` | [`state::sqlite`]: a table as a sink that goes on after a crash; needs a C compiler |
//! | `state` | [`state`]: directories where a job keeps its snapshots and its journal |
//! | `stream` | async streams as sources, and [outputs](prelude::Through::stream) as async streams |
//! | `testkit` | [`testkit`]: random inputs, schedules and deployments for tests of pipelines |
//! | `testkit-random` | random pipelines as well; they take minutes to compile |
//! | `tls` | [`net::http::Certificate`]: encrypted connections; needs a C compiler |
//! | `tokio` | a tokio runtime around the futures of [`map_async`](prelude::AsyncExt::map_async) |
//! | `tower` | clients of services as `tower::Service`s |
//! | `tracing` | `tracing` events when runs start, decide, fail and end |
//! | `websocket` | [`net`] over WebSocket connections |

// With fewer features, the links to what is left out lead nowhere.
#![cfg_attr(
    not(all(
        feature = "cli",
        feature = "glob",
        feature = "mill",
        feature = "nats",
        feature = "net",
        feature = "otlp",
        feature = "page",
        feature = "post",
        feature = "postgres",
        feature = "stream",
        feature = "testkit",
        feature = "tls",
        feature = "evolve",
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

/// Needs the feature `cli`.
#[cfg(feature = "cli")]
#[doc(inline)]
pub use millstream_cli as cli;
/// Needs the feature `cli`.
#[cfg(feature = "cli")]
pub use millstream_cli::{Line, Printed, Program, main};
/// Needs the feature `cluster`.
#[cfg(feature = "cluster")]
#[doc(inline)]
pub use millstream_cluster as cluster;
#[doc(inline)]
pub use millstream_core as core;
pub use millstream_core::text;
/// Needs the feature `evolve`.
#[cfg(feature = "evolve")]
#[doc(inline)]
pub use millstream_evolve as evolve;
#[doc(inline)]
pub use millstream_exec as exec;
#[doc(inline)]
pub use millstream_io as io;
/// Needs the feature `jq`.
#[cfg(feature = "jq")]
#[doc(inline)]
pub use millstream_jq as jq;
/// Needs the feature `mill`.
#[cfg(feature = "mill")]
#[doc(inline)]
pub use millstream_mill as mill;
/// Needs the feature `net`.
#[cfg(feature = "net")]
#[doc(inline)]
pub use millstream_net as net;
/// Needs the feature `observe`; the page needs `page`.
#[cfg(feature = "observe")]
#[doc(inline)]
pub use millstream_observe as observe;
/// Needs the feature `registry`.
#[cfg(feature = "registry")]
#[doc(inline)]
pub use millstream_registry as registry;
#[doc(inline)]
pub use millstream_ring as ring;
/// Needs the feature `state`.
#[cfg(feature = "state")]
#[doc(inline)]
pub use millstream_state as state;
/// Needs the feature `testkit`.
#[cfg(feature = "testkit")]
#[doc(inline)]
pub use millstream_testkit as testkit;

pub use millstream_core::{pipeline, wires};

/// The names that most programs use. Its traits hide no method of a collection:
///
/// ```
/// use millstream::prelude::*;
/// use std::collections::BTreeMap;
///
/// let prices = BTreeMap::from([("bread", 3), ("milk", 1)]);
/// assert_eq!(prices.values().sum::<i32>(), 4);
/// ```
pub mod prelude {
    pub use millstream_core::{
        AnyEdge, Arrow, AsyncExt, AtEnd, BorrowedKeysExt, Bound, Choice, ChoiceExt, ClockExt, DeadLetter, Dense,
        Density, Determinate, Either, ExpandKernel, Fault, FeedbackExt, FilterKernel, Filtered, FoldExt, FoldedWindow,
        Item, Joined, KeepsClock, KernelsExt, KeysExt, Lane, Late, Maybe, Merged, Model, ModelExt, ModelSlots,
        Overflow, Pair, PartsExt, Plan, Quiet, Retry, ScanKernel, SequenceNumber, Shape, Shardable, Sparse, StreamsExt,
        Text, TextExt, TimeWindow, Timing, ToOwnedItem, Top, TryMapExt, TryScanExt, UndoLog, Val, ViewExt, Window,
        WindowsExt, id, pipeline, wires,
        wires::{Wire, WireExt},
    };
    #[cfg(feature = "stream")]
    pub use millstream_exec::ThroughStream;
    #[cfg(feature = "service")]
    pub use millstream_exec::{Answer, CallError, Client, Service, requests, service};
    pub use millstream_exec::{
        BoxBlock, BoxExact, BoxExt, BoxPipeline, BoxStage, Deployable, Edge, FailureCause, FanIn, FreePipe,
        FromProducer, Handle, Inline, Job, JobExt, JobRefExt, JoinError, MergeLog, Migrations, ParMapExt, Pipeline,
        Polled, PolledValues, Poller, PurePipe, QuietPipe, Report, Rings, RunEnd, RunError, RunOutcome, Runner, RunsOn,
        SendError, Sender, Sink, Snapshot, Source, Stage, StagesOn, Stopper, Through, ThroughExt, TrySendError,
        Upgrade, UpgradeError, Wait, fan_in, sink, source,
    };
    #[cfg(feature = "queues")]
    pub use millstream_exec::{
        BoxEverywhere, BoxEverywhereExt, Everywhere, EverywhereEdge, OnQueues, Queues, QueuesHandle,
    };
    #[cfg(feature = "durable")]
    pub use millstream_exec::{CorruptSnapshot, Durable, Lasting, LastingEdge, OnDurable, RingBackend};
}

#[cfg(all(
    doctest,
    feature = "cli",
    feature = "durable",
    feature = "evolve",
    feature = "page",
    feature = "service",
    feature = "stream",
    feature = "testkit",
    feature = "tokio"
))]
mod book;

#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../../README.md")]
struct ReadmeDoctests;
