use super::Command;
use crate::outcome::Outcome;

/// `replay`: the run that a state directory has, again, as far as asked.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) command: Box<Command>,
}

impl Replay {
    pub(crate) fn run(self) -> Outcome {
        self.command.run()
    }
}
