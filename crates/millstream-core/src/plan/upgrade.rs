//! What would become of the stages, and their states, if a run went on with another pipeline.

mod show;

use super::{Plan, Stage, StateInfo};

/// What would become of a run of one plan if it went on with another one, as by `Handle::upgrade`.
///
/// A run's states go to the stages of the same names. So the rule is stricter than that of a
/// [`PlanDiff`](super::PlanDiff), which also finds a stage that was renamed:
///
/// - A stage that keeps something, a state or a clock of its own, is in both plans, under one name, with as many lanes.
///   Its state has the same type in the same version.
/// - A stage that keeps nothing may come and go.
///
/// A plan has no types of the pipeline's ends, and no limit of memory; of the ends it has the size of the source's
/// values, which is compared. So what is allowed here may still be refused by the run, for its ends or for its memory.
/// The functions of the stages are not compared: `kept` says that the state goes on, and not that the code is the same.
///
/// ```
/// use millstream::prelude::*;
/// let old = pipeline::<u64>().map(|x| x + 1).scan(0_u64, |sum, x| { *sum += x; *sum }).named("sum");
/// let squares = pipeline::<u64>().map(|x| x * x).named("square");
/// let new = squares.scan(0_u64, |sum, x| { *sum += x; *sum }).named("sum");
/// let check = old.plan().check_upgrade(&new.plan());
/// assert!(check.is_allowed());
/// assert_eq!(check.to_string(), "\
/// new      square (map)
/// kept     sum, with its state
/// dropped  map-1 (map)
/// 1 kept, 1 new, 1 dropped, 0 refused
/// ");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UpgradeCheck {
    /// The stages of the new plan, in pipeline order, and then those that only the old plan has, in its order.
    pub stages: Vec<StageCheck>,
    /// Why the new pipeline does not fit between the run's source and its sink.
    pub ends: Vec<String>,
}

/// What would become of one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StageCheck {
    /// The stage's name.
    pub name: String,
    /// The combinator that makes the stage.
    pub kind: String,
    /// The state that it keeps.
    pub state: Option<StateInfo>,
    /// What would become of it.
    pub verdict: Verdict,
}

/// What would become of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "verdict", rename_all = "kebab-case"))]
pub enum Verdict {
    /// Both plans have it, and its state goes on, if it has one.
    Kept,
    /// Only the new plan has it.
    New,
    /// Only the old plan has it.
    Dropped,
    /// The run would refuse the new pipeline because of it.
    Refused {
        /// What does not fit.
        why: String,
    },
}

impl Plan {
    /// What would become of a run of this plan if it went on with `new`.
    #[must_use]
    pub fn check_upgrade(&self, new: &Plan) -> UpgradeCheck {
        let find = |plan: &Plan, name: &str| plan.stages.iter().position(|stage| stage.name == name);
        let mut stages = Vec::with_capacity(new.stages.len());
        for stage in &new.stages {
            let verdict = match find(self, &stage.name) {
                Some(old) => both((self, &self.stages[old]), (new, stage)),
                None => {
                    alone(kept_by(new, stage), Verdict::New, "the running pipeline has no such stage to take it from")
                }
            };
            stages.push(StageCheck::of(stage, verdict));
        }
        for stage in self.stages.iter().filter(|stage| find(new, &stage.name).is_none()) {
            let verdict =
                alone(kept_by(self, stage), Verdict::Dropped, "the new pipeline has no such stage to take it");
            stages.push(StageCheck::of(stage, verdict));
        }
        UpgradeCheck { stages, ends: ends(self, new) }
    }
}

impl UpgradeCheck {
    /// Whether nothing is refused.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.ends.is_empty() && self.refused().next().is_none()
    }

    /// The stages because of which the new pipeline would be refused.
    pub fn refused(&self) -> impl Iterator<Item = &StageCheck> {
        self.stages.iter().filter(|stage| matches!(stage.verdict, Verdict::Refused { .. }))
    }
}

impl StageCheck {
    fn of(stage: &Stage, verdict: Verdict) -> Self {
        StageCheck { name: stage.name.clone(), kind: stage.kind.to_string(), state: stage.state.clone(), verdict }
    }
}

/// What of a stage outlives a number.
#[derive(Clone, Copy)]
enum Keeps<'a> {
    Nothing,
    State(&'a StateInfo),
    /// The numbers of its output alone, which are not those of its input.
    Clock,
}

fn kept_by<'a>(plan: &Plan, stage: &'a Stage) -> Keeps<'a> {
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

/// The verdict on a stage that only one plan has.
fn alone(keeps: Keeps<'_>, otherwise: Verdict, lacks: &str) -> Verdict {
    let why = match keeps {
        Keeps::Nothing => return otherwise,
        Keeps::State(state) => format!("it keeps a {state}, and {lacks}"),
        Keeps::Clock => format!("it numbers its output by itself, and {lacks}"),
    };
    Verdict::Refused { why }
}

/// The verdict on a stage that both plans have.
fn both((old_plan, old): (&Plan, &Stage), (new_plan, new): (&Plan, &Stage)) -> Verdict {
    let why = match (kept_by(old_plan, old), kept_by(new_plan, new)) {
        (Keeps::Nothing, Keeps::Nothing) | (Keeps::Clock, Keeps::Clock) => None,
        (Keeps::State(before), Keeps::State(after)) => states((old_plan, old, before), (new_plan, new, after)),
        (before, after) => Some(format!("it keeps {before}, and would keep {after}")),
    };
    why.map_or(Verdict::Kept, |why| Verdict::Refused { why })
}

type WithState<'a> = (&'a Plan, &'a Stage, &'a StateInfo);

fn states((old_plan, old, before): WithState<'_>, (new_plan, new, after): WithState<'_>) -> Option<String> {
    let is = |what: &str, before: &dyn std::fmt::Display, after: &dyn std::fmt::Display| {
        Some(format!("{what} {before}, and would be {after}"))
    };
    if (&before.type_name, before.version) != (&after.type_name, after.version) {
        return is("its state is a", before, after);
    }
    if before.fingerprint != after.fingerprint {
        return is(
            &format!("its state {before} has another size or alignment:"),
            &before.fingerprint,
            &after.fingerprint,
        );
    }
    if old.keys.is_some() != new.keys.is_some() {
        let [before, after] =
            [old, new].map(|stage| if stage.keys.is_some() { "of every key" } else { "a single one" });
        return is("its state is", &before, &after);
    }
    let (before, after) = (lanes(old_plan, old), lanes(new_plan, new));
    if before != after {
        return is("the number of its lanes is", &before, &after);
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

/// What of the ends differs, as far as plans know it. The output is left out: its rings say nothing of the shape that
/// the sink takes, since `any_edge` makes shapes equal.
fn ends(old: &Plan, new: &Plan) -> Vec<String> {
    let bytes = |plan: &Plan| plan.rings.first().map(|ring| ring.slot_bytes);
    match (bytes(old), bytes(new)) {
        (Some(gives), Some(takes)) if gives != takes => {
            vec![format!("the source's values have {gives} bytes, and the new pipeline takes values of {takes}")]
        }
        _ => Vec::new(),
    }
}
