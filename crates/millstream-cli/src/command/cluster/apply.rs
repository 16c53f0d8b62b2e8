//! `cluster apply`: the plan of an application.

use super::servers::{Servers, log_failed, servers};
use crate::flags;
use crate::message::{Complaints, say};
use crate::outcome::Outcome;
use millstream_cluster::{App, Applied, ApplyError, Streams};
use millstream_core::Plan;
use millstream_core::plan::Stage;

/// The default number of batches between two snapshots.
const SNAPSHOT_EVERY: u64 = 256;

/// The numbers of an application.
#[derive(Debug)]
pub(crate) struct Numbers {
    servers: Servers,
    replicas: u32,
    copies: usize,
    capacity: u32,
    snapshot_every: u64,
    force: bool,
}

impl TryFrom<flags::Apply> for Numbers {
    type Error = String;

    fn try_from(flags: flags::Apply) -> Result<Self, String> {
        let flags::Apply { servers: asked, replicas, copies, capacity, snapshot_every, force } = flags;
        let most = u64::from(capacity) / 4;
        let snapshot_every = snapshot_every.unwrap_or_else(|| SNAPSHOT_EVERY.min(u64::from(capacity) / 8).max(1));
        if snapshot_every > most {
            return Err(format!(
                "--snapshot-every {snapshot_every}: an edge of {capacity} batches could be full before a snapshot lets it \
                 drop any: use at most {most}, or raise --capacity"
            ));
        }
        Ok(Numbers { servers: servers(asked)?, replicas, copies, capacity, snapshot_every, force })
    }
}

/// The lines that distinguish the stages of a plan from those of another plan.
pub(crate) fn stages(plan: &Plan) -> Vec<String> {
    let line = |stage: &Stage| {
        let Stage { name, kind, state, keys, .. } = stage;
        let state = state.as_ref().map(|state| format!(", state {} version {}", state.type_name, state.version));
        let keys = keys.map(|most| format!(", at most {most} keys"));
        format!("{name} {kind}{}{}", state.unwrap_or_default(), keys.unwrap_or_default())
    };
    plan.stages.iter().map(line).collect()
}

pub(crate) fn apply(numbers: &Numbers, program: &str, plan: &Plan) -> Outcome {
    let complaints = Complaints::of("cluster");
    let Numbers { servers, replicas, copies, capacity, snapshot_every, force } = numbers;
    let app = App {
        program: program.to_owned(),
        stages: stages(plan),
        replicas: *replicas,
        copies: *copies,
        capacity: *capacity,
        snapshot_every: *snapshot_every,
    };
    let streams = Streams { edges: App::edges(), replicas: *copies, capacity: *capacity };
    let log = match servers.create(&streams, &complaints) {
        Ok(log) => log,
        Err(outcome) => return outcome,
    };
    let name = &servers.access.app;
    // The streams first, and those of no other pipeline: the plan has only numbers that they have.
    let resized = App::read(&log).map_err(ApplyError::from).and_then(|there| {
        there.filter(|_| !force).map_or(Ok(()), |there| there.check(program, &app.stages))?;
        Ok(log.resize(&streams)?)
    });
    match resized.and_then(|()| if *force { app.replace(&log) } else { app.apply(&log) }) {
        Ok(applied) => {
            let what = match applied {
                Applied::Made => "made",
                Applied::Changed => "changed",
                Applied::Same => "unchanged",
            };
            say(&format!("millstream cluster: application {name}: {program}, {replicas} replicas: {what}"));
            Outcome::Done
        }
        Err(ApplyError::Other(other)) => {
            complaints.complain(&format!(
                "{name}: {other}; take another name, or remove it with `cluster rm`; if this program computes the \
                 same, write --force"
            ));
            Outcome::WrongUse
        }
        Err(ApplyError::Log(error)) => log_failed(&error, &complaints),
        Err(error) => {
            complaints.complain(&error.to_string());
            Outcome::InputOrOutputFailed
        }
    }
}
