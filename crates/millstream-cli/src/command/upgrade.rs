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
    /// The rules of the program itself, for plans that differ.
    declared: UpgradeRules,
    /// Files with plans; `-` is standard input.
    old: OsString,
    new: OsString,
}

impl Upgrade {
    pub(crate) fn of(flags: crate::flags::Upgrade) -> Self {
        let crate::flags::Upgrade { json, migrated, dropped, old, new, check: _ } = flags;
        let rules = UpgradeRules { migrated, dropped, ..UpgradeRules::default() };
        Upgrade { json, rules, declared: UpgradeRules::default(), old, new }
    }

    /// Adds the rules that a program declares: they need not concern these plans.
    pub(crate) fn declared(self, declared: UpgradeRules) -> Self {
        Upgrade { declared, ..self }
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
        let mut all = self.rules;
        // A run of the same plan goes on as it is.
        if plans[0] != plans[1] {
            all.migrated.extend(self.declared.migrated);
            all.dropped.extend(self.declared.dropped);
        }
        let check = plans[0].check_upgrade_by(&plans[1], &all);
        let text = if self.json { pretty(&check) } else { check.to_string() };
        Output::opened(&complaints, |mut output| {
            output.write(text.as_bytes());
            if check.is_allowed() { Outcome::Done } else { Outcome::CheckFailed }
        })
    }
}
