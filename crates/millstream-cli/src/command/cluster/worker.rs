//! `worker`: takes the place of a replica.

use super::apply::{no_snapshots, stages};
use super::servers::{Servers, answered, log_failed, servers};
use crate::config;
use crate::flags;
use crate::interrupts::Interrupts;
use crate::message::{Complaints, one_line, say_no_shards, say_own};
use crate::outcome::Outcome;
use crate::panics;
use millstream_cluster::{
    App, BatchError, JetStream, LogError, News, ReplicaError, Segment, SegmentError, Worked, work,
};
use millstream_core::Plan;
use millstream_exec::{Rings, RunError};

/// Why a worker has no place.
const WAITS: &str = "waiting for a free place: all replicas have a worker, or an alarm of this machine, which `cluster \
                     status` shows and `cluster apply` ends";

/// A worker, before its program is known.
#[derive(Debug)]
pub(crate) struct Works {
    servers: Servers,
    quiet: bool,
    /// How its pipeline runs.
    pub(crate) rings: Rings,
    /// How many tasklets a stateless stage has.
    pub(crate) shards: Option<usize>,
    pub(crate) complaints: Complaints,
}

impl TryFrom<flags::Worker> for Works {
    type Error = String;

    fn try_from(flags: flags::Worker) -> Result<Self, String> {
        let flags::Worker { servers: asked, quiet, mut tuning } = flags;
        tuning.ring.get_or_insert(config::NUMBERS);
        Ok(Works {
            servers: servers(asked)?,
            quiet,
            rings: config::rings(&tuning),
            shards: tuning.shards,
            complaints: Complaints::of("worker"),
        })
    }
}

/// A worker that knows its application.
pub(crate) struct Knows {
    works: Works,
    log: JetStream,
    pub(super) app: App,
}

impl Works {
    /// Notes that `--shards` has no effect, for a pipeline that is the same with any number of them.
    pub(crate) fn says_no_shards(&self, plan: &Plan) {
        if matches!(self.shards, Some(2..)) && !self.quiet {
            say_no_shards("worker", plan);
        }
    }

    /// Asks the servers for the application. An error is the outcome after a message.
    pub(super) fn asks(self) -> Result<Knows, Outcome> {
        let log = self.servers.open(&self.complaints)?;
        match answered(|| App::read(&log)) {
            Ok(Some(app)) => Ok(Knows { works: self, log, app }),
            Ok(None) => {
                let name = &self.servers.access.app;
                self.complaints.complain(&format!("application {name} has no plan: `cluster apply` makes one"));
                Err(Outcome::WrongUse)
            }
            Err(error) => Err(log_failed(&error, &self.complaints)),
        }
    }

    /// Works for the application with this program, which is `lasting` if it has snapshots.
    pub(crate) fn run<S: Segment + Clone>(self, program: &str, plan: &Plan, lasting: bool, segment: &S) -> Outcome {
        match self.asks() {
            Ok(knows) => knows.run(program, plan, lasting, segment),
            Err(outcome) => outcome,
        }
    }
}

impl Knows {
    pub(super) fn works(&self) -> &Works {
        &self.works
    }

    pub(super) fn run<S: Segment + Clone>(self, program: &str, plan: &Plan, lasting: bool, segment: &S) -> Outcome {
        let Knows { works: Works { servers, quiet, complaints, .. }, log, app } = self;
        if let Err(other) = app.check(program, &stages(plan)) {
            complaints.complain(&format!(
                "{}: {other}: start the program of which `cluster apply` made the application, or make another \
                 application of this one",
                servers.access.app
            ));
            return Outcome::WrongUse;
        }
        if !lasting && !quiet {
            complaints.note(&no_snapshots(&app));
        }
        panics::quiet_in_pipelines();
        let interrupts = Interrupts::default();
        if let Err(error) = interrupts.listen() {
            complaints.complain(&error.to_string());
            return Outcome::InputOrOutputFailed;
        }
        let tell = |news: News| {
            let news = match news {
                News::Waits => WAITS.to_owned(),
                News::Waiting(why) => format!("waiting for the servers: {why}"),
                News::Silent(rank) => {
                    format!("the worker of replica {rank} is silent: this worker takes its place")
                }
                News::Took(rank) => format!("working as replica {rank}"),
                News::Spare(rank) => {
                    format!("the application has fewer replicas now: replica {rank} is one too many")
                }
                News::Lost(rank) => {
                    format!("this worker was silent for too long: another worker is replica {rank} now")
                }
            };
            if !quiet {
                complaints.note(&news);
            }
        };
        match work(segment, &log, &app, || interrupts.first().is_some(), tell) {
            Ok(Worked::Ended) => Outcome::Done,
            Ok(Worked::Stopped) => interrupts.first().map_or(Outcome::Done, Outcome::Interrupted),
            Err(error) => {
                let why = one_line(&error.to_string());
                match &error {
                    ReplicaError::Segment(SegmentError::Run(failed)) if !is_of_machine(failed) => say_own(&why),
                    ReplicaError::Removed | ReplicaError::Other(_) => {
                        complaints.complain(&format!("{}: {error}", servers.access.app));
                    }
                    _ => complaints.complain(&why),
                }
                stopped_by(&error)
            }
        }
    }
}

/// Whether a run could not start for what this machine lacks.
fn is_of_machine(error: &RunError) -> bool {
    matches!(error, RunError::Options(_) | RunError::Spawn(_))
}

/// The outcome of a worker that this error stops. A supervisor may start it again only after
/// [`Outcome::InputOrOutputFailed`]: all others are the same at the next start.
fn stopped_by(error: &ReplicaError) -> Outcome {
    match error {
        ReplicaError::Diverged { .. } => Outcome::CheckFailed,
        // Another program has stored the snapshot.
        ReplicaError::Segment(SegmentError::Run(RunError::Snapshot(_))) => Outcome::WrongUse,
        // The flags ask for more than this machine has.
        ReplicaError::Segment(SegmentError::Run(RunError::Options(_))) => Outcome::WrongUse,
        // It may have threads later.
        ReplicaError::Segment(SegmentError::Run(RunError::Spawn(_))) => Outcome::InputOrOutputFailed,
        // The servers, or the size of the input's batches, have to be changed.
        ReplicaError::Log(LogError::TooLarge { .. }) => Outcome::WrongUse,
        ReplicaError::Removed | ReplicaError::Other(_) => Outcome::WrongUse,
        // What another version has written, or another program.
        ReplicaError::Batch {
            cause: BatchError::Other | BatchError::Type { .. } | BatchError::Unreadable(_), ..
        }
        | ReplicaError::Manifest { .. } => Outcome::WrongUse,
        ReplicaError::Batch { cause: BatchError::Unwritable { .. }, .. } => Outcome::PipelineFailed,
        ReplicaError::Segment(_) => Outcome::PipelineFailed,
        _ => Outcome::InputOrOutputFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_cluster::{OnRings, SegmentRun};
    use millstream_core::{Arrow, pipeline};
    use millstream_exec::OptionsError;

    /// The error of a pipeline that begins with the snapshot of another one.
    fn unfit() -> SegmentError {
        let sums = |name: &str| {
            let sum = |sum: &mut u64, value: &u64| {
                *sum += value;
                *sum
            };
            OnRings::new(pipeline::<u64>().scan(0, sum).named(name), Rings::new().workers(1))
        };
        let mut run = sums("sum").start(None).unwrap();
        run.batch(vec![1, 2], false).unwrap();
        let state = run.state().unwrap().unwrap();
        sums("total").start(Some(&state)).unwrap_err()
    }

    /// The exit codes after which the unit does not start a worker again.
    fn prevented() -> Vec<u8> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/millstream-worker.service");
        let unit = std::fs::read_to_string(file).unwrap();
        assert!(unit.contains("\nRestart=on-failure\n"), "{unit}");
        let codes = unit.lines().find_map(|line| line.strip_prefix("RestartPreventExitStatus=")).unwrap();
        codes.split(' ').map(|code| code.parse().unwrap()).collect()
    }

    #[test]
    fn the_unit_takes_a_worker_that_it_stops_for_no_failure() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/millstream-worker.service");
        let unit = std::fs::read_to_string(file).unwrap();
        let stopped = Outcome::Interrupted(15).code();
        assert!(unit.contains(&format!("\nSuccessExitStatus={stopped}\n")), "{unit}");
    }

    #[test]
    fn the_unit_starts_a_worker_again_only_where_that_can_help() {
        let cause = "it failed".to_owned().into();
        let failed = RunError::Stage { stage: "count".to_owned(), number: None, cause };
        let of_batch = |cause| ReplicaError::Batch { edge: "in".to_owned(), number: 1, cause };
        let (key, why) = ("snapshot.out".to_owned(), "another format".to_owned());
        let cases = [
            (of_batch(BatchError::Other), 2),
            (of_batch(BatchError::Type { expected: "u64" }), 2),
            (of_batch(BatchError::Unreadable("no number".to_owned())), 2),
            (of_batch(BatchError::Unwritable { first: 1, why: "no number".to_owned() }), 3),
            (ReplicaError::Manifest { key, why }, 2),
            (ReplicaError::Diverged { edge: "out".to_owned(), number: 1, ours: 1, theirs: 2 }, 4),
            (ReplicaError::Segment(unfit()), 2),
            (ReplicaError::Removed, 2),
            (ReplicaError::Log(LogError::TooLarge { edge: "out".to_owned(), number: 1, size: 9, most: 8 }), 2),
            (ReplicaError::Segment(SegmentError::Run(failed)), 3),
            (ReplicaError::Segment(SegmentError::Run(RunError::Options(OptionsError::Workers))), 2),
            (ReplicaError::Segment(SegmentError::Unfit("a take".to_owned())), 3),
        ];
        for (error, code) in cases {
            assert_eq!(stopped_by(&error).code(), code, "{error}");
            assert!(prevented().contains(&code), "{error}");
        }
        let passing = [
            of_batch(BatchError::Damaged),
            ReplicaError::Snapshot("the blob \"out.1\" is damaged".to_owned()),
            ReplicaError::Log(LogError::Refused("no right".to_owned())),
            ReplicaError::Segment(SegmentError::Run(RunError::Spawn("no thread".to_owned()))),
        ];
        for error in passing {
            assert_eq!(stopped_by(&error).code(), 1, "{error}");
        }
        assert!(!prevented().contains(&1));
    }
}
