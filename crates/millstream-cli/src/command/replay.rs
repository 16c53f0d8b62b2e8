use super::Command;
use crate::outcome::Outcome;

/// `replay`: repeats the run of a state directory, up to a number.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) command: Box<Command>,
}

impl Replay {
    pub(crate) fn run(self) -> Outcome {
        self.command.run()
    }
}
