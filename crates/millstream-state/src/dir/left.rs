//! The place at which a run has stopped for a process that follows it.

use super::StateDir;
use crate::StateError;
use crate::disk::OpenMode;
use crate::sealed::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const LEFT: &str = "left";
const KIND: Kind = Kind { name: "millstream-left", format: 1 };

/// The place at which a run has stopped: its stages and its sink have everything before, and the sink has no more.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Left {
    /// The epoch of the process.
    epoch: u64,
    /// The number of the source, and the number that the sink would have got next.
    pub(crate) at: u64,
    pub(crate) output_at: u64,
    /// The claim of the sink.
    pub(crate) sink: Value,
}

impl StateDir {
    /// Writes where the run of this process has stopped. It is not synced: no process needs it after a crash of
    /// the machine, and its seal shows whether it is whole.
    pub(crate) fn leave(&self, at: u64, output_at: u64, sink: Value) -> Result<(), StateError> {
        let (path, left) = (self.path.join(LEFT), Left { epoch: self.epoch(), at, output_at, sink });
        let bytes = KIND.write(&left).map_err(|error| StateError::io("write", &path)(error.into()))?;
        let mut file = self.disk.open(&path, OpenMode::Create).map_err(StateError::io("create", &path))?;
        file.write_at(&bytes, 0).map_err(StateError::io("write", &path))
    }

    /// Where the process that had the directory just before this one has stopped, if it has said so.
    #[cfg_attr(not(feature = "service"), expect(dead_code, reason = "services follow"))]
    pub(crate) fn left(&self) -> Option<Left> {
        let mut file = self.disk.open(&self.path.join(LEFT), OpenMode::Read).ok()?;
        let (left, _) = KIND.read::<Left>(&mut *file).ok()?;
        (left.epoch + 1 == self.epoch()).then_some(left)
    }
}
