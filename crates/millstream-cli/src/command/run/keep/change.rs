//! `--state` with `--accept-upgrades`: a kept run goes on with another text, which is stored with its first snapshot.

use super::super::change::{Changeable, Made, Next};
use super::outputs::KeptOutputs;
use super::text::replacing;
use crate::config::Keep;
use millstream_mill::Program;
use millstream_state::{JobUpgrader, Upgraded};
use std::ffi::OsString;
use std::io;

/// A run whose state is kept.
pub(super) struct OnState {
    pub(super) upgrader: JobUpgrader,
    /// The outputs of its present text.
    pub(super) outputs: KeptOutputs,
    pub(super) keep: Keep,
    pub(super) read: Vec<OsString>,
}

impl Changeable for OnState {
    fn names(&self) -> Vec<String> {
        self.outputs.names()
    }

    fn written(&self) -> Vec<String> {
        self.outputs.written()
    }

    fn can_write(&self, name: &str) -> io::Result<()> {
        KeptOutputs::can_begin(name)
    }

    fn go_on(&mut self, _: &Program, next: Next<'_>) -> Result<Made, String> {
        let outputs = self.outputs.followed_by(next.program, &self.keep, &self.read)?;
        let job = replacing(next.program, next.text, &self.keep);
        let begins = outputs.clone();
        let upgraded = self.upgrader.upgrade(next.upgrade, job, move |at| begins.begin(at));
        let Upgraded { stored, .. } = upgraded.map_err(|error| error.to_string())?;
        self.outputs = outputs;
        let error = stored.err().map(|why| {
            format!(
                "the run uses the new text, but could not store a snapshot with it; \
                 if the run ends before it can, the next start uses the old text: {why}"
            )
        });
        Ok(Made { report: self.upgrader.changes().pop(), error })
    }
}
