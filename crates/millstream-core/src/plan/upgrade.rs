//! The verdict on the stages, and their states, if a run went on with another pipeline.

mod carried;
mod show;

use super::{Plan, Stage, StateInfo};
use carried::{Keeps, carried, kept_by};

/// The verdict on a run of one plan that would go on with another one, as by `Handle::upgrade`.
///
/// A run's states go to the stages of the same names. So the rule is stricter than that of a
/// [`PlanDiff`](super::PlanDiff), which also finds a stage that was renamed:
///
/// - A stage of both plans that keeps a state has it under one name, in the same type and the same version, or there is
///   a [migration](UpgradeRules::migrated). Keyed states are those of the same keys, in any number of lanes.
/// - A stage that only the new plan has begins fresh; one that starts a clock goes on with the numbers of its input.
/// - A stage that only the old plan has, and that keeps something, a state or the numbers of a clock, is refused: its
///   state would be lost. [Dropping](UpgradeRules::dropped) a state on purpose is said by name; and so is that a stage
///   which both plans have begins [fresh](UpgradeRules::fresh), unless its states are those of keys.
/// - A stage that keeps nothing may come and go.
///
/// A plan has no types of the pipeline's ends, and no limit of memory; of the ends it has the size of the source's
/// values, which is compared. So the run may still refuse a change that is allowed here, because of its ends or its
/// memory. The functions of the stages are not compared: `kept` says that the state goes on, and not that the code is
/// the same.
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
/// 1 kept, 0 migrated, 1 new, 1 dropped, 0 refused
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

/// The verdict on one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StageCheck {
    /// The stage's name.
    pub name: String,
    /// The combinator that makes the stage.
    pub kind: String,
    /// The state that it keeps.
    pub state: Option<StateInfo>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A verdict on a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "verdict", rename_all = "kebab-case"))]
pub enum Verdict {
    /// Both plans have it, and its state goes on, if it has one.
    Kept,
    /// Both plans have it, and a migration makes its new state of the old one.
    Migrated {
        /// The state that it has in the old plan.
        from: StateInfo,
    },
    /// Only the new plan has it. If it keeps a state, that begins fresh.
    New,
    /// Only the old plan has it. If it kept a state, that is dropped, as was said.
    Dropped,
    /// The run would refuse the new pipeline because of it.
    Refused {
        /// The reason.
        why: String,
    },
}

/// The rules of an upgrade's author for states that do not go on as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradeRules {
    /// The stages whose new state a migration makes of the old one.
    pub migrated: Vec<String>,
    /// The stages of the old plan whose states may be lost.
    pub dropped: Vec<String>,
    /// The stages that both plans have, and that begin fresh: what they kept is lost.
    pub fresh: Vec<String>,
}

impl UpgradeRules {
    fn migrates(&self, stage: &Stage) -> bool {
        self.migrated.contains(&stage.name)
    }

    /// Whether what a stage of both plans keeps is lost. With keys it is not its own alone.
    fn loses(&self, (old_plan, old): (&Plan, &Stage), (new_plan, new): (&Plan, &Stage)) -> bool {
        let is_single = |plan: &Plan, stage: &Stage| stage.kind != "key" && plan.key_stages(stage).is_empty();
        let keeps_state = matches!(kept_by(old_plan, old), Keeps::State(_));
        self.fresh.contains(&old.name) && keeps_state && is_single(old_plan, old) && is_single(new_plan, new)
    }
}

impl Plan {
    /// The verdict on a run of this plan that would go on with `new`.
    #[must_use]
    pub fn check_upgrade(&self, new: &Plan) -> UpgradeCheck {
        self.check_upgrade_by(new, &UpgradeRules::default())
    }

    /// As [`check_upgrade`](Plan::check_upgrade), with migrations and states that may be lost.
    ///
    /// ```
    /// use millstream::core::plan::UpgradeRules;
    /// use millstream::prelude::*;
    /// let old = pipeline::<u64>().scan(0_u32, |n, _| { *n += 1; *n }).named("count");
    /// let new = pipeline::<u64>().scan(0_u64, |n, _| { *n += 1; *n }).named("count");
    /// let rules = UpgradeRules { migrated: vec!["count".to_owned()], ..UpgradeRules::default() };
    /// assert_eq!(old.plan().check_upgrade_by(&new.plan(), &rules).to_string(), "\
    /// migrated count: u32 version 1 -> u64 version 1
    /// 0 kept, 1 migrated, 0 new, 0 dropped, 0 refused
    /// ");
    /// ```
    #[must_use]
    pub fn check_upgrade_by(&self, new: &Plan, rules: &UpgradeRules) -> UpgradeCheck {
        let find = |plan: &Plan, name: &str| plan.stages.iter().position(|stage| stage.name == name);
        let mut stages = Vec::with_capacity(new.stages.len());
        let mut lost = Vec::new();
        for stage in &new.stages {
            let verdict = match find(self, &stage.name) {
                Some(old) if rules.loses((self, &self.stages[old]), (new, stage)) => {
                    lost.push(&self.stages[old]);
                    Verdict::New
                }
                Some(old) => carried((self, &self.stages[old]), (new, stage), rules.migrates(stage)),
                None if rules.migrates(stage) => {
                    let why = "a migration is for it, and the running pipeline has no such stage";
                    Verdict::Refused { why: why.to_owned() }
                }
                None => Verdict::New,
            };
            stages.push(StageCheck::of(stage, verdict));
        }
        for stage in self.stages.iter().filter(|stage| find(new, &stage.name).is_none()) {
            stages.push(StageCheck::of(stage, left(self, stage, rules)));
        }
        stages.extend(lost.into_iter().map(|stage| StageCheck::of(stage, Verdict::Dropped)));
        UpgradeCheck { stages, ends: ends(self, new) }
    }
}

/// The verdict on a stage that only the old plan has.
fn left(old: &Plan, stage: &Stage, rules: &UpgradeRules) -> Verdict {
    let lacks = "the new pipeline has no such stage to take it";
    let why = match kept_by(old, stage) {
        _ if rules.migrates(stage) => "a migration is for it, and the new pipeline has no such stage".to_owned(),
        Keeps::Nothing => return Verdict::Dropped,
        Keeps::State(_) if rules.dropped.contains(&stage.name) => return Verdict::Dropped,
        Keeps::State(state) => format!("it keeps a {state}, and {lacks}"),
        Keeps::Clock => format!("it numbers its output by itself, and {lacks}"),
    };
    Verdict::Refused { why }
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

/// The differences of the ends, as far as plans know them. The output is left out: its rings say nothing of the shape
/// that the sink takes, since `any_edge` makes shapes equal.
fn ends(old: &Plan, new: &Plan) -> Vec<String> {
    let bytes = |plan: &Plan| plan.rings.first().map(|ring| ring.slot_bytes);
    match (bytes(old), bytes(new)) {
        (Some(gives), Some(takes)) if gives != takes => {
            vec![format!("the source's values have {gives} bytes, and the new pipeline takes values of {takes}")]
        }
        _ => Vec::new(),
    }
}
