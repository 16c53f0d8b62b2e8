//! The names that a plan lacks for its states to outlive a process.

use super::{Plan, Stage, StateInfo, Warning};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

impl Plan {
    /// Checks that every state can be found again by another process, which may run another version of the pipeline:
    /// each stage with a [state](Stage::state) has a name that the user set, and each such name is set once. A derived
    /// name has an ordinal in it, which a change of the pipeline can give to another stage.
    ///
    /// # Errors
    ///
    /// The list of what is missing, with a suggestion for each.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().dedup().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let missing = p.plan().check_durable().unwrap_err();
    /// assert_eq!(missing.to_string(), "\
    /// 1 stage keeps a state and has no name of its own:
    ///   dedup-1 keeps core::option::Option<u64>: add `.named(\"dedup\")` after its `dedup`");
    /// ```
    pub fn check_durable(&self) -> Result<(), NotDurable> {
        let names: BTreeSet<&str> = self.stages.iter().map(|stage| &*stage.name).collect();
        let mut proposed = BTreeSet::new();
        let mut unnamed = Vec::new();
        for stage in self.stages.iter().filter(|stage| !stage.named_by_user) {
            let Some(state) = &stage.state else { continue };
            let (place, combinator) = stage.naming();
            let mut free = |name: &&str| !names.contains(name) && proposed.insert((*name).to_owned());
            // Without ordinals, and as short as it can be and still be unique.
            let words =
                place.split('.').map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-'));
            let (short, long) = (words.clone().next_back().unwrap_or(place), words.collect::<Vec<_>>().join("-"));
            let suggestion = [short, &long, place].into_iter().find(|name| free(name)).unwrap_or(place).to_owned();
            let (stage, state) = (stage.name.clone(), state.clone());
            unnamed.push(UnnamedState { stage, state, combinator: combinator.to_owned(), suggestion });
        }
        let repeated = |warning: &Warning| match warning {
            Warning::SameName { name } if self.stages.iter().any(|stage| stage.keeps_under(name)) => Some(name.clone()),
            _ => None,
        };
        let repeated: Vec<String> = self.warnings.iter().filter_map(repeated).collect();
        if unnamed.is_empty() && repeated.is_empty() { Ok(()) } else { Err(NotDurable { unnamed, repeated }) }
    }
}

impl Stage {
    /// Whether it keeps a state, and has this name of the user's, or that of a combinator around it has; the later
    /// ones of a name have a number appended.
    fn keeps_under(&self, name: &str) -> bool {
        let Some(rest) = self.name.strip_prefix(name).filter(|_| self.state.is_some()) else { return false };
        let rest = rest.strip_prefix('-').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        rest.is_empty() || rest.starts_with('.')
    }

    /// What a user names so that this stage has a name: its place in the plan, and the combinator.
    fn naming(&self) -> (&str, &str) {
        // These two are parts of a combinator with a body.
        let combinator = match &*self.kind {
            "key" => "shard_by",
            "state" => "feedback",
            kind => return (&self.name, kind),
        };
        (self.name.rsplit_once('.').map_or(&*self.name, |(around, _)| around), combinator)
    }
}

/// Why the states of a pipeline could not be found again: [`Plan::check_durable`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NotDurable {
    /// The stages with a state and without a name that the user set, in pipeline order.
    pub unnamed: Vec<UnnamedState>,
    /// The names that are set more than once, on a stage with a state among others.
    pub repeated: Vec<String>,
}

/// A stage with a state and without a name that the user set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnnamedState {
    /// The stage's derived name.
    pub stage: String,
    /// The state that it keeps.
    pub state: StateInfo,
    /// The combinator after which [`named`](crate::Arrow::named) names it.
    pub combinator: String,
    /// A name that the plan does not have yet.
    pub suggestion: String,
}

impl fmt::Display for UnnamedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnnamedState { stage, state, combinator, suggestion } = self;
        let keeps = &state.type_name;
        write!(f, "{stage} keeps {keeps}: add `.named({suggestion:?})` after its `{combinator}`")
    }
}

impl fmt::Display for NotDurable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        match self.unnamed.len() {
            0 => {}
            1 => lines.push("1 stage keeps a state and has no name of its own:".to_owned()),
            n => lines.push(format!("{n} stages keep a state and have no name of their own:")),
        }
        lines.extend(self.unnamed.iter().map(|unnamed| format!("  {unnamed}")));
        lines.extend(self.repeated.iter().map(|name| format!("the name {name:?} is set more than once")));
        f.write_str(&lines.join("\n"))
    }
}

impl Error for NotDurable {}
