//! Processes that keep cores busy, as other users of a machine do.

use crate::failure::Failure;
use std::process::{Child, Command, Stdio};

/// A loop that also ends if this program was killed.
const LOOP: &str = "while kill -0 $PPID; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done";

/// Busy loops, each in a process of its own. They end when this value is dropped.
#[derive(Debug)]
pub(crate) struct Neighbours(Vec<Child>);

impl Neighbours {
    /// One loop for each core that this process may use.
    pub(crate) fn one_a_core() -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut neighbours = Neighbours(Vec::new());
        for _ in 0..cores {
            let mut command = Command::new("sh");
            command.args(["-c", LOOP]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            neighbours.0.push(command.spawn().map_err(Failure::io("a busy loop".to_owned()))?);
        }
        Ok(neighbours)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
