#[cfg(feature = "run")]
pub(crate) mod asked;
#[cfg(feature = "run")]
mod of_run;
#[cfg(feature = "run")]
mod of_texts;

#[cfg(feature = "run")]
pub(crate) use of_run::OfRun;

use super::plan::{PlannedText, pretty, written};
use crate::message::{Complaints, quoted};
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::Plan;
use millstream_core::plan::{UpgradeCheck, UpgradeRules};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// `upgrade --check`: whether a running pipeline could be replaced by another one.
#[derive(Debug)]
pub(crate) struct Upgrade {
    json: bool,
    rules: UpgradeRules,
    /// The stages of a text that keep their states although they have other parameters.
    kept: Vec<String>,
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
        Upgrade { json, rules, kept: Vec::new(), declared: UpgradeRules::default(), old, new }
    }

    pub(crate) fn keeping(self, kept: Vec<String>) -> Self {
        Upgrade { kept, ..self }
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
        let (mut plans, mut texts) = (Vec::new(), Vec::new());
        for file in [&self.old, &self.new] {
            match written(file) {
                Ok((plan, text)) => {
                    plans.push(plan);
                    texts.push(text);
                }
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
        let check = match self.check(&plans, &texts, &complaints) {
            Ok(check) => check,
            Err(why) => {
                complaints.note(&why);
                return Outcome::WrongUse;
            }
        };
        let text = if self.json { pretty(&check) } else { check.to_string() };
        Output::opened(&complaints, |mut output| {
            output.write(text.as_bytes());
            if check.is_allowed() { Outcome::Done } else { Outcome::CheckFailed }
        })
    }

    /// The verdict on two texts is that of a run; of other plans, that of the plans.
    fn check(
        &self,
        plans: &[Plan],
        texts: &[Option<PlannedText>],
        complaints: &Complaints,
    ) -> Result<UpgradeCheck, String> {
        #[cfg(feature = "run")]
        if let [Some(old), Some(new)] = texts {
            if !self.rules.migrated.is_empty() {
                return Err("--migrate works only with plans of other programs: a text has no migrations".to_owned());
            }
            return of_texts::check(old, new, &self.rules.dropped, &self.kept);
        }
        if !self.kept.is_empty() {
            return Err("--keep works only with texts; for plans of other programs there is `--migrate`".to_owned());
        }
        if texts.iter().any(Option::is_some) {
            complaints.note(
                "the parameters of the stages are not judged: this needs two plans with texts, as \
                 `plan FILE.mill --json` of this version writes them, and a command with the feature `run`",
            );
        }
        let mut rules = self.rules.clone();
        // A run of the same plan goes on as it is.
        if plans[0] != plans[1] {
            rules.migrated.extend(self.declared.migrated.iter().cloned());
            rules.dropped.extend(self.declared.dropped.iter().cloned());
        }
        Ok(plans[0].check_upgrade_by(&plans[1], &rules))
    }
}
