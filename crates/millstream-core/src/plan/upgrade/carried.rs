//! Whether what a stage keeps can go on in another plan.

use super::Verdict;
use crate::plan::{Plan, Stage, StateInfo};

/// The part of a stage that outlives a number.
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
/// its input; so the stages after it read rings of both clocks.
fn starts_clock(plan: &Plan, stage: &Stage) -> bool {
    // Plans of earlier versions have only the kinds.
    if stage.ends || matches!(&*stage.kind, "take" | "take_while") {
        return false;
    }
    let clock = |ring: usize| plan.rings.get(ring).map(|ring| ring.clock);
    !stage.reads.is_empty() && stage.reads.iter().all(|read| clock(*read) != clock(stage.writes))
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

/// Why a state cannot be where the new plan has it, whatever its type is. States of keys go to any number of lanes.
fn other_place((old_plan, old): (&Plan, &Stage), (new_plan, new): (&Plan, &Stage)) -> Option<String> {
    if old.keys.is_some() != new.keys.is_some() {
        let [before, after] =
            [old, new].map(|stage| if stage.keys.is_some() { "of every key" } else { "a single one" });
        return is("its state is", &before, &after);
    }
    let (before, after) = (old_plan.key_stages(old), new_plan.key_stages(new));
    if before != after {
        let [before, after] = [before, after].map(|stages| stages.join(", "));
        return is("its keys are those of", &before, &after);
    }
    if old.keys.is_none() && old.tasklets != new.tasklets {
        return is("the number of its tasklets is", &old.tasklets, &new.tasklets);
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

/// The part of a stage's path that is its combinator's, if the combinator is a `shard_by` and the stage tells its keys
/// apart.
fn around(stage: &Stage) -> Option<&str> {
    stage.path.rsplit_once('.').filter(|_| stage.kind == "key").map(|(around, _)| around)
}

fn is_inside(stage: &Stage, around: &str) -> bool {
    stage.path.strip_prefix(around).is_some_and(|rest| rest.starts_with('.'))
}

impl Plan {
    /// The names of the stages that tell apart the keys by which this stage keeps its states, the outermost first.
    #[must_use]
    pub fn key_stages(&self, stage: &Stage) -> Vec<&str> {
        let keys = self.stages.iter().filter(|key| key.path != stage.path);
        let keys = keys.filter(|key| around(key).is_some_and(|around| is_inside(stage, around)));
        keys.map(|key| &*key.name).collect()
    }
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
