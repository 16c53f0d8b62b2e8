//! `completions`: scripts with which a shell completes the command line.

use crate::flags::{Flags, shaped_for_completions};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use clap_complete::Shell;

pub(super) fn run(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shaped_for_completions::<Flags>(), "millstream", &mut script);
    Output::opened(&Complaints::of("completions"), |mut output| {
        output.write(&script);
        Outcome::Done
    })
}
