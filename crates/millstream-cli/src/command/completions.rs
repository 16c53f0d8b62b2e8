//! `completions`: scripts with which a shell completes the command line.

use crate::flags::{Flags, shaped};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use clap_complete::Shell;

pub(super) fn run(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shaped::<Flags>(), "millstream", &mut script);
    Output::opened(&Complaints::of("completions"), |mut output| {
        output.write(&script);
        Outcome::Done
    })
}
