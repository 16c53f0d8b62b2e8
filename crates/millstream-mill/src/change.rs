//! Whether a run can go on with another text, and with which states.
//!
//! Plans say which states have a stage of the same name and type in the new text. They know neither what the stages of
//! a text are, nor what they read: a state of `sum` is of the type of one of `count`. So what the plans call kept is
//! judged once more, by the calls of the two texts.

use crate::ends::Ends;
use crate::fold::kept_by;
use crate::order::{is_fold, other_order};
use crate::program::{Boxes, Program};
use crate::raw::Raw;
use crate::written::Written;
use millstream_core::Arrow;
use millstream_core::plan::{Plan, UpgradeCheck, UpgradeRules, Verdict};
use millstream_exec::{Migrations, Upgrade};
use millstream_registry::{Called, Literal, TextPipeline};
use std::collections::{BTreeSet, HashMap};

/// The rules for states that the author of a change gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Stages that keep their states although they read something else or have other parameters; those after `keep` in
    /// the text are as well.
    pub keeps: Vec<String>,
    /// Stages whose states are lost. One that the new text has, too, begins fresh.
    pub drops: Vec<String>,
}

impl Program {
    /// The verdict on a run of this text that would go on with `next`, which is a [next](Program::next) one.
    ///
    /// A state goes on in the stage of the same name, if that is the same stage. If it reads something else, or has
    /// other parameters, `next` or `allowed` has to say that it keeps its state. A state that would be lost has to be
    /// dropped by name. A sink goes on with what it knows of its file, whatever it reads; with the file its state is
    /// gone, but for the rows of a `table` that are not written yet: a file that comes back has a [header] once more,
    /// if its columns are others. The sources are those of the run.
    ///
    /// [header]: Written::headers
    ///
    /// ```
    /// use millstream::mill::{Allowed, Program};
    ///
    /// let old = Program::load("let big = jsonl | where(.n > 3); let all = big | sum(.n); all", 1, false)?;
    /// let next = old.next("let big = jsonl | where(.n > 5); let all = big | sum(.n); all")?;
    /// let check = old.check_upgrade(&next, &Allowed::default()).to_string();
    /// assert!(check.contains("\
    /// refused  all: it reads `where(.n > 5)`, and read `where(.n > 3)`: `keep all` keeps its state nevertheless
    /// "));
    /// let keeps = Allowed { keeps: vec!["all".to_owned()], ..Allowed::default() };
    /// assert!(old.check_upgrade(&next, &keeps).is_allowed());
    /// # Ok::<(), millstream::registry::Wrong>(())
    /// ```
    #[must_use]
    pub fn check_upgrade(&self, next: &Program, allowed: &Allowed) -> UpgradeCheck {
        let two = Two::of(self, next);
        two.check(allowed, &two.rules(allowed))
    }

    /// The upgrade of a run of this text to `next`.
    ///
    /// # Errors
    ///
    /// What [`check_upgrade`](Program::check_upgrade) says, if something is refused.
    pub fn upgrade_to(
        &self,
        next: &Program,
        allowed: &Allowed,
    ) -> Result<Upgrade<TextPipeline<Raw, Written, Boxes>>, Box<UpgradeCheck>> {
        let rules = Two::of(self, next).allowed_rules(allowed)?;
        let upgrade = Upgrade::to(next.pipeline.clone());
        let upgrade = rules.dropped.into_iter().fold(upgrade, Upgrade::dropping);
        Ok(rules.fresh.into_iter().fold(upgrade, Upgrade::afresh))
    }

    /// What becomes of states that a run of this text has stored if `next` goes on with them: for
    /// [`Rings::resume_changed`](millstream_exec::Rings::resume_changed), or a job whose states are kept.
    ///
    /// # Errors
    ///
    /// What [`check_upgrade`](Program::check_upgrade) says, if something is refused.
    pub fn migrations_to(&self, next: &Program, allowed: &Allowed) -> Result<Migrations, Box<UpgradeCheck>> {
        let rules = Two::of(self, next).allowed_rules(allowed)?;
        let migrations = rules.dropped.into_iter().fold(Migrations::new(), Migrations::dropping);
        Ok(rules.fresh.into_iter().fold(migrations, Migrations::afresh))
    }

    /// The names of the stages that keep a state.
    #[must_use]
    pub fn states(&self) -> BTreeSet<String> {
        let stages = self.pipeline.plan().stages;
        stages.into_iter().filter(|stage| stage.state.is_some()).map(|stage| stage.name).collect()
    }

    fn call(&self, name: &str) -> Option<&Called> {
        self.text.calls.iter().find(|call| call.name == name)
    }

    fn writer(&self, wire: usize) -> Option<&Called> {
        self.text.calls.iter().find(|call| call.writes == wire)
    }

    /// The calls of the sources, in the order of the text.
    fn source_calls(&self) -> Vec<&Called> {
        let calls = &self.text.calls;
        let written: BTreeSet<usize> = calls.iter().map(|call| call.writes).collect();
        calls.iter().filter(|call| call.reads.first().is_some_and(|wire| !written.contains(wire))).collect()
    }
}

/// Two texts of one run.
struct Two<'a> {
    old: &'a Program,
    new: &'a Program,
    plans: [Plan; 2],
    states: [BTreeSet<String>; 2],
    /// By wire: equal numbers are of wires that come about in the same way.
    origins: [HashMap<usize, usize>; 2],
}

/// How the rows of a wire come about.
#[derive(PartialEq, Eq, Hash)]
enum Origin {
    /// By a source of the run.
    Source(Option<usize>),
    /// By a stage with these parameters that reads these; one with a state has its name.
    Call { stage: String, reads: Vec<usize>, name: Option<String> },
}

impl<'a> Two<'a> {
    fn of(old: &'a Program, new: &'a Program) -> Self {
        let (plans, states) = ([old.pipeline.plan(), new.pipeline.plan()], [old.states(), new.states()]);
        let mut known = HashMap::new();
        let mut origins = |program: &Program, states: &BTreeSet<String>| {
            let (mut of, mut sources) = (HashMap::new(), program.text.ends.reads.iter());
            for call in &program.text.calls {
                let reads: Option<Vec<usize>> = call.reads.iter().map(|wire| of.get(wire).copied()).collect();
                let origin = match reads {
                    None => Origin::Source(sources.next().copied().flatten()),
                    Some(reads) => {
                        let name = states.contains(&call.name).then(|| call.name.clone());
                        Origin::Call { stage: call.to_string(), reads, name }
                    }
                };
                let next = known.len();
                of.insert(call.writes, *known.entry(origin).or_insert(next));
            }
            of
        };
        let origins = [origins(old, &states[0]), origins(new, &states[1])];
        Two { old, new, plans, states, origins }
    }

    /// The states that are lost, and the stages that begin fresh.
    fn rules(&self, allowed: &Allowed) -> UpgradeRules {
        let mut rules = UpgradeRules::default();
        let names = |plan: &Plan, name: &str| plan.stages.iter().any(|stage| stage.name == name);
        for name in &self.states[0] {
            // A file that is closed needs no state.
            let is_closed = self.old.call(name).is_some_and(|before| {
                let goes_on = self.new.call(name).is_some_and(|after| kind_of_state(before) == kind_of_state(after));
                is_sink(before) && before.stage != "table" && !goes_on
            });
            if is_closed || allowed.drops.contains(name) {
                let goes = if names(&self.plans[1], name) { &mut rules.fresh } else { &mut rules.dropped };
                goes.push(name.clone());
            }
        }
        rules
    }

    /// The rules, if nothing is refused by them.
    fn allowed_rules(&self, allowed: &Allowed) -> Result<UpgradeRules, Box<UpgradeCheck>> {
        let rules = self.rules(allowed);
        let check = self.check(allowed, &rules);
        if check.is_allowed() { Ok(rules) } else { Err(Box::new(check)) }
    }

    fn check(&self, allowed: &Allowed, rules: &UpgradeRules) -> UpgradeCheck {
        let [old, new] = &self.plans;
        let mut check = old.check_upgrade_by(new, rules);
        for stage in check.stages.iter_mut().filter(|stage| stage.state.is_some()) {
            let Some(before) = self.old.call(&stage.name) else { continue };
            let why = match (&stage.verdict, self.new.call(&stage.name)) {
                (Verdict::Kept, Some(after)) => self.why_not(before, after, allowed),
                (Verdict::Refused { .. }, Some(after)) => Some(other_state(before, after)),
                (Verdict::Refused { .. }, None) if before.stage == "table" => Some(
                    "it may have rows that are not written yet, and the new text has no such stage to write them"
                        .to_owned(),
                ),
                (Verdict::Refused { .. }, None) => {
                    Some(format!("the new text has no such stage to take the state of `{}`", shown(before)))
                }
                _ => None,
            };
            if let Some(why) = why {
                stage.verdict = Verdict::Refused { why };
            }
        }
        check.ends.extend(self.other_sources());
        check
    }

    /// Why a stage does not keep its state, if it does not.
    fn why_not(&self, before: &Called, after: &Called, allowed: &Allowed) -> Option<String> {
        if kind_of_state(before) != kind_of_state(after) {
            return Some(other_state(before, after));
        }
        let name = &after.name;
        if allowed.keeps.contains(name) || self.new.text.keeps.contains(name) {
            return None;
        }
        let input = if is_sink(after) { None } else { self.other_input(before, after) };
        let changed = other_parameter(before, after).or(input)?;
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = if is_plain { name.clone() } else { format!("{name:?}") };
        Some(format!("{changed}: `keep {name}` keeps its state nevertheless"))
    }

    fn is_same(&self, before: usize, after: usize) -> bool {
        self.origins[0].get(&before) == self.origins[1].get(&after)
    }

    /// The differences in the wires that two calls of one stage read.
    fn other_input(&self, mut before: &'a Called, mut after: &'a Called) -> Option<String> {
        let differs = |before: &'a Called, after: &'a Called| {
            let mut pairs = before.reads.iter().zip(&after.reads);
            let (was, is) = pairs.find(|(was, is)| !self.is_same(**was, **is))?;
            Some((self.old.writer(*was)?, self.new.writer(*is)?))
        };
        (before, after) = differs(before, after)?;
        let (was, is) = loop {
            match differs(before, after) {
                Some(next) if before.is_same(after) => (before, after) = next,
                // Stages with states of their own.
                None if before.is_same(after) => break (before.name.clone(), after.name.clone()),
                _ => break (shown(before), shown(after)),
            }
        };
        Some(format!("it reads `{is}`, and read `{was}`"))
    }

    /// Why the new text does not go on with the sources of the run.
    fn other_sources(&self) -> Vec<String> {
        let Ends { reads, .. } = &self.new.text.ends;
        let calls = |program: &'a Program| {
            let reads = program.text.ends.reads.iter().copied();
            program.source_calls().into_iter().zip(reads).collect::<Vec<_>>()
        };
        let (old, new) = (calls(self.old), calls(self.new));
        let strange = new.iter().filter(|(_, number)| number.is_none());
        let strange = strange
            .map(|(call, _)| format!("the run cannot add the source `{}`: it goes on with its own", shown(call)));
        let gone = old.iter().filter(|(_, number)| !reads.contains(number));
        let gone = gone
            .map(|(call, _)| format!("the run goes on reading `{}`, and the new text has no such source", shown(call)));
        let named = |number: usize| {
            let found = old.iter().find(|(_, other)| *other == Some(number));
            found.map_or_else(String::new, |(call, _)| shown(call))
        };
        let order = other_order(&self.new.text.calls, reads, &self.new.order);
        let order = order.map(|(first, then)| {
            format!(
                "a join needs `{}` before `{}`, and the run reads them in the other order",
                named(first),
                named(then)
            )
        });
        strange.chain(gone).chain(order).collect()
    }
}

/// The most letters of a call that are shown.
const MOST: usize = 80;

/// A call in a message.
fn shown(call: &Called) -> String {
    match call.text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ..", &call.text[..end]),
        None => call.text.clone(),
    }
}

fn other_state(before: &Called, after: &Called) -> String {
    format!("its state is that of `{}`, and `{}` keeps a different state", shown(before), shown(after))
}

/// Whether a call writes rows to a file or to standard output.
fn is_sink(call: &Called) -> bool {
    call.output == "Output" && call.stage != "both"
}

/// The properties that must be equal for a state to have the same meaning.
fn kind_of_state(call: &Called) -> Vec<String> {
    let mut kind = vec![call.stage.clone(), call.version.to_string()];
    let given = |name: &str| call.given(name).map(ToString::to_string).unwrap_or_default();
    let is_given = |name: &str| call.given(name).is_some().to_string();
    if is_sink(call) {
        kind.extend([given("file"), given("table")]);
    } else if call.stage == "join" {
        kind.push(is_given("within"));
    } else if is_fold(call) {
        kind.extend([is_given("by"), given("every"), given("session"), kept_by(call.given("to"))]);
    }
    kind
}

/// The differences in the parameters of two calls of one stage.
fn other_parameter(before: &Called, after: &Called) -> Option<String> {
    let mut pairs = before.parameters.iter().zip(&after.parameters);
    let ((name, was), (_, is)) = pairs.find(|((_, was), (_, is))| was != is)?;
    let of =
        |given: &Option<Literal>| given.as_ref().map_or_else(|| "not given".to_owned(), |given| format!("`{given}`"));
    let (was, is) = (of(was), of(is));
    Some(format!("its parameter `{name}` was {was} and is now {is}"))
}
