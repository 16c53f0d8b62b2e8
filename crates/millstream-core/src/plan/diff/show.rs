use super::{Change, EdgeDiff, Fate, PlanDiff};
use crate::plan::StateInfo;
use std::fmt;

impl fmt::Display for PlanDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in &self.stages {
            let with = if stage.state.is_some() { ", with a state" } else { "" };
            stage.fate.lines(f, &stage.name, &format!("{} ({}){with}", stage.name, stage.kind))?;
        }
        for sink in &self.side_sinks {
            sink.fate.lines(f, &sink.name, &format!("{} (tee_to)", sink.name))?;
        }
        if let Some(output) = &self.output {
            writeln!(f, "changed  the output\n           reads: {output}")?;
        }
        let sinks = |is: fn(&Fate) -> bool| self.side_sinks.iter().filter(|sink| is(&sink.fate)).count();
        let (kept, changed) =
            (self.kept().count(), self.changed().count() + sinks(|fate| matches!(fate, Fate::Changed(_))));
        let new = self.new_stages().count() + sinks(|fate| *fate == Fate::New);
        let dropped = self.dropped().count() + sinks(|fate| *fate == Fate::Dropped);
        writeln!(f, "{kept} kept, {changed} changed, {new} new, {dropped} dropped")
    }
}

impl Fate {
    /// `described` is the name with more about a part that one plan alone has.
    fn lines(&self, f: &mut fmt::Formatter<'_>, name: &str, described: &str) -> fmt::Result {
        match self {
            Fate::Kept => writeln!(f, "kept     {name}"),
            Fate::New => writeln!(f, "new      {described}"),
            Fate::Dropped => writeln!(f, "dropped  {described}"),
            Fate::Changed(changes) => {
                writeln!(f, "changed  {name}")?;
                changes.iter().try_for_each(|change| writeln!(f, "           {change}"))
            }
        }
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
