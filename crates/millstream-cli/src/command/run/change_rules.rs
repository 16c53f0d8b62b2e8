//! What the author of a change has to say about states, wherever the change is made.

use millstream_core::plan::{StageCheck, UpgradeCheck, Verdict};
use millstream_mill::{Allowed, Program};
use std::collections::BTreeSet;

/// A rule for a misspelt stage would do nothing, and not be missed.
pub(super) fn names_states(old: &Program, next: &Program, allowed: &Allowed) -> Result<(), String> {
    let states: BTreeSet<String> = old.states().into_iter().chain(next.states()).collect();
    match allowed.keeps.iter().chain(&allowed.drops).find(|name| !states.contains(*name)) {
        None => Ok(()),
        Some(name) => {
            let there: Vec<_> = states.iter().map(String::as_str).collect();
            Err(format!("no stage {name:?} keeps a state; the stages that do are {}", there.join(", ")))
        }
    }
}

/// What allows the loss of states, if some would be lost. A stage that only has changed says itself what keeps its
/// state.
pub(super) fn advice(check: &UpgradeCheck) -> &'static str {
    let is_lost = |stage: &StageCheck| matches!(&stage.verdict, Verdict::Refused { why } if !why.contains(": `keep "));
    if check.refused().any(is_lost) { "; `--drop STAGE` lets a state be lost" } else { "" }
}
