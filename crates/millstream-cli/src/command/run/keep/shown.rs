//! The messages about dead letters, and the output of a replay.

use super::super::many;
use super::super::outputs::{MESSAGES, said};
use crate::message::{Complaints, quoted};
use crate::output::Output;
use millstream_mill::Written;

/// The dead letters, by their numbers in the program.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) dead: Vec<u64>,
    /// How many there were when this process began.
    pub(super) earlier: Vec<u64>,
    /// Their files; `None` if they were messages.
    pub(super) files: Vec<Option<String>>,
    pub(super) complaints: Complaints,
}

impl Counts {
    /// The dead letters of this process.
    pub(super) fn here(&self, source: usize) -> u64 {
        self.dead[source] - self.earlier[source]
    }

    /// Reports how many rows failed in the whole run, over all its processes.
    pub(super) fn say(self, quiet: bool) {
        for (source, (count, file)) in self.dead.iter().zip(&self.files).enumerate() {
            let more = self.here(source).saturating_sub(MESSAGES);
            match file {
                Some(name) if *count > 0 && !quiet => {
                    self.complaints.note(&format!("{} failed: see {}", many(*count, "row"), quoted(name.as_ref())));
                }
                None if more > 0 => {
                    self.complaints.note(&format!("and {more} more; `dead: \"FILE\"` in the source keeps them all"));
                }
                _ => {}
            }
            if let (None, 1..) = (file, self.earlier[source]) {
                self.complaints.complain(&format!("{} failed before this start", many(self.earlier[source], "row")));
            }
        }
    }
}

/// Prints the output of a replay: the rows for standard output, or for all files if the text does not write to standard
/// output; and the first dead letters.
pub(super) struct Shown {
    pub(super) output: Option<Output>,
    /// Whether a sink is printed, by its number.
    pub(super) sinks: Vec<bool>,
    pub(super) dead: u64,
    pub(super) complaints: Complaints,
}

impl Shown {
    pub(super) fn write(&mut self, written: &Written) {
        if let Some(output) = &mut self.output {
            let parts = written.parts.iter().filter(|(sink, _)| self.sinks[*sink]);
            parts.for_each(|(_, bytes)| output.write(bytes));
        }
        for dead in &written.dead {
            self.dead += 1;
            if self.dead <= MESSAGES {
                self.complaints.note(&said(dead));
            }
        }
    }
}
