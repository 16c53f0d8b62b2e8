//! `cluster` and `worker`: a pipeline on several machines.

mod apply;
mod drain;
mod feed;
mod presence;
mod programs;
mod read;
mod remove;
mod segment;
mod servers;
mod status;
mod worker;

pub(crate) use apply::{Numbers, apply};
use programs::apply_program;
pub(crate) use programs::work_for_program;
pub(crate) use segment::{Reads, TextSegment};
use servers::servers;
pub(crate) use worker::Works;

use crate::flags::{ApplyProgram, ClusterCommand, ClusterProgram};
use crate::outcome::Outcome;
use clap::Args;

/// A command of `cluster`, for a program of the command's own, or for any.
#[derive(Debug)]
pub(crate) enum Cluster {
    Apply(Box<Numbers>, ClusterProgram),
    ForAny(Box<ForAny>),
}

impl Cluster {
    /// An error is wrong use.
    pub(crate) fn new(command: ClusterCommand<ApplyProgram>) -> Result<Self, String> {
        Ok(match sorted(command)? {
            Sorted::ForAny(any) => Cluster::ForAny(any),
            Sorted::Apply(ApplyProgram { program, apply }) => Cluster::Apply(Box::new(apply.try_into()?), program),
        })
    }

    pub(crate) fn run(self) -> Outcome {
        match self {
            Cluster::Apply(numbers, program) => apply_program(&numbers, program),
            Cluster::ForAny(any) => any.run(),
        }
    }
}

/// A command of `cluster` that works for any program.
#[derive(Debug)]
pub(crate) enum ForAny {
    Feed(feed::Feed),
    Read(read::Read),
    Status(status::Status),
    Drain(drain::Drain),
    Remove(remove::Remove),
}

/// A command of `cluster`, of one program or of any.
pub(crate) enum Sorted<A> {
    Apply(A),
    ForAny(Box<ForAny>),
}

/// An error is wrong use.
pub(crate) fn sorted<A: Args>(command: ClusterCommand<A>) -> Result<Sorted<A>, String> {
    Ok(Sorted::ForAny(Box::new(match command {
        ClusterCommand::Apply(apply) => return Ok(Sorted::Apply(apply)),
        ClusterCommand::Feed(flags) => ForAny::Feed(feed::resolved(flags)?),
        ClusterCommand::Read(flags) => ForAny::Read(read::resolved(flags)?),
        ClusterCommand::Status(flags) => {
            ForAny::Status(status::Status { servers: servers(flags.servers)?, json: flags.json })
        }
        ClusterCommand::Drain(flags) => {
            ForAny::Drain(drain::Drain { servers: servers(flags.servers)?, within: flags.within })
        }
        ClusterCommand::Rm(flags) => {
            ForAny::Remove(remove::Remove { servers: servers(flags.servers)?, force: flags.force })
        }
    })))
}

impl ForAny {
    pub(crate) fn run(self) -> Outcome {
        match self {
            ForAny::Feed(feed) => feed.run(),
            ForAny::Read(read) => read.run(),
            ForAny::Status(status) => status.run(),
            ForAny::Drain(drain) => drain.run(),
            ForAny::Remove(remove) => remove.run(),
        }
    }
}
