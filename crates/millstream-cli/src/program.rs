//! A user's own pipeline as a program with the subcommands of this one.

#[cfg(feature = "cluster")]
mod clustered;
mod flags;
mod kept;
mod lines;
mod stored;

use crate::command::verify::{Edge, MOST_SHARDS, verified};
use crate::command::{Snapshots, Upgrade};
use crate::config::{self, Keep, NUMBERS, RunConfig};
use crate::deploy::Runs;
use crate::flags::{parse, refuse};
use crate::input::{Names, Opening};
use crate::message::{Complaints, say_no_shards};
use crate::name;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{self, Writes};
use crate::resolve;
use flags::{Command, Flags, OverLines};
use lines::Lines;
use millstream_core::model::ModelShape;
use millstream_core::{Item, Shape, ToOwnedItem, Val, pipeline};
use millstream_exec::{Everywhere, Feed, Inline, JobExt, Lasting, Migrations, QueueShape, RingShape, RunError, Runner};
use std::borrow::Cow;
use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

/// A type that a line of text can be parsed as. It needs no implementation: a `String` accepts every line, a number
/// type every line with a number.
pub trait Line: FromStr<Err: Display> + Item + Clone {}
impl<T: FromStr<Err: Display> + Item + Clone> Line for T {}

/// An output whose values of type `B` can be printed, and cloned for [`Queues`](millstream_exec::Queues). It needs no
/// implementation; a `map` makes such an output of a pair of edges.
pub trait Printed<B: Item + Display>:
    RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>
{
}
impl<B: Item + Display, O> Printed<B> for O where
    O: RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>
{
}

/// Turns a pipeline into a program: its `main` calls this and returns the result.
///
/// | subcommand | what it does |
/// |---|---|
/// | `run [FILE...]` | runs the pipeline over the lines of these files, or of standard input |
/// | `plan [--json] [--explain]` | its stages, rings and bytes, without running it |
/// | `plan --diff OLD.json` | what changed since `plan --json` wrote `OLD.json` |
/// | `plan --durable` | the same as `plan`, and a check that every stage with a state has a name that its author set |
/// | `upgrade --check OLD.json NEW.json` | whether a run of one plan could go on with the other |
/// | `graph [--format svg\|dot\|json]` | a picture of it |
/// | `run --state DIR FILE... >> FILE` | runs it, and goes on where it was when started again ([`Program::lasting`]) |
/// | `state DIR`, `replay DIR`, `snapshots DIR`, `diff DIR OTHER` | look at what is kept there |
/// | `cluster ...`, `worker` | runs it on several machines, over NATS (feature `nats`; [`Program::lasting`]) |
/// | `verify [FILE...]` | runs it on every deployment with several sizes, and compares: `EDGE HASH COUNT` |
///
/// Flags and exit codes are those of the `millstream` command: `--deploy model|inline|queues|rings`, `--workers`,
/// `--ring` (4096 slots unless it says otherwise), `--batch`, `--wait`, `--stats`, `--hash` and so on; 0 done, 1 an
/// input or output failed and the rest was processed, 2 wrong use, 3 the pipeline failed (`PROGRAM: stage "NAME", number
/// N: CAUSE`), 4 `verify` or `diff` found a difference, `plan --durable` a state without a name or `upgrade
/// --check` a change that would be refused, 130 and 143 drained after a signal.
///
/// **Input.** Every line, without its line end (`\n` or `\r\n`), is parsed by [`FromStr`]. Parsed lines are numbered
/// from 0. A line that cannot be parsed, or is not UTF-8, is left out, with a message on standard error that names its
/// file and line; the exit code is then 1 (of a `worker` 0, and the message has the line's byte in the input). Lines
/// enter as they arrive, so a program works downstream of `tail -f`. A line of more than 16 MiB ends its input with a
/// message, and the next one follows; a run with `--state` ends there. The exit code is 1.
/// `--decompress` decompresses input that begins as gzip (feature `gzip`) or zstd (feature `zstd`) does.
///
/// **Output.** Every value is written as a line of its own, by [`Display`], in order, and once no further one
/// is ready, or 64 KiB are.
/// `--hash` covers that text, without the line end. Values must be `Clone` because `--deploy queues` copies them.
///
/// **Verify.** Reads all input into memory first. It compares only the pipeline's output, so it attributes a difference
/// to all stages; [`Program::edge`] tells them apart.
///
/// **Shards.** A pipeline's shards are part of it. `run` and `plan` therefore say that `--shards` has no effect; with
/// [`Program::sharded`] it has one.
///
/// # Examples
///
/// ```no_run
/// use millstream::prelude::*;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     millstream::main(pipeline::<String>().map(|line| line.len()).named("length"))
/// }
/// ```
///
/// ```console
/// $ printf 'to be\nor not\n' | lengths run
/// 5
/// 6
/// ```
pub fn main<P, T, O, B>(pipeline: P) -> ExitCode
where
    P: Everywhere<In = Val<T>, Out = O>,
    T: Line,
    O: Printed<B>,
    B: Item + Display,
{
    Program::new(pipeline).main()
}

/// A pipeline that becomes a program, with more options than [`main`].
///
/// ```no_run
/// use millstream::{Program, prelude::*};
///
/// fn squares(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
///     pipeline::<u64>().shard(shards, |p| p.map(|x: &u64| x * x)).named("square")
/// }
///
/// fn sums(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
///     squares(shards).scan(0, |sum, x: &u64| { *sum += x; *sum }).named("sum")
/// }
///
/// fn main() -> std::process::ExitCode {
///     Program::sharded(sums).edge(squares).main()
/// }
/// ```
pub struct Program<T, P> {
    pipeline: Whole<P>,
    edges: Vec<Box<EdgeOf<T>>>,
    /// Runs it with its state kept, if the program is lasting.
    keeps: Option<Keeps<P>>,
    /// The migrations of states of its earlier versions.
    migrations: Migrations,
    /// Its name, if its author has set one.
    name: Option<String>,
    /// Runs it on a cluster, if the program is lasting.
    #[cfg(feature = "cluster")]
    works: Option<clustered::Works<P>>,
}

/// Runs a pipeline with its state kept.
type Keeps<P> = fn(&P, RunConfig, &Keep, Names, &Complaints) -> Outcome;

/// An edge of a pipeline with this many shards, over an input.
type EdgeOf<T> = dyn Fn(usize, Vec<T>) -> Edge;

enum Whole<P> {
    Built(P),
    Sharded(Box<dyn Fn(usize) -> P>),
}

impl<P> Whole<P> {
    fn with_shards(self, shards: usize) -> P {
        match self {
            Whole::Built(pipeline) => pipeline,
            Whole::Sharded(build) => build(shards),
        }
    }

    /// Runs the pipeline with these shards, for `run`.
    fn run_on<R>(&self, shards: usize, run: impl FnOnce(&P) -> R) -> R {
        match self {
            Whole::Built(pipeline) => run(pipeline),
            Whole::Sharded(build) => run(&build(shards)),
        }
    }
}

/// All lines, read by a pipeline without stages, so that a panic of a parser is reported as in any run.
fn read<T: Line>(lines: Lines<T>) -> Result<Vec<T>, RunError> {
    Inline::default().collect(pipeline::<T>().from(lines))
}

/// The text of a value, which is printed and hashed.
fn text<B: Display>(value: &B) -> Cow<'_, [u8]> {
    value.to_string().into_bytes().into()
}

impl<T, P, O> Program<T, P>
where
    P: Everywhere<In = Val<T>, Out = O>,
    O: QueueShape,
    T: Line,
{
    /// A program of a pipeline with the shards that it was built with.
    pub fn new(pipeline: P) -> Self {
        Self::of(Whole::Built(pipeline))
    }

    /// A program of a pipeline that `build` makes, with `--shards` shards, or 1. `verify` builds it with 1, 2 and 3.
    pub fn sharded(build: impl Fn(usize) -> P + 'static) -> Self {
        Self::of(Whole::Sharded(Box::new(build)))
    }

    fn of(pipeline: Whole<P>) -> Self {
        Program {
            pipeline,
            edges: Vec::new(),
            keeps: None,
            migrations: Migrations::new(),
            name: None,
            #[cfg(feature = "cluster")]
            works: None,
        }
    }

    /// Names the program: the default is the name of its file, without an extension. A state directory and an
    /// application of a cluster belong to the program of this name, and messages begin with it. So a program whose file
    /// has a version in its name, as `bank-2.0`, needs a name to go on with the state of `bank-1.9`.
    ///
    /// ```no_run
    /// use millstream::{Program, prelude::*};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum });
    ///     Program::new(sums.named("sum")).named("bank").lasting().main()
    /// }
    /// ```
    ///
    /// ```console
    /// $ bank-1.9 run --state state orders.txt >> sums
    /// $ bank-2.0 run --state state orders.txt >> sums
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes `run` accept `--state DIR`: a program that is started again goes on where it was, even after a crash, and
    /// the file that it appends to has the lines of one undisturbed run. `state`, `replay` and `snapshots` read such a
    /// directory. On a cluster the program takes snapshots; without them, a worker that starts computes everything
    /// again. Every state of the pipeline must be serializable, and have a [name](millstream_core::Arrow::named): `plan
    /// --durable` lists those without one. With `--state` the program reads files to their end, not standard input: to
    /// follow a growing file, or for standard input with a journal, use [`Persistent`](millstream_state::Persistent).
    ///
    /// ```no_run
    /// use millstream::{Program, prelude::*};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     let longest = pipeline::<String>().map(|line| line.len()).scan(0, |longest, n| {
    ///         *longest = *n.max(longest);
    ///         *longest
    ///     });
    ///     Program::new(longest.named("longest")).lasting().main()
    /// }
    /// ```
    ///
    /// ```console
    /// $ longest run --state state words.txt >> lengths
    /// $ longest state state --stage longest
    /// 24
    /// ```
    #[must_use]
    pub fn lasting<B>(mut self) -> Self
    where
        P: Lasting,
        O: Printed<B>,
        B: Item + Display,
    {
        self.keeps = Some(kept::run::<P, T, O, B>);
        #[cfg(feature = "cluster")]
        {
            self.works = Some(clustered::work_lasting::<P, T, O, B>);
        }
        self
    }

    /// Adds the pipeline up to one of its stages, in pipeline order. `verify` then prints a line for that edge as well,
    /// and the first edge that differs names the stage. `up_to` receives the number of shards, and must return what the
    /// whole pipeline begins with.
    #[must_use]
    pub fn edge<Q, E, B>(mut self, up_to: impl Fn(usize) -> Q + 'static) -> Self
    where
        Q: Everywhere<In = Val<T>, Out = E>,
        E: Printed<B>,
        B: Item + Display,
    {
        self.edges.push(Box::new(move |shards, input| Edge::new(up_to(shards), input, text)));
        self
    }

    /// Runs the subcommand in this process's arguments. Wrong arguments and `--help` end the process.
    #[must_use = "the program's `main` returns it"]
    pub fn main<B>(mut self) -> ExitCode
    where
        O: Printed<B>,
        B: Item + Display,
    {
        name::is_own(self.name.take());
        let outcome = match parse::<Flags>().command {
            Command::Run(flags) => self.run(flags),
            Command::Plan(flags) => {
                let shards = flags.tuning.shards.unwrap_or(1);
                let how = resolve::how_to_show(&flags.with_slots(NUMBERS));
                let built = matches!(self.pipeline, Whole::Built(_));
                let plan = self.pipeline.with_shards(shards).plan();
                if built && shards > 1 {
                    say_no_shards("plan", &plan);
                }
                how.show(plan, Feed::source::<T, Lines<T>>())
            }
            Command::Graph(flags) => {
                let plan = self.pipeline.with_shards(flags.tuning.shards.unwrap_or(1)).plan();
                resolve::how_to_draw(&flags, NUMBERS).draw(plan, Feed::source::<T, Lines<T>>())
            }
            Command::Verify(flags) => self.verify(flags.names()),
            Command::Replay(flags) => self.replay(flags),
            Command::State(flags) => self.look(flags),
            Command::Diff(flags) => self.diff(&flags),
            Command::Snapshots(flags) => Snapshots::of(flags).run(),
            #[cfg(feature = "cluster")]
            Command::Worker(flags) => self.work(*flags),
            #[cfg(feature = "cluster")]
            Command::Cluster(flags) => self.cluster(flags.command),
            Command::Upgrade(flags) => Upgrade::of(flags).declared(self.migrations.rules()).run(),
        };
        outcome.into()
    }

    fn run<B>(self, flags: OverLines) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let shards = flags.run.tuning.shards;
        if let (Whole::Built(pipeline), Some(2..), false) = (&self.pipeline, shards, flags.run.quiet) {
            say_no_shards("run", &pipeline.plan());
        }
        let files = flags.input.names();
        // With a state it goes on within the files, and counts decompressed bytes.
        let begin = match flags.run.keeping.state {
            None => progress::begin,
            Some(_) => progress::begin_without_length,
        };
        begin("run", &files.files, flags.run.quiet, Writes::AllTheTime);
        let config = config::run_with_slots(NUMBERS, flags.run).unwrap_or_else(|wrong| refuse::<Flags>(&wrong));
        let complaints = Complaints::of("run");
        let pipeline = self.pipeline.with_shards(shards.unwrap_or(1));
        if let Some(mut keep) = config.keep.clone() {
            keep.migrations = self.migrations;
            let Some(run) = self.keeps else {
                complaints.note("--state: this program keeps no state; its author can add one with `Program::lasting`");
                return Outcome::WrongUse;
            };
            return run(&pipeline, config, &keep, files, &complaints);
        }
        Output::opened(&complaints, |output| {
            let mut runs = Runs::new(config, complaints.clone());
            let input = Lines::<T>::new(files.files, runs.opening(files.decompress), complaints.clone());
            let (line, flush) = (|output: &mut Output, value: &B| output.line(value), Output::flush);
            let ran = runs.run_hashing(
                &pipeline,
                input,
                output,
                |number, value: &B| Some((number, text(value))),
                line,
                flush,
            );
            match ran {
                Ok(output) => {
                    // Its last lines come before the reports.
                    drop(output);
                    runs.finish()
                }
                Err(failed) => runs.fail(&failed),
            }
        })
    }

    fn verify<B>(self, files: Names) -> Outcome
    where
        O: Printed<B>,
        B: Item + Display,
    {
        let complaints = Complaints::of("verify");
        let Program { pipeline: whole, edges, .. } = self;
        verified(&complaints, false, || {
            let opening = Opening { decompress: files.decompress, ..Opening::default() };
            let input: Vec<T> = read(Lines::new(files.files, opening, complaints.clone()))?;
            let all = |shards: usize, whole: P| {
                let parts = edges.iter().map(|edge| edge(shards, input.clone()));
                parts.chain([Edge::new(whole, input.clone(), text)]).collect()
            };
            Ok(match whole {
                Whole::Built(pipeline) => vec![all(1, pipeline)],
                Whole::Sharded(build) => (1..=MOST_SHARDS).map(|shards| all(shards, build(shards))).collect(),
            })
        })
    }
}

impl<T, P> std::fmt::Debug for Program<T, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("edges", &self.edges.len()).finish_non_exhaustive()
    }
}
