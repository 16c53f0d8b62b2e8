//! The command's programs, one for each file.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
#[cfg(feature = "completions")]
mod completions;
mod copying;
mod differ;
mod evolve;
mod graph;
mod hidden_clock;
mod idle;
#[cfg(feature = "jq")]
mod jq;
mod look;
#[cfg(feature = "completions")]
mod man;
pub(crate) mod panic;
pub(crate) mod pipe;
mod plan;
mod replay;
#[cfg(feature = "run")]
pub(crate) mod run;
#[cfg(feature = "serve")]
mod serve;
pub(crate) mod sleep;
mod snapshots;
pub(crate) mod spaces;
#[cfg(feature = "jq")]
mod stuck;
#[cfg(feature = "top")]
mod top;
pub(crate) mod upgrade;
mod uppercase;
pub(crate) mod verify;
pub(crate) mod wc;

pub(crate) use copying::Copying;
pub(crate) use differ::{Differ, seen_by};
pub(crate) use evolve::{Evolve, Worker as EvolveWorker};
pub(crate) use graph::{Graph, HowToDraw};
pub(crate) use idle::Idle;
#[cfg(feature = "jq")]
pub(crate) use jq::Jq;
pub(crate) use look::{Look, show_states};
#[cfg(feature = "completions")]
pub(crate) use man::Man;
pub(crate) use panic::Panic;
pub(crate) use pipe::Pipe;
pub(crate) use plan::{HowToShow, PlanCommand};
pub(crate) use replay::Replay;
#[cfg(feature = "run")]
pub(crate) use run::{Check, ListStages, RunText};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use sleep::Sleep;
pub(crate) use snapshots::Snapshots;
pub(crate) use spaces::Spaces;
#[cfg(feature = "top")]
pub(crate) use top::Top;
#[cfg(feature = "run")]
pub(crate) use upgrade::OfRun;
pub(crate) use upgrade::Upgrade;
pub(crate) use uppercase::Uppercase;
pub(crate) use verify::Verify;
pub(crate) use wc::Wc;

#[cfg(feature = "cluster")]
pub(crate) use cluster::Cluster;

use crate::config::RunConfig;
use crate::outcome::Outcome;

/// A command with everything that it needs.
#[derive(Debug)]
pub(crate) enum Command {
    Wc(Wc),
    Uppercase(Uppercase),
    Spaces(Spaces),
    Sleep(Sleep),
    Panic(Panic),
    Idle(Idle),
    Copying(Copying),
    Pipe(Pipe),
    #[cfg(feature = "jq")]
    Jq(Jq),
    #[cfg(feature = "run")]
    Run(Box<RunText>),
    #[cfg(feature = "run")]
    Check(Check),
    #[cfg(feature = "run")]
    Stages(ListStages),
    #[cfg(feature = "serve")]
    Serve(Box<Serve>),
    #[cfg(feature = "cluster")]
    Cluster(Cluster),
    #[cfg(feature = "cluster")]
    Worker(Box<cluster::Works>),
    Evolve(Evolve),
    EvolveWorker(EvolveWorker),
    Verify(Verify),
    Replay(Replay),
    Look(Look),
    Snapshots(Snapshots),
    Differ(Differ),
    Upgrade(Upgrade),
    #[cfg(feature = "run")]
    UpgradeRun(OfRun),
    Plan(PlanCommand),
    Graph(Graph),
    #[cfg(feature = "top")]
    Top(Top),
    #[cfg(feature = "completions")]
    Completions(clap_complete::Shell),
    #[cfg(feature = "completions")]
    Man(Man),
}

impl Command {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Command::Wc(wc) => wc.run(),
            Command::Uppercase(uppercase) => uppercase.run(),
            Command::Spaces(spaces) => spaces.run(),
            Command::Sleep(sleep) => sleep.run(),
            Command::Panic(panic) => panic.run(),
            Command::Idle(idle) => idle.run(),
            Command::Copying(copying) => copying.run(),
            Command::Pipe(pipe) => pipe.run(),
            #[cfg(feature = "jq")]
            Command::Jq(jq) => jq.run(),
            #[cfg(feature = "run")]
            Command::Run(run) => run.run(),
            #[cfg(feature = "run")]
            Command::Check(check) => check.run(),
            #[cfg(feature = "run")]
            Command::Stages(stages) => stages.run(),
            #[cfg(feature = "serve")]
            Command::Serve(serve) => serve.run(),
            #[cfg(feature = "cluster")]
            Command::Cluster(cluster) => cluster.run(),
            #[cfg(feature = "cluster")]
            Command::Worker(works) => cluster::work_for_program(*works),
            Command::Evolve(evolve) => evolve.run(),
            Command::EvolveWorker(worker) => worker.run(),
            Command::Verify(verify) => verify.run(),
            Command::Replay(replay) => replay.run(),
            Command::Look(look) => look.run(),
            Command::Snapshots(snapshots) => snapshots.run(),
            Command::Differ(differ) => differ.run(),
            Command::Upgrade(upgrade) => upgrade.run(),
            #[cfg(feature = "run")]
            Command::UpgradeRun(upgrade) => upgrade.run(),
            Command::Plan(plan) => plan.run(),
            Command::Graph(graph) => graph.run(),
            #[cfg(feature = "top")]
            Command::Top(top) => top.run(),
            #[cfg(feature = "completions")]
            Command::Completions(shell) => completions::run(shell),
            #[cfg(feature = "completions")]
            Command::Man(man) => man.run(),
        }
    }
}

impl Command {
    /// The configuration of its run, if it keeps its state.
    pub(crate) fn kept_run(&mut self) -> Option<&mut RunConfig> {
        match self {
            Command::Wc(wc) => Some(&mut wc.run),
            Command::Uppercase(uppercase) => Some(&mut uppercase.run),
            Command::Spaces(spaces) => Some(&mut spaces.run),
            #[cfg(feature = "run")]
            Command::Run(run) => Some(&mut run.run),
            #[cfg(feature = "serve")]
            Command::Serve(serve) => Some(&mut serve.run),
            _ => None,
        }
    }
}
