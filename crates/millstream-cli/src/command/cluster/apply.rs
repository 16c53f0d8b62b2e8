//! `cluster apply`: the plan of an application.

use super::servers::{Servers, log_failed, servers};
use crate::flags;
use crate::message::Complaints;
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

/// What another plan changes, by its flags: a flag that is left out is its default, and not what it was.
fn changes(was: &App, is: &App) -> String {
    let numbers = |app: &App| {
        let App { replicas, copies, capacity, snapshot_every, .. } = app;
        [
            ("--replicas", u64::from(*replicas)),
            ("--copies", *copies as u64),
            ("--capacity", u64::from(*capacity)),
            ("--snapshot-every", *snapshot_every),
        ]
    };
    let pairs = numbers(was).into_iter().zip(numbers(is)).filter(|(was, is)| was != is);
    let changed = pairs.map(|((flag, was), (_, is))| format!("`{flag}` was {was}, and is {is}"));
    let pipeline = (was.check(&is.program, &is.stages).is_err()).then(|| "another pipeline".to_owned());
    changed.chain(pipeline).collect::<Vec<_>>().join("; ")
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
        there.iter().filter(|_| !force).try_for_each(|there| there.check(program, &app.stages))?;
        log.resize(&streams)?;
        Ok(there)
    });
    let applied = resized.and_then(|there| Ok((if *force { app.replace(&log) } else { app.apply(&log) }?, there)));
    match applied {
        Ok((applied, there)) => {
            let what = match (applied, there) {
                (Applied::Changed, Some(there)) => format!("changed: {}", changes(&there, &app)),
                (Applied::Changed, None) => "changed".to_owned(),
                (Applied::Made, _) => "made".to_owned(),
                (Applied::Same, _) => "unchanged".to_owned(),
            };
            complaints.note(&format!("application {name}: {program}, {replicas} replicas: {what}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_said_by_its_flag() {
        let program = "words".to_owned();
        let was = App { program, stages: vec![], replicas: 2, copies: 3, capacity: 64, snapshot_every: 8 };
        let is = App { replicas: 3, copies: 1, ..was.clone() };
        assert_eq!(changes(&was, &is), "`--replicas` was 2, and is 3; `--copies` was 3, and is 1");
        let is = App { stages: vec!["sum scan".to_owned()], ..was.clone() };
        assert_eq!(changes(&was, &is), "another pipeline");
    }
}
