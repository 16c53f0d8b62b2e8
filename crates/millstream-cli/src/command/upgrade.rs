#[cfg(feature = "run")]
pub(crate) mod asked;
#[cfg(feature = "run")]
mod of_run;

#[cfg(feature = "run")]
pub(crate) use of_run::OfRun;

use super::plan::{pretty, written};
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::plan::UpgradeRules;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// `upgrade --check`: whether a running pipeline could be replaced by another one.
#[derive(Debug)]
pub(crate) struct Upgrade {
    json: bool,
    rules: UpgradeRules,
    /// Files with plans; `-` is standard input.
    old: OsString,
    new: OsString,
}

impl Upgrade {
    pub(crate) fn of(flags: crate::flags::Upgrade) -> Self {
        let crate::flags::Upgrade { json, migrated, dropped, old, new, check: _ } = flags;
        Upgrade { json, rules: UpgradeRules { migrated, dropped, ..UpgradeRules::default() }, old, new }
    }

    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("upgrade");
        if self.old == "-" && self.new == "-" {
            complaints.note("only one of the two plans can be standard input");
            return Outcome::WrongUse;
        }
        let mut plans = Vec::new();
        for file in [&self.old, &self.new] {
            match written(file) {
                Ok(plan) => plans.push(plan),
                Err(why) => {
                    complaints.complain(&format!("{}: {why}", quoted(file)));
                    return Outcome::InputOrOutputFailed;
                }
            }
        }
        // A rule for a misspelt name would silently have no effect.
        let stages = || plans.iter().flat_map(|plan| &plan.stages).map(|stage| stage.name.as_str());
        let mut rules = self.rules.migrated.iter().chain(&self.rules.dropped);
        if let Some(name) = rules.find(|name| !stages().any(|stage| stage == **name)) {
            let there: Vec<_> = stages().collect::<BTreeSet<_>>().into_iter().collect();
            complaints.note(&format!("neither plan has a stage {name:?}; the stages are {}", there.join(", ")));
            return Outcome::WrongUse;
        }
        let check = plans[0].check_upgrade_by(&plans[1], &self.rules);
        let text = if self.json { pretty(&check) } else { check.to_string() };
        Output::opened(&complaints, |mut output| {
            output.write(text.as_bytes());
            if check.is_allowed() { Outcome::Done } else { Outcome::CheckFailed }
        })
    }
}
