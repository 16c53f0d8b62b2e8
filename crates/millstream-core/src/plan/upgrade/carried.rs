//! Whether what a stage keeps can go on in another plan.

use super::Verdict;
use crate::plan::{Plan, Stage, StateInfo};

/// What of a stage outlives a number.
#[derive(Clone, Copy)]
pub(super) enum Keeps<'a> {
    Nothing,
    State(&'a StateInfo),
    /// The numbers of its output alone, which are not those of its input.
    Clock,
}

pub(super) fn kept_by<'a>(plan: &Plan, stage: &'a Stage) -> Keeps<'a> {
    match &stage.state {
        Some(state) => Keeps::State(state),
        None if starts_clock(plan, stage) => Keeps::Clock,
        None => Keeps::Nothing,
    }
}

/// Whether its next number is kept. A stage that ends the stream has a clock of its own in the plan, and the numbers of
/// its input.
fn starts_clock(plan: &Plan, stage: &Stage) -> bool {
    if matches!(&*stage.kind, "take" | "take_while") {
        return false;
    }
    let clock = |ring: usize| plan.rings.get(ring).map(|ring| ring.clock);
    stage.reads.first().is_some_and(|read| clock(*read) != clock(stage.writes))
}

/// The verdict on a stage that both plans have. `migrates` says that a migration is for it.
pub(super) fn carried((old_plan, old): (&Plan, &Stage), (new_plan, new): (&Plan, &Stage), migrates: bool) -> Verdict {
    let why = match (kept_by(old_plan, old), kept_by(new_plan, new)) {
        (Keeps::State(before), Keeps::State(after)) => {
            let why = if migrates { None } else { other_type(before, after) };
            match why.or_else(|| other_place((old_plan, old), (new_plan, new))) {
                None if migrates => return Verdict::Migrated { from: before.clone() },
                why => why,
            }
        }
        _ if migrates => Some("a migration is for it, and it does not keep a state in both pipelines".to_owned()),
        (Keeps::Nothing, Keeps::Nothing) | (Keeps::Clock, Keeps::Clock) => None,
        (before, after) => Some(format!("it keeps {before}, and would keep {after}")),
    };
    why.map_or(Verdict::Kept, |why| Verdict::Refused { why })
}

fn is(what: &str, before: &dyn std::fmt::Display, after: &dyn std::fmt::Display) -> Option<String> {
    Some(format!("{what} {before}, and would be {after}"))
}

fn other_type(before: &StateInfo, after: &StateInfo) -> Option<String> {
    if (&before.type_name, before.version) != (&after.type_name, after.version) {
        return is("its state is a", before, after);
    }
    if before.fingerprint != after.fingerprint {
        let what = format!("its state {before} has another size or alignment:");
        return is(&what, &before.fingerprint, &after.fingerprint);
    }
    None
}

/// Why a state cannot be where the new plan has it, whatever its type is.
fn other_place((old_plan, old): (&Plan, &Stage), (new_plan, new): (&Plan, &Stage)) -> Option<String> {
    if old.keys.is_some() != new.keys.is_some() {
        let [before, after] =
            [old, new].map(|stage| if stage.keys.is_some() { "of every key" } else { "a single one" });
        return is("its state is", &before, &after);
    }
    let (before, after) = (lanes(old_plan, old), lanes(new_plan, new));
    if before != after {
        return is("the number of its lanes is", &before, &after);
    }
    let (before, after) = (key_stages(old_plan, old), key_stages(new_plan, new));
    if before != after {
        let [before, after] = [before, after].map(|stages| stages.join(", "));
        return is("its keys are those of", &before, &after);
    }
    match (old.kind == new.kind, starts_clock(old_plan, old), starts_clock(new_plan, new)) {
        (false, true, false) => {
            Some("it numbers its output by itself, and would keep the numbers of its input".to_owned())
        }
        (false, false, true) => {
            Some("it keeps the numbers of its input, and would number its output by itself".to_owned())
        }
        _ => None,
    }
}

/// The names of the stages that tell apart the keys by which a stage keeps its states, the outermost first.
fn key_stages<'p>(plan: &'p Plan, stage: &Stage) -> Vec<&'p str> {
    let contains = |key: &&Stage| {
        let around = key.path.rsplit_once('.').map_or("", |(around, _)| around);
        key.path != stage.path && stage.path.strip_prefix(around).is_some_and(|rest| rest.starts_with('.'))
    };
    let keys = plan.stages.iter().filter(|other| other.kind == "key");
    keys.filter(contains).map(|key| &*key.name).collect()
}

/// In how many lanes a stage has its state. The stage of a `shard_by` that tells the keys apart is one tasklet, and
/// knows the lanes of the body.
fn lanes(plan: &Plan, stage: &Stage) -> usize {
    let around = stage.path.rsplit_once('.').filter(|_| stage.kind == "key");
    let Some((around, _)) = around else { return stage.tasklets };
    let is_inside = |path: &str| path.strip_prefix(around).is_some_and(|rest| rest.starts_with('.'));
    let inside = plan.stages.iter().filter(|other| is_inside(&other.path));
    inside.map(|other| other.tasklets).max().unwrap_or(stage.tasklets)
}

impl std::fmt::Display for Keeps<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Keeps::Nothing => f.write_str("nothing"),
            Keeps::State(state) => write!(f, "a {state}"),
            Keeps::Clock => f.write_str("the numbers of its output"),
        }
    }
}

