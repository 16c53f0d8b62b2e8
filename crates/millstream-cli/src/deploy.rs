//! Runs a pipeline on the deployment that the user chose, and reports on it.

mod before;
mod ends;
mod failed;
mod keep;
#[cfg(feature = "serve")]
mod serve;
mod started;

use crate::config::{Deployment, RunConfig, StatsTo};
use crate::hash::Hash;
use crate::input::{FromFiles, Joined, Opening};
use crate::interrupts::{Interrupts, Until};
use crate::message::{Complaints, cause};
use crate::outcome::Outcome;
use crate::output::{self, Output};
use crate::watching::{Shown, Watching};
use crate::{panics, stats};
pub(crate) use before::leave_no_other_report;
use before::{Most, can_write, say_other_wait};
pub(crate) use failed::Failed;
#[cfg(all(feature = "run", feature = "serve"))]
pub(crate) use keep::Clients;
pub(crate) use keep::{Answer, files, output_of, print_once};
#[cfg(feature = "run")]
pub(crate) use keep::{say_lost, say_waits};
use millstream_core::model::ModelShape;
use millstream_core::text::{Block, Piece};
use millstream_core::{Arrow, Item, ModelExt, SequenceNumber, Shape, ToOwnedItem, Val, failure};
use millstream_exec::{Everywhere, Feed, Inline, JobRefExt, QueueShape, RingShape, RunEnd, Runner, Source, Wait};
use serde_json::Value;
#[cfg(feature = "serve")]
pub(crate) use serve::{Refused, Serves, TookOver, opened};
#[cfg(feature = "tls")]
pub(crate) use serve::{refused, supervised};
use started::{Once, WhenStarted};
use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The bytes of an output that a hash covers.
pub(crate) trait Hashed {
    fn bytes(&self) -> Cow<'_, [u8]>;

    /// Whether the value counts as output.
    fn is_output(&self) -> bool {
        true
    }
}

impl Hashed for Vec<u8> {
    fn bytes(&self) -> Cow<'_, [u8]> {
        self.into()
    }
}

impl Hashed for u64 {
    fn bytes(&self) -> Cow<'_, [u8]> {
        self.to_le_bytes().to_vec().into()
    }
}

/// The state that a sink changes, and the hash of the output, if the user wants one.
type Sunk<S> = (S, Option<Hash>);

/// The runs of one command. `wc` has one for each file, other commands have one in all.
#[derive(Debug)]
pub(crate) struct Runs {
    config: RunConfig,
    complaints: Complaints,
    hash: Option<Hash>,
    reports: Vec<Value>,
    /// Whether the reports are written.
    reported: Arc<AtomicBool>,
    interrupts: Interrupts,
    shown: Shown,
    when_started: WhenStarted,
    when_begun: Once,
    /// Before a state is handed over to another process.
    when_left: Once,
    #[cfg(all(feature = "run", feature = "serve"))]
    when_taken: started::WhenTaken,
    /// Whether the input comes only once, to this process.
    is_live: bool,
    /// The clients that post the input.
    #[cfg(all(feature = "run", feature = "serve"))]
    clients: Option<Clients>,
}

impl Runs {
    pub(crate) fn new(config: RunConfig, complaints: Complaints) -> Self {
        panics::quiet_in_pipelines();
        let interrupts = Interrupts::default();
        // Signals have their default effect on a look or a replay, which has nothing to drain, and if this fails.
        if !config.looks()
            && let Err(error) = interrupts.listen()
        {
            complaints.complain(&format!("signals: {}", cause(&error)));
        }
        let hash = config.hash.then(Hash::default);
        if config.hash {
            output::is_hashed();
        }
        // A file that cannot be written is reported before the work.
        let files = [config.stats.as_ref().and_then(StatsTo::path), config.picture.as_deref()];
        let writable = files.into_iter().flatten().all(|path| can_write(path, &complaints));
        let shown = Shown::open(&config, &complaints);
        let Some(shown) = shown.filter(|_| writable) else { Outcome::InputOrOutputFailed.exit() };
        let reported = Arc::default();
        if let Some(path) = config.stats.as_ref().and_then(StatsTo::path) {
            leave_no_other_report(path, &reported);
        }
        let when_started = WhenStarted::default();
        let (reports, when_begun, when_left) = (Vec::new(), Once::default(), Once::default());
        Runs {
            config,
            complaints,
            hash,
            reports,
            reported,
            interrupts,
            shown,
            when_started,
            when_begun,
            when_left,
            #[cfg(all(feature = "run", feature = "serve"))]
            when_taken: started::WhenTaken::default(),
            is_live: false,
            #[cfg(all(feature = "run", feature = "serve"))]
            clients: None,
        }
    }

    /// Records that the input comes only once, to this process.
    #[cfg(feature = "run")]
    pub(crate) fn is_live(&mut self) {
        self.is_live = true;
    }

    /// Whether a signal has come that ends this command.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupts.first().is_some()
    }

    /// How to open inputs. If the run is on this thread, the first signal ends a read that waits.
    pub(crate) fn opening(&self, decompress: bool) -> Opening {
        let watched = matches!(self.config.place, Deployment::Inline | Deployment::Model);
        Opening { decompress, interrupts: Some(self.interrupts.clone()), watched, ..Opening::default() }
    }

    pub(crate) fn interrupts(&self) -> Interrupts {
        self.interrupts.clone()
    }

    /// Runs `pipeline` over `input`. `sink` receives every output in order; the final `state` is returned.
    pub(crate) fn run<P, T, O, B, S>(
        &mut self,
        pipeline: &P,
        input: impl Source<T>,
        state: S,
        sink: impl Fn(&mut S, &B) + Send + 'static,
    ) -> Result<S, Failed>
    where
        P: Everywhere + Arrow<In = Val<T>, Out = O>,
        T: Item + Clone,
        O: RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>,
        B: Item + Hashed,
        S: Send + 'static,
    {
        self.run_hashing(
            pipeline,
            input,
            state,
            |number, value: &B| value.is_output().then(|| (number, value.bytes())),
            sink,
            |_| (),
        )
    }

    /// The same as [`run`](Runs::run), but `hashed` returns the number and the bytes that a hash covers: `None` for a
    /// value that is not output. Calls `pause` when no more output is ready for now.
    pub(crate) fn run_hashing<P, T, O, B, S>(
        &mut self,
        pipeline: &P,
        input: impl Source<T>,
        state: S,
        hashed: impl Fn(SequenceNumber, &B) -> Option<(SequenceNumber, Cow<'_, [u8]>)> + Send + 'static,
        sink: impl Fn(&mut S, &B) + Send + 'static,
        pause: impl Fn(&mut S) + Send + 'static,
    ) -> Result<S, Failed>
    where
        P: Everywhere + Arrow<In = Val<T>, Out = O>,
        T: Item + Clone,
        O: RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>,
        B: Item,
        S: Send + 'static,
    {
        let sink = move |(state, hash): &mut Sunk<S>, number: SequenceNumber, output: &B| {
            if let Some(hash) = hash
                && let Some((number, bytes)) = hashed(number, output)
            {
                hash.slot(number, &bytes);
            }
            sink(state, output);
        };
        self.run_into(pipeline, input, state, sink, move |(state, _)| pause(state))
    }

    /// Runs a pipeline with text output over some files. The output gathers adjacent pieces.
    pub(crate) fn write<P, O>(&mut self, pipeline: &P, input: Joined, output: Output) -> Result<Output, Failed>
    where
        P: Everywhere + Arrow<In = Val<Block>, Out = O>,
        O: RingShape + ModelShape + QueueShape + for<'a> Shape<Ref<'a> = Piece<'a>>,
    {
        let waits = !input.never_waits();
        let sink = move |(output, hash): &mut Sunk<Output>, number: SequenceNumber, piece: Piece<'_>| {
            if let Some(hash) = hash {
                hash.slot(number, &piece);
            }
            output.gather(piece);
        };
        let pause = |(output, _): &mut Sunk<Output>| output.flush();
        let mut output = self.run_into(pipeline, FromFiles { values: input, waits }, output, sink, pause)?;
        output.flush();
        Ok(output)
    }

    /// Runs `pipeline` over `input` on the chosen deployment. Calls `pause` when no more output is ready for now.
    fn run_into<P, T, O, S>(
        &mut self,
        pipeline: &P,
        input: impl Source<T>,
        state: S,
        sink: impl for<'a> Fn(&mut Sunk<S>, SequenceNumber, O::Ref<'a>) + Send + 'static,
        pause: impl Fn(&mut Sunk<S>) + Send + 'static,
    ) -> Result<S, Failed>
    where
        P: Everywhere + Arrow<In = Val<T>, Out = O>,
        T: Item + Clone,
        O: RingShape + ModelShape + QueueShape,
        S: Send + 'static,
    {
        let state = (state, self.hash.take());
        let sink = move |state: &mut Sunk<S>, number: SequenceNumber, value: O::Ref<'_>| {
            sink(state, number, value);
            state.1.as_ref().into_iter().for_each(output::end_if_failed);
        };
        let pause = move |state: &mut Sunk<S>| {
            pause(state);
            state.1.as_ref().into_iter().for_each(output::end_if_failed);
        };
        // Without a handle to drain, a run ends with its source, at once unless that has to end by itself.
        let signals = matches!(self.config.place, Deployment::Model | Deployment::Inline);
        let signals = signals && !self.interrupts.ends_source();
        let input = Until(input, signals.then(|| self.interrupts.clone()));
        let feed = Feed::of(&input);
        let (state, failure) = match self.config.place {
            Deployment::Model => {
                self.when_begun.call();
                self.on_lists(pipeline, input, state, sink)
            }
            Deployment::Inline => {
                let rings = &self.config.rings;
                let ran = panics::of_pipeline(|| {
                    let job = pipeline.from(input).to_fold(state, sink).on_pause(pause);
                    Inline::new(rings.clone()).start(job).map(RunEnd::from)
                });
                let ended = ran.unwrap_or_else(|panic| resume_unwind(panic)).map_err(Failed::Run)?;
                self.when_begun.call();
                self.ended("inline", ended)
            }
            Deployment::Queues => {
                let job = pipeline.from(input).to_fold(state, sink).on_pause(pause);
                let handle = self.config.queues.start(job).map_err(Failed::Run)?;
                self.when_begun.call();
                self.interrupts.attend(handle.stopper());
                let ended = handle.join();
                self.interrupts.leave();
                self.ended("queues", ended)
            }
            Deployment::Rings => {
                let rings = &self.config.rings;
                // Only the first of several runs prints it.
                if let (Some(asked @ Wait::BusySpin), false) = (self.config.wait.take(), self.config.quiet) {
                    say_other_wait(&self.complaints, rings, asked, &pipeline.plan(), feed);
                }
                let job = pipeline.from(input).to_fold(state, sink).on_pause(pause);
                let handle = rings.start(job).map_err(Failed::Run)?;
                self.when_begun.call();
                let watching = Watching::begin(&self.config, &self.shown, &handle.observer(), &self.complaints);
                self.when_started.call(|| handle.upgrader());
                self.interrupts.attend(handle.stopper());
                let ended = handle.join();
                self.interrupts.leave();
                let ended = self.ended("rings", ended);
                self.seen(watching);
                ended
            }
        };
        let (state, hash) = state.unzip();
        self.hash = hash.flatten();
        match failure {
            Some(failure) => Err(failure),
            None => Ok(state.expect("a run that has not failed has its state")),
        }
    }

    /// Records the report of a run, failed or not.
    fn ended<S>(&mut self, deploy: &str, ended: RunEnd<S>) -> (Option<S>, Option<Failed>) {
        self.reports.push(stats::of_run(deploy, &ended.report, ended.failure.as_ref()));
        (ended.output, ended.failure.map(Failed::Run))
    }

    /// Records what observers saw of the last run.
    fn seen(&mut self, watching: Watching) {
        let run = self.reports.len();
        if let (Some(mut seen), Some(report)) = (watching.end(run, &self.complaints), self.reports.last_mut()) {
            // An observer that watched the run knows more than its final report, so its bottleneck replaces the
            // report's.
            match seen.as_object_mut().and_then(|seen| seen.remove("bottleneck")) {
                Some(found) if !found.is_null() => report["bottleneck"] = found,
                _ => {}
            }
            report["seen"] = seen;
        }
    }

    /// Runs the model, a function of whole lists.
    fn on_lists<P, T, O, S>(
        &mut self,
        pipeline: &P,
        input: impl Source<T>,
        mut state: S,
        sink: impl for<'a> Fn(&mut S, SequenceNumber, O::Ref<'a>),
    ) -> (Option<S>, Option<Failed>)
    where
        P: ModelExt<T> + Arrow<In = Val<T>, Out = O>,
        T: Item,
        O: ModelShape + ToOwnedItem,
    {
        let most = Most::of(&pipeline.plan(), &self.config.rings);
        let input = input.into_values().enumerate().map(move |(number, value)| {
            most.check(number);
            value
        });
        // Printing a value runs the user's code, too.
        let ran = panics::of_pipeline(|| pipeline.model_each(input, |number, value| sink(&mut state, number, value)));
        match ran {
            Ok(end) => {
                self.reports.push(stats::of_model(Some(end.0 as usize), None));
                (Some(state), None)
            }
            Err(payload) => {
                let failed = Failed::Model(failure::message(payload.as_ref()));
                self.reports.push(stats::of_model(None, Some(&failed)));
                (Some(state), Some(failed))
            }
        }
    }
}
