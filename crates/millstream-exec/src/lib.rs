//! Runs pipelines: tasklets, workers, and the deployment on rings.
//!
//! Deployed on [`Rings`], every edge of a pipeline has a ring and every stage a *tasklet*, whose step moves one bounded
//! batch and does not block. Workers are threads that step their tasklets in pipeline order, so that what one writes
//! the next reads from cache. Idle workers spin, then yield, then park. A stage that may block has a thread of its own.
//!
//! ```
//! use millstream::prelude::*;
//!
//! let p = pipeline::<u64>()
//!     .shard(4, |p| p.map(|x| x * x))
//!     .scan(0, |sum, x| { *sum += x; *sum });
//! assert_eq!(p.collect(1..=4)?, [1, 5, 14, 30]);
//! # Ok::<(), RunError>(())
//! ```
//!
//! **Words**: a *standby* worker is awake before it gets tasklets; *core balancing* lets workers leave a shared core; a
//! *batching delay* puts off a look at a ring, to find more there; values go *past the rings*, straight from the source
//! to the sink, while one worker has all stages.

// Without the feature, the links to queues lead nowhere.
#![cfg_attr(not(feature = "queues"), allow(rustdoc::broken_intra_doc_links))]

mod activity;
mod advice;
mod arrivals;
mod async_stage;
mod batching_delay;
#[cfg(any(loom, feature = "service"))]
#[cfg_attr(not(loom), expect(unreachable_pub, reason = "loom tests it"))]
mod baton;
mod bottleneck;
mod boxed;
mod boxed_block;
#[cfg(feature = "durable")]
mod boxed_durable;
#[cfg(feature = "queues")]
mod boxed_on_queues;
mod budget;
mod clocks;
mod contention;
mod cut_stage;
mod deploy;
#[cfg(feature = "durable")]
mod durable;
mod elastic;
mod error;
mod explain;
mod external_source;
mod fan_in;
mod feed;
mod feedback;
mod flights;
mod fusion;
mod group_stage;
mod handle;
mod here_or_apart;
mod in_place;
mod inline;
mod iterator;
mod job;
mod job_run;
mod keeper;
mod keeps;
mod kept;
mod keyed_stage;
mod lane_stage;
mod latency_markers;
#[cfg_attr(not(loom), expect(unreachable_pub, reason = "loom tests it"))]
mod lead;
mod lock;
mod machine;
mod marks;
mod migrations;
mod moves;
mod observer;
mod onlooker;
mod options_error;
mod pause;
mod piece_stage;
mod pipeline;
mod placement;
mod planned;
mod pool;
mod present;
#[cfg(feature = "queues")]
mod queues;
mod rate;
mod reactor;
mod renumber_stage;
mod report;
mod restart;
mod ring_shape;
mod rings;
mod run_end;
mod runner;
mod sender;
mod sending;
#[cfg(feature = "service")]
mod service;
mod share;
mod shared;
mod side_sinks;
mod signal;
pub mod sink;
mod sink_tasklet;
mod snapshot;
pub mod source;
mod source_ring;
mod source_thread;
mod stage;
mod stages_here;
mod stages_on;
mod start;
mod stepped;
#[cfg(feature = "stream")]
mod stream;
mod sync;
mod task;
mod task_probe;
mod tasklet;
mod text_stage;
mod together;
mod trace;
mod unordered_stage;
mod upgrade;
mod wait;
mod wakes;
mod watched;
mod wiring;
mod worker;
mod worker_standby;

pub use advice::TooMany;
#[cfg(loom)]
pub use baton::Baton;
pub use bottleneck::{Bottleneck, Gain, Limit, Load, Loads, Scales, ThreadTimes};
pub use boxed::{
    Admits, AnyPipe, BoxExact, BoxExt, BoxKind, BoxPipeline, BoxShape, BoxStage, Fits, FreePipe, PurePipe, QuietPipe,
};
pub use boxed_block::{BoxBlock, BoxStatements, ErasedStatements, FitsStatement};
#[cfg(feature = "durable")]
pub use boxed_durable::{KindOnDurable, OnDurable};
#[cfg(feature = "queues")]
pub use boxed_on_queues::{BoxEverywhere, BoxEverywhereExt, EveryShape, KindOnQueues, OnQueues};
pub use clocks::{Boxable, OneClock};
#[cfg(feature = "durable")]
pub use durable::{Durable, Lasting, LastingEdge};
pub use elastic::{Elastic, ElasticDecision, ElasticRun, LoadWindow};
pub use error::{FailureCause, RunError};
pub use explain::{Blocking, Explanation, Feed, RingsMemory, Tasklets, Tunables, Waiting, Workers};
pub use fan_in::{
    CorruptMergeLog, FanIn, FromProducer, ItemFormat, MergeLog, Opened, Plain, Polled, PolledValues, Poller,
    ProducerPanic, ProducerPanics, WithProducer, fan_in,
};
#[cfg(loom)]
pub use fan_in::{Gate, Shown};
pub use handle::{Handle, LaidCut, Shadow, Snapshotter, Stopper, Unfinished, Upgrader};
pub use inline::Inline;
pub use iterator::{OrderedParMap, ParMapExt, Through, ThroughExt};
pub use job::{Job, JobSink, NoSink};
pub use job_run::{JobExt, JobRefExt, Sourced};
pub use keeps::{Keeps, RingBackend, RingRunner};
#[cfg(loom)]
pub use lead::Lead;
#[doc(hidden)]
pub use machine::is_here;
pub use machine::{Cores, LimitedBy, MemoryLimit, physical_cores, pin_to_physical_core};
pub use migrations::Migrations;
pub use millstream_core::{RunOutcome, Sink};
pub use observer::{
    Activity, Counters, Observer, Passed, PipelineEnd, RingCounters, State, TaskletCounters, TaskletInfo,
};
pub use options_error::OptionsError;
pub use pipeline::{Deployable, Edge, Pipeline, Stage};
#[cfg(feature = "queues")]
pub use pipeline::{Everywhere, EverywhereEdge};
#[doc(hidden)]
pub use pool::runs_stages;
#[cfg(feature = "queues")]
pub use queues::{LendItem, Queue, QueueShape, Queues, QueuesHandle, QueuesWiring};
pub use rate::Rate;
pub use report::{Overrun, Report, StageReport};
pub use ring_shape::RingShape;
pub use rings::Rings;
pub use run_end::RunEnd;
pub use runner::{Runner, RunsOn, SourceItem, SourceShape};
pub use sender::{BatchSender, JoinError, SendError, Sender, TrySendError};
pub use sending::{Room, Sending};
#[cfg(feature = "service")]
pub use service::{
    Answer, AnswerFuture, Answers, CallError, Client, Reception, Reply, Request, Service, requests, service,
};
pub use signal::{Condition, Signal, Ticket, WakerSlot};
#[cfg(feature = "durable")]
pub use snapshot::{CorruptSnapshot, SnapshotParts, StoredParts};
pub use snapshot::{Snapshot, SnapshotMismatch};
pub use source::Source;
pub use stages_on::StagesOn;
#[doc(hidden)]
pub use stepped::Stepped;
#[cfg(feature = "stream")]
pub use stream::ThroughStream;
pub use upgrade::{
    ChangeReport, IntoUpgrade, RefusedChange, ShadowEnd, StagePause, StateMismatch, Upgrade, UpgradeError,
};
pub use wait::{Backoff, Wait};
pub use wakes::{Wakeable, Wakes};
pub use wiring::Wiring;
