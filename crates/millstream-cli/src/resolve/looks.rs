//! The tools that look at a state directory.

use super::resolve;
use crate::command::{Command, Differ, Look, Replay};
use crate::config::{Doing, Seen, other_program, stored_flags, whole};
use crate::flags::{self, When};
use millstream_state::Span;
use std::path::Path;

pub(super) fn replay(flags: flags::Replay) -> Result<Replay, String> {
    let flags::Replay { dir, from, to } = flags;
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        return Err(format!(
            "--from {from} is not before --to {to}, where the replay stops: use `--to {}` to run number {from}",
            from + 1
        ));
    }
    Ok(Replay { command: stored(&dir, Doing::Replay(Span { from, to }))? })
}

pub(super) fn look(flags: flags::Look) -> Result<Look, String> {
    let flags::Look { dir, at, stage } = flags;
    let seen = Seen::default();
    let command = stored(&dir, Doing::Look { at, seen: seen.clone(), tool: "state" })?;
    Ok(Look { command, seen, stage })
}

pub(super) fn diff(flags: flags::Differ) -> Result<Differ, String> {
    let flags::Differ { dir, other } = flags;
    let (dir, other) = (whole(&dir), whole(&other));
    // Reads both now, to refuse wrong use before the work.
    looking(&dir, When::End)?;
    looking(&other, When::End)?;
    Ok(Differ { dirs: [dir, other] })
}

/// A command that looks at the states at a number, and the place for the states.
pub(crate) fn looking(dir: &Path, at: When) -> Result<(Box<Command>, Seen), String> {
    let seen = Seen::default();
    Ok((stored(dir, Doing::Look { at: Some(at), seen: seen.clone(), tool: "diff" })?, seen))
}

/// The flags of a command for a look, which writes no reports, and so overwrites none. It never accepts another text,
/// and so needs no token.
fn looked_at(mut flags: flags::Flags) -> flags::Flags {
    #[cfg(all(feature = "page", feature = "run"))]
    if let flags::Command::Run(run) = &mut flags.command {
        run.accept_upgrades = false;
    }
    let run = match &mut flags.command {
        flags::Command::Wc(wc) => &mut wc.input.run,
        flags::Command::Uppercase(files) => &mut files.run,
        flags::Command::Spaces(lines) => &mut lines.input.run,
        #[cfg(feature = "run")]
        flags::Command::Run(text) => &mut text.run,
        #[cfg(feature = "serve")]
        flags::Command::Serve(serve) => &mut serve.run,
        _ => return flags,
    };
    run.without_reports();
    flags
}

/// The command whose state the directory has, for a replay or a look.
fn stored(dir: &Path, doing: Doing) -> Result<Box<Command>, String> {
    let dir = &whole(dir);
    let other = |why: &str| other_program(dir, why);
    let flags: flags::Flags = stored_flags(dir)?;
    let mut command = resolve(looked_at(flags)).map_err(|why| other(&why))?;
    let run = command.kept_run().ok_or_else(|| other("it keeps no state"))?;
    run.only_looks(dir, doing);
    Ok(Box::new(command))
}
