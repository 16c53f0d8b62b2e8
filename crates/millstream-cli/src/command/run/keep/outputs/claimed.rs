//! What the outputs of a program hold at a snapshot.

use super::super::output::OpenOutput;
use super::{Held, OpenOutputs};
use millstream_state::Claims;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;

/// The claims of the sink of a run's present text, and their files.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Claim {
    /// The files, in order.
    pub(super) names: Vec<Option<String>>,
    pub(super) files: Vec<Value>,
    /// The files that only earlier texts wrote, and where they ended.
    pub(super) closed: Vec<Held>,
    /// How many dead letters there were, by number.
    pub(super) dead: Vec<u64>,
    /// The name of the run, for the keys that it posts.
    pub(super) run: String,
}

impl Claim {
    /// A claim that was stored. One of an earlier version names no files: it has these.
    pub(super) fn of(stored: &Value, names: &[Option<String>]) -> io::Result<Self> {
        let mut claim = Claim::deserialize(stored)?;
        if claim.names.is_empty() {
            claim.names = names.to_vec();
        }
        Ok(claim)
    }
}

impl OpenOutputs {
    pub(super) fn claimed(&mut self) -> io::Result<Value> {
        let files = self.files.iter_mut().map(OpenOutput::claim).collect::<io::Result<Vec<Value>>>()?;
        let (names, closed, dead) = (self.names.clone(), self.closed.clone(), self.counts.dead.clone());
        Ok(serde_json::to_value(Claim { names, files, closed, dead, run: self.run.clone() })?)
    }
}

impl Claims for OpenOutputs {
    fn claim(&mut self) -> io::Result<Value> {
        self.go_on()?;
        self.claimed()
    }

    /// A database notes which rows were added since each claim. One that was closed then goes back to where it ended.
    #[cfg(feature = "sqlite")]
    fn forget(&mut self, oldest: &Value) {
        let Ok(Claim { names, files, closed, .. }) = Claim::of(oldest, &self.names) else { return };
        let held: Vec<Held> = names.into_iter().zip(files).chain(closed).collect();
        for (name, output) in self.names.iter().zip(&mut self.files) {
            held.iter().filter(|(of, _)| of == name).for_each(|(_, held)| output.forget(held));
        }
    }
}
