//! `upgrade --check` of two plans with their texts: the verdict that a run of the old text would give.

use crate::command::plan::PlannedText;
use crate::command::run::change_rules::names_states;
use millstream_core::plan::UpgradeCheck;
use millstream_mill::{Allowed, Program};

/// # Errors
///
/// If a text cannot be loaded, or a rule is for a stage without a state.
pub(super) fn check(
    old: &PlannedText,
    new: &PlannedText,
    drops: &[String],
    keeps: &[String],
) -> Result<UpgradeCheck, String> {
    let wrong = |which: &str, wrong: millstream_registry::Wrong| {
        format!("this command cannot load the text of the {which} plan:\n{}", wrong.in_file("text"))
    };
    let before = Program::load(&old.text, old.shards, false).map_err(|error| wrong("old", error))?;
    let after = before.next(&new.text).map_err(|error| wrong("new", error))?;
    let allowed = Allowed { keeps: keeps.to_vec(), drops: drops.to_vec() };
    names_states(&before, &after, &allowed)?;
    Ok(before.check_upgrade(&after, &allowed))
}
