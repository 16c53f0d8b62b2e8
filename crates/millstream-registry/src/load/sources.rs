//! The sources of a program, and the messages if one is missing.

use super::Loader;
use crate::Literal;
use crate::parse::{Call, Name, Value};
use crate::registry::Entry;
use millstream_exec::BoxKind;

impl<'a, K: BoxKind> Loader<'a, K> {
    /// Whether the first wire of a stage is the program's input.
    pub(super) fn reads_input(&self, entry: &Entry<K>) -> bool {
        let input = self.input.as_ref().map(|input| input.of.id);
        input.is_some() && entry.reads.first().map(|of| of.id) == input
    }

    /// The stages that read the program's input.
    pub(super) fn sources(&self) -> Vec<&'static str> {
        let all = self.registry.stages.iter();
        all.filter(|(_, all)| all.iter().any(|entry| self.reads_input(entry))).map(|((name, _), _)| *name).collect()
    }

    /// A message that says what a program begins with.
    pub(super) fn begins(&self) -> String {
        let all: Vec<_> = self.sources();
        let of_file = |name: &&&str| {
            let entries =
                self.registry.stages.iter().filter(|((stage, _), _)| *stage == **name).flat_map(|(_, all)| all);
            let mut first =
                entries.filter(|entry| self.reads_input(entry)).filter_map(|entry| entry.parameters.first());
            first.any(|parameter| (parameter.accepts)(&Literal::Text("FILE".to_owned())))
        };
        let example = all.iter().find(of_file).map_or_else(String::new, |name| format!(", such as `{name}(\"FILE\")`"));
        format!("a program begins with a source: `{}`{example}", all.join("`, `"))
    }

    /// The first name that no statement binds, in a call that has more wires than its stage reads: it was probably
    /// meant as a parameter.
    pub(super) fn no_wire<'b>(&self, call: &'b Call<'a>) -> Option<&'b Name<'a>> {
        let all = self.registry.stages.get(&(call.stage.text, call.version))?;
        if all.iter().any(|entry| entry.reads.len() >= call.reads.len()) {
            return None;
        }
        call.reads.iter().skip(1).find_map(|read| match read {
            Value::Wire(name) if !self.wires.contains_key(name.text) && !self.is_source(name) => Some(name),
            _ => None,
        })
    }

    /// The help for a stage whose wire is already an output: how to write a value and read it as well.
    pub(super) fn written(&self, call: &Call<'a>) -> String {
        let then = &self.text[call.at.clone()];
        let writes = call.reads.first().map_or("jsonl(\"FILE\")", |read| &self.text[read.at()]);
        format!(
            "after what is written nothing follows: give the rows a name, as in \
             `let rows = ..; rows | {writes}; rows | {then}`"
        )
    }

    /// Whether a name alone is a call of a source.
    pub(super) fn is_source(&self, name: &Name<'a>) -> bool {
        self.input.is_some() && !self.wires.contains_key(name.text) && self.sources().contains(&name.text)
    }
}
