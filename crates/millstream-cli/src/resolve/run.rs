use crate::command::run::{Text, shards_of};
use crate::command::{Check, RunText};
use crate::config::{run_with_slots, with_state};
use crate::flags;

pub(super) fn run(flags: flags::RunText) -> Result<RunText, String> {
    let flags::RunText { text, files, max_row, run } = flags;
    let mut files = files.into_iter();
    let text = match text {
        Some(text) => Text::Given(text),
        None => Text::In(files.next().ok_or("a file with a text, or -e TEXT, is wanted")?),
    };
    let shards = shards_of(&run.tuning);
    // A slot holds the rows of a block: so few that memory stays small.
    let run = with_state("run", run_with_slots((2 * shards).next_power_of_two().max(4), run)?);
    Ok(RunText { text, files: files.collect(), most: max_row, shards, run })
}

pub(super) fn check(flags: flags::Check) -> Check {
    let files = flags.files.into_iter().map(Text::In);
    Check { texts: flags.text.map(Text::Given).into_iter().chain(files).collect() }
}
