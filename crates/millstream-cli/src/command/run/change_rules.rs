//! The rules about states that the author of a change gives, the same for every way to make a change.

use millstream_core::plan::{StageCheck, UpgradeCheck, Verdict};
use millstream_mill::{Allowed, Program};
use std::collections::BTreeSet;

/// Refuses a rule for a stage without a state: a misspelt name would silently have no effect.
pub(in crate::command) fn names_states(old: &Program, next: &Program, allowed: &Allowed) -> Result<(), String> {
    let states: BTreeSet<String> = old.states().into_iter().chain(next.states()).collect();
    match allowed.keeps.iter().chain(&allowed.drops).find(|name| !states.contains(*name)) {
        None => Ok(()),
        Some(name) => {
            let there: Vec<_> = states.iter().map(String::as_str).collect();
            Err(format!("no stage {name:?} keeps a state; the stages that do are {}", there.join(", ")))
        }
    }
}

/// Advice that allows the loss of states, if some would be lost. The message about a changed stage has its own advice.
pub(in crate::command) fn advice(check: &UpgradeCheck) -> &'static str {
    let is_lost = |stage: &StageCheck| matches!(&stage.verdict, Verdict::Refused { why } if !why.contains(": `keep "));
    if check.refused().any(is_lost) { "; `--drop STAGE` lets a state be lost" } else { "" }
}
