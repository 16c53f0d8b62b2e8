//! What is said of dead letters, and what a replay prints.

use super::super::outputs::{MESSAGES, said};
use crate::message::{Complaints, quoted};
use crate::output::Output;
use millstream_mill::Written;

/// The dead letters, by their numbers in the program.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) dead: Vec<u64>,
    /// How many of them there were when this process began.
    pub(super) earlier: Vec<u64>,
    /// Where they are; `None` for those that were messages.
    pub(super) files: Vec<Option<String>>,
    pub(super) complaints: Complaints,
}

impl Counts {
    /// The dead letters of this process.
    pub(super) fn here(&self, source: usize) -> u64 {
        self.dead[source] - self.earlier[source]
    }

    /// Says how many rows failed: in the whole run, as if it were one process.
    pub(super) fn say(self, quiet: bool) {
        for (source, (count, file)) in self.dead.iter().zip(&self.files).enumerate() {
            let rows = |count: u64| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
            let more = self.here(source).saturating_sub(MESSAGES);
            match file {
                Some(name) if *count > 0 && !quiet => {
                    self.complaints.note(&format!("{} failed: see {}", rows(*count), quoted(name.as_ref())));
                }
                None if more > 0 => {
                    self.complaints.note(&format!("and {more} more; `dead: \"FILE\"` in the source keeps them all"));
                }
                _ => {}
            }
            if let (None, 1..) = (file, self.earlier[source]) {
                self.complaints.complain(&format!("{} failed before this start", rows(self.earlier[source])));
            }
        }
    }
}

/// What a replay prints: what went to standard output, or to all files if nothing did; and the first dead letters.
pub(super) struct Shown {
    pub(super) output: Option<Output>,
    /// By the number of a sink, whether it is printed.
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
