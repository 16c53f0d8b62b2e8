use super::{Plan, Warning};
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |stage: &super::Stage| match stage.tasklets {
            1 => stage.name.clone(),
            k => format!("{} x{k}", stage.name),
        };
        let kind = |stage: &super::Stage| {
            let notes = [
                stage.blocking.then(|| "blocks".to_owned()),
                stage.serial.then(|| "serial".to_owned()),
                stage.keys.map(|most| format!("up to {most} keys")),
            ];
            let notes: Vec<String> = notes.into_iter().flatten().collect();
            if notes.is_empty() { stage.kind.to_string() } else { format!("{} ({})", stage.kind, notes.join(", ")) }
        };
        let cell = |text: &str| text.to_owned();
        let mut rows = vec![[cell("stage"), cell("kind"), cell("reads"), cell("writes")]];
        rows.push([cell("source"), cell("source"), cell("-"), self.ring(0)]);
        for stage in &self.stages {
            rows.push([name(stage), kind(stage), rings(&stage.reads), self.ring(stage.writes)]);
        }
        for sink in &self.side_sinks {
            rows.push([sink.name.clone(), cell("tee_to"), rings(&sink.reads), cell("-")]);
        }
        rows.push([cell("sink"), cell("sink"), rings(&self.output), cell("-")]);
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (names, kinds, reads) = (width(0), width(1), width(2));
        for [name, kind, read, writes] in &rows {
            writeln!(f, "{name:names$}  {kind:kinds$}  {read:reads$}  {writes}")?;
        }
        if let Some(bytes) = self.bytes() {
            writeln!(f, "rings: {bytes} bytes")?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}

fn rings(indices: &[usize]) -> String {
    let names: Vec<String> = indices.iter().map(|i| format!("r{i}")).collect();
    names.join(" ")
}

impl Plan {
    fn ring(&self, index: usize) -> String {
        // A plan that was made by hand, or read, may lack it.
        let Some(ring) = self.rings.get(index) else { return format!("r{index}") };
        let density = match (ring.dense, ring.slot_bytes) {
            (true, _) => "dense",
            // A slot of a sparse edge has at least a tag byte.
            (false, 0) => "at END",
            (false, _) => "sparse",
        };
        let density = match ring.clock {
            0 => density.to_owned(),
            clock => format!("{density}, clock {clock}"),
        };
        let bytes = if ring.slot_bytes == 1 { "1 byte".to_owned() } else { format!("{} bytes", ring.slot_bytes) };
        match ring.capacity {
            Some(slots) => format!("r{index} ({density}, {slots} slots of {bytes})"),
            None => format!("r{index} ({density}, slots of {bytes})"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NeverJoins { at } => write!(
                f,
                "`{at}` never yields a value: its halves are never filled at the same number \
                 (a fold yields only at END)"
            ),
            Warning::LosesEnd { at, of } => write!(
                f,
                "`{at}` loses what `{of}` yields at END, where what it is read with is empty; `or` in a `wires!` block \
                 keeps it"
            ),
            Warning::LosesNumbers { at, of } => write!(
                f,
                "`{at}` loses what `{of}` yields before END, where what it is read with is empty; `or` in a `wires!` \
                 block keeps it"
            ),
            Warning::SameName { name } => {
                write!(f, "the name `{name}` is set more than once; the later stages have a number appended")
            }
            Warning::NamesNothing { name } => write!(f, "the name `{name}` is set on a pipeline without a stage"),
            Warning::VersionOfNothing { name } => {
                write!(f, "`{name}` has a version of its state, and keeps no state of its own")
            }
        }
    }
}
