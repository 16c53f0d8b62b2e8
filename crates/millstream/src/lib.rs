//! Declarative, typed, determinate stream pipelines.
//!
//! A pipeline is a value. The same value runs as a plain list function (the *model*), on one thread, and on ring
//! buffers across cores with zero-copy fan-out and sharding; its output is the same, number by number, wherever it
//! runs.
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
//! The combinators are the methods of [`Arrow`](prelude::Arrow) and of the traits beside it
//! ([all of them](core::combinators)), and [`pipeline!`] writes them as Haskell's operators:
//!
//! ```
//! use millstream::prelude::*;
//!
//! let p = pipeline!(pipeline::<u64>() >>> id() &&& .map(|x| x % 2 == 0));
//! assert_eq!(p.model(1..=2), [(1, false), (2, true)]);
//! ```
//!
//! Lines, words and records flow without a copy ([`TextExt`](prelude::TextExt)), as pieces of shared blocks:
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
//! A pipeline, a source and a sink are a [`Job`](prelude::Job), and a [`Runner`](prelude::Runner) runs it, on rings, on
//! one thread or on queues. [`ModelExt`](prelude::ModelExt) specifies it, and
//! [`ThroughExt`](prelude::ThroughExt) and [`ParMapExt`](prelude::ParMapExt) put one behind an iterator. [`io`] has
//! files and ticks as sources, and files as sinks.
//!
//! # Features
//!
//! None is on by default.
//!
//! | Feature | It adds |
//! | --- | --- |
//! | `cli` | [`main`] and [`Program`]: a pipeline as a program with the subcommands of `millstream` |
//! | `durable` | [`Durable`](prelude::Durable): states that can leave the process, snapshots as bytes |
//! | `cluster` | [`cluster`]: the same pipeline on several machines, over a replicated log |
//! | `evolve` | [`evolve`]: populations of states on many workers, as in particle filters |
//! | `glob` | [`io::matching`]: names of files by patterns |
//! | `gzip`, `zstd` | [`io::Decompressed`] of these formats; `zstd` needs a C compiler |
//! | `mill` | [`mill`]: rows of JSON, tables and lines as stages that text can name |
//! | `nats` | [`cluster::JetStream`]: the log of NATS servers |
//! | `net` | [`net`]: services and lines over HTTP |
//! | `object-store` | [`state::store::ObjectStorage`]: snapshots in S3 and other object stores |
//! | `observe` | [`observe`]: what a run does, and the stage that holds it back |
//! | `otlp` | [`observe::Otlp`], for a collector of OpenTelemetry |
//! | `page` | [`observe::Page`], in the browser and for Prometheus |
//! | `jq` | [`jq`]: filters in the language of jq |
//! | `post` | [`net::http::PostSink`]: batches that are posted to a URL |
//! | `queues` | [`Queues`](prelude::Queues), the deployment on queues |
//! | `registry` | [`registry`]: pipelines from text, of stages that a program registers |
//! | `serde` | plans and reports as JSON |
//! | `service` | [`service`](prelude::service): pipelines that answer their callers |
//! | `sqlite` | [`state::sqlite`]: a table as a sink that goes on |
//! | `state` | [`state`]: directories where a job keeps its snapshots and its journal |
//! | `stream` | [`Through::stream`](prelude::Through::stream): outputs as async streams |
//! | `testkit` | [`testkit`]: random inputs, schedules and deployments for tests of pipelines |
//! | `testkit-random` | random pipelines as well; minutes to compile |
//! | `tls` | [`net::http::Certificate`]: encrypted connections; needs a C compiler |
//! | `tokio` | a tokio runtime around the futures of [`map_async`](prelude::AsyncExt::map_async) |
//! | `tower` | clients of services as `tower::Service`s |
//! | `tracing` | runs emit `tracing` events when they start, decide, fail and end |

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

/// The names that most programs use.
pub mod prelude {
    pub use millstream_core::{
        AnyEdge, Arrow, AsyncExt, AtEnd, Bound, Choice, ChoiceExt, ClockExt, DeadLetter, Dense, Density, Determinate,
        Either, ExpandKernel, Fault, FeedbackExt, FilterKernel, Filtered, FoldExt, FoldedWindow, Item, Joined,
        KeepsClock, KernelsExt, KeysExt, Lane, Late, Merged, Model, ModelExt, ModelSlots, Overflow, Pair, PartsExt,
        Plan, Quiet, Retry, ScanKernel, SequenceNumber, Shape, Shardable, Sparse, StreamsExt, Text, TextExt,
        TimeWindow, Timing, ToOwnedItem, Top, TryMapExt, TryScanExt, UndoLog, Val, ViewExt, Window, WindowsExt, id,
        pipeline, wires,
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
        SendError, Sender, Sink, Snapshot, Source, Stage, Stopper, Through, ThroughExt, TrySendError, Upgrade,
        UpgradeError, Wait, fan_in, sink, source,
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

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeDoctests;
