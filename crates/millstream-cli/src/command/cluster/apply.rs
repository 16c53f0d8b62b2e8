//! `cluster apply`: the plan of an application.

use super::servers::{Servers, answered, log_failed, servers};
use crate::flags;
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_cluster::{App, ApplyError, Place, Streams};
use millstream_core::Plan;
use millstream_core::plan::Stage;

/// The numbers of a new application.
const REPLICAS: u32 = 2;
const COPIES: usize = 1;
const CAPACITY: u32 = 65_536;
const SNAPSHOT_EVERY: u64 = 256;

/// The numbers of an application that were asked for.
#[derive(Debug)]
pub(crate) struct Numbers {
    servers: Servers,
    replicas: Option<u32>,
    copies: Option<usize>,
    capacity: Option<u32>,
    snapshot_every: Option<u64>,
    force: bool,
}

impl TryFrom<flags::Apply> for Numbers {
    type Error = String;

    fn try_from(flags: flags::Apply) -> Result<Self, String> {
        let flags::Apply { servers: asked, replicas, copies, capacity, snapshot_every, force } = flags;
        if let (Some(capacity), Some(every)) = (capacity, snapshot_every) {
            fits(every, capacity)?;
        }
        Ok(Numbers { servers: servers(asked)?, replicas, copies, capacity, snapshot_every, force })
    }
}

impl Numbers {
    /// The application with these numbers: one that was not asked for is what it is `there`, or else its default. An
    /// error is wrong use.
    fn app(&self, program: &str, stages: &[String], there: Option<&App>) -> Result<App, String> {
        let Numbers { replicas, copies, capacity, snapshot_every, .. } = *self;
        let capacity = capacity.or(there.map(|there| there.capacity)).unwrap_or(CAPACITY);
        let snapshot_every = match (snapshot_every, there) {
            (Some(every), _) => every,
            (None, Some(there)) => there.snapshot_every,
            (None, None) => SNAPSHOT_EVERY.min(u64::from(capacity) / 8).max(1),
        };
        fits(snapshot_every, capacity)?;
        Ok(App {
            program: program.to_owned(),
            stages: stages.to_vec(),
            replicas: replicas.or(there.map(|there| there.replicas)).unwrap_or(REPLICAS),
            copies: copies.or(there.map(|there| there.copies)).unwrap_or(COPIES),
            capacity,
            snapshot_every,
        })
    }
}

/// Whether an edge drops batches before it is full.
fn fits(snapshot_every: u64, capacity: u32) -> Result<(), String> {
    let most = u64::from(capacity) / 4;
    if snapshot_every > most {
        return Err(format!(
            "--snapshot-every {snapshot_every}: an edge of {capacity} batches could be full before a snapshot lets it \
             drop any: write `--snapshot-every {most}` at most, or raise --capacity"
        ));
    }
    Ok(())
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

/// What another plan changes, by its flags.
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

/// What a program without snapshots has to expect.
pub(super) fn no_snapshots(app: &App) -> String {
    format!(
        "this program has no snapshots (`Program::lasting`): a worker that starts computes everything again, so no \
         input is dropped, and the input edge takes {} batches in all (`cluster apply --capacity`)",
        app.capacity
    )
}

/// Makes the application of a program, which is `lasting` if it has snapshots, or changes it.
pub(crate) fn apply(numbers: &Numbers, program: &str, plan: &Plan, lasting: bool) -> Outcome {
    let complaints = Complaints::of("cluster");
    let (stages, Numbers { servers, force, .. }) = (stages(plan), numbers);
    let name = &servers.access.app;
    // Streams that are there keep what they have until all of the plan is known.
    let made = servers.open_if_there(&complaints).and_then(|log| {
        let there = log.map_or(Ok(None), |log| answered(|| App::read(&log)));
        let there = there.map_err(|error| log_failed(&error, &complaints))?;
        let app = asked(numbers.app(program, &stages, there.as_ref()), &complaints)?;
        let log = servers.create(&streams(&app), &complaints)?;
        // Another command may have made it meanwhile.
        let there = answered(|| App::read(&log)).map_err(|error| log_failed(&error, &complaints))?;
        let app = asked(numbers.app(program, &stages, there.as_ref()), &complaints)?;
        Ok((log, there, app))
    });
    let (log, there, app) = match made {
        Ok(made) => made,
        Err(outcome) => return outcome,
    };
    let differs = there.iter().filter(|_| !force).try_for_each(|there| there.check(program, &app.stages));
    // The streams first, and those of no other pipeline: the plan has only numbers that they have.
    let applied = differs.map_err(ApplyError::from).and_then(|()| {
        answered(|| log.resize(&streams(&app)))?;
        let apply = || if *force { app.replace(&log) } else { app.apply(&log) };
        answered(|| match apply() {
            Err(ApplyError::Log(error)) => Err(error),
            applied => Ok(applied),
        })?
    });
    let replicas = app.replicas;
    match applied {
        Ok(_) => {
            // A try whose answer was lost may have done it, so that the last one had nothing to do.
            let what = match there.map(|there| changes(&there, &app)) {
                None => "made".to_owned(),
                Some(changes) if changes.is_empty() => "unchanged".to_owned(),
                Some(changes) => format!("changed: {changes}"),
            };
            complaints.note(&format!("application {name}: {program}, {replicas} replicas: {what}"));
            if !lasting {
                complaints.note(&no_snapshots(&app));
            }
            // A plan that is applied again says that the cause is mended.
            match answered(|| Place::end_alarms(&log, replicas)) {
                Ok(ended) => {
                    ended.iter().for_each(|rank| complaints.note(&format!("the alarm of replica {rank} is ended")));
                    Outcome::Done
                }
                Err(error) => log_failed(&error, &complaints),
            }
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

fn streams(app: &App) -> Streams {
    Streams { edges: App::edges(), replicas: app.copies, capacity: app.capacity }
}

/// The application, or the outcome after a message about wrong use.
fn asked(app: Result<App, String>, complaints: &Complaints) -> Result<App, Outcome> {
    app.map_err(|why| {
        complaints.complain(&why);
        Outcome::WrongUse
    })
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
