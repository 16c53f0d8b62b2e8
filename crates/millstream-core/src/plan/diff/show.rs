use super::{Change, EdgeDiff, Fate, PlanDiff};
use crate::plan::StateInfo;
use std::fmt;

impl fmt::Display for PlanDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in &self.stages {
            let with = if stage.state.is_some() { ", with a state" } else { "" };
            match &stage.fate {
                Fate::Kept => writeln!(f, "kept     {}", stage.name)?,
                Fate::New => writeln!(f, "new      {} ({}){with}", stage.name, stage.kind)?,
                Fate::Dropped => writeln!(f, "dropped  {} ({}){with}", stage.name, stage.kind)?,
                Fate::Changed(changes) => {
                    writeln!(f, "changed  {}", stage.name)?;
                    changes.iter().try_for_each(|change| writeln!(f, "           {change}"))?;
                }
            }
        }
        if let Some(output) = &self.output {
            writeln!(f, "changed  the output\n           reads: {output}")?;
        }
        let (kept, changed) = (self.kept().count(), self.changed().count());
        let (new, dropped) = (self.new_stages().count(), self.dropped().count());
        writeln!(f, "{kept} kept, {changed} changed, {new} new, {dropped} dropped")
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Name { before, after } => write!(f, "name: {before} -> {after}"),
            Change::Kind { before, after } => write!(f, "kind: {before} -> {after}"),
            Change::Reads(edges) => write!(f, "reads: {edges}"),
            Change::State { before, after } => {
                let same = |a: &StateInfo, b: &StateInfo| (&a.type_name, a.version) == (&b.type_name, b.version);
                let alike = before.as_ref().zip(after.as_ref()).is_some_and(|(a, b)| same(a, b));
                let state = |state: &Option<StateInfo>| match state {
                    None => "none".to_owned(),
                    Some(state) if alike => format!("{state} ({})", state.fingerprint),
                    Some(state) => state.to_string(),
                };
                write!(f, "state: {} -> {}", state(before), state(after))
            }
            Change::Tasklets { before, after } => write!(f, "tasklets: {before} -> {after}"),
            Change::Keys { before, after } => write!(f, "keys: {} -> {}", keys(*before), keys(*after)),
            Change::SlotBytes { before, after } => write!(f, "bytes of a slot: {before} -> {after}"),
        }
    }
}

fn keys(most: Option<usize>) -> String {
    most.map_or("none".to_owned(), |most| format!("up to {most}"))
}

impl fmt::Display for EdgeDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.before.join(", "), self.after.join(", "))
    }
}
